"""REINFORCE (Williams 1992): a choice becomes likelier by what came after it. How GPA and its kin learn."""

from __future__ import annotations

import torch
from torch import Tensor

from gcbr.engine.matrix import Csr
from gcbr.policy import Policy, log_policy
from gcbr.rollout import Rollout

_AT_ONCE = 7  # steps whose scores are held at the same time


def returns(rewards: Tensor, discount: float) -> Tensor:
    """r + gamma r' + gamma^2 r'' + ... of every step, [steps, E].

    With no discount, a reward at the end of a game is what each of its steps is worth.
    """
    worth = rewards.clone()
    for step in reversed(range(len(rewards) - 1)):
        worth[step] += discount * worth[step + 1]
    return worth


def loss(policy: Policy, propagation: Csr, rollout: Rollout) -> Tensor:
    """-log pi(a|s) times what the step was worth, which `rollout.rewards` holds, over all steps and games."""
    scores = policy.scores(propagation, rollout.features[: len(rollout.actions)].flatten(0, 1))
    logs = log_policy(scores, rollout.is_candidate.flatten(0, 1))
    chosen = logs.gather(1, rollout.actions.reshape(-1, 1)).view_as(rollout.rewards)
    return -(chosen * rollout.rewards).sum()


def update(policy: Policy, optimizer: torch.optim.Optimizer, propagation: Csr, rollout: Rollout) -> Tensor:
    """One step by the mean over all steps and games; returns the loss before it."""
    optimizer.zero_grad()
    total = torch.zeros(())
    for part in _parts(rollout):
        mean = loss(policy, propagation, part) / rollout.rewards.numel()
        mean.backward()  # type: ignore[no-untyped-call]
        total += mean.detach()
    optimizer.step()
    return total


def _parts(rollout: Rollout) -> list[Rollout]:
    """A whole game a few steps at a time: their gradients add up."""
    ends = range(0, len(rollout.actions), _AT_ONCE)
    return [Rollout(*[tensor[start : start + _AT_ONCE] for tensor in rollout]) for start in ends]
