"""Several trainings of one kind as one policy: what one seed has learned by chance, the others outvote.

Which seed does well on a graph that none has met cannot be seen on the graph they were trained on. A
committee leans on no single one. It is a policy like any other, in one file, as wide as its members together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gcbr.checkpoints import PolicyCard, load_policy, save_policy
from gcbr.errors import InputError
from gcbr.policy import committee


def join(paths: Sequence[Path], out: Path) -> PolicyCard:
    """Write the committee of the policies in these files to `out`."""
    if len(paths) < 2:
        raise InputError("a committee has two members or more; name as many policy files")
    if out.exists():
        raise InputError(f"{out} exists already; name another file or remove it")
    members = [load_policy(path) for path in paths]
    cards = [card for _, card in members]
    first = cards[0]
    for path, card in zip(paths, cards, strict=True):
        for what in ("method", "columns", "features", "actions"):
            theirs, ours = getattr(card, what), getattr(first, what)
            if theirs != ours:
                raise InputError(f"{path} has other {what} than {paths[0]}: {theirs}, not {ours}")
    joined = committee([policy for policy, _ in members])
    card = replace(
        first,
        width=joined.actor.first.out_features,
        sources=tuple(dict.fromkeys(source for card in cards for source in card.sources)),
        episodes=sum(card.episodes for card in cards),
        settings=_side_by_side([card.settings for card in cards]),
        curve=_mean_curve([card.curve for card in cards]),
        version=version("gcbr"),
    )
    save_policy(out, joined, card)
    return card


def seeds(card: PolicyCard) -> list[int]:
    """Of the trainings behind a policy; a member may be a committee itself."""
    return _flat(card.settings["train"]["seed"])


def _flat(seed: Any) -> list[int]:
    return [each for part in seed for each in _flat(part)] if isinstance(seed, list) else [seed]


def _side_by_side(settings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all have in common as it is, and what each has of its own as a list in their order."""
    merged: dict[str, Any] = {}
    for key in dict.fromkeys(key for each in settings for key in each):
        values = [each.get(key) for each in settings]
        groups = [value for value in values if isinstance(value, dict)]
        if len(groups) == len(values):
            merged[key] = _side_by_side(groups)
        else:
            merged[key] = values[0] if all(value == values[0] for value in values) else values
    return merged


def _mean_curve(curves: Sequence[list[dict[str, float]]]) -> list[dict[str, float]]:
    """Point by point, as far as all of them go."""
    return [
        {key: sum(point[key] for point in points) / len(points) for key in points[0]}
        for points in zip(*curves, strict=False)
    ]
