"""The annotation app: people label a graph in the browser, and no answer is lost.

The pieces, and which way calls go (each knows only those below it):

    server      a socket, a token, uvicorn                     HTTP
    app         routes: text into values, one call, a reply    HTTP
    access      who may ask what: token, password, origin      HTTP
    messages    what requests and replies look like            HTTP's words, no HTTP
    project     one labeling: who gets which node, what an answer does
    exports     the labels and predictions as files
    cards       what a person is shown of a node
    worker      a thread that owns the learner: learns, and keeps the next nodes ready
    ledger      what the rows of answers add up to
    leases      which node is in whose hands
    store       one SQLite file: append-only answers, schema steps, the lock

An answer goes down (app, project, store) and is committed before the reply. The worker is only woken; what it
last worked out, a `Snapshot`, is all that a page ever reads of the learner, so no page waits for training.
"""
