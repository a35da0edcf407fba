"""Ask and tell: chooses nodes to label, and learns from the answers.

The benchmark answers from a `Dataset`, the annotation app through a person who may take an hour; both
drive this one class. Its state depends on the seed and the surviving answers alone: whatever was asked,
skipped, corrected or withdrawn on the way, it is the state of a fresh learner told the answers that
survive, in the order in which each node was first answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import index
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from gcbr import metrics, seeding
from gcbr.classifier import ClassifierFactory, GCNClassifier
from gcbr.engine.gcn import Prediction
from gcbr.errors import InputError
from gcbr.explain import Explanation, explain
from gcbr.graph import Graph, Labels
from gcbr.saved import SavedLearner, read_saved, write_saved
from gcbr.state import GraphFacts
from gcbr.stopping import WINDOW, StopHint, stop_hint
from gcbr.strategies import DEFAULT_STRATEGY, find_strategy
from gcbr.strategies.sampled import sampled
from gcbr.student import Student
from gcbr.view import Observer, Strategy, StrategyFactory, View

# Addresses of the generators under a learner's seed.
_CLASSIFIER, _STRATEGY, _CHOICE, _WATCH = range(4)

Oracle = Callable[[int], str]  # a node to the name of its class
Answers = Mapping[int, str] | Iterable[tuple[int, str]]  # nodes and the names of their classes


@dataclass(frozen=True)
class Progress:
    """Where a labeling stands."""

    counts: dict[str, int]  # labels of each class known
    rho: float  # the imbalance ratio: the fewest labels of a class over the most
    given: int  # labels, those at hand from the start included
    skipped: int
    budget: int  # labels to be had in all
    left: int  # nodes that can still be asked within the budget
    target: float  # labels of each class if all had the same share of the budget


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
        labels: Answers = (),
        classifier: ClassifierFactory = GCNClassifier,
        sample: int | None = None,
    ) -> None:
        """`candidates` can be asked; `labels` are at hand already, of any nodes, and count in the budget.

        With `sample`, each choice is made among so many candidates drawn at random, each scored exactly: for
        quick answers on a graph of millions.
        """
        self.graph = graph
        self.budget = budget
        self._seed = seed
        self._declared = tuple(classes)
        self._named_strategy = strategy
        make = find_strategy(strategy) if isinstance(strategy, str) else strategy
        self._sample = sample
        self._make_strategy = make if sample is None else sampled(make, sample)
        self._make_classifier = classifier
        self._facts = GraphFacts(graph)
        self._allowed = _mask(graph, candidates)
        self._answers: dict[int, str] = {}  # in the order of each node's first answer
        self._order: dict[int, None] = {}  # every node ever answered, in that order
        self._skipped: set[int] = set()
        self._stale = False
        for node, label in labels.items() if isinstance(labels, Mapping) else labels:
            self.tell(node, label)
        self._check()
        self._start()

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes known now: those declared, then those met, in order."""
        self._catch_up()
        return tuple(self._student.class_names)

    @property
    def labels(self) -> Labels:
        self._catch_up()
        return self._student.labels

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
        if not 1 <= k <= self._num_left:
            raise InputError(f"asked for {k} nodes; {self._num_left} can still be asked within the budget")
        view = self._view(self.candidates)
        chosen = [self._select(view)]
        while len(chosen) < k:
            view = self._with_pending(view, chosen[-1])
            chosen.append(self._select(view))
        return chosen

    def tell(self, node: int, label: str) -> None:
        """Take an answer to any node, asked for or not, a candidate or not, and learn from it."""
        node = index(node)  # of `candidates` or an array: such numbers are no keys
        self._require_open(node)
        _require_class(label)
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
        if not self._allowed[node]:
            raise InputError(f"node {self.graph.name_of(node)} is not among the candidates")
        self._skipped.add(node)

    def correct(self, node: int, label: str) -> None:
        """Replace an answer, as if it had been given right the first time."""
        node = index(node)
        self._require_answer(node)
        _require_class(label)
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
        return self._student.prediction()

    def predict(self, final_epochs: int = 100) -> Tensor:
        """Class probabilities of every node, [num_nodes, num_classes], after training on for some epochs.

        The training is done on a copy, so that predicting never changes what is asked next.
        """
        self._catch_up()
        return self._student.trained_on(final_epochs).probabilities

    def progress(self) -> Progress:
        """Where the labeling stands; skipped nodes count nowhere else."""
        counts = self.counts
        return Progress(
            counts=dict(zip(self.class_names, counts.tolist(), strict=True)),
            rho=float(metrics.imbalance_ratio(counts)) if len(counts) else 0.0,
            given=len(self._answers),
            skipped=len(self._skipped),
            budget=self.budget,
            left=self._num_left,
            target=self.budget / max(1, len(counts)),
        )

    def explain(self, node: int, after: Iterable[int] = ()) -> Explanation:
        """What speaks for asking `node` now, or in a batch `after` some others."""
        node = index(node)
        self._require_node(node)
        self._catch_up()
        view = self._view(self.candidates)
        for earlier in map(index, after):
            self._require_open(earlier)
            view = self._with_pending(view, earlier)
        return explain(view, node, self._student.class_names, self._facts)

    def stop_hint(self) -> StopHint:
        """Whether more labels still pay, as far as the answers given tell."""
        self._catch_up()
        return stop_hint(self._student.lessons, self.counts.tolist())

    def save(self, path: str | Path) -> None:
        """Write all that `load` needs beside the graph; the file is whole or not there."""
        saved = SavedLearner(
            strategy=self._named_strategy if isinstance(self._named_strategy, str) else None,
            budget=self.budget,
            seed=self._seed,
            sample=self._sample,
            classes=self._declared,
            answers=self._answers,
            order=tuple(self._order),
            skipped=tuple(sorted(self._skipped)),
            candidates=self._allowed.nonzero().flatten().cpu(),
        )
        write_saved(Path(path), saved, self.graph)

    @classmethod
    def load(
        cls,
        path: str | Path,
        graph: Graph,
        *,
        strategy: StrategyFactory | None = None,
        classifier: ClassifierFactory = GCNClassifier,
    ) -> Self:
        """The learner that was saved, on the same graph: it goes on exactly as that one would have.

        A strategy or classifier of one's own is no part of the file and is given again.
        """
        saved = read_saved(Path(path), graph)
        named = strategy or saved.strategy
        if named is None:
            raise InputError(f"{path} was saved with a strategy of your own; give it again as strategy=...")
        learner = cls(
            graph,
            named,
            budget=saved.budget,
            seed=saved.seed,
            sample=saved.sample,
            classes=saved.classes,
            candidates=saved.candidates,
            labels=[(node, saved.answers.get(node, "withdrawn below")) for node in saved.order],
            classifier=classifier,
        )
        for node in saved.order:
            if node not in saved.answers:
                learner.withdraw(node)
        for node in saved.skipped:
            learner.skip(node)
        return learner

    def _start(self) -> None:
        """Forget every answer learned from, and stand where a fresh learner stands."""
        self._student = Student(
            self.graph,
            self._declared,
            self._make_classifier,
            classifier_rng=seeding.generator(self._seed, _CLASSIFIER),
            watch_rng=seeding.generator(self._seed, _WATCH),
        )
        rng = seeding.generator(self._seed, _STRATEGY)
        self._strategy: Strategy = self._make_strategy(self.graph, self.budget, rng)
        self._stale = False

    def _catch_up(self) -> None:
        """Learn from the answers not learned from yet: all of them, where an earlier one has changed."""
        if self._stale:
            self._start()
        num_learned = len(self._student.labels)
        for node, label in list(self._answers.items())[num_learned:]:
            # Only the last lessons are ever looked at: many answers at once need no prediction each.
            is_watched = len(self._student.labels) >= len(self._answers) - WINDOW
            self._student.learn(node, label, partial(self._observe, node), is_watched=is_watched)

    def _observe(self, node: int, cls: int) -> None:
        if isinstance(self._strategy, Observer):
            self._strategy.observe(self._view(self._open_for(node)), node, cls)

    def _view(self, candidates: Tensor) -> View:
        labels, num_classes = self._student.labels, max(1, len(self._student.class_names))
        return View(
            graph=self.graph,
            labels=labels,
            candidates=candidates,
            prediction=self._student.prediction(),
            counts=labels.counts(num_classes).float().to(self.graph.device),
            pending=(),
            budget=self.budget,
            rng=self._choice_rng(0),
        )

    def _with_pending(self, view: View, node: int) -> View:
        """The view after choosing `node`: it counts as labeled with its likeliest class, in every column.

        Where classes are equally likely each has its part: with nothing known, the predicted distribution.
        Counting the whole distribution always would show the policy labeled nodes that look undecided, as
        answered ones never do: on Cora, 15 at a time, that cost .17 of imbalance ratio, and this nothing.
        """
        expected = view.prediction.of(self._one(node))[0]
        answer = (expected == expected.max()).float()
        answer /= answer.sum()
        return replace(
            view,
            candidates=view.candidates[view.candidates != node],
            prediction=view.prediction.but_for(node, answer),
            counts=view.counts + answer,
            pending=(*view.pending, node),
            rng=self._choice_rng(len(view.pending) + 1),
        )

    def _select(self, view: View) -> int:
        """The strategy's choice: it may be anybody's, so what it gives is looked at."""
        chosen = self._strategy.select(view)
        try:
            node = index(chosen)
        except TypeError:
            node = -1
        if not (view.candidates == node).any():
            raise InputError(
                f"strategy {self._strategy_name} chose {chosen!r}, which is no candidate; "
                "its select(view) must give one of view.candidates"
            )
        return node

    @property
    def _strategy_name(self) -> str:
        named = self._named_strategy
        return f"'{named}'" if isinstance(named, str) else type(self._strategy).__name__

    @property
    def _num_left(self) -> int:
        return max(0, min(len(self.candidates), self.budget - len(self._answers)))

    def _open_for(self, node: int) -> Tensor:
        """The candidates as an observer of the answer to `node` is shown them: with the node, always.

        Not `self.candidates`: what is learned from an answer may not depend on later ones or on skips.
        """
        free = self._allowed.clone()
        free[list(self._student.labels.nodes)] = False
        free[node] = True
        return free.nonzero().flatten()

    def _allowed_but(self, nodes: Iterable[int]) -> Tensor:
        free = self._allowed.clone()
        free[list(nodes)] = False
        return free.nonzero().flatten()

    def _one(self, node: int) -> Tensor:
        return torch.tensor([node], device=self.graph.device)

    def _choice_rng(self, num_pending: int) -> torch.Generator:
        return seeding.generator(self._seed, _CHOICE, len(self._student.labels), num_pending)

    def _require_node(self, node: int) -> None:
        if not 0 <= node < self.graph.num_nodes:
            raise InputError(f"there is no node {node}; nodes go from 0 to {self.graph.num_nodes - 1}")

    def _require_open(self, node: int) -> None:
        self._require_node(node)
        if node in self._answers:
            raise InputError(f"node {self.graph.name_of(node)} is already labeled; correct it instead")

    def _require_answer(self, node: int) -> None:
        self._require_node(node)
        if node not in self._answers:
            raise InputError(f"node {self.graph.name_of(node)} has no answer")

    def _check(self) -> None:
        if self.budget < 1:
            raise InputError(f"the budget is {self.budget}; it must be at least 1")
        if self._sample is not None and self._sample < 1:
            raise InputError(
                f"the sample is {self._sample}; it must be at least 1, or None for all candidates"
            )
        # Labels at hand count in the budget, those of nodes that cannot be asked as well.
        num_labelable = len(self.candidates) + len(self._answers)
        if self.budget > num_labelable:
            raise InputError(
                f"the budget is {self.budget}, but only {num_labelable} nodes can be asked or are labeled"
            )
        if len(set(self._declared)) < len(self._declared):
            raise InputError(f"classes are declared twice: {', '.join(self._declared)}")


def simulate(
    learner: ActiveLearner,
    oracle: Oracle,
    budget: int,
    on_answer: Callable[[int], None] | None = None,
    *,
    batch: int = 1,
) -> Labels:
    """Label `budget` nodes with a scripted oracle, `batch` at a time; `on_answer` hears how many are done."""
    done = 0
    while done < budget:
        for node in learner.ask(min(batch, budget - done)):
            learner.tell(node, oracle(node))
            done += 1
            if on_answer is not None:
                on_answer(done)
    return learner.labels


def _require_class(label: str) -> None:
    if not isinstance(label, str) or not label.strip():
        raise InputError(f"the class {label!r} is no name; give a text such as 'spider'")


def _mask(graph: Graph, nodes: Tensor | None) -> Tensor:
    if nodes is None:
        return torch.ones(graph.num_nodes, dtype=torch.bool, device=graph.device)
    mask = torch.zeros(graph.num_nodes, dtype=torch.bool, device=graph.device)
    if len(nodes):
        lowest, highest = int(nodes.min()), int(nodes.max())
        if lowest < 0 or highest >= graph.num_nodes:
            raise InputError(
                f"candidates go from {lowest} to {highest}; nodes go from 0 to {graph.num_nodes - 1}"
            )
        mask[nodes.to(graph.device)] = True
    return mask
