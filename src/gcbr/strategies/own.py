"""Strategies from outside the package: a class in a user's file, or one that an installed package offers.

A package offers one with an entry point in the group `gcbr.strategies`, by name and class.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from gcbr.errors import InputError
from gcbr.view import StrategyFactory

GROUP = "gcbr.strategies"


def strategy_from_file(place: str) -> StrategyFactory:
    """The class of `place`, written `my_file.py:MyStrategy`."""
    file, _, name = place.rpartition(":")
    path = Path(file).resolve()
    if not path.is_file():
        raise InputError(f"there is no file '{file}' to take the strategy {name} from")
    module = _run_file(path, path.stat().st_mtime_ns)
    if not hasattr(module, name):
        classes = [key for key, value in vars(module).items() if _is_own_strategy(value, module)]
        there = f"its strategies: {', '.join(classes)}" if classes else "it has no class with a select method"
        raise InputError(f"'{file}' has no class {name}; {there}")
    return _checked(getattr(module, name), place)


def offered_strategies() -> list[str]:
    """Names of the strategies that installed packages offer."""
    return sorted({offer.name for offer in entry_points(group=GROUP)})


def offered_strategy(name: str) -> StrategyFactory:
    """The strategy that an installed package offers under this name, one of `offered_strategies`."""
    offer = next(offer for offer in entry_points(group=GROUP) if offer.name == name)
    try:
        strategy = offer.load()
    except (ImportError, AttributeError) as error:
        raise InputError(f"strategy '{name}', offered as {offer.value}, cannot be loaded: {error}") from error
    return _checked(strategy, name)


@cache
def _run_file(path: Path, modified: int) -> ModuleType:
    """The file as a module, run once for each time it was saved."""
    name = f"gcbr_own_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        where = f", line {lines[-1]}," if lines else ""  # a syntax error says its line itself
        raise InputError(f"'{path.name}'{where} fails: {type(error).__name__}: {error}") from error
    return module


def _is_own_strategy(value: object, module: ModuleType) -> bool:
    return inspect.isclass(value) and value.__module__ == module.__name__ and hasattr(value, "select")


def _checked(strategy: object, place: str) -> StrategyFactory:
    """`strategy` itself, if it is a class (or a function making one) with the right shape."""
    if not callable(strategy):
        raise InputError(f"{place} is no class; a strategy is a class with a method select(view)")
    if inspect.isclass(strategy) and not callable(getattr(strategy, "select", None)):
        raise InputError(f"{place} has no method select(view), which gives one of view.candidates")
    try:
        inspect.signature(strategy).bind("graph", "budget", "rng")
    except TypeError:
        raise InputError(f"{place} cannot be made from (graph, budget, rng), as a strategy is") from None
    return strategy
