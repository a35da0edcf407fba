"""`gcbr policies`: what ships, and where it comes from."""

from __future__ import annotations

from gcbr.cli import console
from gcbr.cli.options import AsJson

EXAMPLE = "Example: [bold]gcbr policies --json[/bold]"


def policies(
    json: AsJson = False,
) -> None:
    """List the policies that ship with the package, and what they were trained on."""
    from gcbr.checkpoints import fingerprint, load_policy
    from gcbr.policies import shipped

    loaded = {name: load_policy(path) for name, path in shipped().items()}
    if json:
        from dataclasses import asdict
        from json import dumps

        cards = {
            name: asdict(card) | {"weights": fingerprint(policy)} for name, (policy, card) in loaded.items()
        }
        print(dumps(cards))
        return
    from gcbr.cli.tables import plain_table

    table = plain_table("policy", "method", "features", "trained on", "episodes", "seed", "weights")
    for name, (policy, card) in loaded.items():
        seed = card.settings["train"]["seed"]
        table.add_row(
            name,
            card.method,
            card.features,
            ", ".join(card.sources),
            str(card.episodes),
            str(seed),
            fingerprint(policy),
        )
    console.results().print(table)
