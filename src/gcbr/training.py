"""Training a policy into a file, so that a run killed at any moment goes on to the same weights."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gcbr.checkpoints import PolicyCard, read_tensors, save_policy, write_tensors
from gcbr.environment import EnvConfig
from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.graph import Dataset
from gcbr.rewards import RewardConfig
from gcbr.state import GCBR_COLUMNS, GCBR_PLUS_COLUMNS
from gcbr.trainer import TrainConfig, Trainer

CURVE_BIN = 50  # episodes whose mean is one point of the curve in a policy file


@dataclass(frozen=True)
class Method:
    """What tells one trained method from another."""

    columns: tuple[str, ...]
    penalty: float  # eta


METHODS = {
    "gcbr": Method(GCBR_COLUMNS, penalty=0.0),
    "gcbr++": Method(GCBR_PLUS_COLUMNS, penalty=0.05),
}


def env_config(method: str, base: EnvConfig, alpha: float, eta: float | None) -> EnvConfig:
    """`base` with the columns and the reward of a method; `eta` is the method's own unless given."""
    if method not in METHODS:
        raise InputError(f"unknown method '{method}'; choose from {', '.join(METHODS)}")
    chosen = METHODS[method]
    penalty = chosen.penalty if eta is None else eta
    return replace(base, columns=chosen.columns, reward=RewardConfig(gain_weight=alpha, penalty=penalty))


def train_policy(
    sources: Sequence[Dataset],
    method: str,
    env: EnvConfig,
    config: TrainConfig,
    out: Path,
    *,
    checkpoint_seconds: float = 30.0,
    keep_every: int | None = None,
    on_episode: Callable[[Trainer], None] | None = None,
) -> PolicyCard:
    """Train, or go on training, the policy that ends up in `out`; its log stands beside it as CSV."""
    if out.exists():
        raise InputError(f"{out} exists already; name another file or remove it")
    _require_writable(out.parent)
    rules = sorted({source.graph.feature_rule for source in sources})
    if len(rules) > 1:
        raise InputError(f"sources are scaled by different feature rules: {', '.join(rules)}; choose one")
    trainer = Trainer(sources, env, config)
    settings = _identity(trainer, method, sources)
    checkpoint = out.with_name(out.name + ".checkpoint")
    if checkpoint.exists():
        _resume(trainer, checkpoint, settings)
    saved_at = time.monotonic()

    def after_episode(trainer: Trainer) -> None:
        nonlocal saved_at
        # Before the checkpoint: a run killed between the two would go on without its copy.
        if keep_every is not None and trainer.episode % keep_every == 0:
            kept = out.with_name(f"{out.stem}-{trainer.episode}{out.suffix}")
            save_policy(kept, trainer.policy, _card(trainer, method, sources))
        if time.monotonic() - saved_at >= checkpoint_seconds:
            _save_checkpoint(trainer, checkpoint, settings)
            _write_log(trainer, out)
            saved_at = time.monotonic()
        if on_episode is not None:
            on_episode(trainer)

    trainer.train(after_episode)
    card = _card(trainer, method, sources)
    _write_log(trainer, out)
    save_policy(out, trainer.policy, card)
    checkpoint.unlink(missing_ok=True)
    return card


def _require_writable(folder: Path) -> None:
    """Said before hours of training rather than after them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write into the folder {folder}; name another")


def _identity(trainer: Trainer, method: str, sources: Sequence[Dataset]) -> dict[str, Any]:
    """What two trainings must agree on for one to go on with the other's checkpoint."""
    graphs = [source.graph for source in sources]
    return {
        "method": method,
        "features": graphs[0].feature_rule,
        "sources": [f"{graph.name} ({graph.num_nodes} nodes, {graph.num_edges} edges)" for graph in graphs],
        **trainer.settings(),
    }


def _save_checkpoint(trainer: Trainer, path: Path, settings: dict[str, Any]) -> None:
    header = {"settings": settings, "episode": trainer.episode, "curve": trainer.curve}
    write_tensors(path, trainer.tensors(), header)


def _resume(trainer: Trainer, path: Path, settings: dict[str, Any]) -> None:
    tensors, header = read_tensors(path)
    if "settings" not in header:
        raise InputError(f"{path} is no checkpoint of a training; remove it to start anew")
    ours, theirs = _flat(settings), _flat(header["settings"])
    # A longer training of the same kind is the same training, gone on with.
    changed = [key for key in ours | theirs if ours.get(key) != theirs.get(key) and key != "train.episodes"]
    if changed:
        was = ", ".join(f"{key} was {theirs.get(key)} and is {ours.get(key)}" for key in changed)
        raise InputError(f"{path} belongs to a training with other settings ({was}); remove it to start anew")
    if header["episode"] > trainer.config.episodes:
        raise InputError(
            f"{path} has played {header['episode']} episodes already, more than the "
            f"{trainer.config.episodes} asked for; remove it to start anew"
        )
    trainer.restore(tensors, header["episode"], header["curve"])


def _card(trainer: Trainer, method: str, sources: Sequence[Dataset]) -> PolicyCard:
    return PolicyCard(
        method=method,
        columns=tuple(trainer.env.columns),
        width=trainer.config.width,
        features=sources[0].graph.feature_rule,
        sources=tuple(source.graph.name for source in sources),
        episodes=trainer.episode,
        settings=trainer.settings(),
        curve=binned(trainer.curve, CURVE_BIN),
        version=version("gcbr"),
    )


def binned(curve: Sequence[dict[str, float]], size: int) -> list[dict[str, float]]:
    """The mean of every `size` points, the last bin perhaps shorter; `episode` is the bin's last."""
    bins = [curve[start : start + size] for start in range(0, len(curve), size)]
    return [
        {key: sum(point[key] for point in points) / len(points) for key in points[0]}
        | {"episode": points[-1]["episode"]}
        for points in bins
    ]


def _write_log(trainer: Trainer, out: Path) -> None:
    lines = [",".join(trainer.curve[0]), *[",".join(map(str, point.values())) for point in trainer.curve]]
    text = "".join(f"{line}\n" for line in lines)
    write_atomically(out.with_suffix(".csv"), text.encode())


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
