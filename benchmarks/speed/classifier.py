"""The classifier alone: a training step and a prediction of all nodes, E = 5, beside plain PyG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from statistics import median

import torch
from torch import Tensor

from benchmarks.speed.reference import Reference
from benchmarks.speed.timing import Row, cpu_seconds
from gcbr.engine.gcn import BatchedGCN, GCNConfig
from gcbr.graph import Dataset
from gcbr.seeding import generator

EPISODES = 5
NUM_LABELS = 35
ROUNDS = 3


def classifier(dataset: Dataset) -> Iterator[Row]:
    """Labels come in one by one up to 35.

    The two take turns by whole rounds, so that a busy machine is busy for both.
    """
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
    yield Row(f"{name}: step and prediction", median(ours.both), median(theirs.both), target="30x")


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
