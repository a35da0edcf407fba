"""What a choice is worth, for each kind of reward; the paper's own is Eq. 7 and 16."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gcbr import scores


@dataclass(frozen=True)
class RewardConfig:
    gain_weight: float = 0.5  # alpha in the paper
    penalty: float = 0.0  # eta: 0 gives GCBR, above 0 gives GCBR++
    kind: str = "balanced"  # one of KINDS; the two above are of the balanced one


class Outcome(NamedTuple):
    """What a choice led to, in E games. Inside a batch nothing is learned, and the score stays."""

    before: Tensor  # [E] the validation score
    after: Tensor  # [E]
    counts: Tensor  # [E, classes] labels of each class before the choice
    classes: Tensor  # [E] of the chosen nodes
    frequencies: Tensor  # [classes] shares of the nodes of the graph
    budget: int
    done: bool  # the budget is spent


def diversity(counts: Tensor, classes: Tensor) -> Tensor:
    """h of the paper's Eq. 7: 1 / max(1, labels the class had before this one). [E, m] and [E] give [E]."""
    return 1 / counts.gather(-1, classes.unsqueeze(-1)).squeeze(-1).clamp(min=1)


def in_majority(counts: Tensor, classes: Tensor, budget: int) -> Tensor:
    """Whether the class of each choice had its share of the budget already."""
    return scores.is_majority(counts, budget).gather(-1, classes.unsqueeze(-1)).squeeze(-1)


def reward(gain: Tensor, counts: Tensor, classes: Tensor, budget: int, config: RewardConfig) -> Tensor:
    """The paper's Eq. 7 and 16: alpha * gain + (1 - alpha) * h - eta * [majority]. `counts` are before it."""
    alpha = config.gain_weight
    balanced = alpha * gain + (1 - alpha) * diversity(counts, classes)
    return balanced - config.penalty * in_majority(counts, classes, budget)


def class_weights(frequencies: Tensor) -> Tensor:
    """ALLIE's: 1 for a class rarer than the average one; for any other, how much rarer those are than it.

    Of two classes the smaller has 1 and the larger the ratio of the two. Where all are alike, all have 1.
    """
    is_rare = frequencies < 1 / len(frequencies)
    if not is_rare.any():
        return torch.ones_like(frequencies)
    return torch.where(is_rare, 1.0, frequencies[is_rare].mean() / frequencies)


def _balanced(outcome: Outcome, config: RewardConfig) -> Tensor:
    gain = outcome.after - outcome.before
    return reward(gain, outcome.counts, outcome.classes, outcome.budget, config)


def _final_score(outcome: Outcome, config: RewardConfig) -> Tensor:
    """GPA's: what the game came to, at its end."""
    return outcome.after if outcome.done else torch.zeros_like(outcome.after)


def _gain(outcome: Outcome, config: RewardConfig) -> Tensor:
    """BiGeNe's: what the labels of a batch have improved, given when they have been learned."""
    return outcome.after - outcome.before


def _weighed_gain(outcome: Outcome, config: RewardConfig) -> Tensor:
    """ALLIE's: what a label has improved, and a label of a common class counts for less."""
    return class_weights(outcome.frequencies)[outcome.classes] * (outcome.after - outcome.before)


KINDS: dict[str, Callable[[Outcome, RewardConfig], Tensor]] = {
    "balanced": _balanced,
    "final score": _final_score,
    "gain": _gain,
    "weighed gain": _weighed_gain,
}


def worth(outcome: Outcome, config: RewardConfig) -> Tensor:
    """The reward of the configured kind, [E]."""
    return KINDS[config.kind](outcome, config)
