"""`gcbr strategies`: every strategy in one line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import NamedTuple

from gcbr.cli import console
from gcbr.cli.options import AsJson

EXAMPLE = "Example: [bold]gcbr strategies --json[/bold]"


class Line(NamedTuple):
    name: str
    summary: str
    paper: str
    policy: bool


def strategies(
    json: AsJson = False,
) -> None:
    """List every strategy, its paper, and whether it needs a trained policy."""
    lines = list(_lines())
    if json:
        from json import dumps

        print(dumps([line._asdict() for line in lines], indent=1, ensure_ascii=False))
        return
    from gcbr.cli.tables import plain_table

    table = plain_table("strategy", "how it chooses", "paper", "policy")
    for line in lines:
        table.add_row(line.name, line.summary, line.paper or "-", "needed" if line.policy else "-")
    console.results().print(table, markup=False)


def _lines() -> Iterator[Line]:
    """Those of the package, then those that installed packages offer."""
    from gcbr.strategies import STRATEGIES
    from gcbr.strategies.own import offered_strategies

    for name, entry in STRATEGIES.items():
        yield Line(name, entry.summary, entry.paper, entry.policy)
    for name in offered_strategies():
        if name not in STRATEGIES:  # the package's own names come first
            yield Line(name, _summary(name), "", policy=False)


def _summary(name: str) -> str:
    """The first line of what an offered strategy says of itself, or why it cannot be used."""
    from gcbr.errors import InputError
    from gcbr.strategies.own import offered_strategy

    try:
        text = inspect.getdoc(offered_strategy(name))
    except InputError as error:
        return str(error)
    return text.partition("\n")[0] if text else "offered by an installed package"
