"""`gcbr policies`: what ships, and where it comes from; several policies made into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gcbr.cli import console
from gcbr.cli.options import AsJson

EXAMPLE = (
    "Example: [bold]gcbr policies[/bold], or gcbr policies a.safetensors b.safetensors --join ab.safetensors"
)


def policies(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Policy files to list instead of those that ship."),
    ] = None,
    join: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write one policy that scores a node as those given do in the mean: a committee.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """List the policies that ship with the package, or those in files, and what they were trained on."""
    from gcbr.checkpoints import fingerprint, load_policy
    from gcbr.committees import join as join_files
    from gcbr.committees import seeds
    from gcbr.policies import shipped

    named = {str(path): path for path in files or []}
    if join is not None:
        join_files(list(files or []), join)
        named = {str(join): join}
    loaded = {name: load_policy(path) for name, path in (named or shipped()).items()}
    if json:
        from dataclasses import asdict
        from json import dumps

        cards = {
            name: asdict(card) | {"weights": fingerprint(policy)} for name, (policy, card) in loaded.items()
        }
        print(dumps(cards))
        return
    from gcbr.cli.tables import plain_table

    table = plain_table("policy", "method", "features", "trained on", "episodes", "seeds", "weights")
    for name, (policy, card) in loaded.items():
        table.add_row(
            Path(name).name,
            card.method,
            card.features,
            ", ".join(card.sources),
            str(card.episodes),
            ", ".join(map(str, seeds(card))),
            fingerprint(policy),
        )
    console.results().print(table)
