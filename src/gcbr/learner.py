"""Ask and tell: chooses nodes to label, and learns from the answers.

The benchmark answers from a `Dataset`, the annotation app through a person who may take an hour; both
drive this one class. Its state depends on the seed and the surviving answers alone: whatever was asked,
skipped, corrected or withdrawn on the way, it is the state of a fresh learner told the answers that
survive, in the order in which each node was first answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import index

import torch
from torch import Tensor

from gcbr import seeding
from gcbr.classifier import Classifier, ClassifierFactory, GCNClassifier
from gcbr.engine.gcn import Prediction
from gcbr.errors import InputError
from gcbr.graph import Graph, Labels
from gcbr.strategies import DEFAULT_STRATEGY, find_strategy
from gcbr.view import Observer, Strategy, StrategyFactory, View

# Addresses of the generators under a learner's seed.
_CLASSIFIER, _STRATEGY, _CHOICE = range(3)

Oracle = Callable[[int], str]  # a node to the name of its class


class ActiveLearner:
    """Chooses nodes to label and learns from the answers."""

    def __init__(
        self,
        graph: Graph,
        strategy: str | StrategyFactory = DEFAULT_STRATEGY,
        *,
        budget: int,
        seed: int = 0,
        classes: Iterable[str] = (),
        candidates: Tensor | None = None,
        classifier: ClassifierFactory = GCNClassifier,
    ) -> None:
        self.graph = graph
        self.budget = budget
        self._seed = seed
        self._declared = tuple(classes)
        self._make_strategy = find_strategy(strategy) if isinstance(strategy, str) else strategy
        self._make_classifier = classifier
        self._allowed = _mask(graph, candidates)
        self._check()
        self._answers: dict[int, str] = {}  # in the order of each node's first answer
        self._order: dict[int, None] = {}  # every node ever answered, in that order
        self._skipped: set[int] = set()
        self._start()

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes known now: those declared, then those met, in order."""
        self._catch_up()
        return tuple(self._class_names)

    @property
    def labels(self) -> Labels:
        self._catch_up()
        return self._labels

    @property
    def counts(self) -> Tensor:
        """Labels given to each class so far, in the order of `class_names`."""
        return self.labels.counts(len(self.class_names))

    @property
    def candidates(self) -> Tensor:
        """Nodes that can still be asked, in ascending order."""
        return self._allowed_but([*self._answers, *self._skipped])

    def ask(self, k: int = 1) -> list[int]:
        """The next `k` nodes to label. Asking changes nothing: asked again, it gives the same nodes."""
        self._catch_up()
        available = max(0, min(len(self.candidates), self.budget - len(self._answers)))
        if not 1 <= k <= available:
            raise InputError(f"asked for {k} nodes; {available} can still be asked within the budget")
        view = self._view(self.candidates)
        chosen = [self._strategy.select(view)]
        while len(chosen) < k:
            view = self._with_pending(view, chosen[-1])
            chosen.append(self._strategy.select(view))
        return chosen

    def tell(self, node: int, label: str) -> None:
        """Take an answer to any allowed node, asked for or not, and learn from it."""
        node = index(node)  # of `candidates` or an array: such numbers are no keys
        self._require_open(node)
        self._skipped.discard(node)
        self._answers[node] = label
        if node in self._order:  # answered before and withdrawn: it goes back to its old place
            self._answers = {n: self._answers[n] for n in self._order if n in self._answers}
            self._stale = True
        self._order[node] = None

    def skip(self, node: int) -> None:
        """Never ask this node; it counts nowhere. Telling it all the same is allowed."""
        node = index(node)
        self._require_open(node)
        self._skipped.add(node)

    def correct(self, node: int, label: str) -> None:
        """Replace an answer, as if it had been given right the first time."""
        node = index(node)
        self._require_answer(node)
        self._answers[node] = label
        self._stale = True

    def withdraw(self, node: int) -> None:
        """Take an answer or a skip back: the node can be asked again."""
        node = index(node)
        if node in self._skipped:
            self._skipped.remove(node)
            return
        self._require_answer(node)
        del self._answers[node]
        self._stale = True

    def prediction(self) -> Prediction:
        """What the classifier says now, one step after each answer: what the next choice is based on."""
        self._catch_up()
        return self._current_prediction()

    def predict(self, final_epochs: int = 100) -> Tensor:
        """Class probabilities of every node, [num_nodes, num_classes], after training on for some epochs.

        The training is done on a copy, so that predicting never changes what is asked next.
        """
        self._catch_up()
        if self._classifier is None or not self._answers:
            return self.prediction().probabilities
        trained = self._classifier.clone()
        trained.update(self._labels, final_epochs)
        return trained.predict().probabilities

    def _start(self) -> None:
        """Forget every answer learned from, and stand where a fresh learner stands."""
        self._labels = Labels()
        self._class_names = list(self._declared)
        self._classifier_rng = seeding.generator(self._seed, _CLASSIFIER)
        self._classifier: Classifier | None = None
        self._is_taught = False  # whether the classifier has seen an answer
        self._grow()
        rng = seeding.generator(self._seed, _STRATEGY)
        self._strategy: Strategy = self._make_strategy(self.graph, self.budget, rng)
        self._prediction: Prediction | None = None
        self._stale = False

    def _catch_up(self) -> None:
        """Learn from the answers not learned from yet: all of them, where an earlier one has changed."""
        if self._stale:
            self._start()
        for node, label in list(self._answers.items())[len(self._labels) :]:
            self._learn(node, label)

    def _learn(self, node: int, label: str) -> None:
        if label not in self._class_names:
            self._class_names.append(label)
            self._grow()
        cls = self._class_names.index(label)
        if isinstance(self._strategy, Observer):
            # Not `self.candidates`: what is learned from an answer may not depend on later ones or on skips.
            self._strategy.observe(self._view(self._allowed_but(self._labels.nodes)), node, cls)
        self._labels = self._labels.add(node, cls)
        if self._classifier is not None:
            self._classifier.update(self._labels)
            self._is_taught = True
        self._prediction = None

    def _grow(self) -> None:
        """Let the classifier follow the classes known; with fewer than two there is nothing to learn."""
        num_classes = len(self._class_names)
        if self._classifier is None and num_classes >= 2:
            self._classifier = self._make_classifier(self.graph, num_classes, self._classifier_rng)
        elif self._classifier is not None and num_classes > self._classifier.num_classes:
            self._classifier.grow(num_classes)
        self._prediction = None

    def _current_prediction(self) -> Prediction:
        if self._prediction is None:
            self._prediction = self._predict_now()
        return self._prediction

    def _predict_now(self) -> Prediction:
        # Until it has been taught nothing is known of any class: an untrained network's noise is no guess.
        if self._classifier is None or not self._is_taught:
            num_classes = max(1, len(self._class_names))
            uniform = torch.full((self.graph.num_nodes, num_classes), 1 / num_classes)
            return Prediction(uniform, torch.zeros(self.graph.num_nodes, 1))
        return self._classifier.predict()

    def _view(self, candidates: Tensor) -> View:
        prediction = self._current_prediction()
        return View(
            graph=self.graph,
            labels=self._labels,
            candidates=candidates,
            prediction=prediction,
            counts=self._labels.counts(prediction.probabilities.shape[1]).float(),
            pending=(),
            budget=self.budget,
            rng=self._choice_rng(0),
        )

    def _with_pending(self, view: View, node: int) -> View:
        """The view after choosing `node`: it counts as labeled with its predicted distribution."""
        return replace(
            view,
            candidates=view.candidates[view.candidates != node],
            counts=view.counts + view.prediction.probabilities[node],
            pending=(*view.pending, node),
            rng=self._choice_rng(len(view.pending) + 1),
        )

    def _allowed_but(self, nodes: Iterable[int]) -> Tensor:
        free = self._allowed.clone()
        free[list(nodes)] = False
        return free.nonzero().flatten()

    def _choice_rng(self, num_pending: int) -> torch.Generator:
        return seeding.generator(self._seed, _CHOICE, len(self._labels), num_pending)

    def _require_node(self, node: int) -> None:
        if not 0 <= node < self.graph.num_nodes:
            raise InputError(f"there is no node {node}; nodes go from 0 to {self.graph.num_nodes - 1}")

    def _require_open(self, node: int) -> None:
        self._require_node(node)
        if not self._allowed[node]:
            raise InputError(f"node {self.graph.name_of(node)} is not among the candidates")
        if node in self._answers:
            raise InputError(f"node {self.graph.name_of(node)} is already labeled; correct it instead")

    def _require_answer(self, node: int) -> None:
        self._require_node(node)
        if node not in self._answers:
            raise InputError(f"node {self.graph.name_of(node)} has no answer")

    def _check(self) -> None:
        if self.budget < 1:
            raise InputError(f"the budget is {self.budget}; it must be at least 1")
        if self.budget > int(self._allowed.sum()):
            raise InputError(
                f"the budget is {self.budget}, but only {int(self._allowed.sum())} nodes can be asked"
            )
        if len(set(self._declared)) < len(self._declared):
            raise InputError(f"classes are declared twice: {', '.join(self._declared)}")


def simulate(
    learner: ActiveLearner, oracle: Oracle, budget: int, on_answer: Callable[[int], None] | None = None
) -> Labels:
    """Label `budget` nodes with a scripted oracle, one by one; `on_answer` hears how many there are."""
    for done in range(1, budget + 1):
        (node,) = learner.ask()
        learner.tell(node, oracle(node))
        if on_answer is not None:
            on_answer(done)
    return learner.labels


def _mask(graph: Graph, nodes: Tensor | None) -> Tensor:
    if nodes is None:
        return torch.ones(graph.num_nodes, dtype=torch.bool)
    mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
    if len(nodes):
        lowest, highest = int(nodes.min()), int(nodes.max())
        if lowest < 0 or highest >= graph.num_nodes:
            raise InputError(
                f"candidates go from {lowest} to {highest}; nodes go from 0 to {graph.num_nodes - 1}"
            )
        mask[nodes] = True
    return mask
