"""Advantage actor-critic: the paper's Eq. 11 to 14, in their order."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gcbr.engine.matrix import Csr
from gcbr.policy import Policy, log_policy
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


def losses(policy: Policy, propagation: Csr, rollout: Rollout, discount: float) -> Losses:
    """Both losses over the E x F transitions of a rollout."""
    # One step at a time: what a pass over the nodes of E games makes stays in the cache.
    judged = [policy.scores_and_values(propagation, states) for states in rollout.features[:-1]]
    with torch.no_grad():
        last_values = policy.scores_and_values(propagation, rollout.features[-1])[1]
    values = torch.stack([of_step for _, of_step in judged])
    next_values = torch.cat([values[1:], last_values.unsqueeze(0)])
    targets = td_target(rollout.rewards, next_values, rollout.done, discount).detach()
    advantages = advantage(targets, values).detach()
    chosen = torch.stack(
        [
            log_policy(scores, is_candidate).gather(1, actions.unsqueeze(1)).squeeze(1)
            for (scores, _), is_candidate, actions in zip(
                judged, rollout.is_candidate, rollout.actions, strict=True
            )
        ]
    )
    return Losses(actor_loss(chosen, advantages), critic_loss(targets, values))


def update(optimizers: tuple[torch.optim.Optimizer, torch.optim.Optimizer], loss: Losses) -> None:
    """One step of the actor's and of the critic's optimizer."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    (loss.actor + loss.critic).backward()  # type: ignore[no-untyped-call]
    for optimizer in optimizers:
        optimizer.step()
