"""A two-layer graph convolutional network, several of them side by side, trained by hand-written steps.

The loss lives on the labeled nodes. Two layers reach their neighbors' neighbors and nothing else, so a
training step computes only those rows: the result is exact. Two more things make it fast. Where those
rows are most of the graph, a step right after a prediction starts from that prediction's hidden layer,
because the weights are the same. And the networks share each product: their first-layer weights lie side
by side in memory.

Dimensions, in this order: E networks ("episodes"), N nodes, F features, H hidden units, C classes.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from gcbr.engine import dropout
from gcbr.engine.matrix import Csr, Matrix
from gcbr.engine.receptive import ReceptiveField, receptive_field
from gcbr.seeding import clone_generator


@dataclass(frozen=True)
class GCNConfig:
    hidden: int = 64
    learning_rate: float = 0.01
    weight_decay: float = 5e-4  # on every parameter
    dropout: float = 0.5  # on the hidden layer
    feature_dropout: float = 0.0  # on the stored numbers of X
    focal: float = 0.0  # gamma of the focal loss, 2 in its paper; 0 is cross-entropy
    biases: bool = True  # without, they stay at 0
    glorot: bool = True  # weights are drawn within bounds by both sides of a layer; without, by its outputs


class Prediction:
    """What the networks say of every node, dropout off; one network has no leading E.

    `probabilities` is [E, N, C]; `embeddings`, the hidden layer, is [E, N, H]. Both may be given as functions
    that make them when they are looked at, and `rows` as one that makes the probabilities of some nodes
    alone: on a large graph few strategies need more.
    """

    def __init__(
        self,
        probabilities: Tensor | Callable[[], Tensor],
        embeddings: Tensor | Callable[[], Tensor],
        rows: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self._probabilities = probabilities
        self._embeddings = embeddings
        self._rows = rows

    @cached_property
    def probabilities(self) -> Tensor:
        return self._probabilities if isinstance(self._probabilities, Tensor) else self._probabilities()

    @cached_property
    def embeddings(self) -> Tensor:
        return self._embeddings if isinstance(self._embeddings, Tensor) else self._embeddings()

    @cached_property
    def classes(self) -> Tensor:
        """The likeliest class of every node, of equally likely ones the first."""
        # `argmax` takes four times as long where classes lead in memory.
        return self.probabilities.max(-1).indices

    def of(self, nodes: Tensor) -> Tensor:
        """The probabilities of some nodes, [E, nodes, C], without the others' where that saves work."""
        if self._rows is None or "probabilities" in self.__dict__:
            return self.probabilities[..., nodes, :]
        return self._rows(nodes)

    def but_for(self, node: int, probabilities: Tensor) -> Prediction:
        """The same prediction with one node's probabilities replaced; for one network."""

        def every() -> Tensor:
            changed = self.probabilities.clone()
            changed[node] = probabilities
            return changed

        def some(nodes: Tensor) -> Tensor:
            return torch.where((nodes == node).unsqueeze(1), probabilities, self.of(nodes))

        return Prediction(every, lambda: self.embeddings, some)


class Gradients(NamedTuple):
    """One tensor for each of `BatchedGCN.parameters`, in their order."""

    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor


class AdamState(NamedTuple):
    """Adam's memory of some parameters.

    Its step is the kernel under PyTorch's optimizer class, without the class: that one's first step loads
    PyTorch's compiler, a second more before the first answer is learned, and each further one looks
    through its groups of parameters for longer than the kernel takes.
    """

    means: list[Tensor]
    squares: list[Tensor]
    steps: list[Tensor]

    @classmethod
    def of(cls, parameters: list[Tensor]) -> Self:
        return cls(
            means=[torch.zeros_like(parameter) for parameter in parameters],
            squares=[torch.zeros_like(parameter) for parameter in parameters],
            steps=[torch.zeros((), device=parameter.device) for parameter in parameters],
        )

    def step(self, parameters: list[Tensor], gradients: list[Tensor], config: GCNConfig) -> None:
        for step in self.steps:
            step += 1
        torch._fused_adam_(
            parameters,
            gradients,
            self.means,
            self.squares,
            [],
            self.steps,
            lr=config.learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=config.weight_decay,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )

    def padded_like(self, parameters: list[Tensor]) -> Self:
        """Room for parameters grown along their last dimension; what is new has no past."""

        def padded(moments: list[Tensor]) -> list[Tensor]:
            pairs = zip(moments, parameters, strict=True)
            return [F.pad(moment, (0, grown.shape[-1] - moment.shape[-1])) for moment, grown in pairs]

        return self._replace(means=padded(self.means), squares=padded(self.squares))

    def clone(self) -> Self:
        return type(self)(*[[tensor.clone() for tensor in tensors] for tensors in self])


class BatchedGCN:
    """E independent networks on one graph: `step` trains them all, `predict` asks them all."""

    def __init__(
        self,
        propagation: Csr,
        x: Matrix,
        num_classes: int,
        config: GCNConfig,
        rng: torch.Generator,
        episodes: int = 1,
    ) -> None:
        self.config = config
        self.episodes = episodes
        self._propagation = propagation
        self._x = x
        self._rng = rng
        self._device = propagation.values.device
        self._prediction: Prediction | None = None  # valid until the next step
        self._hidden: list[Tensor] = []  # each network's hidden layer in that prediction
        self._labeled: Tensor | None = None  # what `_field` was made for
        self._field: ReceptiveField | None = None
        self._field_is_kept = False  # whether it serves as well when used again
        self.w1 = self._drawn(x.shape[1], config.hidden)  # [E, F, H]
        self.b1 = torch.zeros(episodes, config.hidden, device=self._device)
        self.w2 = self._drawn(config.hidden, num_classes)  # [E, H, C]
        self.b2 = torch.zeros(episodes, num_classes, device=self._device)
        self._adam_first = [AdamState.of([w1]) for w1 in self.w1]
        self._adam = AdamState.of(self.parameters[1:])

    @property
    def parameters(self) -> list[Tensor]:
        return [self.w1, self.b1, self.w2, self.b2]

    @property
    def num_classes(self) -> int:
        return self.w2.shape[2]

    def predict(self) -> Prediction:
        if self._prediction is None:
            self._prediction = self._predict()
        return self._prediction

    def step(self, nodes: Tensor, classes: Tensor) -> Tensor:
        """One full-batch step on the labels, both [E, L]; returns each network's loss before it."""
        loss, first, others = self._backward(nodes, classes)
        # W1 is nearly all there is to learn: each network's is updated while its gradient is in the cache.
        for w1, gradient, adam_state in zip(self.w1, first, self._adam_first, strict=True):
            adam_state.step([w1], [gradient], self.config)
        self._adam.step(self.parameters[1:], others, self.config)
        self._prediction = None
        return loss

    def gradients(self, nodes: Tensor, classes: Tensor) -> tuple[Tensor, Gradients]:
        """The mean cross-entropy of each network on its labels, and its gradient by every parameter."""
        loss, first, others = self._backward(nodes, classes)
        return loss, Gradients(torch.stack(list(first)), *others)

    def _backward(self, nodes: Tensor, classes: Tensor) -> tuple[Tensor, Iterator[Tensor], list[Tensor]]:
        """The loss, the gradient by each network's W1 as it is asked for, and those by b1, W2 and b2."""
        field = self._field_behind(nodes)
        x = self._training_features(field)
        hidden = self._training_layer(field, x)
        rows = torch.split(field.active, field.per_network)
        active = torch.cat([layer[which] for layer, which in zip(hidden, rows, strict=True)])  # [P, H]
        # What passes through ReLU and dropout, forward and back, as a factor.
        passed = (self._kept(active.shape) & (active > 0)) * (1 / (1 - self.config.dropout))

        gathered = field.outer.matmul(active * passed).view(*nodes.shape, -1)  # [E, L, H]
        logits = torch.baddbmm(self.b2.unsqueeze(1), gathered, self.w2)  # [E, L, C]
        loss, d_logits = cross_entropy(logits, classes, self.config.focal)

        d_gathered = torch.bmm(d_logits, self.w2.mT).flatten(0, 1)
        d_active = field.outer.transposed_matmul(d_gathered) * passed
        d_by_network = torch.split(d_active, field.per_network)
        d_b1 = torch.stack([d.sum(0) for d in d_by_network])
        d_b2 = d_logits.sum(1)
        if not self.config.biases:  # at 0, with no gradient and nothing to decay, they stay there
            d_b1, d_b2 = torch.zeros_like(d_b1), torch.zeros_like(d_b2)
        others = [d_b1, torch.bmm(gathered.mT, d_logits), d_b2]
        return loss, self._first_gradients(field, x, rows, d_by_network), others

    def grow(self, num_classes: int) -> None:
        """Add outputs for new classes; what was learned of the others stays, to the bit."""
        fresh = self._drawn(self.config.hidden, num_classes)[..., self.num_classes :]
        self.w2 = torch.cat([self.w2, fresh], dim=2)
        self.b2 = F.pad(self.b2, (0, fresh.shape[2]))
        self._adam = self._adam.padded_like(self.parameters[1:])
        self._prediction = None

    def clone(self) -> Self:
        """A copy with weights, moments and generator of its own, on the same graph."""
        twin = copy.copy(self)
        twin._rng = clone_generator(self._rng)
        twin.w1, twin.b1, twin.w2, twin.b2 = (parameter.clone() for parameter in self.parameters)
        twin._adam_first = [state.clone() for state in self._adam_first]
        twin._adam = self._adam.clone()
        return twin

    def _probabilities(self, propagation: Csr, scores: Tensor) -> Tensor:
        """softmax(A_hat H W2 + b2), [E, rows, C], of the scores H W2, [E, C, columns]."""
        # Of one network `flatten` gives a transposed view, which a product reads five times slower.
        by_node = propagation.matmul(scores.permute(2, 0, 1).flatten(1).contiguous())  # [rows, E * C]
        # Classes lead in memory, so that reductions over them run along contiguous nodes.
        logits = torch.empty(self.num_classes, self.episodes, len(by_node), device=self._device)
        by_class = by_node.view(len(by_node), *self.b2.shape).permute(2, 1, 0)
        torch.add(by_class, self.b2.T.unsqueeze(2), out=logits)
        return torch.softmax(logits, dim=0).permute(1, 2, 0)

    def _predict(self) -> Prediction:
        scores = torch.empty(self.episodes, self.num_classes, self._propagation.shape[0], device=self._device)
        hidden = []
        for network, w2 in enumerate(self.w2):
            rows = self._first_layer(network, self._propagation, self._x)
            # Few classes make a thin product: taken transposed it is five times faster.
            torch.mm(w2.T, rows.T, out=scores[network])
            hidden.append(rows)
        self._hidden = hidden
        return Prediction(self._probabilities(self._propagation, scores), lambda: torch.stack(hidden))

    def _first_layer(self, network: int, propagation: Csr, x: Matrix) -> Tensor:
        """relu(A_hat X W1 + b1) of one network, [rows, H]; in place, while the product is in the cache."""
        return propagation.matmul(x.matmul(self.w1[network])).add_(self.b1[network]).relu_()

    def _first_gradients(
        self, field: ReceptiveField, x: Matrix, rows: Sequence[Tensor], d_rows: Sequence[Tensor]
    ) -> Iterator[Tensor]:
        """The gradient by each network's W1, from that of its active hidden rows."""
        # One table for all the networks in turn, so that it stays in the cache.
        d_hidden = torch.zeros(field.inner.shape[0], self.config.hidden, device=self._device)
        for which, d_active in zip(rows, d_rows, strict=True):
            d_hidden.index_copy_(0, which, d_active)
            yield x.transposed_matmul(field.inner_transposed.matmul(d_hidden))
            d_hidden.index_fill_(0, which, 0)

    def _training_features(self, field: ReceptiveField) -> Matrix:
        rate = self.config.feature_dropout
        return field.x.with_dropout(rate, self._rng) if rate > 0 else field.x

    def _training_layer(self, field: ReceptiveField, x: Matrix) -> list[Tensor]:
        """The hidden rows that a step needs, [R, H] of each network."""
        # Not for some of the rows: cut out of a larger dense product they can differ in the last bit from
        # the product of just those rows, and learning would depend on who had asked for a prediction.
        if self._prediction is not None and field.nodes is None and x is field.x:
            return self._hidden
        return [self._first_layer(network, field.inner, x) for network in range(self.episodes)]

    def _field_behind(self, nodes: Tensor) -> ReceptiveField:
        """The field of these labels: a whole one made for one use is made once more when they return."""
        used_again = self._labeled is not None and torch.equal(self._labeled, nodes)
        if self._field is None or not used_again or not self._field_is_kept:
            self._field = receptive_field(self._propagation, self._x, nodes, used_again=used_again)
            self._field_is_kept = used_again or self._field.nodes is not None
            self._labeled = nodes.clone()  # the caller may fill its own with other nodes
        return self._field

    def _kept(self, shape: torch.Size) -> Tensor:
        """Which hidden numbers dropout leaves."""
        if self.config.dropout == 0:
            return torch.ones(shape, dtype=torch.bool, device=self._device)
        return dropout.kept(shape, self.config.dropout, self._rng).to(self._device)

    def _drawn(self, fan_in: int, fan_out: int) -> Tensor:
        """First weights of a layer."""
        bound = math.sqrt(6 / (fan_in + fan_out) if self.config.glorot else 1 / fan_out)
        shape = (self.episodes, fan_in, fan_out)
        uniform = torch.rand(shape, generator=self._rng, device=self._rng.device).to(self._device)
        return uniform.mul_(2 * bound).sub_(bound)


def cross_entropy(logits: Tensor, classes: Tensor, focal: float = 0.0) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy over the labels of each network, [E], and its gradient by the logits, [E, L, C].

    A `focal` above 0 gives the focal loss (Lin et al. 2017): a label whose class has probability p counts
    (1 - p)^focal times, so that those the network is sure of hardly count.
    """
    log_probabilities = logits.log_softmax(-1)
    picked = log_probabilities.gather(-1, classes.unsqueeze(-1))
    gradient = log_probabilities.exp().scatter_add_(-1, classes.unsqueeze(-1), -torch.ones_like(picked))
    if focal > 0:
        missing = -torch.expm1(picked).clamp(max=-torch.finfo(picked.dtype).tiny)  # 1 - p, never quite 0
        weight = missing**focal
        gradient = gradient * (weight - focal * missing ** (focal - 1) * picked.exp() * picked)
        picked = weight * picked
    return -picked.squeeze(-1).mean(-1), gradient / classes.shape[-1]
