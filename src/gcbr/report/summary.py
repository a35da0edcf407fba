"""What a set of runs comes to: means, intervals, and a strategy's lead over random on the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gcbr.graph import Dataset
from gcbr.metrics import class_counts
from gcbr.simulation import SimulationResult
from gcbr.statistics import MEASURES, Estimate, Measure, estimate, number

__all__ = [
    "BASELINE",
    "MEASURES",
    "ClassRow",
    "Comparison",
    "CurvePoint",
    "Estimate",
    "Measure",
    "MeasureRow",
    "Settings",
    "class_rows",
    "class_shares",
    "estimate",
    "learning_curve",
    "measure_rows",
    "number",
]

BASELINE = "random"


@dataclass(frozen=True)
class Settings:
    """What was asked for, apart from the graph and the strategy."""

    budget: int
    seeds: tuple[int, ...]  # one run each
    features: str  # the feature rule
    final_epochs: int
    threads: int
    device: str = "cpu"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every run of a strategy, beside those of `random` on the same seeds."""

    dataset: Dataset
    settings: Settings
    command: str  # that gives this result again
    results: dict[str, tuple[SimulationResult, ...]]  # by strategy, the one asked for first; a run a seed

    @property
    def strategies(self) -> tuple[str, ...]:
        return tuple(self.results)

    @property
    def strategy(self) -> str:
        return self.strategies[0]


class MeasureRow(NamedTuple):
    measure: Measure
    values: tuple[Estimate, ...]  # one for each strategy
    lead: Estimate | None  # of the first strategy over the second, paired by seed


def measure_rows(comparison: Comparison) -> list[MeasureRow]:
    """The final score of each strategy, one row for each measure."""
    return [_measure_row(measure, comparison) for measure in MEASURES]


def _measure_row(measure: Measure, comparison: Comparison) -> MeasureRow:
    scores = [[measure.of(run.final) for run in runs] for runs in comparison.results.values()]
    lead = None
    if len(scores) == 2:
        lead = estimate([ours - theirs for ours, theirs in zip(*scores, strict=True)])
    return MeasureRow(measure, tuple(estimate(values) for values in scores), lead)


class ClassRow(NamedTuple):
    name: str
    share: float  # of the graph's nodes
    labels: tuple[Estimate, ...]  # one for each strategy
    accuracy: tuple[Estimate, ...]  # one for each strategy; nan for a class with no test node


def class_rows(comparison: Comparison) -> list[ClassRow]:
    """What each class got, and how well it is predicted."""
    dataset = comparison.dataset
    shares = class_shares(dataset)
    runs_of_each = comparison.results.values()
    return [
        ClassRow(
            name,
            shares[cls],
            tuple(estimate([run.counts[cls] for run in runs]) for runs in runs_of_each),
            tuple(estimate([run.accuracy_per_class[cls] for run in runs]) for runs in runs_of_each),
        )
        for cls, name in enumerate(dataset.class_names)
    ]


def class_shares(dataset: Dataset) -> list[float]:
    """The share of each class among all nodes."""
    counts = class_counts(dataset.y, dataset.num_classes)
    shares: list[float] = (counts / counts.sum()).tolist()
    return shares


class CurvePoint(NamedTuple):
    labels: int
    value: Estimate


def learning_curve(runs: Sequence[SimulationResult], measure: Measure) -> list[CurvePoint]:
    """The mean over runs at each number of labels at which they were measured."""
    steps = zip(*(run.curve for run in runs), strict=True)
    return [CurvePoint(scores[0].labels, estimate([measure.of(s) for s in scores])) for scores in steps]
