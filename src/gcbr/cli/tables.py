"""Results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gcbr.report.summary import Comparison, Estimate, class_rows, measure_rows, number

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_COLORS = ("blue", "yellow")  # of the strategy asked for, and of random
_BAR_WIDTH = 14
_NAME_WIDTH = 24


def plain_table(*headers: str) -> Table:
    """The look of every table: a rule under the headers and air between the columns."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header)
    return table


def show_comparison(console: Console, comparison: Comparison) -> None:
    console.print()
    console.print(_heading(comparison))
    console.print()
    console.print(_scores(comparison))
    console.print()
    console.print(_classes(comparison))


def show_facts(
    console: Console, name: str, facts: Mapping[str, int | float], classes: Mapping[str, int]
) -> None:
    """What a dataset is like: its sizes, then its classes."""
    console.print(name, style="bold", markup=False)
    sizes = Table.grid(padding=(0, 2))
    for fact, value in facts.items():
        sizes.add_row(Text(fact, style="dim"), f"{value:,}" if isinstance(value, int) else f"{value:,.2f}")
    console.print(sizes)
    console.print()
    table = plain_table()
    table.add_column("class", overflow="ellipsis", no_wrap=True, max_width=_NAME_WIDTH)
    table.add_column("share", justify="right")
    table.add_column("nodes")
    for cls, count in classes.items():
        share = f"{100 * count / facts['nodes']:.1f}%"
        table.add_row(Text(cls), share, _bar(count, max(classes.values()), 0, _COLORS[0]))
    console.print(table)


def _heading(comparison: Comparison) -> Text:
    graph, settings = comparison.dataset.graph, comparison.settings
    seeds = settings.seeds
    runs = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}"
    facts = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {comparison.dataset.num_classes} classes"
    setup = f"{settings.budget} labels; {runs}; features {settings.features}"
    title = f"{comparison.strategy} on {graph.name}"
    return Text.assemble((title, "bold"), "\n", (f"{facts}\n{setup}", "dim"))


def _scores(comparison: Comparison) -> Table:
    table = plain_table("")
    for strategy in comparison.strategies:
        table.add_column(Text(strategy), justify="right")
    if len(comparison.strategies) > 1:
        table.add_column("difference", justify="right")
    for row in measure_rows(comparison):
        cells = [Text(number(value, row.measure.decimals)) for value in row.values]
        if row.lead is not None:
            cells.append(Text(number(row.lead, row.measure.decimals, signed=True), style=_tone(row.lead)))
        table.add_row(row.measure.title, *cells)
    return table


def _tone(lead: Estimate) -> str:
    if not lead.is_clear:
        return ""
    return "green" if lead.mean > 0 else "red"


def _classes(comparison: Comparison) -> Table:
    rows = class_rows(comparison)
    largest = max(value.mean for row in rows for value in row.labels)
    decimals = 0 if len(comparison.settings.seeds) == 1 else 1
    table = plain_table()
    table.add_column("class", overflow="ellipsis", no_wrap=True, max_width=_NAME_WIDTH)
    table.add_column("share", justify="right", no_wrap=True)
    for strategy in comparison.strategies:
        table.add_column(Text(f"labels\n{strategy}"), no_wrap=True)
    for strategy in comparison.strategies:
        table.add_column(Text(f"accuracy\n{strategy}"), justify="right")
    for row in rows:
        labels = [
            _bar(value.mean, largest, decimals, color)
            for value, color in zip(row.labels, _COLORS, strict=False)
        ]
        accuracy = [Text(number(Estimate(100 * value.mean, None), 1)) for value in row.accuracy]
        table.add_row(Text(row.name), f"{100 * row.share:.1f}%", *labels, *accuracy)
    return table


def _bar(value: float, largest: float, decimals: int, color: str) -> Text:
    eighths = round(8 * _BAR_WIDTH * value / largest)
    bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    width = len(f"{largest:.{decimals}f}")
    return Text.assemble(f"{value:{width}.{decimals}f} ", (bar, color))
