"""What answers teach: the classes met, the labels, the classifier, and what each of the last answers changed.

It takes answers in order and forgets none: where an earlier answer changes, a learner starts a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import torch
from torch import Tensor

from gcbr.classifier import Classifier, ClassifierFactory
from gcbr.engine.gcn import Prediction
from gcbr.graph import Graph, Labels
from gcbr.stopping import WINDOW, Lesson, lesson

_WATCH_ALL = 50_000  # nodes; of more, `_WATCHED` drawn once say what an answer changed
_WATCHED = 4_000


class Student:
    def __init__(
        self,
        graph: Graph,
        classes: Iterable[str],
        make_classifier: ClassifierFactory,
        *,
        classifier_rng: torch.Generator,
        watch_rng: torch.Generator,
    ) -> None:
        self.class_names = list(classes)  # those declared, then those met, in order
        self.labels = Labels()
        self.lessons: list[Lesson] = []  # of the last answers that were watched
        self._graph = graph
        self._make_classifier = make_classifier
        self._classifier_rng = classifier_rng
        self._watch_rng = watch_rng
        self._classifier: Classifier | None = None
        self._is_taught = False  # whether the classifier has seen an answer
        self._prediction: Prediction | None = None
        self._grow()

    def learn(self, node: int, label: str, observe: Callable[[int], None], *, is_watched: bool) -> None:
        """Learn from an answer; `observe` hears the number of its class first.

        Watched, it is noted what the answer told, which takes a prediction before it and one after.
        """
        before = self._classes_watched(node) if is_watched and self._is_taught else None
        if label not in self.class_names:
            self.class_names.append(label)
            self._grow()
        cls = self.class_names.index(label)
        observe(cls)
        self.labels = self.labels.add(node, cls)
        if self._classifier is not None:
            self._classifier.update(self.labels)
            self._is_taught = True
        self._prediction = None
        if before is not None:
            after, place = self._classes_watched(node)
            self.lessons = [*self.lessons, lesson(before[0], after, place, cls)][-WINDOW:]

    def prediction(self) -> Prediction:
        """What the classifier says now, one step after each answer."""
        if self._prediction is None:
            self._prediction = self._predict()
        return self._prediction

    def trained_on(self, epochs: int) -> Prediction:
        """What a copy of the classifier says after training on for some epochs."""
        if self._classifier is None or not self._is_taught:
            return self.prediction()
        twin = self._classifier.clone()
        twin.update(self.labels, epochs)
        return twin.predict()

    def _grow(self) -> None:
        """Let the classifier follow the classes known; with fewer than two there is nothing to learn."""
        num_classes = len(self.class_names)
        if self._classifier is None and num_classes >= 2:
            self._classifier = self._make_classifier(self._graph, num_classes, self._classifier_rng)
        elif self._classifier is not None and num_classes > self._classifier.num_classes:
            self._classifier.grow(num_classes)
        self._prediction = None

    def _classes_watched(self, node: int) -> tuple[Tensor, int]:
        """The predicted classes that tell what an answer changes, and the place of its node among them."""
        if self._graph.num_nodes <= _WATCH_ALL:
            return self.prediction().classes, node
        drawn = self._drawn
        return self.prediction().of(torch.cat([drawn.new_tensor([node]), drawn])).argmax(1), 0

    @cached_property
    def _drawn(self) -> Tensor:
        rng = self._watch_rng
        drawn = torch.randint(self._graph.num_nodes, (_WATCHED,), generator=rng, device=rng.device)
        return drawn.to(self._graph.device)

    def _predict(self) -> Prediction:
        # Until it has been taught nothing is known of any class: an untrained network's noise is no guess.
        if self._classifier is None or not self._is_taught:
            num_classes = max(1, len(self.class_names))
            shape = (self._graph.num_nodes, num_classes)
            uniform = torch.full(shape, 1 / num_classes, device=self._graph.device)
            return Prediction(uniform, uniform.new_zeros(self._graph.num_nodes, 1))
        return self._classifier.predict()
