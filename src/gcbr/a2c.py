"""Advantage actor-critic: the paper's Eq. 11 to 14, in their order."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gcbr.rollout import Rollout


class Losses(NamedTuple):
    actor: Tensor
    critic: Tensor


def td_target(rewards: Tensor, next_values: Tensor, done: Tensor, discount: float) -> Tensor:
    """Eq. 11: r + gamma V(S'), where nothing follows a spent budget. [F, E], [F, E] and [F] give [F, E]."""
    return rewards + discount * next_values * ~done.unsqueeze(1)


def critic_loss(targets: Tensor, values: Tensor) -> Tensor:
    """Eq. 12: the mean squared temporal-difference error."""
    return (targets - values).square().mean()


def advantage(targets: Tensor, values: Tensor) -> Tensor:
    """Eq. 13: how much better than expected the action turned out."""
    return targets - values


def actor_loss(log_probabilities: Tensor, advantages: Tensor) -> Tensor:
    """Eq. 14: raises the probability of actions that turned out better than expected."""
    return -(log_probabilities * advantages).mean()


def losses(rollout: Rollout, discount: float) -> Losses:
    """Both losses over the E x F transitions of a rollout."""
    values = rollout.values[:-1]
    targets = td_target(rollout.rewards, rollout.values[1:], rollout.done, discount).detach()
    advantages = advantage(targets, values).detach()
    return Losses(actor_loss(rollout.log_probabilities, advantages), critic_loss(targets, values))


def update(optimizers: tuple[torch.optim.Optimizer, torch.optim.Optimizer], loss: Losses) -> None:
    """One step of the actor's and of the critic's optimizer."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    (loss.actor + loss.critic).backward()  # type: ignore[no-untyped-call]
    for optimizer in optimizers:
        optimizer.step()
