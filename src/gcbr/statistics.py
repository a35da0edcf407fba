"""What several runs come to: a mean with its 95% interval, of the measures that every table shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gcbr.simulation import Score

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A mean over runs; nan where nothing could be measured."""

    mean: float
    margin: float | None  # half the width of its 95% t-interval; None for a single run

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero; a single run is never clear."""
        return self.margin is not None and abs(self.mean) > self.margin


def estimate(values: Sequence[float]) -> Estimate:
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return Estimate(mean, None)
    from scipy.special import stdtrit  # half a second, which a table without intervals need not wait for

    quantile = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2))
    return Estimate(mean, quantile * _standard_error(values, mean))


def p_value(differences: Sequence[float]) -> float | None:
    """Of the two-sided paired t-test: how often chance alone would give a mean as far from zero."""
    if len(differences) < 2:
        return None
    mean = math.fsum(differences) / len(differences)
    error = _standard_error(differences, mean)
    if error == 0:
        return 0.0 if mean else 1.0
    from scipy.special import stdtr

    return 2 * float(stdtr(len(differences) - 1, -abs(mean) / error))


def _standard_error(values: Sequence[float], mean: float) -> float:
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance / len(values))


@dataclass(frozen=True)
class Measure:
    """A field of `Score` as people read it."""

    key: str
    title: str
    scale: float
    decimals: int

    def of(self, score: Score) -> float:
        return self.scale * float(getattr(score, self.key))


MEASURES = (
    Measure("micro_f1", "Micro-F1", 100, 1),
    Measure("macro_f1", "Macro-F1", 100, 1),
    Measure("imbalance_ratio", "Imbalance ratio", 1, 2),
)


def number(value: Estimate, decimals: int, *, signed: bool = False) -> str:
    """`94.1`, or `94.1 ± 0.8` over several runs; `-` where nothing could be measured."""
    if math.isnan(value.mean):
        return "-"
    sign = "+" if signed else ""
    mean = f"{value.mean:{sign}z.{decimals}f}"
    return mean if value.margin is None else f"{mean} ± {value.margin:.{decimals}f}"
