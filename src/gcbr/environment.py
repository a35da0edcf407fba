"""Labeling as a decision process: E games side by side on one graph whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from gcbr import metrics, rewards
from gcbr.actions import ActionSpace, choices
from gcbr.engine.gcn import BatchedGCN, GCNConfig
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.rewards import Outcome, RewardConfig
from gcbr.splits import redraw_split, split_sizes
from gcbr.state import GCBR_COLUMNS, GraphFacts, Situation, expected_answers, state_columns

SCORES: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "macro_f1": metrics.macro_f1,
    "micro_f1": lambda truth, predicted, num_classes: metrics.micro_f1(truth, predicted),
}


class State(NamedTuple):
    features: Tensor  # [episodes, nodes, columns]
    is_candidate: Tensor  # [episodes, nodes]: what may be chosen


class Step(NamedTuple):
    state: State
    reward: Tensor  # [episodes]
    done: bool  # the budget is spent, for all episodes alike


@dataclass(frozen=True)
class EnvConfig:
    budget: int = 35
    episodes: int = 5  # E, played side by side
    columns: Sequence[str] = GCBR_COLUMNS
    reward: RewardConfig = field(default_factory=RewardConfig)
    classifier: GCNConfig = field(default_factory=GCNConfig)
    epochs_per_query: int = 1
    final_epochs: int = 0  # more of them once the budget is spent, before the last score is taken
    score: str = "macro_f1"  # on the validation nodes, what the reward is made of
    batch: int = 1  # nodes chosen before any of them is answered
    actions: ActionSpace = field(default_factory=ActionSpace)


class LabelingEnv:
    """`reset` deals new games (splits, classifiers); `step` chooses one node in each.

    Where nodes are chosen in batches, those of a batch under way stand as a strategy's pending ones do:
    labeled with their likeliest class. When the batch is full, the classifier learns from its nodes one by
    one.
    """

    def __init__(self, dataset: Dataset, config: EnvConfig) -> None:
        num_askable = dataset.graph.num_nodes - sum(split_sizes(dataset.graph.num_nodes))
        if not 1 <= config.budget <= num_askable:
            raise InputError(
                f"the budget is {config.budget}; a game on graph '{dataset.graph.name}' has {num_askable} "
                "nodes to ask beside its test and validation nodes"
            )
        self.config = config
        self.propagation = dataset.graph.propagation
        self._dataset = dataset
        self._facts = GraphFacts(dataset.graph)
        of_class = metrics.class_counts(dataset.y, dataset.num_classes)
        self._frequencies = of_class / dataset.graph.num_nodes

    def reset(self, rng: torch.Generator) -> State:
        config, graph = self.config, self._dataset.graph
        splits = [redraw_split(graph.num_nodes, rng) for _ in range(config.episodes)]
        self._val = torch.stack([split.val for split in splits]).to(graph.device)  # [E, val]
        pools = torch.stack([split.pool for split in splits]).to(graph.device)
        nobody = torch.zeros(config.episodes, graph.num_nodes, dtype=torch.bool, device=graph.device)
        self._is_candidate = nobody.scatter(1, pools, True)
        self._network = BatchedGCN(
            graph.propagation, graph.x, self._dataset.num_classes, config.classifier, rng, config.episodes
        )
        self.labeled = self._val.new_zeros(config.episodes, 0)
        self._num_taught = 0
        # Before the first answer nothing is known of any class, in use as in training.
        shape = (config.episodes, graph.num_nodes, self._dataset.num_classes)
        self._probabilities = torch.full(shape, 1 / self._dataset.num_classes, device=graph.device)
        self.performance = self.val_score(config.score)
        return self._state()

    def step(self, nodes: Tensor) -> Step:
        """Label `nodes`, one for each episode."""
        counts, before = self.counts, self.performance
        self.labeled = torch.cat([self.labeled, nodes.unsqueeze(1)], dim=1)
        self._is_candidate = self._is_candidate.scatter(1, nodes.unsqueeze(1), False)
        num_labeled = self.labeled.shape[1]
        done = num_labeled >= self.config.budget
        if done or num_labeled - self._num_taught >= self.config.batch:
            self._teach(self.config.final_epochs if done else 0)
            self.performance = self.val_score(self.config.score)
        outcome = Outcome(
            before=before,
            after=self.performance,
            counts=counts,
            classes=self._dataset.y[nodes],
            frequencies=self._frequencies,
            budget=self.config.budget,
            done=done,
        )
        return Step(self._state(), rewards.worth(outcome, self.config.reward), done)

    def val_score(self, name: str) -> Tensor:
        """The named score of each episode on its validation nodes, as things stand, [E]."""
        truth = self._dataset.y[self._val]
        index = self._val.unsqueeze(-1).expand(-1, -1, self._dataset.num_classes)
        predicted = self._probabilities.gather(1, index).argmax(-1)
        return SCORES[name](truth, predicted, self._dataset.num_classes)

    @property
    def counts(self) -> Tensor:
        """Labels of each class in each episode, [E, classes] float."""
        return metrics.class_counts(self._dataset.y[self.labeled], self._dataset.num_classes).float()

    def _teach(self, more_epochs: int) -> None:
        """Learn from the answers not learned from yet, one after another, then predict every node."""
        while self._num_taught < self.labeled.shape[1]:
            self._num_taught += 1
            for _ in range(self.config.epochs_per_query):
                self._train(self.labeled[:, : self._num_taught])
        for _ in range(more_epochs):
            self._train(self.labeled)
        self._probabilities = self._network.predict().probabilities

    def _train(self, nodes: Tensor) -> None:
        self._network.step(nodes, self._dataset.y[nodes])

    def _state(self) -> State:
        told, pending = self.labeled.tensor_split([self._num_taught], dim=1)
        index = pending.unsqueeze(-1).expand(-1, -1, self._dataset.num_classes)
        expected = expected_answers(self._probabilities.gather(1, index))
        known = torch.nn.functional.one_hot(self._dataset.y[told], self._dataset.num_classes).float()
        answers = torch.cat([known, expected], dim=1)
        shown = self._probabilities
        if pending.shape[1] > 0:  # a copy would lie in another order in memory, and round otherwise
            shown = shown.scatter(1, index, expected)
        situation = Situation(
            facts=self._facts,
            probabilities=shown,
            labeled=self.labeled,
            answers=answers,
            counts=answers.sum(1),
            budget=self.config.budget,
        )
        features = state_columns(situation, self.config.columns)
        space = self.config.actions
        representatives = self._facts.representatives if space.coarse else None
        return State(features, choices(self._is_candidate, shown, representatives, space))
