"""REINFORCE (Williams 1992): a choice becomes likelier by what came after it. How GPA and its kin learn."""

from __future__ import annotations

import torch
from torch import Tensor

from gcbr.engine.matrix import Csr
from gcbr.environment import State
from gcbr.policy import Policy, log_policy
from gcbr.rollout import Rollout


def returns(rewards: Tensor, discount: float) -> Tensor:
    """r + gamma r' + gamma^2 r'' + ... of every step, [steps, E].

    With no discount, a reward at the end of a game is what each of its steps is worth.
    """
    worth = rewards.clone()
    for step in reversed(range(len(rewards) - 1)):
        worth[step] += discount * worth[step + 1]
    return worth


def loss(policy: Policy, propagation: Csr, state: State, actions: Tensor, worth: Tensor) -> Tensor:
    """-log pi(a|s) times what the step was worth, over all games; `actions` and `worth` are [E]."""
    logs = log_policy(policy.scores(propagation, state.features), state.is_candidate)
    return -(logs.gather(1, actions.unsqueeze(1)).squeeze(1) * worth).sum()


def update(policy: Policy, optimizer: torch.optim.Optimizer, propagation: Csr, rollout: Rollout) -> Tensor:
    """One step by the mean over all steps and games; `rollout.rewards` hold what each was worth.

    Returns the loss before it.
    """
    optimizer.zero_grad()
    total = rollout.rewards.new_zeros(())
    # Step by step: their gradients add up, and what one of them needs stays in the cache.
    for step in zip(rollout.states[:-1], rollout.actions, rollout.rewards, strict=True):
        mean = loss(policy, propagation, *step) / rollout.rewards.numel()
        mean.backward()  # type: ignore[no-untyped-call]
        total += mean.detach()
    optimizer.step()
    return total
