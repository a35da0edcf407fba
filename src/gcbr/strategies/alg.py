"""ALG (Zhang et al. 2021, "ALG: Fast and Accurate Active Learning Framework for Graph Convolutional Networks").

The paper asks for the nodes that take part in as much of the network's work as possible, the same number in
each class. Our reading: a node is worth the influence it has on nodes that no label reaches in two steps,
and a predicted class that has its share of the budget is closed. When labels reach everything, a node is worth
its influence where theirs is weak.
"""

from __future__ import annotations

import torch

from gcbr import scores
from gcbr.graph import Graph
from gcbr.strategies.choice import highest
from gcbr.strategies.influence import reached_within_two_steps, received_influence, total_influence
from gcbr.strategies.quotas import predicted_in
from gcbr.view import View


class ALG:
    """The most influence on nodes out of every label's reach, in classes still short of their share."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        pass

    def select(self, view: View) -> int:
        taken = torch.tensor([*view.labels.nodes, *view.pending], dtype=torch.long)
        open_view = predicted_in(view, ~scores.is_majority(view.counts, view.budget))
        gain = total_influence(view.graph, (~reached_within_two_steps(view.graph, taken)).float())
        if float(gain[open_view.candidates].max()) == 0:
            gain = total_influence(view.graph, 1 - received_influence(view.graph, taken))
        return highest(open_view, gain)
