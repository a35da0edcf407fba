"""AGE (Cai, Zheng, Chang 2017, "Active Learning for Graph Embedding").

A weighed sum of three criteria, each as a percentile: entropy of the prediction, density of the predictions
around it, and PageRank. The weight of PageRank is drawn anew for each query, near 1 at first and uniform
in the end: early queries go by the graph, which is all that is known, and late ones by the model.
"""

from __future__ import annotations

import math

import torch

from gcbr.graph import Graph
from gcbr.strategies.choice import highest
from gcbr.strategies.criteria import Criteria
from gcbr.view import View

BASE = 0.95  # the paper's own: 0.9 on CiteSeer, 0.995 on Cora and PubMed


class AGE:
    """The highest sum of entropy, density and centrality, weighed by how far the labeling has come."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator, base: float = BASE) -> None:
        self._base = base
        self._criteria = Criteria(graph)

    def select(self, view: View) -> int:
        entropy, density, centrality = self._criteria(view)
        drawn = float(torch.rand(1, generator=view.rng, dtype=torch.float64, device=view.rng.device))
        weight = centrality_weight(len(view.labels) + len(view.pending), drawn, self._base)
        return highest(view, (1 - weight) / 2 * (entropy + density) + weight * centrality)


def centrality_weight(num_labels: int, drawn: float, base: float = BASE) -> float:
    """A draw from Beta(1, b), b = 1.005 - base^labels, made of a uniform one.

    Its distribution function is 1 - (1 - x)^b, which can be turned round.
    """
    exponent: float = 1 / (1.005 - base**num_labels)
    return 1 - math.pow(drawn, exponent)
