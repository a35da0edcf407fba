"""FeatProp (Wu et al. 2019, "Active Learning for Graph Neural Networks via Node Feature Propagation").

As many clusters of the propagated features as there are labels to be had, and the most central node of each.
It reads no prediction: the whole choice is made before the first answer.
"""

from __future__ import annotations

from functools import cached_property

import torch

from gcbr.graph import Graph
from gcbr.strategies.by_cluster import ClusterRepresentatives
from gcbr.strategies.propagated import propagated_features
from gcbr.view import View


class FeatProp:
    """The node nearest the center of each of `budget` clusters of A_hat^2 X."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self._graph = graph
        self._budget = budget
        self._rng = rng

    def select(self, view: View) -> int:
        return self._representatives.next(view)

    @cached_property
    def _representatives(self) -> ClusterRepresentatives:
        # Not in the constructor: replaying answers builds strategies that are never asked.
        points = propagated_features(self._graph, self._rng)
        everyone = torch.arange(self._graph.num_nodes, device=points.device)
        return ClusterRepresentatives(points, [everyone], [self._budget], self._rng)
