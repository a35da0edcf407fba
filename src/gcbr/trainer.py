"""Plays episodes on labeled graphs and learns a policy from them.

Every random draw of an episode comes from a generator whose address is (seed, episode), so a checkpoint
between two episodes needs no generator's state: the counter is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from gcbr import a2c, metrics, reinforce, seeding
from gcbr.environment import EnvConfig, LabelingEnv
from gcbr.graph import Dataset
from gcbr.policy import Policy
from gcbr.rollout import Rollout, collect

_WEIGHTS, _EPISODE = range(2)  # addresses of the generators under a training's seed


@dataclass(frozen=True)
class TrainConfig:
    episodes: int = 4000  # each is one pass of all the games side by side
    algorithm: str = "a2c"  # or "reinforce", which updates once an episode and has no use for the critic
    update_every: int = 7  # F, steps between two updates of A2C
    discount: float = 0.9  # gamma
    actor_rate: float = 1e-3
    critic_rate: float = 1e-3
    decay: float = 0.3  # of both rates, after each thousand episodes
    decay_every: int = 1000
    standardize: bool = False  # rewards (REINFORCE: returns), per step index, by running mean and deviation
    standardize_rate: float = 0.05
    width: int = 8
    seed: int = 0
    start: str = ""  # fingerprint of the policy that the training began with, if it began with one


class RewardScale:
    """Running mean and deviation of the reward at each step of an episode."""

    def __init__(self, budget: int, rate: float, device: torch.device | str = "cpu") -> None:
        self.mean = torch.zeros(budget, device=device)
        self.variance = torch.ones(budget, device=device)
        self._rate = rate

    def standardize(self, rewards: Tensor, first_step: int, is_first_episode: bool) -> Tensor:
        """[F, E] rewards of the steps from `first_step` on, after taking them into account."""
        steps = slice(first_step, first_step + len(rewards))
        rate = 1.0 if is_first_episode else self._rate
        self.mean[steps] = self.mean[steps].lerp(rewards.mean(1), rate)
        spread = (rewards - self.mean[steps].unsqueeze(1)).square().mean(1)
        self.variance[steps] = self.variance[steps].lerp(spread, rate)
        deviation = self.variance[steps].sqrt().clamp(min=1e-3)
        return (rewards - self.mean[steps].unsqueeze(1)) / deviation.unsqueeze(1)


class Trainer:
    """Plays and learns one episode at a time, where its sources lie; `start`, if given, is what it teaches.

    `tensors` and `counters` are all there is to keep.
    """

    def __init__(
        self, sources: Sequence[Dataset], env: EnvConfig, config: TrainConfig, start: Policy | None = None
    ) -> None:
        self.config = config
        self.env = env
        self._envs = [LabelingEnv(source, env) for source in sources]
        device = sources[0].graph.device
        # Drawn on the CPU: the same seed starts with the same weights on every device.
        with seeding.seeded(seeding.generator(config.seed, _WEIGHTS)), torch.device("cpu"):
            self.policy = (start or Policy(len(env.columns), config.width)).on(device)
        self._optimizers = (
            torch.optim.Adam(self.policy.actor.parameters(), lr=config.actor_rate, fused=True),
            torch.optim.Adam(self.policy.critic.parameters(), lr=config.critic_rate, fused=True),
        )
        self._scale = RewardScale(env.budget, config.standardize_rate, device)
        self.episode = 0
        self.curve: list[dict[str, float]] = []

    def train(self, on_episode: Callable[[Trainer], None] | None = None) -> Policy:
        """Play what is left of the episodes; `on_episode` is called after each and may stop by raising."""
        while self.episode < self.config.episodes:
            self.curve.append(self._play_episode())
            self.episode += 1
            if on_episode is not None:
                on_episode(self)
        return self.policy

    def _play_episode(self) -> dict[str, float]:
        env = self._envs[self.episode % len(self._envs)]
        rng = seeding.generator(self.config.seed, _EPISODE, self.episode)
        self._set_rates()
        state, reward, entropy, losses = env.reset(rng), 0.0, 0.0, []
        is_a2c = self.config.algorithm == "a2c"
        span = self.config.update_every if is_a2c else self.env.budget
        for first in range(0, self.env.budget, span):
            steps = min(span, self.env.budget - first)
            with torch.set_grad_enabled(is_a2c):  # of a whole game, too much to keep
                rollout, state = collect(env, self.policy, state, steps, rng)
            reward += float(rollout.rewards.sum(0).mean())
            entropy += float(rollout.entropy.mean()) * steps / self.env.budget
            learn = self._learn_by_a2c if is_a2c else self._learn_by_reinforce
            losses.append(learn(env, rollout, first))
        return {
            "episode": self.episode + 1,
            "reward": reward,
            "imbalance_ratio": float(metrics.imbalance_ratio(env.counts).mean()),
            "macro_f1": float(env.val_score("macro_f1").mean()),
            "entropy": entropy,
            **dict(zip(("actor_loss", "critic_loss"), torch.stack(losses).mean(0).tolist(), strict=False)),
        }

    def _learn_by_a2c(self, env: LabelingEnv, rollout: Rollout, first_step: int) -> Tensor:
        rollout = self._standardized(rollout, first_step)
        loss = a2c.losses(rollout, self.config.discount)
        a2c.update(self._optimizers, loss)
        return torch.stack(loss).detach()

    def _learn_by_reinforce(self, env: LabelingEnv, rollout: Rollout, first_step: int) -> Tensor:
        worth = reinforce.returns(rollout.rewards, self.config.discount)
        rollout = self._standardized(rollout._replace(rewards=worth), first_step)
        return reinforce.update(self.policy, self._optimizers[0], env.propagation, rollout).unsqueeze(0)

    def _standardized(self, rollout: Rollout, first_step: int) -> Rollout:
        if not self.config.standardize:
            return rollout
        scaled = self._scale.standardize(rollout.rewards, first_step, self.episode == 0)
        return rollout._replace(rewards=scaled)

    def _set_rates(self) -> None:
        factor = self.config.decay ** (self.episode // self.config.decay_every)
        rates = (self.config.actor_rate, self.config.critic_rate)
        for optimizer, rate in zip(self._optimizers, rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * factor

    def tensors(self) -> dict[str, Tensor]:
        """Weights, optimizer moments and reward statistics, by name."""
        kept = {f"policy.{name}": tensor for name, tensor in self.policy.state_dict().items()}
        for which, optimizer in zip(("actor", "critic"), self._optimizers, strict=True):
            for index, state in optimizer.state_dict()["state"].items():
                kept |= {f"{which}.{index}.{key}": value for key, value in state.items()}
        return kept | {"scale.mean": self._scale.mean, "scale.variance": self._scale.variance}

    def restore(self, tensors: Mapping[str, Tensor], episode: int, curve: list[dict[str, float]]) -> None:
        """Stand where a trainer of the same configuration stood after `episode` episodes."""
        self.policy.load_state_dict(_below(tensors, "policy"))
        for which, optimizer in zip(("actor", "critic"), self._optimizers, strict=True):
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in _below(tensors, which).items():
                index, key = name.split(".", 1)
                state.setdefault(int(index), {})[key] = value.clone()
            optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
        self._scale.mean.copy_(tensors["scale.mean"])
        self._scale.variance.copy_(tensors["scale.variance"])
        self.episode, self.curve = episode, list(curve)

    def settings(self) -> dict[str, Any]:
        """Everything a result depends on, as plain values."""
        return {
            "train": asdict(self.config),
            "env": asdict(replace(self.env, columns=list(self.env.columns))),
        }


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    start = f"{prefix}."
    return {name[len(start) :]: tensor for name, tensor in tensors.items() if name.startswith(start)}
