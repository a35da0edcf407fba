"""A trained policy as a strategy: the highest-scored candidate, step after step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from gcbr.checkpoints import load_policy
from gcbr.graph import Graph
from gcbr.policies import shipped_policy
from gcbr.policy import Policy
from gcbr.state import GraphFacts, Situation, state_columns
from gcbr.view import StrategyFactory, View


class Learned:
    """GCBR, GCBR++ and their relatives: they differ in columns, reward and weights, not in choosing."""

    def __init__(self, graph: Graph, policy: Policy, columns: Sequence[str]) -> None:
        self._policy = policy
        self._columns = columns
        self._facts = GraphFacts(graph)

    @torch.no_grad()
    def select(self, view: View) -> int:
        states = state_columns(situation(self._facts, view), self._columns)
        scores = self._policy.scores(view.graph.propagation, states)[0]
        return int(view.candidates[scores[view.candidates].argmax()])


def shipped(method: str) -> StrategyFactory:
    """The method's shipped policy, the one trained under the feature rule of the graph it meets."""

    def make(graph: Graph, budget: int, rng: torch.Generator) -> Learned:
        policy, card = shipped_policy(method, graph.feature_rule)
        return Learned(graph, policy, card.columns)

    return make


def from_file(path: Path) -> StrategyFactory:
    """A policy trained with `gcbr train`."""
    policy, card = load_policy(path)
    return learned(policy, card.columns)


def learned(policy: Policy, columns: Sequence[str]) -> StrategyFactory:
    """A factory that closes over a trained policy."""

    def make(graph: Graph, budget: int, rng: torch.Generator) -> Learned:
        return Learned(graph, policy, columns)

    return make


def situation(facts: GraphFacts, view: View) -> Situation:
    """What the policy is shown: a pending node counts as labeled with its predicted distribution."""
    return Situation(
        facts=facts,
        probabilities=view.prediction.probabilities.unsqueeze(0),
        labeled=torch.tensor([[*view.labels.nodes, *view.pending]], dtype=torch.long),
        answers=_answers(view).unsqueeze(0),
        counts=view.counts.unsqueeze(0),
        budget=view.budget,
    )


def _answers(view: View) -> Tensor:
    told = torch.tensor(view.labels.classes, dtype=torch.long)
    one_hot = torch.nn.functional.one_hot(told, view.num_classes).float()
    return torch.cat([one_hot, view.prediction.probabilities[list(view.pending)]])
