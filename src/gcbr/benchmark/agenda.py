"""What a plan comes down to: policies to train, then runs, with everything their keys need to know."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from gcbr import checkpoints
from gcbr.benchmark.plan import DEFAULT_BUDGET, Budget, Plan, Training
from gcbr.benchmark.records import Record, Run
from gcbr.datasets import DATASETS, find_entry, load_dataset
from gcbr.datasets.features import check_rule
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.policies import shipped
from gcbr.simulation import LABELS_PER_CLASS, default_budget
from gcbr.splits import split_sizes
from gcbr.strategies import STRATEGIES, find_strategy

_BALANCED = re.compile(r"balanced\((.*)\)")
_IN_FILE = re.compile(r"(.+\.py):\w+")

Load = Callable[[str, str], Dataset]  # by name and feature rule


class Size(NamedTuple):
    """What budgets need to know of a dataset."""

    default_budget: int
    num_candidates: int | None  # None: not known from records


class Trained(NamedTuple):
    """A policy of a plan, under one feature rule and with one form of the classifier."""

    training: Training
    features: str
    classifier: str = "usual"

    def file(self, folder: Path) -> Path:
        words = re.sub(r"[^\w.+-]+", "-", self.training.name).strip("-")
        form = "" if self.classifier == "usual" else f"-{self.classifier}"
        return folder / f"{words}-{self.features}{form}.safetensors"


@dataclass(frozen=True)
class Agenda:
    """All runs of a plan, in order."""

    runs: tuple[Run, ...]
    labels: Mapping[str, str]  # by the strategy of a run: what reports call it
    policies: Mapping[tuple[str, str], Path]  # by strategy and fingerprint: files besides those shipped
    left_out: tuple[str, ...]  # strategies that this version or folder lacks, a sentence each

    def labeled(self, records: Iterable[Record]) -> list[Record]:
        """The records with their strategies called as the plan calls them."""
        return [replace(r, run=replace(r.run, strategy=self.labels[r.run.strategy])) for r in records]


def check_plan(plan: Plan, *, tolerant: bool = False) -> None:
    """Refuse, before anything is loaded or trained, what that could not mend."""
    for strategy in plan.strategies:
        if not tolerant and strategy not in plan.trained | plan.policies:
            find_strategy(strategy)
    for dataset in plan.datasets:
        base = dataset.partition(":")[0]
        find_entry(base)
        check_rule(base, plan.features_of(dataset))


def load_sizes(plan: Plan, load: Load) -> tuple[dict[str, Size], dict[str, str]]:
    """The sizes of the datasets that can be loaded, and why the others cannot."""
    sizes: dict[str, Size] = {}
    absent: dict[str, str] = {}
    for dataset in plan.datasets:
        try:
            sizes[dataset] = _size(load(dataset, plan.features_of(dataset)))
        except InputError as error:
            absent[dataset] = str(error)
    return sizes, absent


def recorded_sizes(plan: Plan, recorded: Mapping[Run, Record]) -> dict[str, Size]:
    """The sizes of the datasets that were run, with none of their files at hand."""
    sizes: dict[str, Size] = {}
    for dataset in plan.datasets:
        if not DATASETS[dataset.partition(":")[0]].files:  # small ones come without files
            sizes[dataset] = _size(load_dataset(dataset, features=plan.features_of(dataset)))
            continue
        found = next((record for run, record in recorded.items() if run.dataset == dataset), None)
        if found is not None:
            sizes[dataset] = Size(LABELS_PER_CLASS * len(found.class_names), None)
    return sizes


def trainings(plan: Plan) -> list[Trained]:
    """The policies that the plan needs, each once."""
    specified = [plan.trained[strategy] for strategy in plan.strategies if strategy in plan.trained]
    return [Trained(training, plan.features, plan.classifier) for training in dict.fromkeys(specified)]


def agenda(plan: Plan, sizes: Mapping[str, Size], policies: Path, *, tolerant: bool = False) -> Agenda:
    """Every run on the datasets of `sizes`: one seed after another, so that all cells grow alike.

    `policies` is the folder of those trained for plans. A strategy that is not there is a mistake, or, where
    `tolerant`, left out.
    """
    choosers: dict[str, dict[str, _Chooser]] = {}  # by feature rule, then by strategy
    left_out: dict[str, None] = {}
    for features in dict.fromkeys(plan.features_of(dataset) for dataset in sizes):
        choosers[features] = {}
        for strategy in plan.strategies:
            try:
                choosers[features][strategy] = _chooser(plan, strategy, features, policies)
            except InputError as error:
                if not tolerant:
                    raise
                left_out[str(error).partition(";")[0]] = None
    every = [chooser for by_strategy in choosers.values() for chooser in by_strategy.items()]
    return Agenda(
        runs=tuple(_runs(plan, sizes, choosers)),
        labels={chooser.strategy: label for label, chooser in every},
        policies={
            (chooser.strategy, chooser.fingerprint): chooser.file
            for _, chooser in every
            if chooser.file is not None
        },
        left_out=tuple(left_out),
    )


class _Chooser(NamedTuple):
    """What a strategy of the plan is in the key of a run."""

    strategy: str
    fingerprint: str
    file: Path | None = None  # of its policy, if that does not ship


def _chooser(plan: Plan, strategy: str, features: str, policies: Path) -> _Chooser:
    if strategy in plan.trained:
        training = plan.trained[strategy]
        file = Trained(training, plan.features, plan.classifier).file(policies)
        if not file.exists():
            raise InputError(
                f"the policy '{training.name}' for the feature rule '{plan.features}' is not trained yet"
            )
        return _Chooser(training.name, _fingerprint(file), file)
    if strategy in plan.policies:
        file = Path(plan.policies[strategy])
        return _Chooser(strategy, _fingerprint(file), file)
    find_strategy(strategy)
    inner = strategy
    while match := _BALANCED.fullmatch(inner):
        inner = match[1].strip()
    if match := _IN_FILE.fullmatch(inner):
        return _Chooser(strategy, _digest(Path(match[1]), strategy))
    if inner.endswith(".safetensors"):
        return _Chooser(strategy, _fingerprint(Path(inner)))
    if inner in STRATEGIES and STRATEGIES[inner].policy:
        name = f"{inner}-{features}"
        if name not in shipped():
            raise InputError(f"no policy of '{inner}' ships for the feature rule '{features}'")
        return _Chooser(strategy, _fingerprint(shipped()[name]))
    return _Chooser(strategy, "")


def _runs(
    plan: Plan, sizes: Mapping[str, Size], choosers: Mapping[str, Mapping[str, _Chooser]]
) -> Iterator[Run]:
    most = max((plan.deviation(dataset).runs or plan.runs for dataset in sizes), default=0)
    for seed in range(most):
        for dataset, size in sizes.items():
            deviation, features = plan.deviation(dataset), plan.features_of(dataset)
            if seed >= (deviation.runs or plan.runs):
                continue
            budgets = dict.fromkeys(_budget(dataset, b, size) for b in deviation.budgets or plan.budgets)
            for test in deviation.tests or plan.tests:
                for chooser in choosers[features].values():
                    for budget in budgets:
                        yield Run(
                            dataset=dataset,
                            features=features,
                            test=test,
                            strategy=chooser.strategy,
                            fingerprint=chooser.fingerprint,
                            budget=budget,
                            seed=seed,
                            final_epochs=plan.final_epochs,
                            classifier=plan.classifier,
                        )


def _size(dataset: Dataset) -> Size:
    _, num_val = split_sizes(dataset.graph.num_nodes)
    return Size(default_budget(dataset), dataset.graph.num_nodes - len(dataset.test) - num_val)


def _budget(dataset: str, budget: Budget, size: Size) -> int:
    if budget == DEFAULT_BUDGET:
        return size.default_budget
    assert isinstance(budget, int)
    if size.num_candidates is not None and budget > size.num_candidates:
        raise InputError(
            f"a budget of {budget} is more than the {size.num_candidates} nodes of '{dataset}' "
            "that can be chosen"
        )
    return budget


def _fingerprint(path: Path) -> str:
    """Of the weights alone: notes added to a policy's file change nothing that it chooses."""
    return checkpoints.fingerprint(checkpoints.load_policy(path)[0])


def _digest(path: Path, strategy: str) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise InputError(f"the file '{path}' of '{strategy}' cannot be read: {error.strerror}") from error
