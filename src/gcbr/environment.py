"""Labeling as a decision process: E games side by side on one graph whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from gcbr import metrics, rewards
from gcbr.engine.gcn import BatchedGCN, GCNConfig
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.rewards import RewardConfig
from gcbr.splits import redraw_split, split_sizes
from gcbr.state import GCBR_COLUMNS, GraphFacts, Situation, state_columns


class State(NamedTuple):
    features: Tensor  # [episodes, nodes, columns]
    is_candidate: Tensor  # [episodes, nodes]


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


class LabelingEnv:
    """`reset` deals new games (splits, classifiers); `step` labels one node in each."""

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

    def reset(self, rng: torch.Generator) -> State:
        config, graph = self.config, self._dataset.graph
        splits = [redraw_split(graph.num_nodes, rng) for _ in range(config.episodes)]
        self._val = torch.stack([split.val for split in splits])  # [E, val]
        self._is_candidate = torch.zeros(config.episodes, graph.num_nodes, dtype=torch.bool)
        for row, split in zip(self._is_candidate, splits, strict=True):
            row[split.pool] = True
        self._network = BatchedGCN(
            graph.propagation, graph.x, self._dataset.num_classes, config.classifier, rng, config.episodes
        )
        self.labeled = torch.zeros(config.episodes, 0, dtype=torch.long)
        # Before the first answer nothing is known of any class, in use as in training.
        shape = (config.episodes, graph.num_nodes, self._dataset.num_classes)
        self._probabilities = torch.full(shape, 1 / self._dataset.num_classes)
        self.performance = self._val_macro_f1()
        return self._state()

    def step(self, nodes: Tensor) -> Step:
        """Label `nodes`, one for each episode."""
        counts, classes, before = self.counts, self._dataset.y[nodes], self.performance
        self.labeled = torch.cat([self.labeled, nodes.unsqueeze(1)], dim=1)
        self._is_candidate = self._is_candidate.scatter(1, nodes.unsqueeze(1), False)
        for _ in range(self.config.epochs_per_query):
            self._network.step(self.labeled, self._dataset.y[self.labeled])
        self._probabilities = self._network.predict().probabilities
        self.performance = self._val_macro_f1()
        reward = rewards.reward(
            self.performance - before, counts, classes, self.config.budget, self.config.reward
        )
        return Step(self._state(), reward, self.labeled.shape[1] >= self.config.budget)

    @property
    def counts(self) -> Tensor:
        """Labels of each class in each episode, [E, classes] float."""
        return metrics.class_counts(self._dataset.y[self.labeled], self._dataset.num_classes).float()

    def _val_macro_f1(self) -> Tensor:
        truth = self._dataset.y[self._val]
        index = self._val.unsqueeze(-1).expand(-1, -1, self._dataset.num_classes)
        predicted = self._probabilities.gather(1, index).argmax(-1)
        return metrics.macro_f1(truth, predicted, self._dataset.num_classes)

    def _state(self) -> State:
        classes = self._dataset.y[self.labeled]
        situation = Situation(
            facts=self._facts,
            probabilities=self._probabilities,
            labeled=self.labeled,
            answers=torch.nn.functional.one_hot(classes, self._dataset.num_classes).float(),
            counts=self.counts,
            budget=self.config.budget,
        )
        return State(state_columns(situation, self.config.columns), self._is_candidate)
