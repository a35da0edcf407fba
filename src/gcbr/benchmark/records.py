"""One run is one line: JSON that tables and figures are made from, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from gcbr.simulation import Score, SimulationResult

_DIGITS = 6  # of a score: far finer than one node in a test set of a thousand

# The dataset's own test set, or one that the seed draws, every class in proportion.
TestSet = Literal["fixed", "stratified"]


@dataclass(frozen=True)
class Run:
    """The key of one experiment. Two equal keys are the same experiment, done once."""

    dataset: str
    features: str  # the feature rule
    test: TestSet
    strategy: str
    fingerprint: str  # of the policy or the user's own file that chooses; empty if the package alone does
    budget: int
    seed: int
    final_epochs: int
    classifier: str = "usual"  # which form of it; a record that does not say so is of this one


@dataclass(frozen=True)
class Cost:
    """The only part of a record that differs when a run is repeated."""

    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float


@dataclass(frozen=True)
class Origin:
    """What a record was made with."""

    versions: dict[str, str]
    commit: str | None  # None: not run from a checkout


@dataclass(frozen=True)
class Record:
    run: Run
    class_names: tuple[str, ...]
    nodes: tuple[int, ...]  # chosen, in order
    counts: tuple[int, ...]  # labels of each class
    final: Score
    accuracy_per_class: tuple[float | None, ...]  # None for a class with no test node
    curve: tuple[Score, ...]
    cost: Cost
    origin: Origin


def as_record(run: Run, result: SimulationResult, origin: Origin) -> Record:
    return Record(
        run=run,
        class_names=result.class_names,
        nodes=result.nodes,
        counts=result.counts,
        final=_rounded(result.final),
        accuracy_per_class=tuple(
            None if math.isnan(value) else round(value, _DIGITS) for value in result.accuracy_per_class
        ),
        curve=tuple(_rounded(score) for score in result.curve),
        cost=Cost(
            round(result.cpu_seconds, 3), round(result.wall_seconds, 3), round(result.peak_megabytes, 1)
        ),
        origin=origin,
    )


def to_line(record: Record) -> str:
    document = asdict(record)
    # By column: the names of a curve's columns once instead of at each of its points.
    document["curve"] = {
        field.name: [getattr(score, field.name) for score in record.curve] for field in fields(Score)
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def from_line(line: str) -> Record:
    """The record of a line; a ValueError, KeyError or TypeError if it is none."""
    document: dict[str, Any] = json.loads(line)
    columns = document["curve"]
    return Record(
        run=Run(**document["run"]),
        class_names=tuple(document["class_names"]),
        nodes=tuple(document["nodes"]),
        counts=tuple(document["counts"]),
        final=Score(**document["final"]),
        accuracy_per_class=tuple(document["accuracy_per_class"]),
        curve=tuple(
            Score(**dict(zip(columns, point, strict=True))) for point in zip(*columns.values(), strict=True)
        ),
        cost=Cost(**document["cost"]),
        origin=Origin(**document["origin"]),
    )


def missing(runs: Iterable[Run], recorded: Mapping[Run, Record]) -> list[Run]:
    """The runs that are not recorded yet, each once."""
    return [run for run in dict.fromkeys(runs) if run not in recorded]


def of_runs(runs: Iterable[Run], recorded: Mapping[Run, Record]) -> list[Record]:
    """The records of these runs alone: others may be those of another plan or an earlier policy."""
    return [recorded[run] for run in dict.fromkeys(runs) if run in recorded]


def _rounded(score: Score) -> Score:
    return Score(
        score.labels,
        round(score.micro_f1, _DIGITS),
        round(score.macro_f1, _DIGITS),
        round(score.imbalance_ratio, _DIGITS),
    )
