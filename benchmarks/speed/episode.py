"""One training episode, E = 5 games of B = 35 labels, beside the same episode written plainly with PyG.

The plain one has PyG's cached `GCNConv` over dense features, autograd for classifier and policy alike, and
plays its games one after another. What both share (splits, columns of the state, rewards, metrics, the
losses' equations) comes from the package, so that only the engine is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from benchmarks.speed.reference import PlainGCN
from benchmarks.speed.timing import Row, cpu_seconds
from gcbr import a2c, metrics, rewards
from gcbr.environment import EnvConfig
from gcbr.graph import Dataset
from gcbr.policy import log_policy
from gcbr.rewards import Outcome
from gcbr.rollout import draw
from gcbr.seeding import generator, seeded
from gcbr.splits import redraw_split
from gcbr.state import GraphFacts, Situation, state_columns
from gcbr.trainer import TrainConfig, Trainer
from gcbr.training import env_config

ROUNDS = 3
AIM = 0.3  # CPU-seconds


def episode(dataset: Dataset) -> Iterator[Row]:
    """An episode each in turn, after one each to warm up."""
    env = env_config("gcbr++", EnvConfig(), alpha=0.5, eta=None)
    config = TrainConfig(episodes=ROUNDS + 1)
    plain = PlainTrainer(dataset, env, config)
    ours: list[float] = []
    theirs: list[float] = []
    trainer = Trainer([dataset], env, config)
    for turn in range(ROUNDS + 1):
        ours.append(cpu_seconds(trainer._play_episode))
        theirs.append(cpu_seconds(partial(plain.play_episode, generator(0, turn))))
    name = f"{dataset.graph.name}: training episode, {env.episodes} games of {env.budget} labels"
    yield Row(name, median(ours[1:]), median(theirs[1:]), target=f"30x; {1000 * AIM:.0f} ms")


class PlainEncoder(nn.Module):
    """Two `GCNConv` layers with ReLU."""

    def __init__(self, num_columns: int, width: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(num_columns, width, cached=True)
        self.conv2 = GCNConv(width, width, cached=True)
        self.last = nn.Linear(width, 1)

    def hidden(self, states: Tensor, edges: Tensor) -> Tensor:
        rows: Tensor = self.conv2(self.conv1(states, edges).relu(), edges).relu()
        return rows


class PlainGame:
    """One labeling of the graph, with a classifier of its own."""

    def __init__(
        self, dataset: Dataset, env: EnvConfig, x: Tensor, edges: Tensor, rng: torch.Generator
    ) -> None:
        self._dataset, self._env, self._x, self._edges = dataset, env, x, edges
        self._facts = GraphFacts(dataset.graph)
        split = redraw_split(dataset.graph.num_nodes, rng)
        self._val = split.val
        self.is_candidate = torch.zeros(dataset.graph.num_nodes, dtype=torch.bool)
        self.is_candidate[split.pool] = True
        config = env.classifier
        self._model = PlainGCN(x.shape[1], config.hidden, dataset.num_classes, config.dropout)
        self._optimizer = torch.optim.Adam(
            self._model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self._labeled = torch.zeros(0, dtype=torch.long)
        shape = (dataset.graph.num_nodes, dataset.num_classes)
        self._probabilities = torch.full(shape, 1 / dataset.num_classes)
        self._performance = self._val_score()
        of_class = metrics.class_counts(dataset.y, dataset.num_classes)
        self._frequencies = of_class / dataset.graph.num_nodes

    def state(self) -> Tensor:
        classes = self._dataset.y[self._labeled]
        situation = Situation(
            facts=self._facts,
            probabilities=self._probabilities.unsqueeze(0),
            labeled=self._labeled.unsqueeze(0),
            answers=F.one_hot(classes, self._dataset.num_classes).float().unsqueeze(0),
            counts=self._counts(),
            budget=self._env.budget,
        )
        return state_columns(situation, self._env.columns)[0]

    def step(self, node: Tensor) -> Tensor:
        """Label a node, learn from it, and return its reward."""
        counts, before = self._counts(), self._performance
        self._labeled = torch.cat([self._labeled, node.view(1)])
        self.is_candidate = self.is_candidate.scatter(0, node.view(1), False)
        self._train()
        self._performance = self._val_score()
        outcome = Outcome(
            before=before,
            after=self._performance,
            counts=counts,
            classes=self._dataset.y[node].view(1),
            frequencies=self._frequencies,
            budget=self._env.budget,
            done=len(self._labeled) >= self._env.budget,
        )
        return rewards.worth(outcome, self._env.reward)

    def _train(self) -> None:
        self._model.train()
        self._optimizer.zero_grad()
        logits = self._model(self._x, self._edges)[self._labeled]
        loss = F.cross_entropy(logits, self._dataset.y[self._labeled])
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        with torch.no_grad():
            self._probabilities = self._model.eval()(self._x, self._edges).softmax(-1)

    def _counts(self) -> Tensor:
        classes = self._dataset.y[self._labeled].unsqueeze(0)
        return metrics.class_counts(classes, self._dataset.num_classes).float()

    def _val_score(self) -> Tensor:
        predicted = self._probabilities[self._val].argmax(-1).unsqueeze(0)
        return metrics.macro_f1(self._dataset.y[self._val].unsqueeze(0), predicted, self._dataset.num_classes)


class PlainTrainer:
    """`gcbr.trainer.Trainer` as one would first write it: A2C over games played one after another."""

    def __init__(self, dataset: Dataset, env: EnvConfig, config: TrainConfig) -> None:
        self._dataset, self._env, self._config = dataset, env, config
        adjacency = dataset.graph.adjacency
        self._x = dataset.graph.x.to_dense()
        self._edges = torch.stack([adjacency.row_of_entry, adjacency.indices.long()])
        with seeded(generator(0)):
            self._actor = PlainEncoder(len(env.columns), config.width)
            self._critic = PlainEncoder(len(env.columns), config.width)
        self._optimizers = (
            torch.optim.Adam(self._actor.parameters(), lr=config.actor_rate),
            torch.optim.Adam(self._critic.parameters(), lr=config.critic_rate),
        )

    def play_episode(self, rng: torch.Generator) -> None:
        with seeded(rng):
            games = [
                PlainGame(self._dataset, self._env, self._x, self._edges, rng)
                for _ in range(self._env.episodes)
            ]
            for first in range(0, self._env.budget, self._config.update_every):
                steps = min(self._config.update_every, self._env.budget - first)
                self._learn([self._play(game, steps, rng) for game in games], first + steps)

    def _play(
        self, game: PlainGame, steps: int, rng: torch.Generator
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
        """States (one more than steps), candidates, actions and rewards of one game."""
        states, candidates, actions, worths = [game.state()], [], [], []
        for _ in range(steps):
            candidates.append(game.is_candidate)
            with torch.no_grad():
                logs = log_policy(self._scores(states[-1]), game.is_candidate)
            actions.append(draw(logs.exp().unsqueeze(0), rng)[0])
            worths.append(game.step(actions[-1]))
            states.append(game.state())
        return states, candidates, actions, worths

    def _learn(
        self, played: list[tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]], done_at: int
    ) -> None:
        logs, values, next_values = [], [], []
        for states, candidates, actions, _ in played:
            of_states = torch.stack([self._value(state) for state in states])
            values.append(of_states[:-1])
            next_values.append(of_states[1:])
            scored = zip(states, candidates, actions, strict=False)
            logs.append(
                torch.stack([log_policy(self._scores(state), free)[action] for state, free, action in scored])
            )
        worth = torch.stack([torch.cat(worths) for *_, worths in played], dim=1)  # [F, E]
        done = torch.zeros(len(worth), dtype=torch.bool)
        done[-1] = done_at >= self._env.budget
        by_step = torch.stack(values, dim=1)
        targets = a2c.td_target(worth, torch.stack(next_values, dim=1), done, self._config.discount).detach()
        advantages = a2c.advantage(targets, by_step).detach()
        chosen = torch.stack(logs, dim=1)
        loss = a2c.Losses(a2c.actor_loss(chosen, advantages), a2c.critic_loss(targets, by_step))
        a2c.update(self._optimizers, loss)

    def _scores(self, states: Tensor) -> Tensor:
        scores: Tensor = self._actor.last(self._actor.hidden(states, self._edges)).squeeze(-1)
        return scores

    def _value(self, states: Tensor) -> Tensor:
        value: Tensor = self._critic.last(self._critic.hidden(states, self._edges).mean(0)).squeeze(-1)
        return value
