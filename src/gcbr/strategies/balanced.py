"""`balanced(X)`: any strategy X, made to choose in the class that is furthest behind.

The same number of labels is every class's share. Of the classes in which some candidate is predicted, the one
with the fewest labels is furthest below it, and X chooses among the candidates predicted there. Labels of
a batch under way count as expected: by the probabilities of the nodes chosen.
"""

from __future__ import annotations

import torch

from gcbr.graph import Graph
from gcbr.strategies.quotas import predicted_in
from gcbr.view import Observer, Strategy, StrategyFactory, View


class Balanced:
    """Another strategy's choice among the candidates predicted in the class with the fewest labels."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    def select(self, view: View) -> int:
        return self._strategy.select(in_neediest_class(view))
