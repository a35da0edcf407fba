"""Per-node scores, each a pure function. Probabilities are [..., nodes, classes]; a score is [..., nodes]."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gcbr.engine.matrix import Csr

_BLOCK = 16_384  # nodes whose distances to the labeled set are held at once


def pagerank(adjacency: Csr, damping: float = 0.85, tolerance: float = 1e-9) -> Tensor:
    """The paper's Eq. 2, by power iteration; a node without edges hands its share to all. Sums to 1."""
    num_nodes = adjacency.shape[0]
    weight = torch.zeros(num_nodes, dtype=torch.float64)
    weight.index_add_(0, adjacency.row_of_entry, adjacency.values.double())
    is_isolated = weight == 0
    ranks = torch.full((num_nodes,), 1 / num_nodes, dtype=torch.float64)
    for _ in range(200):
        shares = (ranks / weight.masked_fill(is_isolated, 1)).float().unsqueeze(1)
        received = adjacency.matmul(shares).squeeze(1).double() + ranks[is_isolated].sum() / num_nodes
        updated = damping * received + (1 - damping) / num_nodes
        if (updated - ranks).abs().sum() < tolerance:
            break
        ranks = updated
    return (updated / updated.sum()).float()


def percentile(values: Tensor) -> Tensor:
    """The share of nodes with a smaller value, ties counted half: in (0, 1), mean 1/2."""
    ordered = values.sort(-1).values
    below = torch.searchsorted(ordered, values.contiguous())
    up_to = torch.searchsorted(ordered, values.contiguous(), right=True)
    return (below + up_to) / (2 * values.shape[-1])


def entropy(probabilities: Tensor) -> Tensor:
    """The paper's Eq. 3: 0 when certain, 1 when uniform; 1 as well while fewer than two classes are known."""
    num_classes = probabilities.shape[-1]
    if num_classes < 2:
        return torch.ones_like(probabilities[..., 0])
    # The logarithm of the smallest normal number keeps 0 log 0 at 0, twice as fast as `entr`.
    logs = probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()
    return (probabilities * logs).sum(-1) / -math.log(num_classes)


def class_diversity(probabilities: Tensor, counts: Tensor) -> Tensor:
    """The paper's Eq. 4: the probability of each class weighed by 1 / max(1, labels it has)."""
    need = 1 / counts.clamp(min=1)  # [..., classes]
    return (probabilities * need.unsqueeze(-2)).sum(-1)


def is_majority(counts: Tensor, budget: int) -> Tensor:
    """Whether each class already has its share B / m of the budget."""
    return counts >= budget / counts.shape[-1]


def majority_score(probabilities: Tensor, counts: Tensor, budget: int) -> Tensor:
    """The paper's Eq. 17: the probability that the node belongs to a class that has its share already."""
    return (probabilities * is_majority(counts, budget).unsqueeze(-2)).sum(-1)


def distance_to_nearest(criteria: Tensor, labeled: Tensor) -> Tensor:
    """The paper's Eq. 6: Euclidean distance from each row to the nearest labeled row; 0 with none labeled.

    `criteria` is [..., nodes, k] and `labeled`, node ids, is [..., labels].
    """
    if labeled.shape[-1] == 0:
        return torch.zeros_like(criteria[..., 0])
    anchors = criteria.gather(-2, labeled.unsqueeze(-1).expand(*labeled.shape, criteria.shape[-1]))
    return torch.cat([_nearest(block, anchors) for block in criteria.split(_BLOCK, dim=-2)], dim=-1)


def _nearest(criteria: Tensor, anchors: Tensor) -> Tensor:
    """Distances summed column by column: exact (no cancellation), and fast for a handful of columns."""
    squared = torch.zeros((), device=criteria.device)
    for column in range(criteria.shape[-1]):
        squared = squared + (criteria[..., None, :, column] - anchors[..., :, None, column]).square_()
    return squared.amin(-2).sqrt()
