"""The table of strategies: it feeds the command line, the contract tests and the manual."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from gcbr.errors import InputError
from gcbr.strategies.random import Random
from gcbr.view import StrategyFactory


@dataclass(frozen=True)
class StrategyEntry:
    """One line of the table."""

    factory: StrategyFactory
    summary: str
    paper: str = ""
    policy: bool = False  # whether it needs a trained policy


STRATEGIES: dict[str, StrategyEntry] = {
    "random": StrategyEntry(Random, "any candidate, all equally likely"),
}


def find_strategy(name: str) -> StrategyFactory:
    """The factory called `name`; an unknown name is answered with the list and the closest match."""
    if name in STRATEGIES:
        return STRATEGIES[name].factory
    close = difflib.get_close_matches(name, STRATEGIES, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    raise InputError(f"unknown strategy '{name}'; choose from {', '.join(STRATEGIES)}{hint}")
