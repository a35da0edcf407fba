"""Play some steps of every episode, and keep what learning needs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gcbr.environment import LabelingEnv, State
from gcbr.policy import Judge, Policy, log_policy


class Choice(NamedTuple):
    """What the policy did in one state of E games, and made of it; each is [E]."""

    action: Tensor  # node ids
    log_probability: Tensor  # of that action
    value: Tensor
    entropy: Tensor  # of the policy, in nats


class Rollout(NamedTuple):
    """F steps of E games, and the state after them.

    The weights that acted are those that learn from it, so what they said is kept, with its gradient.
    """

    states: list[State]  # F + 1
    actions: Tensor  # [F, E] node ids
    log_probabilities: Tensor  # [F, E]
    values: Tensor  # [F + 1, E], the last without gradient
    rewards: Tensor  # [F, E]
    done: Tensor  # [F] bool: whether the budget was spent by this step
    entropy: Tensor  # [F, E]


def collect(
    env: LabelingEnv, policy: Policy, state: State, steps: int, rng: torch.Generator
) -> tuple[Rollout, State]:
    """Sample `steps` actions from the policy, starting at `state`."""
    judge = policy.judge(env.propagation)
    states, choices, rewards, done = [state], [], [], []
    for _ in range(steps):
        choice = act(judge, states[-1], rng)
        step = env.step(choice.action)
        states.append(step.state)
        choices.append(choice)
        rewards.append(step.reward)
        done.append(step.done)
    with torch.no_grad():
        _, last_value = judge(states[-1].features)
    actions, log_probabilities, values, entropies = zip(*choices, strict=True)
    rollout = Rollout(
        states,
        torch.stack(actions),
        torch.stack(log_probabilities),
        torch.stack([*values, last_value]),
        torch.stack(rewards),
        torch.tensor(done, device=last_value.device),
        torch.stack(entropies),
    )
    return rollout, states[-1]


def act(judge: Judge, state: State, rng: torch.Generator) -> Choice:
    """One node for each game, drawn from the policy."""
    scores, value = judge(state.features)
    logs = log_policy(scores, state.is_candidate)
    probabilities = logs.detach().exp()
    entropy = -(probabilities * logs.detach().nan_to_num(neginf=0.0)).sum(-1)
    action = draw(probabilities, rng)
    return Choice(action, logs.gather(1, action.unsqueeze(1)).squeeze(1), value, entropy)


def draw(probabilities: Tensor, rng: torch.Generator) -> Tensor:
    """One index from each row, by inverting its cumulative sum; an entry of probability 0 is never drawn."""
    cumulative = probabilities.double().cumsum(-1)
    shares = torch.rand(len(probabilities), 1, generator=rng, device=rng.device).to(cumulative)
    return torch.searchsorted(cumulative, shares * cumulative[:, -1:], right=True).squeeze(1)
