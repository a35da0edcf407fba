"""How far each prediction is from those of the node's neighbors: two columns of GPA's state."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gcbr.engine.matrix import Csr

_LEAST = 1e-9  # a divergence below this is rounding, and is not blown up to 1


def mean_over_neighbors(adjacency: Csr) -> Csr:
    """The matrix that takes the plain mean over each node's neighbors, whatever the weights of the edges."""
    shares = 1 / adjacency.row_lengths.double()
    return replace(adjacency, values=shares[adjacency.row_of_entry])


def divergences(probabilities: Tensor, neighbors: Csr) -> tuple[Tensor, Tensor]:
    """The means over v's neighbors u of KL(p_v || p_u) and of KL(p_u || p_v); 0 for a node without any.

    [E, nodes, classes] gives [E, nodes] each, at the cost of two sparse products: the mean over u of
    sum p_v log(p_v / p_u) is sum p_v (log p_v - mean log p_u). In double precision: predictions that are
    nearly the same differ in their divergence by less than a float's rounding.
    """
    guesses = probabilities.transpose(0, 1).double()  # [nodes, E, classes]
    guesses = guesses / guesses.sum(-1, keepdim=True)
    logs = guesses.clamp(min=torch.finfo(torch.float32).tiny).log()
    negative_entropy = (guesses * logs).sum(-1)

    def mean(values: Tensor) -> Tensor:
        return neighbors.matmul(values.flatten(1)).view_as(values)

    own = (neighbors.row_lengths > 0).unsqueeze(-1) * negative_entropy
    others = neighbors.matmul(negative_entropy)
    of_node = own - (guesses * mean(logs)).sum(-1)
    of_neighbors = others - (mean(guesses) * logs).sum(-1)
    return of_node.T.clamp(min=0), of_neighbors.T.clamp(min=0)


def share_of_largest(values: Tensor) -> Tensor:
    """Divided by the largest of the graph, so in [0, 1]: [E, nodes], as a column is read."""
    return (values / values.amax(-1, keepdim=True).clamp(min=_LEAST)).float()
