"""Uniform random sampling, the floor every other strategy is measured from."""

from __future__ import annotations

import torch

from gcbr import seeding
from gcbr.graph import Graph
from gcbr.view import View


class Random:
    """Any candidate, all equally likely."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        pass

    def select(self, view: View) -> int:
        return int(view.candidates[seeding.integer(len(view.candidates), view.rng)])
