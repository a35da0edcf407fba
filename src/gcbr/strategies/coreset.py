"""CoreSet (Sener, Savarese 2018, "Active Learning for Convolutional Neural Networks"): greedy k-center."""

from __future__ import annotations

import torch
from torch import Tensor

from gcbr import scores
from gcbr.graph import Graph
from gcbr.strategies.choice import highest
from gcbr.view import View


class CoreSet:
    """The node whose embedding is farthest from every labeled one; the most average node to begin with."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        pass

    def select(self, view: View) -> int:
        embeddings = tempered(view.prediction.embeddings)
        taken = view.taken
        if len(taken) == 0:
            return highest(view, -(embeddings - embeddings.mean(0)).norm(dim=1))
        return highest(view, scores.distance_to_nearest(embeddings, taken))


def tempered(embeddings: Tensor) -> Tensor:
    """Each row divided by its own length plus the mean length: none is longer than 1.

    A departure from the paper. A network of few training steps gives some nodes very long embeddings, and
    the plain distance would ask for those first: on Cora it does worse than random.
    """
    lengths: Tensor = embeddings.norm(dim=1, keepdim=True)
    return embeddings / (lengths + lengths.mean()).clamp(min=torch.finfo(embeddings.dtype).tiny)
