"""The annotation app: people label a graph in the browser, and no answer is lost.

The pieces, and which way calls go (each knows only those below it):

    server      a socket, a token, uvicorn                          knows HTTP
    app         routes: text into values, one call, a reply         knows HTTP
    access      who may ask what: token, password, origin           knows HTTP
    views       from what a project knows to what a reply says
    messages    what requests and replies look like
    exports     the labels and predictions as files
    project     one labeling: everything that can be done with it
    desk        who gets which node
    settings    what a project was begun with
    worker      a thread that owns the learner: learns, and keeps the next nodes ready
    cards       what a person is shown of a node
    leases      which node is in whose hands
    ledger      what the rows of answers add up to
    store       one SQLite file: append-only answers, schema steps, the lock

An answer goes down (app, project, store) and is committed before the reply. The worker is only woken; what it
last worked out, a `Snapshot`, is all that a page ever reads of the learner, so no page waits for training.
"""
