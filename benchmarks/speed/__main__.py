"""Run every measurement and print one table: `python -m benchmarks.speed`."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from benchmarks.speed.reference import Reference
from gcbr.datasets import load_dataset
from gcbr.engine.gcn import BatchedGCN, GCNConfig
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.seeding import generator

EPISODES = 5
NUM_LABELS = 35
ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """One line of the table: medians of CPU-seconds, and how many times faster ours is to be."""

    work: str
    ours: float
    reference: float | None = None
    target: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        ours = f"{1000 * self.ours:.2f}"
        if self.reference is None:
            return self.work, ours, "", "", ""
        target = "" if self.target is None else f"{self.target:.0f}x"
        return self.work, ours, f"{1000 * self.reference:.2f}", f"{self.reference / self.ours:.1f}x", target


def classifier() -> Iterator[Row]:
    """One training step and one prediction of all nodes, E = 5, as labels come in one by one."""
    dataset = cora()
    steps, predictions = [], []
    for turn in range(ROUNDS):
        for step, prediction in one_round(dataset, turn):
            steps.append(step)
            predictions.append(prediction)
    both = [
        (ours + more, theirs + extra)
        for (ours, theirs), (more, extra) in zip(steps, predictions, strict=True)
    ]
    name = f"{dataset.graph.name}, {EPISODES} networks"
    yield Row(f"{name}: training step", *medians(steps))
    yield Row(f"{name}: prediction of all nodes", *medians(predictions))
    yield Row(f"{name}: step and prediction", *medians(both), target=30)


def one_round(dataset: Dataset, turn: int) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """CPU-seconds of ours and of the reference's, for a step and for a prediction, at each number of labels."""
    graph, rng = dataset.graph, generator(turn)
    network = BatchedGCN(graph.propagation, graph.x, dataset.num_classes, GCNConfig(), rng, EPISODES)
    reference = Reference(graph, network)
    torch.testing.assert_close(network.predict().probabilities, reference.predict(), atol=1e-5, rtol=0)
    order = torch.stack([torch.randperm(graph.num_nodes, generator=rng) for _ in range(EPISODES)])
    for num_labels in range(1, NUM_LABELS + 1):
        nodes = order[:, :num_labels]
        classes = dataset.y[nodes]
        step = (
            cpu_seconds(lambda: network.step(nodes, classes)),
            cpu_seconds(lambda: reference.step(nodes, classes)),
        )
        yield step, (cpu_seconds(network.predict), cpu_seconds(reference.predict))


def cora() -> Dataset:
    try:
        return load_dataset("cora")
    except InputError as problem:
        print(f"{problem}\nMeasuring on a synthetic graph of Cora's size instead.", file=sys.stderr)
        return load_dataset("synthetic:nodes=2708,classes=7,degree=4,features=1433")


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    ours, theirs = zip(*pairs, strict=True)
    return statistics.median(ours), statistics.median(theirs)


BENCHMARKS: tuple[Callable[[], Iterator[Row]], ...] = (classifier,)


def main() -> None:
    torch.set_num_threads(1)
    rows = [("CPU milliseconds, medians", "gcbr", "reference", "ratio", "target")]
    rows += [row.cells for benchmark in BENCHMARKS for row in benchmark()]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        print(
            first.ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)),
            sep="  ",
        )


if __name__ == "__main__":
    main()
