"""How good predictions are, and how balanced labels are. All m classes count, seen or not."""

from __future__ import annotations

import torch
from torch import Tensor


def class_counts(classes: Tensor, num_classes: int) -> Tensor:
    """How often each class occurs along the last dimension: [..., n] gives [..., num_classes]."""
    counts = torch.zeros(*classes.shape[:-1], num_classes, dtype=torch.long, device=classes.device)
    return counts.scatter_add_(-1, classes, torch.ones_like(classes))


def f1_per_class(truth: Tensor, predicted: Tensor, num_classes: int) -> Tensor:
    """2 TP / (2 TP + FP + FN) of each class; 0 for a class that is neither there nor predicted."""
    right = torch.where(truth == predicted, truth, num_classes)
    hits = class_counts(right, num_classes + 1)[..., :-1]
    occurrences = class_counts(truth, num_classes) + class_counts(predicted, num_classes)
    return 2 * hits / occurrences.clamp(min=1)


def macro_f1(truth: Tensor, predicted: Tensor, num_classes: int) -> Tensor:
    """The mean F1 over all classes, for each leading index: [..., n] gives [...]."""
    return f1_per_class(truth, predicted, num_classes).mean(-1)


def micro_f1(truth: Tensor, predicted: Tensor) -> Tensor:
    """The share of nodes predicted right, which is what micro-averaged F1 is when each has one class."""
    return (truth == predicted).float().mean(-1)


def accuracy_per_class(truth: Tensor, predicted: Tensor, num_classes: int) -> Tensor:
    """The share of each class's nodes predicted right (recall); not a number for a class that is absent."""
    right = torch.where(truth == predicted, truth, num_classes)
    hits = class_counts(right, num_classes + 1)[..., :-1]
    return hits / class_counts(truth, num_classes)


def imbalance_ratio(counts: Tensor) -> Tensor:
    """The paper's Eq. 1: the smallest class count over the largest; 0 while a class has no label."""
    return counts.min(-1).values / counts.max(-1).values.clamp(min=1)
