"""Policies that a plan names by their settings: trained before its runs, and kept for every other plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from gcbr.benchmark.agenda import Trained
from gcbr.benchmark.plan import DEFAULT_ALPHA
from gcbr.benchmark.store import Claims
from gcbr.benchmark.workers import work_off
from gcbr.classifier import find_classifier
from gcbr.datasets import load_dataset
from gcbr.environment import EnvConfig
from gcbr.errors import InputError
from gcbr.trainer import TrainConfig
from gcbr.training import env_config, train_config, train_policy

_SECONDS_BETWEEN_LOOKS = 1.0  # at what another process trains


def missing_policies(needed: Sequence[Trained], folder: Path) -> list[Trained]:
    return [policy for policy in needed if not policy.file(folder).exists()]


def train_missing(
    needed: Sequence[Trained],
    folder: Path,
    *,
    workers: int = 1,
    data_dir: Path | None = None,
    on_done: Callable[[Trained], None] | None = None,
) -> None:
    """Train the policies that the folder lacks, several at a time; waits for those of another process.

    What was stopped or killed goes on from its last checkpoint.
    """
    for policy in needed:
        environment(policy)  # a mistake in the plan is told before hours of training
    train = partial(_train, folder=folder, data_dir=data_dir)
    with Claims(folder / ".claims") as claims:
        while left := missing_policies(needed, folder):
            is_idle = True
            with closing(work_off(train, _free(left, folder, claims), workers)) as results:
                for policy in results:
                    is_idle = False
                    if on_done is not None:
                        on_done(policy)
            if is_idle:
                time.sleep(_SECONDS_BETWEEN_LOOKS)


def environment(policy: Trained) -> EnvConfig:
    """The games that a policy is trained on."""
    training = policy.training
    # Only the rewards of gcbr and gcbr++ have one.
    alpha = None if training.alpha == DEFAULT_ALPHA else training.alpha
    base = EnvConfig(budget=training.budget, classifier=find_classifier(policy.classifier))
    env = env_config(training.method, base, alpha, training.eta)
    if training.without and training.without not in env.columns:
        raise InputError(
            f"'{training.method}' has no column '{training.without}' to leave out; "
            f"it has {', '.join(env.columns)}"
        )
    return replace(env, columns=tuple(column for column in env.columns if column != training.without))


def _free(policies: Sequence[Trained], folder: Path, claims: Claims) -> Iterator[Trained]:
    for policy in policies:
        # Only then: until it is claimed another process may have finished it.
        if claims.take(policy.file(folder).name) and not policy.file(folder).exists():
            yield policy


def _train(policy: Trained, folder: Path, data_dir: Path | None) -> Trained:
    training, file = policy.training, policy.file(folder)
    source = load_dataset(training.source, data_dir=data_dir, features=policy.features)
    config = train_config(training.method, TrainConfig(episodes=training.episodes, seed=training.seed))
    train_policy([source], training.method, environment(policy), config, file)
    file.with_suffix(".csv").unlink(missing_ok=True)  # the policy's own file has the curve
    return policy
