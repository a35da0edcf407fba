"""What a query costs with each strategy, on Coauthor Physics (34,493 nodes) where its files are at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.speed.cell import run_cell
from gcbr.strategies import STRATEGIES

DATASET = "co-phy"
YARDSTICK = "entropy"
QUERIES = 24


@dataclass(frozen=True)
class Cost:
    strategy: str
    set_up: float  # CPU-seconds before the first choice, the first query apart
    query: float  # mean CPU-seconds
    peak_mb: float


def costs(on_cell: Callable[[str], None]) -> Iterator[Cost]:
    """The yardstick first."""
    for strategy in sorted(STRATEGIES, key=lambda name: name != YARDSTICK):
        on_cell(f"{DATASET}: {strategy}")
        result = run_cell(DATASET, strategy, QUERIES)
        yield Cost(strategy, result["set_up"], result["query"], result["peak_mb"])
