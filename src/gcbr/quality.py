"""How good a classifier is, from the labels it was given alone: cross-validation, with an interval.

The estimate is of nodes like the labeled ones. Where labels were drawn at random that is the graph: on
development graphs the truth lay in the interval of Micro-F1 in 29 of 34 runs. Labels that a strategy chose
are another mix: with 100 of `gcbr++` on digits it was 5 points of Micro-F1 and 13 of Macro-F1 too high.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gcbr import metrics, seeding
from gcbr.classifier import ClassifierFactory, GCNClassifier
from gcbr.graph import Graph, Labels

FOLDS = 5
MIN_LABELS = 20  # fewer give an interval so wide that it says nothing
RESAMPLES = 2000
CONFIDENCE = 0.95

_FOLDS, _CLASSIFIER, _BOOTSTRAP = range(3)  # addresses of the generators under the seed


class Interval(NamedTuple):
    """A share, and where it lies with 95% confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Quality:
    """What cross-validation says of nodes like the labeled ones, all classes known."""

    micro_f1: Interval
    macro_f1: Interval
    labels: int
    folds: int


def too_few(labels: Labels, num_classes: int) -> str | None:
    """Why these labels allow no estimate; None where they do."""
    if len(labels) < MIN_LABELS:
        return f"{len(labels)} labels are too few for an estimate of quality; it takes {MIN_LABELS}"
    if int((labels.counts(num_classes) >= 2).sum()) < 2:
        return "an estimate of quality needs two classes with two labels each"
    return None


def cross_validate(
    graph: Graph,
    labels: Labels,
    num_classes: int,
    *,
    epochs: int,
    seed: int = 0,
    classifier: ClassifierFactory = GCNClassifier,
    on_fold: Callable[[int], None] | None = None,
) -> Quality:
    """Each label predicted by a classifier trained on the labels of the other folds.

    A class with a single label is never predicted right: nothing is left to learn it from.
    """
    nodes, classes = (torch.tensor(numbers, device="cpu") for numbers in (labels.nodes, labels.classes))
    predicted = torch.empty_like(classes)
    folds = _folds(classes, seed)
    for number, (kept, held) in enumerate(folds):
        rng = seeding.generator(seed, _CLASSIFIER, number)
        fold = classifier(graph, num_classes, rng)
        fold.update(Labels(tuple(nodes[kept].tolist()), tuple(classes[kept].tolist())), epochs)
        predicted[held] = fold.predict().probabilities[nodes[held]].argmax(1).cpu()
        if on_fold is not None:
            on_fold(number + 1)
    return Quality(
        micro_f1=_micro_f1(classes, predicted),
        macro_f1=_macro_f1(classes, predicted, num_classes, seeding.generator(seed, _BOOTSTRAP)),
        labels=len(labels),
        folds=len(folds),
    )


def _folds(classes: Tensor, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Positions to train on and positions to predict, every class spread evenly over the folds."""
    from sklearn.model_selection import StratifiedKFold

    state = seeding.integer(2**31, seeding.generator(seed, _FOLDS))
    num_folds = min(FOLDS, int(classes.bincount().max()))
    splitter = StratifiedKFold(num_folds, shuffle=True, random_state=state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes smaller than the folds: see `cross_validate`
        folds = list(splitter.split(np.zeros(len(classes)), classes.numpy()))
    return [(torch.from_numpy(kept), torch.from_numpy(held)) for kept, held in folds]


def _micro_f1(truth: Tensor, predicted: Tensor) -> Interval:
    """A share of answers: Wilson's interval, which holds for few of them too."""
    from scipy.stats import binomtest

    share = binomtest(int((truth == predicted).sum()), len(truth))
    bounds = share.proportion_ci(CONFIDENCE, method="wilson")
    return Interval(share.statistic, bounds.low, bounds.high)


def _macro_f1(truth: Tensor, predicted: Tensor, num_classes: int, rng: torch.Generator) -> Interval:
    """A bootstrap over the labels; a class that is not drawn does not count in that draw."""
    drawn = torch.randint(len(truth), (RESAMPLES, len(truth)), generator=rng, device=rng.device)
    truths, predictions = truth[drawn], predicted[drawn]
    f1 = metrics.f1_per_class(truths, predictions, num_classes)
    occurrences = metrics.class_counts(truths, num_classes) + metrics.class_counts(predictions, num_classes)
    means = f1.double().sum(-1) / (occurrences > 0).sum(-1)
    tail = (1 - CONFIDENCE) / 2
    low, high = torch.quantile(means, means.new_tensor([tail, 1 - tail])).tolist()
    return Interval(float(metrics.macro_f1(truth, predicted, num_classes)), low, high)
