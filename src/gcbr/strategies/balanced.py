"""`balanced(X)`: any strategy X, made to choose in the class that is furthest behind.

All classes have the same share of the labels. Among those that are below it and that some candidate is
predicted in, the one with the fewest labels is the furthest behind; X chooses among the candidates predicted
there, or among all if there is no such class. In a batch, a node chosen before counts in its likeliest
class.

A class that nobody is predicted in is passed over: waiting for it would leave the others to chance.
"""

from __future__ import annotations

import torch

from gcbr.graph import Graph
from gcbr.strategies.quotas import predicted_in
from gcbr.view import Observer, Strategy, StrategyFactory, View


class Balanced:
    """Another strategy's choice among the candidates predicted in the class furthest behind."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    def select(self, view: View) -> int:
        return self._strategy.select(in_class_furthest_behind(view))


class BalancedObserver(Balanced):
    """The same around a strategy that learns from answers, which it is shown as it would have chosen them."""

    def __init__(self, strategy: Strategy, observer: Observer) -> None:
        super().__init__(strategy)
        self._observer = observer

    def observe(self, view: View, node: int, cls: int) -> None:
        narrowed = in_class_furthest_behind(view)
        was_offered = bool((narrowed.candidates == node).any())
        self._observer.observe(narrowed if was_offered else view, node, cls)


def balanced(inner: StrategyFactory) -> StrategyFactory:
    """A factory of `inner`'s strategies, each made class-balanced."""

    def make(graph: Graph, budget: int, rng: torch.Generator) -> Strategy:
        strategy = inner(graph, budget, rng)
        return BalancedObserver(strategy, strategy) if isinstance(strategy, Observer) else Balanced(strategy)

    return make


def in_class_furthest_behind(view: View) -> View:
    """The view with the candidates predicted there alone; classes level with each other go together."""
    share = (view.counts.sum() + 1) / view.num_classes  # of each class, the label to come included
    likeliest = view.prediction.probabilities[view.candidates].argmax(1)
    is_predicted = torch.bincount(likeliest, minlength=view.num_classes) > 0
    is_behind = is_predicted & (view.counts < share)
    if not is_behind.any():
        return view
    return predicted_in(view, is_behind & (view.counts == view.counts[is_behind].min()))
