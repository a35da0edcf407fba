"""Options that mean the same in every command that has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="How nodes are chosen, see [bold]gcbr strategies[/bold]. \\[default: gcbr++]",
    ),
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder of raw datasets. \\[default: GCBR_DATA, or a cache]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
