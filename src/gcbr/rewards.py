"""What a choice is worth: performance gained, class diversity, and the penalty for majority classes."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from gcbr import scores


@dataclass(frozen=True)
class RewardConfig:
    gain_weight: float = 0.5  # alpha in the paper
    penalty: float = 0.0  # eta: 0 gives GCBR, above 0 gives GCBR++


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
