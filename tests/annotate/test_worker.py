from __future__ import annotations

import threading
from typing import Any

from gcbr.annotate.worker import Wanted, Worker
from gcbr.learner import ActiveLearner


def test_a_job_sees_an_answer_that_came_before_it_in_the_middle_of_a_round(papers: Any) -> None:
    answers: dict[int, str] = {}
    is_reading, may_go_on = threading.Event(), threading.Event()

    def wanted() -> Wanted:
        found = Wanted(len(answers), dict(answers), skips=frozenset(), budget=20, num_ready=1)
        is_reading.set()
        assert may_go_on.wait(60)
        return found

    graph = papers.file.graph
    worker = Worker(
        lambda budget, labels: ActiveLearner(graph, strategy="random", budget=budget, labels=labels),
        wanted,
        lambda snapshot: None,
    )
    worker.start()
    assert is_reading.wait(60)  # the first round has read that there are no answers
    answers[3] = papers.truth[3]
    learned = worker.call(lambda learner: learner.labels.nodes)
    may_go_on.set()
    assert learned.result(60) == (3,)
    worker.stop()
