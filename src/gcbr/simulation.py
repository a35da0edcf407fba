"""One experiment: a strategy labels a graph whose answers are known; the result is measured on test nodes."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gcbr import metrics, seeding
from gcbr.classifier import ClassifierFactory, GCNClassifier
from gcbr.errors import InputError
from gcbr.graph import Dataset, Labels
from gcbr.learner import ActiveLearner, simulate
from gcbr.splits import draw_split, split_sizes
from gcbr.view import StrategyFactory

LABELS_PER_CLASS = 20  # the paper's budget: B = 20 m


@dataclass(frozen=True)
class Score:
    """What is measured on the test nodes, and of the labels themselves; shares, not percentages."""

    labels: int
    micro_f1: float
    macro_f1: float
    imbalance_ratio: float


@dataclass(frozen=True)
class SimulationResult:
    dataset: str
    strategy: str
    budget: int
    seed: int
    class_names: tuple[str, ...]
    nodes: tuple[int, ...]  # chosen, in order
    classes: tuple[int, ...]  # their answers
    counts: tuple[int, ...]  # labels of each class
    final: Score  # after the final epochs
    accuracy_per_class: tuple[float, ...]  # after the final epochs; nan for a class with no test node
    curve: tuple[Score, ...]  # on the way, one training step after each answer
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float  # the process's high-water mark, so an upper bound for one run


def run_simulation(
    dataset: Dataset,
    strategy: str,
    *,
    budget: int | None = None,
    seed: int = 0,
    final_epochs: int = 100,
    curve_points: int = 20,
    factory: StrategyFactory | None = None,
    classifier: ClassifierFactory = GCNClassifier,
    on_answer: Callable[[Labels], None] | None = None,
) -> SimulationResult:
    """Label `budget` nodes (by default `default_budget`); the seed redraws all but the test set.

    `on_answer` hears the labels so far after each answer.
    """
    (result,) = run_simulations(
        dataset,
        strategy,
        budgets=[default_budget(dataset) if budget is None else budget],
        seed=seed,
        final_epochs=final_epochs,
        curve_points=curve_points,
        factory=factory,
        classifier=classifier,
        on_answer=on_answer,
    )
    return result


def run_simulations(
    dataset: Dataset,
    strategy: str,
    *,
    budgets: Sequence[int],
    seed: int = 0,
    final_epochs: int = 100,
    curve_points: int = 20,
    factory: StrategyFactory | None = None,
    classifier: ClassifierFactory = GCNClassifier,
    on_answer: Callable[[Labels], None] | None = None,
) -> Iterator[SimulationResult]:
    """One labeling, measured at each of several ascending budgets.

    With a strategy that does not look at the budget each result is that of a run of its own, its cost too.
    """
    _check(dataset)
    cpu, wall = time.process_time(), time.perf_counter()
    learner = ActiveLearner(
        dataset.graph,
        factory or strategy,
        budget=max(budgets),
        seed=seed,
        classes=dataset.class_names,
        candidates=draw_split(dataset, seeding.generator(seed)).pool,
        classifier=classifier,
    )
    marks = {budget: _marks(budget, curve_points) for budget in budgets}
    on_the_way: dict[int, Score] = {}

    def answered(_: int) -> None:
        if any(len(learner.labels) in of_budget for of_budget in marks.values()):
            on_the_way[len(learner.labels)] = _score(dataset, learner, learner.prediction().probabilities)
        if on_answer is not None:
            on_answer(learner.labels)

    for budget in budgets:
        more = budget - len(learner.labels)
        simulate(learner, lambda node: dataset.class_names[dataset.y[node]], more, answered)
        cpu_then, wall_then = time.process_time(), time.perf_counter()
        probabilities = learner.predict(final_epochs)
        yield SimulationResult(
            dataset=dataset.graph.name,
            strategy=strategy,
            budget=budget,
            seed=seed,
            class_names=dataset.class_names,
            nodes=learner.labels.nodes,
            classes=learner.labels.classes,
            counts=tuple(learner.counts.tolist()),
            final=_score(dataset, learner, probabilities),
            accuracy_per_class=_accuracy_per_class(dataset, probabilities),
            curve=tuple(on_the_way[mark] for mark in marks[budget]),
            cpu_seconds=time.process_time() - cpu,
            wall_seconds=time.perf_counter() - wall,
            peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        )
        # What a result took after its last answer is no part of what the next one takes.
        cpu += time.process_time() - cpu_then
        wall += time.perf_counter() - wall_then


def default_budget(dataset: Dataset) -> int:
    """20 labels a class, and on a small graph no more than a third of the pool: choosing all is no choice."""
    _, num_val = split_sizes(dataset.graph.num_nodes)
    num_candidates = dataset.graph.num_nodes - len(dataset.test) - num_val
    return min(LABELS_PER_CLASS * dataset.num_classes, max(1, num_candidates // 3))


def _marks(budget: int, curve_points: int) -> list[int]:
    """After how many labels a curve has its points."""
    return sorted({round(budget * point / curve_points) for point in range(1, curve_points + 1)} - {0})


def _score(dataset: Dataset, learner: ActiveLearner, probabilities: Tensor) -> Score:
    truth, predicted = _on_test(dataset, probabilities)
    return Score(
        labels=len(learner.labels),
        micro_f1=float(metrics.micro_f1(truth, predicted)),
        macro_f1=float(metrics.macro_f1(truth, predicted, dataset.num_classes)),
        imbalance_ratio=float(metrics.imbalance_ratio(learner.counts)),
    )


def _accuracy_per_class(dataset: Dataset, probabilities: Tensor) -> tuple[float, ...]:
    return tuple(metrics.accuracy_per_class(*_on_test(dataset, probabilities), dataset.num_classes).tolist())


def _on_test(dataset: Dataset, probabilities: Tensor) -> tuple[Tensor, Tensor]:
    return dataset.y[dataset.test], probabilities[dataset.test].argmax(-1)


def _check(dataset: Dataset) -> None:
    name, known = dataset.graph.name, torch.unique(dataset.y)
    if len(known) < 2:
        raise InputError(f"graph '{name}' has one class; choosing what to label needs at least two")
    if dataset.graph.num_edges == 0:
        raise InputError(f"graph '{name}' has no edges; gcbr needs at least one")
    # A row with a NaN or an infinity in it cannot have a finite sum.
    row_sums = dataset.graph.x.matmul(torch.ones(dataset.graph.num_features, 1, device=dataset.graph.device))
    broken = int((~row_sums.isfinite()).sum())
    if broken:
        raise InputError(
            f"graph '{name}' has features that are not numbers (NaN or infinite) in {broken} of its "
            f"{dataset.graph.num_nodes} nodes; fill them in or leave those nodes out"
        )
