"""Writes docs/results.md, the reports beside the committed records and README's two tables anew.

    python -m benchmarks.make_results

Everything is computed from those records alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gcbr.benchmark.plan import read_plan
from gcbr.benchmark.records import Record
from gcbr.benchmark.results import recorded_findings, write_results
from gcbr.benchmark.store import Store
from gcbr.benchmark.tables import BEST, Cell, make_tables
from gcbr.files import write_atomically
from gcbr.statistics import MEASURES, number

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"


def excerpt(records: Sequence[Record]) -> str:
    """Methods down, graphs across: Macro-F1 and below it the imbalance ratio, the highest of each bold."""
    tables = make_tables([record for record in records if record.run.test == "fixed"])
    settings = [setting for table in tables for setting in table.settings]
    rows: dict[str, list[str]] = {row.strategy: [] for table in tables for row in table.rows}
    for table in tables:
        cells = {row.strategy: [_both(group) for group in row.groups] for row in table.rows}
        for strategy, row in rows.items():
            row += cells.get(strategy, [""] * len(table.settings))
    lines = [["", *(f"{setting.title}, {setting.budget} labels" for setting in settings)]]
    lines.append(["---", *["---:"] * len(settings)])
    lines += [[f"`{strategy}`", *row] for strategy, row in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _both(cells: tuple[Cell, ...] | None) -> str:
    if cells is None:
        return ""
    texts = [
        (cell.rank == BEST, number(cell.value, measure.decimals))
        for cell, measure in zip(cells, MEASURES, strict=True)
    ]
    return "<br>".join(f"**{text}**" if is_best else text for is_best, text in texts[1:])


def with_excerpts(text: str, results: Path) -> str:
    """The text with the table of each plan between its marks."""
    store = Store(results / "records")

    def table(found: re.Match[str]) -> str:
        opening, name, closing = found.groups()
        findings = recorded_findings(read_plan(name), "", store, results / "policies")
        return f"{opening}\n{excerpt(findings.records)}\n{closing}"

    return re.sub(r"(<!-- (\S+): .*? -->)\n.*?(<!-- end -->)", table, text, flags=re.DOTALL)


if __name__ == "__main__":
    write_results(RESULTS, ROOT / "docs" / "results.md")
    write_atomically(README, with_excerpts(README.read_text("utf-8"), RESULTS).encode())
