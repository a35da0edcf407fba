"""Which of the candidates a policy chooses among: all of them, or fewer, in training as in use."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gcbr import scores
from gcbr.engine.matrix import Csr


@dataclass(frozen=True)
class ActionSpace:
    """Two ways to make the choice smaller, both ALLIE's (our reading of it: the paper has no public code)."""

    one_per_class: bool = False  # the least certain candidate of each predicted class, and no other
    coarse: bool = False  # one node of each neighborhood, for large graphs


def choices(
    is_candidate: Tensor, probabilities: Tensor, representatives: Tensor | None, space: ActionSpace
) -> Tensor:
    """Whether each node may be chosen: [E, nodes], never fewer than one in a row that has a candidate.

    `representatives`, [nodes], is needed for a coarse space alone.
    """
    if space.coarse:
        assert representatives is not None
        is_candidate = _unless_empty(is_candidate & representatives, is_candidate)
    return least_certain_of_each_class(is_candidate, probabilities) if space.one_per_class else is_candidate


def least_certain_of_each_class(is_candidate: Tensor, probabilities: Tensor) -> Tensor:
    """The candidates whose entropy is the highest among those predicted in the same class.

    Equals stay together: before the first answer all are equal, and the choice is open.
    """
    entropy = scores.entropy(probabilities).masked_fill(~is_candidate, -1.0)
    predicted = probabilities.argmax(-1)
    highest = entropy.new_full(probabilities[:, 0].shape, -1.0)  # [E, classes]
    highest.scatter_reduce_(1, predicted, entropy, "amax")
    return is_candidate & (entropy == highest.gather(1, predicted))


def representatives(adjacency: Csr) -> Tensor:
    """One node of each neighborhood, [nodes]: no two are neighbors, and every other node is next to one.

    The nodes with more neighbors go first, of equals the first. This is one level of coarsening: each
    node that stays stands for those around it.
    """
    num_nodes = adjacency.shape[0]
    order = torch.argsort(adjacency.row_lengths, stable=True, descending=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(num_nodes, 0, -1, device=order.device)  # unique, the highest goes first
    rows, columns = adjacency.row_of_entry, adjacency.indices.long()
    stays = torch.zeros_like(order, dtype=torch.bool)
    is_open = torch.ones_like(order, dtype=torch.bool)
    while is_open.any():
        around = _most_around((rank * is_open)[columns], rows, num_nodes)
        is_first = is_open & (rank > around)
        stays |= is_first
        is_open &= ~is_first & (_most_around(is_first[columns].long(), rows, num_nodes) == 0)
    return stays


def _most_around(values: Tensor, rows: Tensor, num_nodes: int) -> Tensor:
    """The largest value among each node's neighbors, 0 without any."""
    return values.new_zeros(num_nodes).scatter_reduce_(0, rows, values, "amax")


def _unless_empty(narrowed: Tensor, otherwise: Tensor) -> Tensor:
    return torch.where(narrowed.any(-1, keepdim=True), narrowed, otherwise)
