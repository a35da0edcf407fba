"""A plan says what a benchmark compares. It is a TOML file."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gcbr.benchmark.records import TestSet
from gcbr.errors import InputError

DEFAULT_BUDGET: Literal["20 per class"] = "20 per class"
DEFAULT_ALPHA = 0.5

Count = Annotated[int, Field(ge=1)]
Budget = Count | Literal["20 per class"]
Rule = Literal["default", "paper"]
Form = Literal["usual", "authors"]  # of the classifier
Kind = Literal["budgets", "curves", "labels", "accuracy", "varied"]  # of figures


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Deviation(_Table):
    """What one dataset does differently."""

    runs: Count | None = None
    features: Rule | None = None
    budgets: Annotated[list[Budget], Field(min_length=1)] | None = None
    tests: Annotated[list[TestSet], Field(min_length=1)] | None = None
    note: str = ""  # why the dataset may have no runs


class Training(_Table):
    """A policy trained for the plan, under its feature rule and classifier, and used on every dataset."""

    method: str
    without: str = ""  # the column of the state that is left out
    alpha: Annotated[float, Field(ge=0, le=1)] = DEFAULT_ALPHA
    eta: Annotated[float, Field(ge=0)] | None = None  # None: the method's own
    budget: Count = 35  # labels in a game
    episodes: Count = 4000
    seed: Annotated[int, Field(ge=0)] = 0
    source: str = "cora"

    @property
    def name(self) -> str:
        """`gcbr(alpha=0.3,episodes=1000)`: the same settings have the same name in every plan."""
        defaults = Training(method=self.method)
        settings = {key: value for key, value in self if value != getattr(defaults, key)}
        text = [
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in settings.items()
        ]
        return f"{self.method}({','.join(text)})"


class Plan(_Table):
    """A plan as its file says it."""

    title: str
    caption: str = ""
    datasets: Annotated[list[str], Field(min_length=1)]
    strategies: Annotated[list[str], Field(min_length=1)]
    budgets: Annotated[list[Budget], Field(min_length=1)] = [DEFAULT_BUDGET]
    runs: Count = 10
    features: Rule = "default"
    classifier: Form = "usual"
    tests: Annotated[list[TestSet], Field(min_length=1)] = ["fixed"]
    final_epochs: Annotated[int, Field(ge=0)] = 100
    paper: Literal["", "table2", "table3"] = ""  # whose figures stand beside ours
    figure: str = ""  # the paper's number of what is drawn, such as "3"
    draw: list[Kind] = ["budgets", "curves", "labels", "accuracy"]
    varied: Literal["", "alpha", "eta", "budget"] = ""  # the setting of `trained` that is a figure's axis
    ours: list[str] = ["gcbr", "gcbr++"]  # compared with the best of the others
    policies: dict[str, str] = {}  # strategies from policy files: name = "file", beside the plan
    trained: dict[str, Training] = {}  # strategies whose policies are trained first
    on: dict[str, Deviation] = {}  # by dataset

    def deviation(self, dataset: str) -> Deviation:
        return self.on.get(dataset, Deviation())

    def features_of(self, dataset: str) -> str:
        return self.deviation(dataset).features or self.features


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
    tables: dict[str, type[_Table]] = {"on": Deviation, "trained": Training}
    fields = list(tables.get(keys[0], Plan).model_fields)
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
