"""One node of each cluster, the nearest to its center: what FeatProp and GraphPart share."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gcbr.strategies.kmeans import kmeans, nearest_center
from gcbr.view import View


class ClusterRepresentatives:
    """Clusters of all nodes, made once; the largest is asked about first.

    A choice looks only at what is labeled and what can be asked: a skipped node is replaced by the next
    nearest to its center, and a label given unasked spares its cluster a question.
    """

    def __init__(
        self, points: Tensor, parts: Sequence[Tensor], sizes: Sequence[int], rng: torch.Generator
    ) -> None:
        """Cut each part, some nodes, into as many clusters as `sizes` says; parts cover all nodes once."""
        self._cluster = torch.zeros(len(points), dtype=torch.long, device=points.device)  # of each node
        self._distance = points.new_zeros(len(points))  # to the center of its cluster
        num_clusters = 0
        for nodes, size in zip(parts, sizes, strict=True):
            inside = points[nodes]
            centers = kmeans(inside, size, rng)
            nearest = nearest_center(inside, centers)
            self._cluster[nodes] = num_clusters + nearest
            self._distance[nodes] = (inside - centers[nearest]).norm(dim=1)
            num_clusters += len(centers)
        self._size = torch.bincount(self._cluster, minlength=num_clusters)

    def next(self, view: View) -> int:
        """The candidate nearest its center in the largest cluster asked least so far."""
        num_taken = torch.bincount(self._cluster[view.taken], minlength=len(self._size))
        open_clusters = torch.unique(self._cluster[view.candidates])
        # Labels first, then size: a size is at most the number of nodes.
        rank = num_taken[open_clusters] * (len(self._cluster) + 1) - self._size[open_clusters]
        inside = view.candidates[self._cluster[view.candidates] == open_clusters[rank.argmin()]]
        return int(inside[self._distance[inside].argmin()])
