"""The three criteria that AGE weighs and ANRMAB plays against each other."""

from __future__ import annotations

import torch
from torch import Tensor

from gcbr import scores
from gcbr.graph import Graph
from gcbr.strategies.kmeans import kmeans
from gcbr.view import View

CRITERIA = ("entropy", "density", "centrality")


class Criteria:
    """Each criterion as the percentile of a node among all nodes."""

    def __init__(self, graph: Graph) -> None:
        self._centrality = scores.percentile(scores.pagerank(graph.adjacency))

    def __call__(self, view: View) -> Tensor:
        """[3, num_nodes], in the order of `CRITERIA`. Draws from `view.rng` first."""
        probabilities = view.prediction.probabilities
        centers = kmeans(probabilities, view.num_classes, view.rng)
        return torch.stack(
            [
                scores.percentile(scores.entropy(probabilities)),
                scores.percentile(scores.density(probabilities, centers)),
                self._centrality,
            ]
        )
