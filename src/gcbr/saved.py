"""A learner on disk: its settings and the answers, for the graph they were given on.

Everything else a learner knows follows from these, bit for bit, so nothing else is kept: loading teaches a
fresh classifier the same answers in the same order. One safetensors file with its JSON in the header.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from gcbr.checkpoints import read_tensors, write_tensors
from gcbr.errors import InputError
from gcbr.graph import Graph, fingerprint


@dataclass(frozen=True, eq=False)
class SavedLearner:
    strategy: str | None  # None: one that has no name, to be given again
    budget: int
    seed: int
    sample: int | None  # candidates drawn for each choice; None: all
    classes: tuple[str, ...]  # declared beforehand
    answers: dict[int, str]
    order: tuple[int, ...]  # every node ever answered, by its first answer
    skipped: tuple[int, ...]
    candidates: Tensor  # node ids


def write_saved(path: Path, saved: SavedLearner, graph: Graph) -> None:
    settings = asdict(saved)
    tensors = {"candidates": settings.pop("candidates")}
    settings["answers"] = list(saved.answers.items())  # the keys of a JSON object are text
    write_tensors(path, tensors, {"learner": settings, "graph": fingerprint(graph)})


def read_saved(path: Path, graph: Graph) -> SavedLearner:
    """What was saved, if it was saved on this graph."""
    tensors, header = read_tensors(path)
    settings: dict[str, Any] | None = header.get("learner")
    if settings is None:
        raise InputError(f"{path} holds no learner; expected a file that ActiveLearner.save has written")
    if header["graph"] != fingerprint(graph):
        raise InputError(
            f"{path} was saved on another graph: edges, features or names of '{graph.name}' are different"
        )
    return SavedLearner(
        strategy=settings["strategy"],
        budget=settings["budget"],
        seed=settings["seed"],
        sample=settings["sample"],
        classes=tuple(settings["classes"]),
        answers=dict(settings["answers"]),
        order=tuple(settings["order"]),
        skipped=tuple(settings["skipped"]),
        candidates=tensors["candidates"],
    )
