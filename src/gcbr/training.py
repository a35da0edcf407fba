"""Training a policy into a file, so that a run killed at any moment goes on to the same weights."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gcbr.actions import ActionSpace
from gcbr.checkpoints import PolicyCard, fingerprint, load_policy, read_tensors, save_policy, write_tensors
from gcbr.environment import EnvConfig
from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.graph import Dataset
from gcbr.policy import Policy, reading
from gcbr.rewards import RewardConfig
from gcbr.state import GCBR_COLUMNS, GCBR_PLUS_COLUMNS, GPA_COLUMNS
from gcbr.trainer import TrainConfig, Trainer

# The columns that may be read at another scale, by the name of the scale; the first is their own.
CENTRALITY_COLUMNS = {"log": "centrality", "relative": "relative_centrality"}
DIVERSITY_COLUMNS = {
    "plain": "class_diversity",
    "relative": "relative_class_diversity",
    "paced": "paced_class_diversity",
}
CURVE_BIN = 50  # episodes whose mean is one point of the curve in a policy file


@dataclass(frozen=True)
class Method:
    """What tells one trained method from another; the classifier, the games and the files are the same."""

    columns: tuple[str, ...]
    reward: RewardConfig
    algorithm: str = "a2c"
    rate: float = 1e-3
    decay: float = 0.3
    discount: float = 0.9
    standardize: bool = False
    score: str = "macro_f1"
    final_epochs: int = 0
    batch: int = 1
    actions: ActionSpace = field(default_factory=ActionSpace)


# GPA's own settings: Micro-F1 after 35 more epochs is what every step of a game is worth.
_GPA = Method(
    GPA_COLUMNS,
    RewardConfig(kind="final score"),
    algorithm="reinforce",
    rate=0.01,
    decay=1.0,
    discount=1.0,
    standardize=True,
    score="micro_f1",
    final_epochs=35,
)

METHODS = {
    "gcbr": Method(GCBR_COLUMNS, RewardConfig(penalty=0.0)),
    "gcbr++": Method(GCBR_PLUS_COLUMNS, RewardConfig(penalty=0.05)),
    "gpa": _GPA,
    # Our reading of ALLIE, which has no public code: GPA, but a label is worth the gain that it brings, less
    # in a common class, and one candidate of each predicted class is proposed. Nothing forces it to balance.
    "allie": replace(
        _GPA,
        reward=RewardConfig(kind="weighed gain"),
        score="macro_f1",
        final_epochs=0,
        actions=ActionSpace(one_per_class=True),
    ),
    # Our reading of BiGeNe: as many agents as the batch has nodes, all with the same network, choose one
    # after another; each sees the choices before it as labeled, and is taught by the gain of the whole batch.
    # Gains of later batches are discounted; within a batch the discount is scaled away with the returns.
    "bigene": replace(
        _GPA, reward=RewardConfig(kind="gain"), score="macro_f1", final_epochs=0, discount=0.9, batch=5
    ),
}


def find_method(name: str) -> Method:
    if name not in METHODS:
        raise InputError(f"unknown method '{name}'; choose from {', '.join(METHODS)}")
    return METHODS[name]


def env_config(
    method: str,
    base: EnvConfig,
    alpha: float | None = None,
    eta: float | None = None,
    batch: int | None = None,
    coarse: bool = False,
    centrality: str = "log",
    diversity: str = "plain",
) -> EnvConfig:
    """`base` with all that belongs to a method; the other arguments are the method's own unless given."""
    chosen = find_method(method)
    reward = chosen.reward
    if (alpha, eta) != (None, None) and reward.kind != "balanced":
        raise InputError(f"the reward of '{method}' has no alpha and no eta; those of gcbr and gcbr++ have")
    reward = replace(
        reward,
        gain_weight=reward.gain_weight if alpha is None else alpha,
        penalty=reward.penalty if eta is None else eta,
    )
    columns = _at_scale(chosen.columns, "centrality", CENTRALITY_COLUMNS, centrality)
    return replace(
        base,
        columns=_at_scale(columns, "class diversity", DIVERSITY_COLUMNS, diversity),
        reward=reward,
        score=chosen.score,
        final_epochs=chosen.final_epochs,
        batch=chosen.batch if batch is None else batch,
        actions=replace(chosen.actions, coarse=coarse),
    )


def _at_scale(columns: tuple[str, ...], what: str, names: dict[str, str], scale: str) -> tuple[str, ...]:
    """The columns with one of them at this scale; not every method has it."""
    if scale not in names:
        raise InputError(f"unknown scale of {what} '{scale}'; choose from {', '.join(names)}")
    own, *_ = names.values()
    return tuple(names[scale] if column == own else column for column in columns)


def train_config(
    method: str, base: TrainConfig, discount: float | None = None, standardize: bool | None = None
) -> TrainConfig:
    """`base` with the way of learning of a method; the other arguments are the method's own unless given."""
    chosen = find_method(method)
    return replace(
        base,
        algorithm=chosen.algorithm,
        actor_rate=chosen.rate,
        critic_rate=chosen.rate,
        decay=chosen.decay,
        discount=chosen.discount if discount is None else discount,
        standardize=chosen.standardize if standardize is None else standardize,
    )


def train_policy(
    sources: Sequence[Dataset],
    method: str,
    env: EnvConfig,
    config: TrainConfig,
    out: Path,
    *,
    start: Path | None = None,
    checkpoint_seconds: float = 30.0,
    keep_every: int | None = None,
    on_episode: Callable[[Trainer], None] | None = None,
) -> PolicyCard:
    """Train, or go on training, the policy that ends up in `out`; its log stands beside it as CSV.

    `start` is a policy to begin with: a column that it did not read has no weight at first.
    """
    if out.exists():
        raise InputError(f"{out} exists already; name another file or remove it")
    _require_writable(out.parent)
    rules = sorted({source.graph.feature_rule for source in sources})
    if len(rules) > 1:
        raise InputError(f"sources are scaled by different feature rules: {', '.join(rules)}; choose one")
    begun = None if start is None else _beginning(start, env, config, rules[0])
    if begun is not None:
        config = replace(config, start=fingerprint(begun))
    trainer = Trainer(sources, env, config, begun)
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


def _beginning(path: Path, env: EnvConfig, config: TrainConfig, rule: str) -> Policy:
    """The policy in a file as one that reads the columns of this training."""
    policy, card = load_policy(path)
    if card.features != rule:
        raise InputError(f"{path} was trained under the feature rule '{card.features}', not '{rule}'")
    unread = [column for column in card.columns if column not in env.columns]
    if unread:
        raise InputError(f"{path} reads columns that this training does not have: {', '.join(unread)}")
    if card.width != config.width:
        raise InputError(f"the layers of {path} are {card.width} wide; those of this training {config.width}")
    return reading(policy, card.columns, list(env.columns))


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
    # An option that a checkpoint knows nothing of had the effect of its default.
    known = _flat({"train": asdict(TrainConfig()), "env": asdict(EnvConfig())})
    ours, theirs = _flat(settings), known | _flat(header["settings"])
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
        sources=tuple(dict.fromkeys(source.graph.name for source in sources)),
        episodes=trainer.episode,
        settings=trainer.settings(),
        curve=binned(trainer.curve, CURVE_BIN),
        version=version("gcbr"),
        actions=trainer.env.actions,
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
