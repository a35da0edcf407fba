"""One run is one line of a file: JSON that tables and figures are made from, and nothing else.

Several processes may append to one file. A line that a crash cut short is passed over and reported; its
run counts as not done.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from gcbr.benchmark.plan import Run
from gcbr.simulation import Score, SimulationResult

_DIGITS = 6  # of a score: far finer than one node in a test set of a thousand


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


@dataclass(frozen=True)
class Reading:
    """What a file of records holds."""

    records: dict[Run, Record]  # in the order of the file; the first of two equal runs
    broken_lines: tuple[int, ...]  # counted from 1


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


def append(path: Path, record: Record) -> None:
    """Add a line: whole, on a line of its own, and on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        with _locked(descriptor, fcntl.LOCK_EX):
            # After a crash the last line may have no end; what is cut stays a line by itself.
            start = "" if _ends_a_line(descriptor) else "\n"
            content = f"{start}{to_line(record)}\n".encode()
            if os.write(descriptor, content) != len(content):
                raise OSError(f"'{path}' took a part of a line only; is the disk full?")
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> Reading:
    """All records of a file; a file that is not there holds none."""
    records: dict[Run, Record] = {}
    broken: list[int] = []
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = from_line(line)
        except (ValueError, KeyError, TypeError):
            broken.append(number)
        else:
            records.setdefault(record.run, record)
    return Reading(records, tuple(broken))


def missing(runs: Iterable[Run], reading: Reading) -> list[Run]:
    """The runs that are not recorded yet, each once."""
    return [run for run in dict.fromkeys(runs) if run not in reading.records]


def of_runs(runs: Iterable[Run], reading: Reading) -> list[Record]:
    """The records of these runs alone: a file may hold those of an earlier plan or policy."""
    return [reading.records[run] for run in dict.fromkeys(runs) if run in reading.records]


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file, _locked(file.fileno(), fcntl.LOCK_SH):
            content = file.read()
    except FileNotFoundError:
        return []
    # Only a line feed ends a line: class names may hold letters that `splitlines` takes for ends.
    return content.decode("utf-8", errors="replace").split("\n")


def _rounded(score: Score) -> Score:
    return Score(
        score.labels,
        round(score.micro_f1, _DIGITS),
        round(score.macro_f1, _DIGITS),
        round(score.imbalance_ratio, _DIGITS),
    )


def _ends_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


@contextmanager
def _locked(descriptor: int, kind: int) -> Iterator[None]:
    fcntl.flock(descriptor, kind)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
