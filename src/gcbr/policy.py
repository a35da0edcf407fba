"""The actor and the critic: two small GCNs over the state's columns, for a graph of any size."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from gcbr.engine.matrix import Csr


class _Propagate(torch.autograd.Function):
    """A_hat @ dense. The matrix is symmetric, so the gradient is propagated by the matrix itself."""

    @staticmethod
    def forward(ctx: FunctionCtx, dense: Tensor, propagation: Csr) -> Tensor:
        ctx.propagation = propagation  # type: ignore[attr-defined]
        return propagation.matmul(dense)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.propagation.matmul(gradients[0].contiguous()), None  # type: ignore[attr-defined]


class GraphEncoder(nn.Module):
    """Two graph convolutions with ReLU. Nodes lead inside: [nodes, G, columns] to [nodes, G, width]."""

    def __init__(self, num_columns: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(num_columns, width)
        self.second = nn.Linear(width, width, bias=False)
        self.second_bias = nn.Parameter(torch.zeros(width))

    def forward(self, propagation: Csr, states: Tensor) -> Tensor:
        num_nodes, group, _ = states.shape
        # The states need no gradient, so the first propagation goes before the weights: fewer columns.
        propagated = propagation.matmul(states.flatten(1)).view_as(states)
        hidden: Tensor = self.second(self.first(propagated).relu())
        mixed = _Propagate.apply(hidden.flatten(1), propagation)
        return (mixed.view(num_nodes, group, -1) + self.second_bias).relu()


class Actor(nn.Module):
    """A score for each node; the softmax over candidates is the policy."""

    def __init__(self, num_columns: int, width: int) -> None:
        super().__init__()
        self.encoder = GraphEncoder(num_columns, width)
        self.score = nn.Linear(width, 1)

    def forward(self, propagation: Csr, states: Tensor) -> Tensor:
        """[G, nodes, columns] to [G, nodes]."""
        encoded = self.encoder(propagation, states.transpose(0, 1).contiguous())
        return self.score(encoded).squeeze(-1).T  # type: ignore[no-any-return]


class Critic(nn.Module):
    """The value of a whole state: the mean over its nodes, through a linear layer."""

    def __init__(self, num_columns: int, width: int) -> None:
        super().__init__()
        self.encoder = GraphEncoder(num_columns, width)
        self.value = nn.Linear(width, 1)

    def forward(self, propagation: Csr, states: Tensor) -> Tensor:
        """[G, nodes, columns] to [G]."""
        encoded = self.encoder(propagation, states.transpose(0, 1).contiguous())
        return self.value(encoded.mean(0)).squeeze(-1)  # type: ignore[no-any-return]


class Policy(nn.Module):
    """Actor and critic with weights of their own."""

    def __init__(self, num_columns: int, width: int = 8) -> None:
        super().__init__()
        self.actor = Actor(num_columns, width)
        self.critic = Critic(num_columns, width)

    def log_probabilities(self, propagation: Csr, states: Tensor, is_candidate: Tensor) -> Tensor:
        """[G, nodes, columns] and [G, nodes] to [G, nodes]; a node that is no candidate has -inf and no gradient."""
        scores: Tensor = self.actor(propagation, states)
        return scores.masked_fill(~is_candidate, -torch.inf).log_softmax(-1)
