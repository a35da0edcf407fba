"""ALG (Zhang, Shen et al. 2021).

"ALG: Fast and Accurate Active Learning Framework for Graph Convolutional Networks" wants labels whose
receptive fields, two hops wide, cover as much of the graph as possible, and as many labels in each class.
Our reading: a node is worth its influence on the nodes around it, of which each counts the less the more
influence labels have on it already and the surer the classifier is of it; a predicted class that has its
share of the budget is closed.
"""

from __future__ import annotations

import torch

from gcbr import scores
from gcbr.graph import Graph
from gcbr.strategies.choice import highest
from gcbr.strategies.influence import influence_of, influence_on
from gcbr.strategies.quotas import predicted_in
from gcbr.view import View

# Share of a node's receptive field that labels must hold for it to count 1/e. Not 0, where the first label in
# reach covers it: on a dense graph a few labels reach everything, and nothing would be left to gain.
COVERED = 0.2


class ALG:
    """The most influence where labels have little and predictions are unsure, in classes short of labels."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        pass

    def select(self, view: View) -> int:
        taken = torch.zeros(view.graph.num_nodes, device=view.graph.device)
        taken[view.taken] = 1
        uncovered = (-influence_of(view.graph, taken) / COVERED).exp()
        unsure = scores.entropy(view.prediction.probabilities)
        is_open = ~scores.is_majority(view.counts, view.budget)
        return highest(predicted_in(view, is_open), influence_on(view.graph, uncovered * unsure))
