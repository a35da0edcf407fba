"""Which rows a loss on given nodes depends on, through two rounds of propagation.

E networks learn from E label sets on one graph. The second layer's rows are kept per network, because
each network needs only its own; the first layer is computed on the same rows for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gcbr.engine.matrix import Csr, Matrix, identity

# A restricted field must be gathered and sorted before its first use, which costs about as much as a few
# passes over it; on a field used again only the passes count.
_WORTH_BUILDING_ONCE = 0.2
_WORTH_KEEPING = 0.7

# Nodes share neighbors: as many as this times fewer are reached than edges lead there. Where even so too many
# would be, they are not gathered to be counted.
_SHARED = 3


class ReceptiveField(NamedTuple):
    """The rows of both layers behind E x L labeled nodes, and the matrices that lead there."""

    outer: Csr  # [E * L, P] second layer: from the P hidden rows reached to the labels
    active: Tensor  # [P] those rows among the R of their network
    per_network: list[int]  # how many of them each network has, in order; P in all
    nodes: Tensor | None  # [R] nodes whose hidden rows are computed; None: every node
    inner: Csr  # [R, S] first layer: from S nodes' features to the R hidden rows
    inner_transposed: Csr  # [S, R]
    x: Matrix  # [S, F]


def receptive_field(propagation: Csr, x: Matrix, labeled: Tensor, *, used_again: bool) -> ReceptiveField:
    """The field behind `labeled`, [E, L]; whole where that is cheaper than cutting the graph down."""
    num_nodes = propagation.shape[0]
    outer, node, sizes = _second_layer(propagation, labeled)
    nodes = marked(node, num_nodes)
    worth = _WORTH_KEEPING if used_again else _WORTH_BUILDING_ONCE
    few = worth * num_nodes
    if len(nodes) < few and propagation.row_lengths[nodes].sum() < _SHARED * few:
        hidden = propagation.rows(nodes)
        sources = marked(hidden.indices, num_nodes)
        if len(sources) < few:
            inner = hidden.columns(sources)
            active = torch.searchsorted(nodes, node)
            return ReceptiveField(outer, active, sizes, nodes, inner, inner.transposed, x.rows(sources))
    # The propagation matrix is symmetric: it is its own transpose.
    return ReceptiveField(outer, node, sizes, None, propagation, propagation, x)


def propagated_field(propagation: Csr, propagated: Matrix, labeled: Tensor) -> ReceptiveField:
    """The field behind `labeled` where A_hat X is at hand: the first layer needs no other node's features."""
    outer, node, sizes = _second_layer(propagation, labeled)
    nodes = marked(node, propagation.shape[0])
    inner = identity(len(nodes), like=propagation)
    return ReceptiveField(
        outer, torch.searchsorted(nodes, node), sizes, nodes, inner, inner, propagated.rows(nodes)
    )


def _second_layer(propagation: Csr, labeled: Tensor) -> tuple[Csr, Tensor, list[int]]:
    """From hidden rows to the labels; the node of each such row; how many of them each network has."""
    num_nodes = propagation.shape[0]
    neighbors = propagation.rows(labeled.flatten())
    episode_of_entry = neighbors.row_of_entry // labeled.shape[1]
    reached, column = torch.unique(episode_of_entry * num_nodes + neighbors.indices, return_inverse=True)
    outer = Csr(neighbors.indptr, column.to(neighbors.indices.dtype), neighbors.values, len(reached))
    sizes: list[int] = torch.bincount(reached // num_nodes, minlength=len(labeled)).tolist()
    return outer, reached % num_nodes, sizes


def marked(nodes: Tensor, num_nodes: int) -> Tensor:
    """The distinct nodes in ascending order, without sorting."""
    is_marked = torch.zeros(num_nodes, dtype=torch.bool, device=nodes.device)
    is_marked[nodes.long()] = True
    return is_marked.nonzero().flatten()
