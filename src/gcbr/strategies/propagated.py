"""What two graph convolutions without weights make of the features: A_hat^2 X, thin enough to work on."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gcbr.graph import Graph

WIDTH = 128


def propagated_features(graph: Graph, rng: torch.Generator) -> Tensor:
    """A_hat^2 X, [num_nodes, at most WIDTH].

    Wider features are projected at random first, A_hat (A_hat (X R)), which keeps distances to within about
    a tenth, so that nothing of the size nodes x features is ever stored.
    """
    num_features = graph.num_features
    if num_features > WIDTH:
        drawn = torch.randn(num_features, WIDTH, generator=rng, device=rng.device)
        projection = drawn.to(graph.device) / math.sqrt(WIDTH)
    else:
        projection = torch.eye(num_features, device=graph.device)
    narrow = graph.x.matmul(projection)
    return graph.propagation.matmul(graph.propagation.matmul(narrow))
