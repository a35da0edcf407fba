"""k-means with a generator of its own: the same points and seed give the same centers, to the last bit.

scikit-learn's adds up its threads' partial sums in the order they finish, so it cannot promise that.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gcbr import seeding

_BLOCK = 16_384  # rows whose distances to the centers are held at once
_ROUNDS = 50
_TOLERANCE = 1e-4  # of the variance: centers that move less have arrived
_ROUNDING = 1e-6  # of the largest squared norm: rows that are closer are the same row


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
    """Starting centers far apart: greedy k-means++, the best of a few draws by squared distance each time."""
    norms = points.square().sum(1)
    same = _ROUNDING * float(norms.max())
    chosen = [seeding.integer(len(points), rng)]
    squared = _squared_distances(points, norms, chosen, same).squeeze(1)  # to the nearest center so far
    while len(chosen) < k and float(squared.max()) > 0:
        drawn = _draw(squared, 2 + int(math.log(k)), rng)
        left = torch.minimum(squared.unsqueeze(1), _squared_distances(points, norms, drawn, same))
        best = int(left.sum(0).argmin())
        chosen.append(drawn[best])
        squared = left[:, best]
    return points[chosen]


def _squared_distances(points: Tensor, norms: Tensor, chosen: list[int], same: float) -> Tensor:
    """[rows, chosen]; what is within rounding of 0 is 0, so that equal rows are seen to be equal."""
    squared = torch.addmm(norms[chosen], points, points[chosen].T, alpha=-2).add_(norms.unsqueeze(1))
    return squared.masked_fill_(squared <= same, 0)


def _draw(weights: Tensor, num_drawn: int, rng: torch.Generator) -> list[int]:
    """Rows in proportion to their weight, with replacement; unlike `multinomial`, out of any number."""
    reached = weights.double().cumsum(0)
    shares = torch.rand(num_drawn, generator=rng, dtype=torch.float64, device=rng.device)
    marks = shares.to(reached.device) * reached[-1]
    # A mark may round up to the total itself; the last row of any weight is where the total is reached.
    last = int(torch.searchsorted(reached, reached[-1]))
    drawn: list[int] = torch.searchsorted(reached, marks, right=True).clamp(max=last).tolist()
    return drawn


def _means(points: Tensor, nearest: Tensor, centers: Tensor) -> Tensor:
    """The mean of each center's rows; a center without rows stays where it is."""
    sums = torch.zeros_like(centers).index_add_(0, nearest, points)
    counts = torch.bincount(nearest, minlength=len(centers)).unsqueeze(1)
    return torch.where(counts > 0, sums / counts.clamp(min=1), centers)
