"""k-means with a generator of its own: the same points and seed give the same centers, to the last bit.

scikit-learn's adds up its threads' partial sums in the order they finish, so it cannot promise that.
"""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 16_384  # rows whose distances to the centers are held at once
_ROUNDS = 50
_TOLERANCE = 1e-4  # of the variance: centers that move less have arrived


def kmeans(points: Tensor, k: int, rng: torch.Generator) -> Tensor:
    """At most `k` centers, [k, width], of the rows of `points`: fewer if fewer rows are distinct."""
    origin = points.mean(0)
    points = points - origin  # near 0 the squares below keep their digits
    centers = _spread(points, k, rng)
    tolerance = _TOLERANCE * float(points.square().mean())
    for _ in range(_ROUNDS):
        moved = _means(points, nearest_center(points, centers), centers)
        shift = float((moved - centers).square().sum())
        centers = moved
        if shift <= tolerance:
            break
    return centers + origin


def nearest_center(points: Tensor, centers: Tensor) -> Tensor:
    """The number of the center nearest to each row; of equally near ones the first."""
    # |p - c|^2 less |p|^2, which is the same for every center
    offsets = centers.square().sum(1)
    return torch.cat(
        [torch.addmm(offsets, block, centers.T, alpha=-2).argmin(1) for block in torch.split(points, _BLOCK)]
    )


def _spread(points: Tensor, k: int, rng: torch.Generator) -> Tensor:
    """Starting centers far apart (k-means++): each drawn in proportion to its squared distance so far."""
    chosen = [int(torch.randint(len(points), (1,), generator=rng))]
    squared = (points - points[chosen[0]]).square().sum(1)
    while len(chosen) < k and float(squared.max()) > 0:
        chosen.append(_draw(squared, rng))
        squared = torch.minimum(squared, (points - points[chosen[-1]]).square().sum(1))
    return points[chosen]


def _draw(weights: Tensor, rng: torch.Generator) -> int:
    """A row in proportion to its weight; unlike `multinomial`, of any number of rows."""
    reached = weights.double().cumsum(0)
    mark = torch.rand(1, generator=rng, dtype=torch.float64) * reached[-1]
    # The clamp: the product may round up to the total itself.
    return int(torch.searchsorted(reached, mark, right=True).clamp(max=int(weights.nonzero()[-1])))


def _means(points: Tensor, nearest: Tensor, centers: Tensor) -> Tensor:
    """The mean of each center's rows; a center without rows stays where it is."""
    sums = torch.zeros_like(centers).index_add_(0, nearest, points)
    counts = torch.bincount(nearest, minlength=len(centers)).unsqueeze(1)
    return torch.where(counts > 0, sums / counts.clamp(min=1), centers)
