"""Per-node scores, each a pure function. Probabilities are [..., nodes, classes]; a score is [..., nodes]."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gcbr.engine.mapped import StoredAdjacency
from gcbr.engine.matrix import Csr

_DAMPING = 0.85  # of PageRank
_TOLERANCE = 1e-9  # of its sum: ranks that move less have arrived
_FULL_SHARE = 5  # labels of a class in a game of the paper's training, 35 in seven classes
_BLOCK = 16_384  # nodes whose distances to the labeled set are held at once
_EXACT = "donot_use_mm_for_euclid_dist"  # early predictions differ by less than a product's rounding


def pagerank(adjacency: Csr) -> Tensor:
    """The paper's Eq. 2, by power iteration; a node without edges hands its share to all. Sums to 1."""
    if isinstance(adjacency, StoredAdjacency):
        return adjacency.pagerank
    from scipy.sparse import csr_array

    num_nodes = adjacency.shape[0]
    parts = tuple(part.cpu().numpy() for part in (adjacency.values, adjacency.indices, adjacency.indptr))
    edges = csr_array(parts, adjacency.shape)  # with a single column twice as fast as an embedding bag
    weight = torch.zeros(num_nodes, dtype=torch.float64, device="cpu")
    weight.index_add_(0, adjacency.row_of_entry.cpu(), adjacency.values.cpu().double())
    isolated = (weight == 0).nonzero().flatten()
    weight[isolated] = 1
    ranks = torch.full_like(weight, 1 / num_nodes)
    for _ in range(200):
        shares = (ranks / weight).float().numpy()
        received = torch.from_numpy(edges @ shares).double() + ranks[isolated].sum() / num_nodes
        updated = _DAMPING * received + (1 - _DAMPING) / num_nodes
        if (updated - ranks).abs().sum() < _TOLERANCE:
            break
        ranks = updated
    return (updated / updated.sum()).float().to(adjacency.values.device)


def percentile(values: Tensor) -> Tensor:
    """The share of nodes with a smaller value, ties counted half: in (0, 1), mean 1/2."""
    ordered = values.sort(-1).values
    below = torch.searchsorted(ordered, values.contiguous())
    up_to = torch.searchsorted(ordered, values.contiguous(), right=True)
    return (below + up_to) / (2 * values.shape[-1])


def percentile_of(values: Tensor, node: int) -> Tensor:
    """`percentile` of one node, without sorting: [..., nodes] to [...]."""
    own = values[..., node : node + 1]
    below, up_to = (values < own).sum(-1), (values <= own).sum(-1)
    return (below + up_to) / (2 * values.shape[-1])


def entropy(probabilities: Tensor) -> Tensor:
    """The paper's Eq. 3: 0 when certain, 1 when uniform; 1 as well while fewer than two classes are known."""
    num_classes = probabilities.shape[-1]
    if num_classes < 2:
        return torch.ones_like(probabilities[..., 0])
    # The logarithm of the smallest normal number keeps 0 log 0 at 0, twice as fast as `entr`.
    logs = probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()
    return (probabilities * logs).sum(-1) / -math.log(num_classes)


def margin(probabilities: Tensor) -> Tensor:
    """1 minus the lead of the likeliest class over the next: 1 at a tie, 0 when certain.

    1 as well while fewer than two classes are known.
    """
    if probabilities.shape[-1] < 2:
        return torch.ones_like(probabilities[..., 0])
    first, second = probabilities.topk(2, dim=-1).values.unbind(-1)
    return 1 - (first - second)


def density(points: Tensor, centers: Tensor) -> Tensor:
    """AGE's: 1 / (1 + distance to the nearest center), in (0, 1]. `points` and `centers` are [rows, k]."""
    nearest = torch.cat(
        [torch.cdist(block, centers, compute_mode=_EXACT).amin(-1) for block in torch.split(points, _BLOCK)]
    )
    return 1 / (1 + nearest)


def class_diversity(probabilities: Tensor, counts: Tensor) -> Tensor:
    """The paper's Eq. 4: the probability of each class weighed by 1 / max(1, labels it has)."""
    need = 1 / counts.clamp(min=1)  # [..., classes]
    return (probabilities * need.unsqueeze(-2)).sum(-1)


def relative_class_diversity(probabilities: Tensor, counts: Tensor) -> Tensor:
    """Eq. 4 as a share of what a node surely of the rarest class has: in (0, 1], however many labels."""
    fewest = counts.clamp(min=1).amin(-1, keepdim=True)
    return class_diversity(probabilities, counts) * fewest


def paced(counts: Tensor, budget: int) -> Tensor:
    """Labels of each class as they count towards class diversity where its share of the budget is large.

    The first label counts as it is, and the one that fills the share B / m as the fifth: a game of the
    paper's training ends there. Where the share is five or less, every label counts as it is.
    """
    share = budget / counts.shape[-1]
    pace = (_FULL_SHARE - 1) / (max(share, _FULL_SHARE) - 1)
    return counts.clamp(max=1) + (counts - 1).clamp(min=0) * pace


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
    nearest = torch.cat([_nearest(block, anchors) for block in torch.split(criteria, _BLOCK, dim=-2)], dim=-1)
    return nearest.scatter(-1, labeled, 0.0)  # rounding would leave a labeled node a little off itself


def _nearest(criteria: Tensor, anchors: Tensor) -> Tensor:
    """|a - b|^2 = |a|^2 + |b|^2 - 2 ab, least over the anchors: one thin product, no table of differences."""
    squared = torch.matmul(anchors * -2, criteria.mT).add_(anchors.square().sum(-1, keepdim=True))
    return (squared.amin(-2) + criteria.square().sum(-1)).clamp(min=0).sqrt()
