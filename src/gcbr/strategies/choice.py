"""The last step of most strategies: from a score of every node to one node."""

from __future__ import annotations

from torch import Tensor

from gcbr import seeding
from gcbr.view import View


def highest(view: View, scores: Tensor) -> int:
    """The candidate with the highest score; among equals any, by `view.rng`. `scores` is [num_nodes]."""
    among = scores[view.candidates]
    best = view.candidates[among == among.max()]
    return int(best[seeding.integer(len(best), view.rng)])
