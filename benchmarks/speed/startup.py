"""How long the program takes to answer at all."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks.speed.timing import Row

ROUNDS = 3
COMMANDS = {
    "gcbr --help": ["--help"],
    "gcbr suggest, 710 nodes": ["suggest", "digits", "-n", "1"],
}


def startup() -> Iterator[Row]:
    for name, arguments in COMMANDS.items():
        yield Row(name, median(_cpu_seconds(arguments) for _ in range(ROUNDS)))


def _cpu_seconds(arguments: list[str]) -> float:
    """Of the program itself, its imports included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "from gcbr.cli.app import entry_point; entry_point()", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
