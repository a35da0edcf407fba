"""Where to compute: the one place that chooses a device. All else follows the graph it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gcbr.errors import InputError

if TYPE_CHECKING:
    import torch

DeviceName = Annotated[
    str, typer.Option("--device", metavar="NAME", help="Where to compute: cpu, or cuda for a GPU.")
]


def find_device(name: str) -> torch.device:
    """The device called `name`, if this machine has it."""
    import torch

    usable = ["cpu"]
    if torch.cuda.is_available():
        usable += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if name not in usable:
        raise InputError(f"PyTorch finds no device '{name}' on this machine; choose from {', '.join(usable)}")
    return torch.device(name)
