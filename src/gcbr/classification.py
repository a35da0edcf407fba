"""The class of every node from a few labels, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from gcbr import seeding
from gcbr.classifier import GCNClassifier
from gcbr.errors import InputError
from gcbr.graph import Graph, Labels
from gcbr.quality import Quality, cross_validate, too_few

EPOCHS = 200


@dataclass(frozen=True, eq=False)
class Classification:
    class_names: tuple[str, ...]  # in the order the labels name them
    probabilities: Tensor  # [num_nodes, num_classes]
    quality: Quality | None
    why_unknown: str | None  # where there is no estimate of the quality

    @property
    def classes(self) -> list[str]:
        """The likeliest class of each node."""
        return [self.class_names[cls] for cls in self.probabilities.argmax(1).tolist()]

    @property
    def confidence(self) -> list[float]:
        """The probability of that class."""
        likeliest: list[float] = self.probabilities.max(1).values.tolist()
        return likeliest


def classify(
    graph: Graph, answers: Mapping[int, str], *, epochs: int = EPOCHS, seed: int = 0
) -> Classification:
    """Train the classifier on the labels given, nodes to names of classes, and predict every node."""
    class_names = tuple(dict.fromkeys(answers.values()))
    if len(class_names) < 2:
        there = f"one class, '{class_names[0]}'" if class_names else "no class"
        raise InputError(f"the labels name {there}; a classifier needs labels of at least two")
    labels = Labels(tuple(answers), tuple(class_names.index(name) for name in answers.values()))
    classifier = GCNClassifier(graph, len(class_names), seeding.generator(seed))
    classifier.update(labels, epochs)
    reason = too_few(labels, len(class_names))
    quality = None if reason else cross_validate(graph, labels, len(class_names), epochs=epochs, seed=seed)
    return Classification(class_names, classifier.predict().probabilities, quality, reason)
