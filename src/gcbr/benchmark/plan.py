"""A plan says what a benchmark compares. It is a TOML file, and comes down to a list of runs."""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gcbr.datasets import load_dataset
from gcbr.datasets.features import check_rule
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.policies import shipped
from gcbr.simulation import default_budget
from gcbr.splits import split_sizes
from gcbr.strategies import STRATEGIES, find_strategy

DEFAULT_BUDGET: Literal["20 per class"] = "20 per class"

_BALANCED = re.compile(r"balanced\((.*)\)")
_IN_FILE = re.compile(r"(.+\.py):\w+")

Count = Annotated[int, Field(ge=1)]
Budget = Count | Literal["20 per class"]
Rule = Literal["default", "paper"]


@dataclass(frozen=True)
class Run:
    """The key of one experiment. Two equal keys are the same experiment, done once."""

    dataset: str
    strategy: str
    fingerprint: str  # of the policy or the user's own file that chooses; empty if the package alone does
    budget: int
    seed: int
    features: str  # the feature rule
    final_epochs: int


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Deviation(_Table):
    """What one dataset does differently."""

    runs: Count | None = None
    features: Rule | None = None
    budgets: Annotated[list[Budget], Field(min_length=1)] | None = None


class Plan(_Table):
    """A plan as its file says it."""

    title: str
    caption: str = ""
    datasets: Annotated[list[str], Field(min_length=1)]
    strategies: Annotated[list[str], Field(min_length=1)]
    budgets: Annotated[list[Budget], Field(min_length=1)] = [DEFAULT_BUDGET]
    runs: Count = 10
    features: Rule = "default"
    final_epochs: Annotated[int, Field(ge=0)] = 100
    paper: Literal["", "table2", "table3"] = ""  # whose figures stand beside ours
    ours: list[str] = ["gcbr", "gcbr++"]  # compared with the best of the others
    policies: dict[str, str] = {}  # strategies from policy files: name = "file", beside the plan
    on: dict[str, Deviation] = {}  # by dataset

    def deviation(self, dataset: str) -> Deviation:
        return self.on.get(dataset, Deviation())


@dataclass(frozen=True)
class Agenda:
    """All runs of a plan, in order."""

    runs: tuple[Run, ...]
    left_out: tuple[str, ...]  # what a shipped plan names and this version lacks, a sentence each


def shipped_plans() -> list[str]:
    folder = files(__package__).joinpath("plans")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())


def is_shipped(name: str) -> bool:
    return name in shipped_plans()


def read_plan(name: str) -> Plan:
    """A shipped plan by name, or the one in a file."""
    if is_shipped(name):
        text = files(__package__).joinpath("plans", f"{name}.toml").read_text("utf-8")
        return parse_plan(text, f"plan '{name}'")
    path = Path(name)
    if path.suffix != ".toml" and not path.is_file():
        raise _unknown_plan(name)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"the plan '{name}' cannot be read: {reason}") from error
    plan = parse_plan(text, f"'{name}'")
    policies = {strategy: str(path.parent / file) for strategy, file in plan.policies.items()}
    return plan.model_copy(update={"policies": policies})


def parse_plan(text: str, place: str) -> Plan:
    """The plan a text holds; `place` begins the sentence about a mistake."""
    try:
        return Plan.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{place} is no TOML: {error}") from error
    except ValidationError as error:
        raise InputError(f"{place}{_mistake(error, text)}") from error


def narrowed(
    plan: Plan,
    *,
    runs: int | None = None,
    datasets: Sequence[str] | None = None,
    strategies: Sequence[str] | None = None,
) -> Plan:
    """The plan with fewer or other runs, datasets and strategies."""
    changes: dict[str, object] = {}
    if runs is not None:
        deviations = {name: other.model_copy(update={"runs": None}) for name, other in plan.on.items()}
        changes |= {"runs": runs, "on": deviations}
    if datasets is not None:
        changes["datasets"] = list(datasets)
    if strategies is not None:
        changes["strategies"] = list(strategies)
    return plan.model_copy(update=changes)


def agenda(
    plan: Plan, *, tolerant: bool = False, load: Callable[[str, str], Dataset] | None = None
) -> Agenda:
    """Every run of the plan: one dataset after another, inside it one seed after another.

    A strategy that is not there is a mistake, or, where `tolerant`, left out. `load` gets a dataset's
    name and feature rule: budgets follow the number of classes.
    """
    load = load or (lambda name, features: load_dataset(name, features=features))
    for dataset in plan.datasets:
        check_rule(dataset.partition(":")[0], _features(plan, dataset))  # before anything is loaded
    left_out: dict[str, None] = {}
    runs: list[Run] = []
    for dataset in plan.datasets:
        features = _features(plan, dataset)
        fingerprints: dict[str, str] = {}
        for strategy in plan.strategies:
            try:
                fingerprints[strategy] = fingerprint(plan, strategy, features)
            except InputError as error:
                if not tolerant:
                    raise
                left_out[str(error).partition(";")[0]] = None
        if fingerprints:
            runs += _runs_on(plan, dataset, features, fingerprints, load(dataset, features))
    return Agenda(tuple(runs), tuple(left_out))


def fingerprint(plan: Plan, strategy: str, features: str) -> str:
    """Of the file that decides what the strategy chooses, apart from the package; an error without it."""
    if strategy in plan.policies:
        return _hash(Path(plan.policies[strategy]), strategy)
    find_strategy(strategy)
    while match := _BALANCED.fullmatch(strategy):
        strategy = match[1].strip()
    if match := _IN_FILE.fullmatch(strategy):
        return _hash(Path(match[1]), strategy)
    if strategy in STRATEGIES and STRATEGIES[strategy].policy:
        name = f"{strategy}-{features}"
        if name not in shipped():
            raise InputError(f"no policy of '{strategy}' ships for the feature rule '{features}'")
        return _hash(shipped()[name], strategy)
    return ""


def _runs_on(
    plan: Plan, dataset: str, features: str, fingerprints: dict[str, str], loaded: Dataset
) -> Iterator[Run]:
    deviation = plan.deviation(dataset)
    budgets = dict.fromkeys(_size(budget, loaded) for budget in deviation.budgets or plan.budgets)
    for seed in range(deviation.runs or plan.runs):
        for strategy, mark in fingerprints.items():
            for budget in budgets:
                yield Run(dataset, strategy, mark, budget, seed, features, plan.final_epochs)


def _features(plan: Plan, dataset: str) -> str:
    return plan.deviation(dataset).features or plan.features


def _size(budget: int | str, dataset: Dataset) -> int:
    if isinstance(budget, str):
        return default_budget(dataset)
    _, num_val = split_sizes(dataset.graph.num_nodes)
    num_candidates = dataset.graph.num_nodes - len(dataset.test) - num_val
    if budget > num_candidates:
        raise InputError(
            f"a budget of {budget} is more than the {num_candidates} nodes of '{dataset.graph.name}' "
            "that can be chosen"
        )
    return budget


def _hash(path: Path, strategy: str) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise InputError(f"the file '{path}' of '{strategy}' cannot be read: {error.strerror}") from error


def _unknown_plan(name: str) -> InputError:
    known = shipped_plans()
    close = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return InputError(f"unknown plan '{name}'; {hint}choose from {', '.join(known)}, or give a TOML file")


def _mistake(error: ValidationError, text: str) -> str:
    """`, line 3: unknown key 'stratgies'; ...`: the first mistake, in the words of the plan."""
    # An unknown key first: misspelled, it is also the one that is missing.
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    keys = [str(part) for part in first["loc"]]
    if first["type"] == "missing":
        return f": the key '{keys[0]}' is missing"
    line = _line_of(keys, text)
    place = f", line {line}" if line else ""
    if first["type"] != "extra_forbidden":
        wrong = f"{first['msg'][0].lower()}{first['msg'][1:]}, not {first['input']!r}"
        return f"{place}: {keys[0]}: {wrong}"
    fields = list(Plan.model_fields if len(keys) == 1 else Deviation.model_fields)
    return f"{place}: unknown key '{keys[-1]}'; the keys are {', '.join(fields)}"


def _line_of(keys: list[str], text: str) -> int | None:
    """Where the key stands: TOML's parser keeps no places, and keys are few."""
    names = [key for key in keys if not key.isdecimal()]
    for name in reversed(names):
        pattern = re.compile(rf"\s*\"?{re.escape(name)}\"?\s*=")
        for line, content in enumerate(text.splitlines(), start=1):
            if pattern.match(content):
                return line
    return None
