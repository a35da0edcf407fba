"""Play some steps of every episode, and keep what learning needs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gcbr.environment import LabelingEnv, State
from gcbr.policy import Policy, log_policy


class Rollout(NamedTuple):
    """F steps of E episodes, and the state after them."""

    features: Tensor  # [F + 1, E, nodes, columns], each step's nodes leading in memory
    is_candidate: Tensor  # [F, E, nodes]
    actions: Tensor  # [F, E] node ids
    rewards: Tensor  # [F, E]
    done: Tensor  # [F] bool: whether the budget was spent by this step
    entropy: Tensor  # [F, E] of the policy when it acted, in nats


def collect(
    env: LabelingEnv, policy: Policy, state: State, steps: int, rng: torch.Generator
) -> tuple[Rollout, State]:
    """Sample `steps` actions from the policy, starting at `state`."""
    states, actions, rewards, done, entropies = [state], [], [], [], []
    for _ in range(steps):
        action, entropy = act(env, policy, states[-1], rng)
        step = env.step(action)
        states.append(step.state)
        actions.append(action)
        rewards.append(step.reward)
        done.append(step.done)
        entropies.append(entropy)
    rollout = Rollout(
        torch.stack([s.features.transpose(0, 1) for s in states]).transpose(1, 2),
        torch.stack([s.is_candidate for s in states[:-1]]),
        torch.stack(actions),
        torch.stack(rewards),
        torch.tensor(done),
        torch.stack(entropies),
    )
    return rollout, states[-1]


@torch.no_grad()
def act(env: LabelingEnv, policy: Policy, state: State, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """One node for each episode, drawn from the policy, and the policy's entropy."""
    logs = log_policy(policy.scores(env.propagation, state.features), state.is_candidate)
    probabilities = logs.exp()
    entropy = -(probabilities * logs.nan_to_num(neginf=0.0)).sum(-1)
    return draw(probabilities, rng), entropy


def draw(probabilities: Tensor, rng: torch.Generator) -> Tensor:
    """One index from each row, by inverting its cumulative sum; an entry of probability 0 is never drawn."""
    cumulative = probabilities.double().cumsum(-1)
    points = torch.rand(len(probabilities), 1, generator=rng).to(cumulative) * cumulative[:, -1:]
    return torch.searchsorted(cumulative, points, right=True).squeeze(1)
