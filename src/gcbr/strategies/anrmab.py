"""ANRMAB (Gao et al. 2018, "Active Discriminative Network Representation Learning").

AGE's three criteria as the arms of a bandit with expert advice (EXP4). Each arm proposes a distribution over
the candidates, and the node is drawn from their mixture. An answer that the classifier foresaw rewards the
arms that had proposed its node, in proportion to how much more than the mixture they had.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gcbr.engine.gcn import Prediction
from gcbr.graph import Graph
from gcbr.strategies.criteria import CRITERIA, Criteria
from gcbr.view import View

SHARPNESS = 20.0  # an arm proposes softmax(sharpness * percentile)


class ANRMAB:
    """Drawn from a mixture of three criteria, whose shares follow the answers."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        num_arms = len(CRITERIA)
        self._criteria = Criteria(graph)
        self._floor = min(1 / num_arms, math.sqrt(math.log(num_arms) / (num_arms * budget)))
        self._log_weights = torch.zeros(num_arms, device=graph.device)
        self._judged: tuple[Prediction, Tensor] | None = None

    @property
    def arm_probabilities(self) -> Tensor:
        """The share of each arm in the mixture, none below the floor."""
        num_arms = len(CRITERIA)
        return (1 - num_arms * self._floor) * self._log_weights.softmax(0) + self._floor

    def select(self, view: View) -> int:
        criteria = self._criteria(view)
        if not view.pending:
            self._judged = view.prediction, criteria
        mixture = self.arm_probabilities @ _proposals(criteria, view)
        drawn = torch.multinomial(mixture.to(view.rng.device), 1, generator=view.rng)
        return int(view.candidates[int(drawn)])

    def observe(self, view: View, node: int, cls: int) -> None:
        if not view.labels:  # nothing was predicted yet, so nothing can have been foreseen
            return
        foreseen = int(view.prediction.probabilities[node].argmax()) == cls
        proposals = _proposals(self._criteria_of(view), view)
        proposed = proposals[:, view.candidates == node].squeeze(1)  # [num_arms]
        reward = foreseen * proposed / (self.arm_probabilities @ proposed)
        self._log_weights = self._log_weights + self._floor / 2 * reward

    def _criteria_of(self, view: View) -> Tensor:
        """Those that chose, if this view did: a k-means is most of what a choice costs."""
        if self._judged is not None and self._judged[0] is view.prediction:
            return self._judged[1]
        return self._criteria(view)


def _proposals(criteria: Tensor, view: View) -> Tensor:
    """[num_arms, num_candidates], each row summing to 1."""
    return (SHARPNESS * criteria[:, view.candidates]).softmax(1)
