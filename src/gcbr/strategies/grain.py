"""Grain, ball-D (Zhang et al. 2021, "Grain: Improving Data Efficiency of Graph Neural Networks via Diversified
Influence Maximization").

Labels should reach many nodes, and nodes of many kinds. Our reading: a node activates those it has strong
influence on; an activated node covers the ball of nodes whose propagated features point in nearly the same
direction. The next label is the one that adds most to the share of nodes activated plus the share covered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gcbr.engine.matrix import Csr
from gcbr.graph import Graph
from gcbr.strategies.choice import highest
from gcbr.strategies.influence import strong_influence
from gcbr.strategies.propagated import propagated_features
from gcbr.view import View

STRONG = 0.25  # share of the strongest influence on a node that activates it
_REFERENCES = 4096  # nodes at which coverage is measured: all of a small graph, a sample of a large one
_SAMPLE = 1024  # references that the size of a ball is taken from
_BLOCK = 256  # references compared with every node at once


class Grain:
    """The most nodes newly activated, and newly covered by balls around activated ones."""

    def __init__(
        self, graph: Graph, budget: int, rng: torch.Generator, strong=STRONG, ballsize=1.0, gamma=1.0
    ) -> None:
        self._graph = graph
        self._budget = budget
        self._rng = rng
        self.strong = strong
        self.ballsize = ballsize
        self.gamma = gamma

    def select(self, view: View) -> int:
        taken = torch.zeros(self._graph.num_nodes, 1)
        taken[[*view.labels.nodes, *view.pending]] = 1
        g = self._newly_reached(self._activated_by, taken) + self.gamma * self._newly_reached(
            self._covered_by, taken
        )
        self.last = g[view.candidates].max()
        return highest(view, g)

    def _newly_reached(self, reached_by, taken):
        is_new = (reached_by.matmul(taken) == 0).float()
        return reached_by.transposed_matmul(is_new).squeeze(1) / len(is_new)

    @cached_property
    def _activated_by(self) -> Csr:
        """[num_nodes, num_nodes]: a 1 where the column's node activates the row's."""
        return strong_influence(self._graph, self.strong)

    @cached_property
    def _covered_by(self) -> Csr:
        """[references, num_nodes]: a 1 where a label at the column's node would cover the row's."""
        directions = torch.nn.functional.normalize(propagated_features(self._graph, self._rng))
        references = directions[torch.randperm(len(directions), generator=self._rng)[:_REFERENCES]]
        least = ball_similarity(references[:_SAMPLE], self.ballsize / self._budget)
        rows, columns = [], []
        for start in range(0, len(references), _BLOCK):
            is_near = directions @ references[start : start + _BLOCK].T >= least  # [num_nodes, block]
            column, row = self._activated_by.transposed_matmul(is_near.float()).nonzero(as_tuple=True)
            rows.append(row + start)
            columns.append(column)
        entries = torch.cat(rows), torch.cat(columns)
        return Csr.from_entries(*entries, torch.ones(len(entries[0])), (len(references), len(directions)))


def ball_similarity(directions: Tensor, share: float) -> float:
    """The cosine that bounds a ball: it holds this share of the nodes on average, itself included."""
    similarities = (directions @ directions.T).flatten()
    rank = max(1, round(share * len(similarities)))
    # Rounding must not put a node out of its own ball.
    return float(similarities.topk(rank).values[-1]) - 1e-6
