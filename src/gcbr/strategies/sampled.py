"""Any strategy, shown a fresh sample of the candidates at each choice: quick answers on very large graphs."""

from __future__ import annotations

from dataclasses import replace

import torch

from gcbr.graph import Graph
from gcbr.view import Observer, Strategy, StrategyFactory, View

QUICK = 500  # candidates from which an answer on a million nodes comes within a second


def sampled(factory: StrategyFactory, num_candidates: int) -> StrategyFactory:
    """`factory`'s strategy, choosing among so many candidates drawn by `view.rng`, all equally likely.

    Each is scored exactly as it would be among all: what is lost is the best of those not drawn. Of so few, a
    strategy that looks no further than its candidates' surroundings need not have the whole graph predicted.
    """

    def make(graph: Graph, budget: int, rng: torch.Generator) -> Strategy:
        strategy = factory(graph, budget, rng)
        if isinstance(strategy, Observer):
            return SampledObserver(strategy, strategy, num_candidates)
        return Sampled(strategy, num_candidates)

    return make


class Sampled:
    def __init__(self, strategy: Strategy, num_candidates: int) -> None:
        self._strategy = strategy
        self._num_candidates = num_candidates

    def select(self, view: View) -> int:
        order = torch.randperm(len(view.candidates), generator=view.rng, device=view.rng.device)
        drawn = order[: self._num_candidates].sort().values.to(view.candidates.device)
        return self._strategy.select(replace(view, candidates=view.candidates[drawn]))


class SampledObserver(Sampled):
    """Answers are passed on with every candidate there was: what is learned does not depend on samples."""

    def __init__(self, strategy: Strategy, observer: Observer, num_candidates: int) -> None:
        super().__init__(strategy, num_candidates)
        self._observer = observer

    def observe(self, view: View, node: int, cls: int) -> None:
        self._observer.observe(view, node, cls)
