"""The two streams: results go to standard output, everything said on the way to standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 120  # columns when nobody says how wide the reader is


def results() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    return console


def messages() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def note(text: str) -> None:
    """A fact the user should know about a result, kept out of the result itself."""
    messages().print(f"note: {text}", style="dim", markup=False, soft_wrap=True)


def complain(text: str) -> None:
    """A mistake, in one line whatever the text holds."""
    print("gcbr:", " ".join(text.split()), file=sys.stderr)
