"""How much a node has to say in what two graph convolutions make of another.

With the weights left out, node u ends up as a mean over where two random steps from u lead, staying being one
of the steps: P^2 with P = D^-1 (A + I). Its entry (u, v) is the influence of v on u, and each row sums to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from gcbr.engine.matrix import Csr
from gcbr.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Through a node of more neighbors a path of two steps carries less than a thousandth. Without those paths
# the square of a graph with hubs stays sparse.
_HUB = 1000
_BLOCK = 4096  # rows of P^2 made at once
_ROUNDING = 1e-5  # equal influences may differ by this much of themselves


def influence_on(graph: Graph, weights: Tensor) -> Tensor:
    """The influence of each node on all nodes, each of these counted by its weight; all are [num_nodes]."""
    # P = D^-1/2 A_hat D^1/2 and A_hat is symmetric: two steps are two products with it, either way.
    scale = _degree_with_loop(graph).sqrt()
    return scale * _two_products(graph, weights / scale)


def influence_of(graph: Graph, weights: Tensor) -> Tensor:
    """The influence on each node of all nodes, each of these counted by its weight; all are [num_nodes]."""
    scale = _degree_with_loop(graph).sqrt()
    return _two_products(graph, weights * scale) / scale


def strongest_influence(graph: Graph) -> Csr:
    """A 1 at (u, u), and at (u, v) where nobody's influence on u is stronger than v's.

    Without edge weights nobody's is stronger than u's own, which is matched by those who have all of u's
    neighbors for neighbors: a hub for its leaves, the members of a clique for each other.
    """
    first, second = _steps(graph)
    everyone = torch.arange(graph.num_nodes, device="cpu")  # where SciPy multiplies
    rows, columns = [everyone], [everyone]
    for start in range(0, graph.num_nodes, _BLOCK):
        block = (first[start : start + _BLOCK] @ second).tocoo()
        row, column = (torch.from_numpy(ends.astype(np.int64)) for ends in block.coords)
        influence = torch.from_numpy(block.data)
        strongest = influence.new_zeros(block.shape[0]).scatter_reduce(0, row, influence, "amax")
        kept = (influence >= (1 - _ROUNDING) * strongest[row]) & (row + start != column)
        rows.append(row[kept] + start)
        columns.append(column[kept])
    row, column = (torch.cat(ends).to(graph.device) for ends in (rows, columns))
    ones = torch.ones(len(row), device=graph.device)
    return Csr.from_entries(row, column, ones, graph.adjacency.shape)


def _two_products(graph: Graph, weights: Tensor) -> Tensor:
    return graph.propagation.matmul(graph.propagation.matmul(weights.unsqueeze(1))).squeeze(1)


def _degree_with_loop(graph: Graph) -> Tensor:
    """Row sums of A + I."""
    return 1 + graph.adjacency.matmul(torch.ones(graph.num_nodes, 1, device=graph.device)).squeeze(1)


def _steps(graph: Graph) -> tuple[csr_array, csr_array]:
    """P and P again, without the steps that leave a hub in the second."""
    from scipy.sparse import csr_array, diags_array

    adjacency = graph.adjacency
    parts = tuple(part.cpu().numpy() for part in (adjacency.values, adjacency.indices, adjacency.indptr))
    stay = 1 / _degree_with_loop(graph).cpu().numpy()
    first = csr_array(diags_array(stay) @ csr_array(parts, adjacency.shape) + diags_array(stay))
    passes_on = (graph.degree <= _HUB).cpu().numpy().astype(stay.dtype)
    second = csr_array(diags_array(passes_on) @ first)
    second.eliminate_zeros()
    return first, second
