"""The actor and the critic: two small GCNs over the state's columns, for a graph of any size."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from gcbr.engine.matrix import Csr

Judge = Callable[[Tensor], tuple[Tensor, Tensor]]  # states to the actor's scores and the critic's values


class Layers(NamedTuple):
    """Two graph convolutions with ReLU and a linear layer; each weight is [inputs, outputs]."""

    first: Tensor
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor
    last: Tensor
    last_bias: Tensor


class _Encode(torch.autograd.Function):
    """The numbers of the last layer, [outputs, rows], and their gradient by the layers, written out.

    A row is a node in one of the games. A product with a side of one or two is taken with that side leading,
    which is five times faster, and a ReLU's gradient is written over what it cuts.
    """

    @staticmethod
    def forward(ctx: Any, propagated: Tensor, outer: Csr, *weights: Tensor) -> Tensor:
        layers = Layers(*weights)
        hidden = torch.addmm(layers.first_bias, propagated, layers.first).relu_()
        weighed = (hidden @ layers.second).view(outer.shape[1], -1)
        final = outer.matmul(weighed).view(-1, len(layers.second)).add_(layers.second_bias).relu_()
        ctx.outer = outer
        ctx.save_for_backward(propagated, hidden, final, *weights)
        return torch.addmm(layers.last_bias.unsqueeze(1), layers.last.T, final.T)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        assert ctx.outer.shape[0] == ctx.outer.shape[1], "rows of it have no gradient"
        propagated, hidden, final, *weights = ctx.saved_tensors
        layers, d_numbers = Layers(*weights), gradients[0]
        d_final = _cut(d_numbers.T @ layers.last.T, final)
        # A_hat is symmetric, so the gradient is propagated by the matrix itself.
        d_weighed = ctx.outer.matmul(d_final.view(ctx.outer.shape[0], -1)).view_as(hidden)
        d_hidden = _cut(d_weighed @ layers.second.T, hidden)
        d_layers = Layers(
            first=propagated.T @ d_hidden,
            first_bias=d_hidden.sum(0),
            second=hidden.T @ d_weighed,
            second_bias=d_final.sum(0),
            last=(d_numbers @ final).T,
            last_bias=d_numbers.sum(1),
        )
        return None, None, *d_layers


def _cut(gradient: Tensor, output: Tensor) -> Tensor:
    """The gradient by what went into a ReLU, from that by what came out; in place."""
    cut: Tensor = torch.ops.aten.threshold_backward.grad_input(gradient, output, 0, grad_input=gradient)
    return cut


class GraphEncoder(nn.Module):
    """The weights of two graph convolutions with ReLU, and of a linear layer to one number."""

    def __init__(self, num_columns: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(num_columns, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, 1)


def side_by_side(encoders: Sequence[GraphEncoder]) -> Layers:
    """The layers of several encoders as one's: the first read the same columns, the others each its own.

    So they cost little more than one: a product with sixteen columns is faster than with eight.
    """
    first, second, last = zip(*[(e.first, e.second, e.last) for e in encoders], strict=True)
    return Layers(
        first=torch.cat([layer.weight.T for layer in first], dim=1),
        first_bias=torch.cat([layer.bias for layer in first]),
        second=torch.block_diag(*[layer.weight.T for layer in second]),  # type: ignore[no-untyped-call]
        second_bias=torch.cat([layer.bias for layer in second]),
        last=torch.block_diag(*[layer.weight.T for layer in last]),  # type: ignore[no-untyped-call]
        last_bias=torch.cat([layer.bias for layer in last]),
    )


def encode(layers: Layers, propagation: Csr, states: Tensor, outer: Csr | None = None) -> Tensor:
    """The last layer's numbers for every node: [G, nodes, columns] to [outputs, G, nodes].

    Where few rows are wanted, `propagation` leads to those of the first layer and `outer` from there on; such
    rows have no gradient.
    """
    by_node = states.transpose(0, 1).contiguous()  # [nodes, G, columns]
    # The states need no gradient, so the first propagation goes before the weights: fewer columns.
    propagated = propagation.matmul(by_node.flatten(1)).view(-1, states.shape[2])
    numbers: Tensor = _Encode.apply(propagated, outer or propagation, *layers)  # type: ignore[no-untyped-call]
    return numbers.view(len(numbers), -1, states.shape[0]).mT


class Policy(nn.Module):
    """An actor that scores every node, and a critic that values the whole state, with weights of its own."""

    def __init__(self, num_columns: int, width: int = 8) -> None:
        super().__init__()
        self.actor = GraphEncoder(num_columns, width)
        self.critic = GraphEncoder(num_columns, width)

    def on(self, device: torch.device) -> Self:
        """The policy there: itself, or a copy where it would have to be moved."""
        return self if self.device == device else copy.deepcopy(self).to(device)

    @property
    def device(self) -> torch.device:
        return self.actor.first.weight.device

    def scores(self, propagation: Csr, states: Tensor, outer: Csr | None = None) -> Tensor:
        """The actor's score of every node: [G, nodes, columns] to [G, nodes]; see `encode` for `outer`."""
        return encode(side_by_side([self.actor]), propagation, states, outer)[0]

    def scores_and_values(self, propagation: Csr, states: Tensor) -> tuple[Tensor, Tensor]:
        """The actor's scores, [G, nodes], and the critic's values, [G], in one pass.

        The value is the mean over the nodes through a linear layer, so the mean of what that makes of each.
        """
        return self.judge(propagation)(states)

    def judge(self, propagation: Csr) -> Judge:
        """`scores_and_values` on this graph while the weights stay as they are, put side by side once."""
        layers = side_by_side([self.actor, self.critic])

        def scores_and_values(states: Tensor) -> tuple[Tensor, Tensor]:
            scores, worths = encode(layers, propagation, states)
            return scores, worths.mean(-1)

        return scores_and_values


def reading(policy: Policy, columns: Sequence[str], others: Sequence[str]) -> Policy:
    """The same policy with the columns that it reads among others; these weigh nothing."""
    places = torch.tensor([others.index(column) for column in columns], device=policy.device)
    weights = {
        name: tensor.new_zeros(len(tensor), len(others)).index_copy(1, places, tensor)
        if name.endswith("first.weight")
        else tensor.clone()
        for name, tensor in policy.state_dict().items()
    }
    with torch.device("meta"):  # weights of its own would be drawn from the global generator
        wider = Policy(len(others), policy.actor.first.out_features)
    wider.load_state_dict(weights, assign=True)
    return wider


def committee(members: Sequence[Policy]) -> Policy:
    """One policy whose scores, and whose value, are the means of the members'; as wide as they are together.

    A mean of scores is a product of the probabilities behind them: what one member shuns is hardly chosen.
    """
    parts = {
        part: side_by_side([getattr(member, part) for member in members]) for part in ("actor", "critic")
    }
    weights: dict[str, Tensor] = {}
    for part, layers in parts.items():
        weights |= {
            f"{part}.first.weight": layers.first.T,
            f"{part}.first.bias": layers.first_bias,
            f"{part}.second.weight": layers.second.T,
            f"{part}.second.bias": layers.second_bias,
            f"{part}.last.weight": layers.last.mean(1, keepdim=True).T,
            f"{part}.last.bias": layers.last_bias.mean(0, keepdim=True),
        }
    num_columns = members[0].actor.first.in_features
    with torch.device("meta"):  # weights of its own would be drawn from the global generator
        joined = Policy(num_columns, len(parts["actor"].first_bias))
    joined.load_state_dict({name: tensor.contiguous() for name, tensor in weights.items()}, assign=True)
    return joined


def log_policy(scores: Tensor, is_candidate: Tensor) -> Tensor:
    """The policy's log-probabilities; a node that is no candidate has -inf, and no gradient."""
    return scores.masked_fill(~is_candidate, -torch.inf).log_softmax(-1)
