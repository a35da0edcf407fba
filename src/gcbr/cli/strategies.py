"""`gcbr strategies`: every strategy in one line."""

from __future__ import annotations

from typing import Annotated

import typer

from gcbr.cli import console

EXAMPLE = "Example: [bold]gcbr strategies --json[/bold]"


def strategies(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")] = False,
) -> None:
    """List every strategy, its paper, and whether it needs a trained policy."""
    from gcbr.strategies import STRATEGIES

    if json:
        from json import dumps

        lines = [
            {"name": name, "summary": entry.summary, "paper": entry.paper, "policy": entry.policy}
            for name, entry in STRATEGIES.items()
        ]
        print(dumps(lines, indent=1, ensure_ascii=False))
        return
    from gcbr.cli.tables import plain_table

    table = plain_table("strategy", "how it chooses", "paper", "policy")
    for name, entry in STRATEGIES.items():
        table.add_row(name, entry.summary, entry.paper or "-", "needed" if entry.policy else "-")
    console.results().print(table, markup=False)
