"""Grain, ball-D (Zhang, Yang et al. 2021).

"Grain: Improving Data Efficiency of Graph Neural Networks via Diversified Influence Maximization" wants
labels that reach many nodes, and nodes of many kinds. Our reading: a label activates the nodes on which
nobody has more influence, and an activated node covers a ball: the nodes whose propagated features point in
nearly the same direction. The next label adds most to the share of nodes activated plus the share covered.

Not the influence itself has to pass a threshold, as in the paper: among many neighbors none would pass it.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from gcbr.engine.matrix import Csr
from gcbr.graph import Graph
from gcbr.strategies.choice import highest
from gcbr.strategies.influence import strongest_influence
from gcbr.strategies.propagated import propagated_features
from gcbr.view import View

BALLS_NEEDED = 2.0  # times the budget: balls that would cover the graph if none overlapped; sets their size
_REFERENCES = 4096  # nodes at which coverage is measured: all of a small graph, a sample of a large one
_SAMPLE = 1024  # references that the size of a ball is measured on
_BLOCK = 256  # references compared with every node at once
_ROUNDING = 1e-6  # a node may not fall out of its own ball


class Grain:
    """The most nodes newly activated, and newly covered by balls around activated ones."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self._graph = graph
        self._budget = budget
        self._rng = rng

    def select(self, view: View) -> int:
        taken = torch.zeros(self._graph.num_nodes, 1, device=self._graph.device)
        taken[view.taken] = 1
        return highest(
            view, newly_reached(self._activated_by, taken) + newly_reached(self._covered_by, taken)
        )

    # Neither is made in the constructor: replaying answers builds strategies that are never asked.

    @cached_property
    def _activated_by(self) -> Csr:
        """[num_nodes, num_nodes]: a 1 where a label at the column's node would activate the row's."""
        return strongest_influence(self._graph)

    @cached_property
    def _covered_by(self) -> Csr:
        """[references, num_nodes]: a 1 where a label at the column's node would cover the row's."""
        directions = torch.nn.functional.normalize(propagated_features(self._graph, self._rng))
        order = torch.randperm(len(directions), generator=self._rng, device=self._rng.device)
        references = directions[order[:_REFERENCES].to(directions.device)]
        least = ball_similarity(references[:_SAMPLE], 1 / (BALLS_NEEDED * self._budget))
        return covered_by(directions, references, self._activated_by, least)


def newly_reached(reached_by: Csr, taken: Tensor) -> Tensor:
    """The share of rows that each column would reach and no taken one does. `taken` is [columns, 1]."""
    is_new = (reached_by.matmul(taken) == 0).float()
    return reached_by.transposed_matmul(is_new).squeeze(1) / len(is_new)


def ball_similarity(directions: Tensor, share: float) -> float:
    """The cosine at the edge of a ball that holds this share of the rows on average, its center included."""
    cosines = (directions @ directions.T).flatten()
    rank = max(len(directions), round(share * len(cosines)))
    return float(cosines.topk(rank).values[-1]) - _ROUNDING


def covered_by(directions: Tensor, references: Tensor, activated_by: Csr, least: float) -> Csr:
    """A 1 at (reference, node) where the node activates one whose ball the reference is in."""
    rows, columns = [], []
    for start in range(0, len(references), _BLOCK):
        is_near = directions @ references[start : start + _BLOCK].T >= least  # [num_nodes, block]
        node, reference = activated_by.transposed_matmul(is_near.float()).nonzero(as_tuple=True)
        rows.append(reference + start)
        columns.append(node)
    entries = torch.cat(rows), torch.cat(columns)
    ones = torch.ones(len(entries[0]), device=directions.device)
    return Csr.from_entries(*entries, ones, (len(references), len(directions)))
