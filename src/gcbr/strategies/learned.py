"""A trained policy as a strategy: the highest-scored candidate, step after step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from gcbr.actions import ActionSpace, choices
from gcbr.checkpoints import load_policy
from gcbr.engine.receptive import marked
from gcbr.graph import Graph
from gcbr.policies import shipped_policy
from gcbr.policy import Policy
from gcbr.state import LOCAL_COLUMNS, GraphFacts, Situation, state_columns
from gcbr.view import StrategyFactory, View

_WORTH_LOCALLY = 1e-3  # share of the nodes: two propagations around more candidates reach most of the graph


class Learned:
    """GCBR, GPA and their relatives: they differ in columns, training and weights.

    What sets ALLIE apart in use is what it chooses among.
    """

    def __init__(
        self, graph: Graph, policy: Policy, columns: Sequence[str], actions: ActionSpace | None = None
    ) -> None:
        self._policy = policy.on(graph.device)
        self._columns = columns
        self._actions = actions or ActionSpace()
        self._facts = GraphFacts(graph)

    @torch.no_grad()
    def select(self, view: View) -> int:
        if self._is_local and len(view.candidates) <= _WORTH_LOCALLY * view.graph.num_nodes:
            return int(view.candidates[self._scores_nearby(view).argmax()])
        shown = situation(self._facts, view)
        scores = self._policy.scores(view.graph.propagation, state_columns(shown, self._columns))[0]
        candidates = self._choices(view, shown)
        return int(candidates[scores[candidates].argmax()])

    @property
    def _is_local(self) -> bool:
        """Whether a node's columns need nothing of the others but which are labeled."""
        return self._actions == ActionSpace() and set(self._columns) <= LOCAL_COLUMNS

    def _scores_nearby(self, view: View) -> Tensor:
        """The candidates' scores from what two propagations can reach: the same as among all nodes."""
        propagation, num_nodes = view.graph.propagation, view.graph.num_nodes
        outer = propagation.rows(view.candidates)
        near = marked(outer.indices, num_nodes)
        inner = propagation.rows(near)
        nodes = marked(torch.cat([inner.indices, view.taken]), num_nodes)
        states = state_columns(situation(self._facts, view, nodes), self._columns)
        return self._policy.scores(inner.columns(nodes), states, outer.columns(near))[0]

    def _choices(self, view: View, shown: Situation) -> Tensor:
        if self._actions == ActionSpace():
            return view.candidates
        is_candidate = torch.zeros(1, view.graph.num_nodes, dtype=torch.bool, device=view.graph.device)
        is_candidate[0, view.candidates] = True
        representatives = self._facts.representatives if self._actions.coarse else None
        return choices(is_candidate, shown.probabilities, representatives, self._actions)[0].nonzero()[:, 0]


class FactsOfSome(GraphFacts):
    """The facts that a column of GCBR needs, of some nodes alone."""

    def __init__(self, facts: GraphFacts, nodes: Tensor) -> None:
        super().__init__(facts.graph)
        self._facts = facts
        self._nodes = nodes

    @cached_property
    def centrality(self) -> Tensor:
        return self._facts.centrality[self._nodes]

    @cached_property
    def relative_centrality(self) -> Tensor:
        return self._facts.relative_centrality[self._nodes]


def shipped(method: str) -> StrategyFactory:
    """The method's shipped policy, the one trained under the feature rule of the graph it meets."""

    def make(graph: Graph, budget: int, rng: torch.Generator) -> Learned:
        policy, card = shipped_policy(method, graph.feature_rule)
        return Learned(graph, policy, card.columns, card.actions)

    return make


def from_file(path: Path) -> StrategyFactory:
    """A policy trained with `gcbr train`."""
    policy, card = load_policy(path)
    return learned(policy, card.columns, card.actions)


def learned(policy: Policy, columns: Sequence[str], actions: ActionSpace | None = None) -> StrategyFactory:
    """A factory that closes over a trained policy."""

    def make(graph: Graph, budget: int, rng: torch.Generator) -> Learned:
        return Learned(graph, policy, columns, actions)

    return make


def situation(facts: GraphFacts, view: View, nodes: Tensor | None = None) -> Situation:
    """What the policy is shown: a pending node counts as labeled with its likeliest class.

    `nodes`, if only some are wanted, are in ascending order, the labeled ones among them.
    """
    labeled, prediction = view.taken, view.prediction
    return Situation(
        facts=facts if nodes is None else FactsOfSome(facts, nodes),
        probabilities=(prediction.probabilities if nodes is None else prediction.of(nodes)).unsqueeze(0),
        labeled=(labeled if nodes is None else torch.searchsorted(nodes, labeled)).unsqueeze(0),
        answers=_answers(view).unsqueeze(0),
        counts=view.counts.unsqueeze(0),
        budget=view.budget,
    )


def _answers(view: View) -> Tensor:
    told = torch.tensor(view.labels.classes, dtype=torch.long, device=view.graph.device)
    one_hot = torch.nn.functional.one_hot(told, view.num_classes).float()
    return torch.cat([one_hot, view.prediction.of(view.taken[len(told) :])])
