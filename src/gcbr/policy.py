"""The actor and the critic: two small GCNs over the state's columns, for a graph of any size."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gcbr.engine.matrix import Csr


class _Propagate(torch.autograd.Function):
    """A_hat @ dense. The matrix is symmetric, so the gradient is propagated by the matrix itself."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, propagation: Csr) -> Tensor:
        ctx.propagation = propagation
        return propagation.matmul(dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        assert ctx.propagation.shape[0] == ctx.propagation.shape[1], "rows of it have no gradient"
        return ctx.propagation.matmul(gradients[0].contiguous()), None


class GraphEncoder(nn.Module):
    """The weights of two graph convolutions with ReLU, and of a linear layer to one number."""

    def __init__(self, num_columns: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(num_columns, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, 1)


def encode(
    encoders: list[GraphEncoder], propagation: Csr, states: Tensor, outer: Csr | None = None
) -> Tensor:
    """The hidden rows of several encoders at once, [G, nodes, columns] to [nodes, G, encoders, width].

    Side by side they cost little more than one: a product with sixteen columns is faster than with eight.
    Where few rows are wanted, `propagation` leads to those of the first layer and `outer` from there on; such
    rows have no gradient.
    """
    by_node = states.transpose(0, 1).contiguous()  # [nodes, G, columns]
    # The states need no gradient, so the first propagation goes before the weights: fewer columns.
    propagated = propagation.matmul(by_node.flatten(1)).view(-1, states.shape[2])
    first = torch.cat([encoder.first.weight for encoder in encoders])
    hidden = torch.addmm(torch.cat([encoder.first.bias for encoder in encoders]), propagated, first.T).relu()
    second: Tensor = torch.block_diag(*[encoder.second.weight for encoder in encoders])  # type: ignore[no-untyped-call]
    weighed = (hidden @ second.T).view(propagation.shape[0], -1)
    mixed: Tensor = _Propagate.apply(weighed, outer or propagation)  # type: ignore[no-untyped-call]
    bias = torch.stack([encoder.second.bias for encoder in encoders])
    return (mixed.view(-1, states.shape[0], *bias.shape) + bias).relu()


class Policy(nn.Module):
    """An actor that scores every node, and a critic that values the whole state, with weights of its own."""

    def __init__(self, num_columns: int, width: int = 8) -> None:
        super().__init__()
        self.actor = GraphEncoder(num_columns, width)
        self.critic = GraphEncoder(num_columns, width)

    def scores(self, propagation: Csr, states: Tensor, outer: Csr | None = None) -> Tensor:
        """The actor's score of every node: [G, nodes, columns] to [G, nodes]; see `encode` for `outer`."""
        hidden = encode([self.actor], propagation, states, outer)[:, :, 0]
        return self.actor.last(hidden).squeeze(-1).T  # type: ignore[no-any-return]

    def scores_and_values(self, propagation: Csr, states: Tensor) -> tuple[Tensor, Tensor]:
        """The actor's scores, [G, nodes], and the critic's values, [G], in one pass.

        The value is the mean over the nodes through a linear layer.
        """
        hidden = encode([self.actor, self.critic], propagation, states)
        scores = self.actor.last(hidden[:, :, 0]).squeeze(-1).T
        return scores, self.critic.last(hidden[:, :, 1].mean(0)).squeeze(-1)


def log_policy(scores: Tensor, is_candidate: Tensor) -> Tensor:
    """The policy's log-probabilities; a node that is no candidate has -inf, and no gradient."""
    return scores.masked_fill(~is_candidate, -torch.inf).log_softmax(-1)
