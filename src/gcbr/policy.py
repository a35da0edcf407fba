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
    """One number for each node from each of several encoders: [G, nodes, columns] to [nodes, G, encoders].

    Side by side they cost little more than one: a product with sixteen columns is faster than with eight.
    Where few rows are wanted, `propagation` leads to those of the first layer and `outer` from there on; such
    rows have no gradient.
    """
    by_node = states.transpose(0, 1).contiguous()  # [nodes, G, columns]
    # The states need no gradient, so the first propagation goes before the weights: fewer columns.
    propagated = propagation.matmul(by_node.flatten(1)).view(-1, states.shape[2])
    first, first_bias = _side_by_side([encoder.first for encoder in encoders], shared_input=True)
    hidden = torch.addmm(first_bias, propagated, first).relu_()
    second, second_bias = _side_by_side([encoder.second for encoder in encoders])
    weighed = (hidden @ second).view(propagation.shape[0], -1)
    mixed: Tensor = _Propagate.apply(weighed, outer or propagation)  # type: ignore[no-untyped-call]
    last, last_bias = _side_by_side([encoder.last for encoder in encoders])
    numbers = torch.addmm(last_bias, (mixed.view(-1, len(second)) + second_bias).relu_(), last)
    return numbers.view(-1, states.shape[0], len(encoders))


def _side_by_side(layers: list[nn.Linear], *, shared_input: bool = False) -> tuple[Tensor, Tensor]:
    """One weight, [inputs, outputs], and one bias for layers that each read their own inputs, or all the same.

    Not as a transposed view: the gradient by such a weight is taken five times slower.
    """
    turned = [layer.weight.T for layer in layers]
    weight: Tensor = torch.cat(turned, dim=1) if shared_input else torch.block_diag(*turned)  # type: ignore[no-untyped-call]
    return weight, torch.cat([layer.bias for layer in layers])


class Policy(nn.Module):
    """An actor that scores every node, and a critic that values the whole state, with weights of its own."""

    def __init__(self, num_columns: int, width: int = 8) -> None:
        super().__init__()
        self.actor = GraphEncoder(num_columns, width)
        self.critic = GraphEncoder(num_columns, width)

    def scores(self, propagation: Csr, states: Tensor, outer: Csr | None = None) -> Tensor:
        """The actor's score of every node: [G, nodes, columns] to [G, nodes]; see `encode` for `outer`."""
        return encode([self.actor], propagation, states, outer).squeeze(-1).T

    def scores_and_values(self, propagation: Csr, states: Tensor) -> tuple[Tensor, Tensor]:
        """The actor's scores, [G, nodes], and the critic's values, [G], in one pass.

        The value is the mean over the nodes through a linear layer, and so the mean of what it makes of each.
        """
        scores, worths = encode([self.actor, self.critic], propagation, states).unbind(-1)
        return scores.T, worths.mean(0)


def log_policy(scores: Tensor, is_candidate: Tensor) -> Tensor:
    """The policy's log-probabilities; a node that is no candidate has -inf, and no gradient."""
    return scores.masked_fill(~is_candidate, -torch.inf).log_softmax(-1)
