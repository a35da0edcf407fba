"""The classifier being taught: it learns a little from every answer, and predicts every node."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gcbr.engine.gcn import BatchedGCN, GCNConfig, Prediction
from gcbr.engine.propagated import PropagatedGCN
from gcbr.errors import InputError
from gcbr.graph import Graph, Labels
from gcbr.seeding import clone_generator, seeded


class Classifier(Protocol):
    """What can be taught. Implementations are built for one graph and one run."""

    @property
    def num_classes(self) -> int: ...

    def update(self, labels: Labels, epochs: int = 1) -> None:
        """Train on everything labeled so far, from where it stands."""

    def predict(self) -> Prediction:
        """Predict every node, dropout off: probabilities [N, C] and embeddings [N, H]."""

    def grow(self, num_classes: int) -> None:
        """Make room for classes that have just become known, without losing what was learned."""

    def clone(self) -> Self:
        """An independent copy that would learn exactly as this one would."""


ClassifierFactory = Callable[[Graph, int, torch.Generator], Classifier]  # graph, num_classes, rng


# Two forms of the paper's GCN, which leaves the details open: the usual one, and that of its authors' code.
CLASSIFIERS = {"usual": GCNConfig(), "authors": GCNConfig(biases=False, glorot=False)}


def find_classifier(form: str) -> GCNConfig:
    if form not in CLASSIFIERS:
        raise InputError(f"unknown form of the classifier '{form}'; choose from {', '.join(CLASSIFIERS)}")
    return CLASSIFIERS[form]


class GCNClassifier:
    """The paper's classifier: a two-layer GCN, one full-batch step per answer.

    With another configuration it is `partial(GCNClassifier, config=GCNConfig(focal=2))`, here ALLIE's focal
    loss; nothing shipped was trained with it.
    """

    def __init__(
        self, graph: Graph, num_classes: int, rng: torch.Generator, config: GCNConfig | None = None
    ) -> None:
        self._network = _network(graph, num_classes, config or GCNConfig(), rng)
        self._device = graph.device

    @property
    def num_classes(self) -> int:
        return self._network.num_classes

    def update(self, labels: Labels, epochs: int = 1) -> None:
        nodes = torch.tensor([labels.nodes], device=self._device)
        classes = torch.tensor([labels.classes], device=self._device)
        for _ in range(epochs):
            self._network.step(nodes, classes)

    def predict(self) -> Prediction:
        prediction = self._network.predict()
        return Prediction(
            lambda: prediction.probabilities[0],
            lambda: prediction.embeddings[0],
            lambda nodes: prediction.of(nodes)[0],
        )

    def grow(self, num_classes: int) -> None:
        self._network.grow(num_classes)

    def clone(self) -> Self:
        twin = copy.copy(self)
        twin._network = self._network.clone()
        return twin


def _network(graph: Graph, num_classes: int, config: GCNConfig, rng: torch.Generator) -> BatchedGCN:
    if graph.propagated is not None and config.feature_dropout == 0:
        return PropagatedGCN(graph.propagation, graph.propagated, num_classes, config, rng)
    return BatchedGCN(graph.propagation, graph.x, num_classes, config, rng)


ModuleFactory = Callable[[int, int], nn.Module]  # num_features, num_classes


class ModuleClassifier:
    """Any network of PyG's calling form, `module(x, edge_index) -> logits`: slower, and just as teachable.

    Its embeddings are its logits, the one inner layer that every such module shows.
    """

    def __init__(
        self,
        graph: Graph,
        num_classes: int,
        rng: torch.Generator,
        module: ModuleFactory,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-4,
    ) -> None:
        self._x = graph.x.to_dense()
        self._edges = torch.stack([graph.adjacency.row_of_entry, graph.adjacency.indices.long()])
        self._make_module = module
        self._rng = rng
        self._learning_rate = learning_rate
        self._weight_decay = weight_decay
        self._num_classes = num_classes
        self._module, self._optimizer = self._build(num_classes)

    @property
    def num_classes(self) -> int:
        return self._num_classes

    def update(self, labels: Labels, epochs: int = 1) -> None:
        nodes = torch.tensor(labels.nodes, device=self._x.device)
        classes = torch.tensor(labels.classes, device=self._x.device)
        self._module.train()
        with seeded(self._rng):
            for _ in range(epochs):
                self._optimizer.zero_grad()
                loss = F.cross_entropy(self._module(self._x, self._edges)[nodes], classes)
                torch.autograd.backward(loss)
                self._optimizer.step()

    @torch.no_grad()
    def predict(self) -> Prediction:
        self._module.eval()
        logits: Tensor = self._module(self._x, self._edges)
        return Prediction(logits.softmax(-1), logits)

    def grow(self, num_classes: int) -> None:
        """A larger module of the same kind, with every weight the two share copied over."""
        learned, old_classes = self._module.state_dict(), self._num_classes
        self._num_classes = num_classes
        self._module, self._optimizer = self._build(num_classes)
        for name, weights in self._module.state_dict().items():
            _carry_over(learned[name], weights, old_classes, num_classes)

    def _build(self, num_classes: int) -> tuple[nn.Module, torch.optim.Adam]:
        # Drawn on the CPU: the same seed gives the same weights on every device.
        with seeded(self._rng), torch.device("cpu"):
            module = self._make_module(self._x.shape[1], num_classes)
        module.to(self._x.device)
        optimizer = torch.optim.Adam(
            module.parameters(), lr=self._learning_rate, weight_decay=self._weight_decay
        )
        return module, optimizer

    def clone(self) -> Self:
        twin = copy.copy(self)
        # Copied together, so that the optimizer's copy holds the module's copied weights.
        twin._module, twin._optimizer = copy.deepcopy((self._module, self._optimizer))
        twin._rng = clone_generator(self._rng)
        return twin


def _carry_over(old: Tensor, new: Tensor, old_classes: int, num_classes: int) -> None:
    """Write the weights of the classes known before into those of the larger module."""
    if old.shape == new.shape:
        new.copy_(old)
        return
    sizes = zip(old.shape, new.shape, strict=True)
    kept = [_kept(*size, old_classes, num_classes).to(new.device) for size in sizes]
    is_new_output = torch.ones(len(new), dtype=torch.bool, device=new.device)
    is_new_output[kept[0]] = False
    new[is_new_output] = 0  # silent to begin with: attention would mix it into the others
    new[torch.meshgrid(*kept, indexing="ij")] = old


def _kept(old_size: int, new_size: int, old_classes: int, num_classes: int) -> Tensor:
    """Where the old entries of one dimension go; several attention heads have a block of classes each."""
    entries = torch.arange(old_size, device="cpu")
    if old_size * num_classes == new_size * old_classes:
        return entries + entries // old_classes * (num_classes - old_classes)
    return entries
