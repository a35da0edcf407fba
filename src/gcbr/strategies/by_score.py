"""Strategies that are one score: the candidate with the highest is asked."""

from __future__ import annotations

import torch

from gcbr import scores
from gcbr.graph import Graph
from gcbr.strategies.choice import highest
from gcbr.view import View


class Entropy:
    """The least certain prediction, all classes considered."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        pass

    def select(self, view: View) -> int:
        return highest(view, scores.entropy(view.prediction.probabilities))


class Margin:
    """The prediction least decided between its two likeliest classes."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        pass

    def select(self, view: View) -> int:
        return highest(view, scores.margin(view.prediction.probabilities))


class Degree:
    """The most neighbors."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self._degree = graph.degree

    def select(self, view: View) -> int:
        return highest(view, self._degree)


class PageRank:
    """The highest PageRank."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self._centrality = scores.pagerank(graph.adjacency)

    def select(self, view: View) -> int:
        return highest(view, self._centrality)
