"""Narrowing a choice down to candidates predicted in some of the classes."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from gcbr.view import View


def predicted_in(view: View, is_wanted: Tensor) -> View:
    """The view with those candidates alone whose likeliest class is wanted; all of them if none is.

    `is_wanted` is [num_classes], boolean.
    """
    likeliest = view.prediction.probabilities[view.candidates].argmax(1)
    narrowed = view.candidates[is_wanted[likeliest]]
    return replace(view, candidates=narrowed) if len(narrowed) else view
