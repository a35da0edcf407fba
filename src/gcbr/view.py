"""What a strategy is shown when it chooses, and what a strategy is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from gcbr.engine.gcn import Prediction
from gcbr.graph import Graph, Labels


@dataclass(frozen=True, eq=False)
class View:
    """What is known at the moment of choosing. It never holds an answer that nobody has given."""

    graph: Graph
    labels: Labels
    candidates: Tensor  # [num_candidates] long, ascending, never empty
    prediction: Prediction  # probabilities [num_nodes, num_classes], embeddings [num_nodes, hidden]
    counts: Tensor  # [num_classes] float: labels per class, expected ones of pending nodes included
    pending: tuple[int, ...]  # nodes chosen for the batch under way, not answered yet
    budget: int  # labels to be had in all, those given included
    rng: torch.Generator  # fresh for this choice: the same however often it is asked again

    @property
    def num_classes(self) -> int:
        return len(self.counts)

    @property
    def taken(self) -> Tensor:
        """Nodes labeled, then those pending, [num_taken] long."""
        return torch.tensor([*self.labels.nodes, *self.pending], dtype=torch.long, device=self.graph.device)


class Strategy(Protocol):
    """Chooses one node at a time.

    A strategy is built for one run. What it remembers may depend on the graph and on the answers, never
    on how often it was asked: a strategy that learns from answers has `observe` as well (see `Observer`).
    """

    def select(self, view: View) -> int:
        """Choose one of `view.candidates`."""


@runtime_checkable
class Observer(Protocol):
    """A strategy that learns from the answers themselves."""

    def observe(self, view: View, node: int, cls: int) -> None:
        """Called for each answer with the view before it, whether or not the node was asked for."""


StrategyFactory = Callable[[Graph, int, torch.Generator], Strategy]  # graph, budget, rng of the set-up
