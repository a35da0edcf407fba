"""Measure and print how fast the package is: `make bench`, or `python -m benchmarks.speed --help`.

Everything is measured in one run, with one thread, in CPU-seconds: a busy machine is busy for all, and ratios
can be compared. Nothing here fails by being slow.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.speed import sizes as by_size
from benchmarks.speed import strategies as by_strategy
from benchmarks.speed.classifier import classifier
from benchmarks.speed.episode import episode
from benchmarks.speed.figure import draw
from benchmarks.speed.startup import startup
from benchmarks.speed.timing import Row
from gcbr.cli.tables import plain_table
from gcbr.datasets import load_dataset
from gcbr.engine.matrix import Csr
from gcbr.engine.memory import keep_freed_memory
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.seeding import generator
from gcbr.versions import commit, versions

HISTORY = Path(__file__).with_name("history.jsonl")
FIGURE = Path(__file__).with_name("sizes")
LARGEST, VERY_LARGE = 100_000, 1_000_000

screen = Console()


@dataclass
class Record:
    """What one run of the benchmark measured."""

    rows: list[Row] = field(default_factory=list)
    sizes: list[by_size.Cell] = field(default_factory=list)
    costs: list[by_strategy.Cost] = field(default_factory=list)


def training(record: Record, options: argparse.Namespace) -> None:
    dataset = cora()
    record.rows += [*classifier(dataset), *episode(dataset)]
    _show_rows("training, CPU-milliseconds (medians) beside plain PyG", record.rows)


def start(record: Record, options: argparse.Namespace) -> None:
    rows = list(startup())
    record.rows += rows
    _show_rows("start-up, CPU-milliseconds (medians), imports included", rows)


def sizes(record: Record, options: argparse.Namespace) -> None:
    largest = VERY_LARGE if options.large else LARGEST
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.graphs or Path(temporary)
        record.sizes += by_size.sizes(folder, largest, _say)
    table = _table("a query by size of the graph", "strategy", "nodes", "edges", "ms", "set-up s", "peak MB")
    table.add_column("without files MB", justify="right")
    for cell in record.sizes:
        figures = (
            f"{1000 * cell.query:,.1f}",
            f"{cell.set_up:.2f}",
            f"{cell.peak_mb:,.0f}",
            f"{cell.own_mb:,.0f}",
        )
        table.add_row(cell.strategy, f"{cell.nodes:,}", f"{cell.edges:,}", *figures)
    screen.print(table)
    for strategy in by_size.STRATEGIES:
        found = by_size.slope([cell for cell in record.sizes if cell.strategy == strategy])
        screen.print(
            f"{strategy}: CPU-seconds grow as (nodes + edges)^{found:.2f}; at most {by_size.STEEPEST} wanted"
        )
    if options.figure:
        screen.print("figure:", *draw(record.sizes, FIGURE))


def strategies(record: Record, options: argparse.Namespace) -> None:
    try:
        load_dataset(by_strategy.DATASET)
    except InputError as problem:
        _say(f"cost by strategy skipped: {problem}")
        return
    record.costs += by_strategy.costs(_say)
    yardstick = record.costs[0].query
    title = f"a query by strategy on {by_strategy.DATASET}, mean of {by_strategy.QUERIES}"
    table = _table(title, "strategy", "ms", f"x {by_strategy.YARDSTICK}", "set-up s", "peak MB")
    for cost in record.costs:
        ratio = f"{cost.query / yardstick:.1f}"
        table.add_row(
            cost.strategy, f"{1000 * cost.query:,.1f}", ratio, f"{cost.set_up:.2f}", f"{cost.peak_mb:,.0f}"
        )
    screen.print(table)


PARTS: dict[str, Callable[[Record, argparse.Namespace], None]] = {
    "training": training,
    "start": start,
    "sizes": sizes,
    "strategies": strategies,
}


def cora() -> Dataset:
    try:
        return load_dataset("cora")
    except InputError as problem:
        _say(f"{problem}\nMeasuring on a synthetic graph of Cora's size instead.")
        return like_cora()


def like_cora() -> Dataset:
    """Cora's counts of nodes, edges, classes and words, 18 words a node, all at random."""
    dataset = load_dataset("synthetic:nodes=2708,classes=7,degree=4")
    nodes = torch.arange(2708).repeat_interleave(18)
    words = torch.randint(1433, nodes.shape, generator=generator(0))
    x = Csr.from_entries(nodes, words, torch.ones(len(nodes)), (2708, 1433))
    return replace(dataset, graph=replace(dataset.graph, name="synthetic", x=x))


def _show_rows(title: str, rows: list[Row]) -> None:
    table = _table(title, "work", "gcbr", "plain", "ratio", "wanted")
    for row in rows:
        reference = "" if row.reference is None else f"{1000 * row.reference:,.2f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}x"
        table.add_row(row.work, f"{1000 * row.ours:,.2f}", reference, ratio, row.target)
    screen.print(table)


def _table(title: str, first: str, *others: str) -> Table:
    table = plain_table(first)
    table.title, table.title_style, table.title_justify = f"\n{title}", "bold", "left"
    for header in others:
        table.add_column(header, justify="right")
    return table


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _remember(record: Record) -> None:
    """Append what was measured, so that a later run can be held against it."""
    line: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "versions": versions(),
        **{name: values for name, values in asdict(record).items() if values},
    }
    with HISTORY.open("a") as file:
        file.write(json.dumps(line) + "\n")
    screen.print(f"recorded in {HISTORY}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description="How fast gcbr is.")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"what to measure, all by default: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="add a graph of a million nodes: some minutes more, 3 GB of memory and 1.4 GB of disk",
    )
    parser.add_argument("--graphs", type=Path, metavar="DIR", help="keep the graphs of `sizes` there")
    parser.add_argument("--figure", action="store_true", help=f"draw `sizes` as {FIGURE.name}.png and .svg")
    parser.add_argument("--record", action="store_true", help=f"append the figures to {HISTORY.name}")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"unknown part '{part}'; choose from {', '.join(PARTS)}")
    torch.set_num_threads(1)
    keep_freed_memory()
    record = Record()
    for name in options.parts or PARTS:
        PARTS[name](record, options)
    if options.record:
        _remember(record)


if __name__ == "__main__":
    main()
