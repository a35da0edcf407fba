"""Records made up by hand, so that every number of a table can be told beforehand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gcbr.benchmark.records import Cost, Origin, Record, Run, TestSet
from gcbr.simulation import Score

MakeRecord = Callable[..., Record]


def record(
    strategy: str,
    seed: int,
    micro: float = 0.5,
    macro: float = 0.5,
    ratio: float = 0.5,
    *,
    dataset: str = "citeseer",
    budget: int = 4,
    features: str = "paper",
    test: TestSet = "fixed",
    counts: tuple[int, ...] = (2, 1, 1),
) -> Record:
    return Record(
        run=Run(dataset, features, test, strategy, "", budget, seed, final_epochs=100),
        class_names=("a & b", "five $ and six $", "\u6f22\u5b57"),
        nodes=(5, 3, 8, 1),
        counts=counts,
        final=Score(budget, micro, macro, ratio),
        accuracy_per_class=(1.0, None, 0.25),
        curve=(Score(2, micro / 2, macro / 2, 0.0), Score(4, micro, macro, ratio)),
        cost=Cost(1.5, 2.0, 300.0),
        origin=Origin({"python": "3.11", "gcbr": "0.1.0"}, commit=None),
    )


@pytest.fixture
def make_record() -> MakeRecord:
    return record
