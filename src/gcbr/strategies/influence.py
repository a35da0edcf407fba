"""How much a node has to say in what two graph convolutions make of another.

With the weights left out, node u ends up as a mean over the ends of two random steps from u, where staying
is one of the steps: P^2 with P = D^-1 (A + I). Its entry (u, v) is the influence of v on u; each row sums to 1.
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

# Where more neighbors meet, each two-step path through the node carries less than a thousandth. Leaving
# those paths out keeps the square of a graph with hubs sparse.
_HUB = 1000
_BLOCK = 4096  # rows of P^2 made at once
_ROUNDING = 1e-6  # equal influences stay equal


def total_influence(graph: Graph, weights: Tensor) -> Tensor:
    """The influence of each node on all others, these weighed by `weights`, [num_nodes]."""
    # P' = D^1/2 A_hat D^-1/2, so two steps back are two products with A_hat.
    scale = _degree_with_loop(graph).sqrt()
    reached = graph.propagation.matmul(graph.propagation.matmul((weights / scale).unsqueeze(1)))
    return reached.squeeze(1) * scale


def received_influence(graph: Graph, nodes: Tensor) -> Tensor:
    """The influence of all of `nodes` together on each node, at most 1."""
    scale = _degree_with_loop(graph).sqrt()
    marked = torch.zeros(graph.num_nodes)
    marked[nodes] = scale[nodes]
    received = graph.propagation.matmul(graph.propagation.matmul(marked.unsqueeze(1)))
    return received.squeeze(1) / scale


def reached_within_two_steps(graph: Graph, nodes: Tensor) -> Tensor:
    """Whether each node is among `nodes`, next to one of them, or next to such a neighbor."""
    marked = torch.zeros(graph.num_nodes, 1)
    marked[nodes] = 1
    return graph.propagation.matmul(graph.propagation.matmul(marked)).squeeze(1) > 0


def strong_influence(graph: Graph, least: float) -> Csr:
    """A 1 at (u, v) where v's influence on u is at least this share of the strongest influence on u."""
    first, second = _steps(graph)
    rows, columns = [], []
    for start in range(0, graph.num_nodes, _BLOCK):
        block = (first[start : start + _BLOCK] @ second).tocoo()
        row, column = (torch.from_numpy(ends.astype(np.int64)) for ends in block.coords)
        influence = torch.from_numpy(block.data)
        strongest = torch.zeros(block.shape[0]).scatter_reduce(0, row, influence, "amax")
        kept = influence >= (least - _ROUNDING) * strongest[row]
        rows.append(row[kept] + start)
        columns.append(column[kept])
    entries = torch.cat(rows), torch.cat(columns)
    return Csr.from_entries(*entries, torch.ones(len(entries[0])), graph.adjacency.shape)


def _steps(graph: Graph) -> tuple[csr_array, csr_array]:
    """P twice; hubs keep only their loops in the second."""
    from scipy.sparse import csr_array, diags_array

    adjacency = graph.adjacency
    parts = tuple(part.numpy() for part in (adjacency.values, adjacency.indices, adjacency.indptr))
    stay = 1 / _degree_with_loop(graph).numpy()
    is_hub = graph.degree.numpy() > _HUB
    first = diags_array(stay) @ csr_array(parts, adjacency.shape) + diags_array(stay)
    second = diags_array(np.where(is_hub, 0, 1).astype(np.float32)) @ first + diags_array(stay * is_hub)
    return first.tocsr(), second.tocsr()


def _degree_with_loop(graph: Graph) -> Tensor:
    """Row sums of A + I."""
    return 1 + graph.adjacency.matmul(torch.ones(graph.num_nodes, 1)).squeeze(1)
