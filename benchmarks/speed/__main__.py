"""Run every measurement and print one table: `python -m benchmarks.speed`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median

import torch
from torch import Tensor

from benchmarks.speed.reference import Reference
from gcbr.datasets import load_dataset
from gcbr.engine.gcn import BatchedGCN, GCNConfig
from gcbr.engine.matrix import Csr
from gcbr.engine.memory import keep_freed_memory
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
    """A training step and a prediction of all nodes, E = 5, as labels come in one by one up to 35.

    The two take turns by whole rounds, so that a busy machine is busy for both.
    """
    dataset = cora()
    graph = dataset.graph
    ours, theirs = Times(), Times()
    for turn in range(ROUNDS):
        rng = generator(turn)
        network = BatchedGCN(graph.propagation, graph.x, dataset.num_classes, GCNConfig(), rng, EPISODES)
        reference = Reference(graph, network)
        torch.testing.assert_close(network.predict().probabilities, reference.predict(), atol=1e-5, rtol=0)
        order = torch.stack([torch.randperm(graph.num_nodes, generator=rng) for _ in range(EPISODES)])
        ours.measure(network, order[:, :NUM_LABELS], dataset.y)
        theirs.measure(reference, order[:, :NUM_LABELS], dataset.y)
    name = f"{graph.name}, {EPISODES} networks"
    yield Row(f"{name}: training step", median(ours.step), median(theirs.step))
    yield Row(f"{name}: prediction of all nodes", median(ours.predict), median(theirs.predict))
    yield Row(f"{name}: step and prediction", median(ours.both), median(theirs.both), target=30)


@dataclass(frozen=True)
class Times:
    """CPU-seconds of each training step and of the prediction after it."""

    step: list[float] = field(default_factory=list)
    predict: list[float] = field(default_factory=list)

    @property
    def both(self) -> list[float]:
        return [sum(pair) for pair in zip(self.step, self.predict, strict=True)]

    def measure(self, networks: BatchedGCN | Reference, nodes: Tensor, y: Tensor) -> None:
        """One round: label after label, of each network its own."""
        for num_labels in range(1, nodes.shape[1] + 1):
            labeled = nodes[:, :num_labels]
            self.step.append(cpu_seconds(partial(networks.step, labeled, y[labeled])))
            self.predict.append(cpu_seconds(networks.predict))


def cora() -> Dataset:
    try:
        return load_dataset("cora")
    except InputError as problem:
        print(f"{problem}\nMeasuring on a synthetic graph of Cora's size instead.", file=sys.stderr)
        return like_cora()


def like_cora() -> Dataset:
    """Cora's counts of nodes, edges, classes and words, 18 words a node, all at random."""
    dataset = load_dataset("synthetic:nodes=2708,classes=7,degree=4")
    nodes = torch.arange(2708).repeat_interleave(18)
    words = torch.randint(1433, nodes.shape, generator=generator(0))
    x = Csr.from_entries(nodes, words, torch.ones(len(nodes)), (2708, 1433))
    return replace(dataset, graph=replace(dataset.graph, name="synthetic", x=x))


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


BENCHMARKS: tuple[Callable[[], Iterator[Row]], ...] = (classifier,)


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    rows: list[tuple[str, ...]] = [("CPU milliseconds, medians", "gcbr", "reference", "ratio", "target")]
    rows += [row.cells for benchmark in BENCHMARKS for row in benchmark()]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for work, *figures in rows:
        cells = [figure.rjust(width) for figure, width in zip(figures, widths[1:], strict=True)]
        print("  ".join([work.ljust(widths[0]), *cells]).rstrip())


if __name__ == "__main__":
    main()
