"""Records as tables in the paper's shape: datasets across, methods down. Pure functions, no files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gcbr.benchmark.paper import PAPER
from gcbr.benchmark.records import Record
from gcbr.datasets import DATASETS
from gcbr.statistics import MEASURES, Estimate, Measure, estimate, p_value

BEST, SECOND = 1, 2
SHORT_TITLES = {"micro_f1": "Micro", "macro_f1": "Macro", "imbalance_ratio": "\N{GREEK SMALL LETTER RHO}"}
MINUS = "\N{MINUS SIGN}"


class Setting(NamedTuple):
    """What the runs that compare with each other have in common."""

    dataset: str
    budget: int
    features: str

    @property
    def title(self) -> str:
        base = self.dataset.partition(":")[0]
        return DATASETS[base].title if base in DATASETS else self.dataset

    @property
    def details(self) -> str:
        options = self.dataset.partition(":")[2]  # of a synthetic graph
        drawn = f"{options.replace(',', ', ')}; " if options else ""
        return f"{drawn}{self.budget} labels, features {self.features}"


class Cell(NamedTuple):
    value: Estimate
    rank: int  # BEST, SECOND, or further behind
    paper: float | None  # the paper's figure, where it has one for the same experiment

    @property
    def difference(self) -> float | None:
        return None if self.paper is None else self.value.mean - self.paper


class Row(NamedTuple):
    strategy: str
    groups: tuple[tuple[Cell, ...] | None, ...]  # by setting, then by measure; None where nothing is recorded


@dataclass(frozen=True)
class Table:
    settings: tuple[Setting, ...]
    num_runs: tuple[str, ...]  # by setting: `20`, or `3 to 20` while runs are missing
    rows: tuple[Row, ...]


class Lead(NamedTuple):
    """One of our methods less the best of the others on the same seeds."""

    setting: Setting
    strategy: str
    measure: Measure
    baseline: str
    difference: Estimate
    p_value: float | None
    num_pairs: int


Groups = dict[Setting, dict[str, list[Record]]]


def grouped(records: Iterable[Record]) -> Groups:
    """Records that compare with each other, by strategy; all in the order of their first record."""
    groups: Groups = {}
    for record in records:
        setting = Setting(record.run.dataset, record.run.budget, record.run.features)
        groups.setdefault(setting, {}).setdefault(record.run.strategy, []).append(record)
    return groups


def make_tables(records: Sequence[Record], paper: str = "") -> list[Table]:
    """One table for each budget: the smallest of every dataset first."""
    groups = grouped(records)
    by_dataset: dict[tuple[str, str], list[Setting]] = {}
    for setting in sorted(groups, key=lambda setting: setting.budget):
        by_dataset.setdefault((setting.dataset, setting.features), []).append(setting)
    order = dict.fromkeys((setting.dataset, setting.features) for setting in groups)
    most = max((len(settings) for settings in by_dataset.values()), default=0)
    levels = [
        [by_dataset[key][level] for key in order if level < len(by_dataset[key])] for level in range(most)
    ]
    return [_table({setting: groups[setting] for setting in settings}, paper) for settings in levels]


def make_leads(records: Sequence[Record], ours: Sequence[str]) -> list[tuple[Lead, ...]]:
    """Each of `ours` against the strategy that is best without them: a row of one lead a measure."""
    rows = []
    for setting, strategies in grouped(records).items():
        others = {name: runs for name, runs in strategies.items() if name not in ours}
        for strategy in (name for name in strategies if name in ours and others):
            rows.append(tuple(_lead(setting, strategy, strategies, others, measure) for measure in MEASURES))
    return rows


def to_markdown(table: Table) -> str:
    titles = [f"{s.title}<br>{SHORT_TITLES[m.key]}" for s in table.settings for m in MEASURES]
    lines = [["method", *titles], ["---", *["---:"] * len(titles)]]
    for row in table.rows:
        cells = [_markdown_cell(cell, measure) for cell, measure in _flat(row)]
        lines.append([row.strategy, *cells])
    return f"{_markdown(lines)}\n{settings_text(table)}\n"


def settings_text(table: Table) -> str:
    """`CiteSeer: 120 labels, features paper, n = 50.` for each dataset."""
    each = zip(table.settings, table.num_runs, strict=True)
    return " ".join(f"{setting.title}: {setting.details}, n = {runs}." for setting, runs in each)


def to_latex(table: Table) -> str:
    """For the package booktabs. The paper's figures, where it has any, are a second line of each method."""
    spans = range(len(table.settings))
    titles = [rf"\multicolumn{{3}}{{c}}{{{_escaped(setting.title)}}}" for setting in table.settings]
    details = [
        rf"\multicolumn{{3}}{{c}}{{\scriptsize {_escaped(setting.details)}, $n$ = {runs}}}"
        for setting, runs in zip(table.settings, table.num_runs, strict=True)
    ]
    rules = " ".join(rf"\cmidrule(lr){{{2 + 3 * span}-{4 + 3 * span}}}" for span in spans)
    measures = ["Micro", "Macro", r"$\rho$"] * len(table.settings)
    lines = [
        rf"\begin{{tabular}}{{l{'rrr' * len(table.settings)}}}",
        r"\toprule",
        " & ".join(["", *titles]) + r" \\",
        " & ".join(["", *details]) + r" \\",
        rules,
        " & ".join(["Method", *measures]) + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = [_latex_cell(cell, measure) for cell, measure in _flat(row)]
        lines.append(" & ".join([_escaped(row.strategy), *cells]) + r" \\")
        if has_paper(row):
            beside = [_latex_paper(cell, measure) for cell, measure in _flat(row)]
            lines.append(" & ".join([r"\scriptsize paper, difference", *beside]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def leads_to_markdown(rows: Sequence[tuple[Lead, ...]]) -> str:
    titles = [measure.title for measure in MEASURES]
    lines = [["dataset", "method", *titles], ["---", "---", *["---:"] * len(titles)]]
    for row in rows:
        place = f"{row[0].setting.title}, {row[0].setting.details}"
        cells = [f"{lead_text(lead)}<br>{opponent_text(lead)}" for lead in row]
        lines.append([place, row[0].strategy, *cells])
    return _markdown(lines)


def lead_text(lead: Lead) -> str:
    """`+1.2 ± 0.9`."""
    value, decimals = lead.difference, lead.measure.decimals
    margin = "" if value.margin is None else f" ± {value.margin:.{decimals}f}"
    return f"{_signed(value.mean, decimals)}{margin}"


def opponent_text(lead: Lead) -> str:
    """`age, p = .012, n = 20`: whom the difference is to, and how sure it is."""
    return ", ".join(filter(None, [lead.baseline, p_text(lead.p_value), f"n = {lead.num_pairs}"]))


def p_text(value: float | None) -> str:
    if value is None:
        return ""
    return "p < .001" if value < 0.001 else f"p = {value:.3f}".replace("0.", ".", 1)


def mean_text(cell: Cell, measure: Measure) -> str:
    return f"{cell.value.mean:.{measure.decimals}f}"


def margin_text(cell: Cell, measure: Measure) -> str:
    return "" if cell.value.margin is None else f"± {cell.value.margin:.{measure.decimals}f}"


def paper_text(cell: Cell, measure: Measure) -> str:
    """`72.21, +0.4`: the paper's figure as it is printed, and ours less it."""
    if cell.paper is None or cell.difference is None:
        return ""
    return f"{cell.paper:.2f}, {_signed(cell.difference, measure.decimals)}"


def has_paper(row: Row) -> bool:
    return any(cell.paper is not None for group in row.groups for cell in group or ())


def _table(groups: Groups, paper: str) -> Table:
    strategies = dict.fromkeys(name for by_strategy in groups.values() for name in by_strategy)
    cells = {setting: _cells(setting, by_strategy, paper) for setting, by_strategy in groups.items()}
    return Table(
        settings=tuple(groups),
        num_runs=tuple(_num_runs(by_strategy) for by_strategy in groups.values()),
        rows=tuple(Row(name, tuple(cells[setting].get(name) for setting in groups)) for name in strategies),
    )


def _cells(setting: Setting, by_strategy: dict[str, list[Record]], paper: str) -> dict[str, tuple[Cell, ...]]:
    columns = []
    for measure in MEASURES:
        values = {name: _estimated(runs, measure) for name, runs in by_strategy.items()}
        # As the table shows them: what reads alike ranks alike.
        shown = {name: round(value.mean, measure.decimals) for name, value in values.items()}
        places = sorted(set(shown.values()), reverse=True)
        columns.append(
            {
                name: Cell(value, places.index(shown[name]) + 1, _paper(setting, name, measure, paper))
                for name, value in values.items()
            }
        )
    return {name: tuple(column[name] for column in columns) for name in by_strategy}


def _paper(setting: Setting, strategy: str, measure: Measure, paper: str) -> float | None:
    # Another feature rule is another experiment: its figures do not compare.
    figures = PAPER[paper].get((strategy, setting.dataset)) if setting.features == "paper" else None
    return None if figures is None else float(getattr(figures, measure.key))


def _estimated(runs: Sequence[Record], measure: Measure) -> Estimate:
    return estimate([measure.of(record.final) for record in runs])


def _num_runs(by_strategy: dict[str, list[Record]]) -> str:
    counts = sorted({len(runs) for runs in by_strategy.values()})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _lead(
    setting: Setting,
    strategy: str,
    strategies: dict[str, list[Record]],
    others: dict[str, list[Record]],
    measure: Measure,
) -> Lead:
    baseline = max(others, key=lambda name: _estimated(others[name], measure).mean)
    differences = paired_differences(strategies[strategy], others[baseline], measure)
    value = estimate(differences) if differences else Estimate(float("nan"), None)
    return Lead(setting, strategy, measure, baseline, value, p_value(differences), len(differences))


def paired_differences(ours: Sequence[Record], theirs: Sequence[Record], measure: Measure) -> list[float]:
    """Ours less theirs, for every seed that both have."""
    other = {record.run.seed: measure.of(record.final) for record in theirs}
    return [measure.of(r.final) - other[r.run.seed] for r in ours if r.run.seed in other]


def _flat(row: Row) -> list[tuple[Cell | None, Measure]]:
    empty: tuple[Cell | None, ...] = (None,) * len(MEASURES)
    return [pair for group in row.groups for pair in zip(group or empty, MEASURES, strict=True)]


def _markdown_cell(cell: Cell | None, measure: Measure) -> str:
    if cell is None:
        return ""
    mean = mean_text(cell, measure)
    mean = {BEST: f"**{mean}**", SECOND: f"<u>{mean}</u>"}.get(cell.rank, mean)
    text = f"{mean} {margin_text(cell, measure)}".rstrip()
    return f"{text}<br>paper {paper_text(cell, measure)}" if cell.paper is not None else text


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _latex_cell(cell: Cell | None, measure: Measure) -> str:
    if cell is None:
        return ""
    mean = mean_text(cell, measure)
    mean = {BEST: rf"\textbf{{{mean}}}", SECOND: rf"\underline{{{mean}}}"}.get(cell.rank, mean)
    margin = cell.value.margin
    return mean if margin is None else rf"{mean}{{\scriptsize$\,\pm\,${margin:.{measure.decimals}f}}}"


def _latex_paper(cell: Cell | None, measure: Measure) -> str:
    text = "" if cell is None else paper_text(cell, measure).replace(MINUS, "$-$").replace("+", "$+$")
    return rf"\scriptsize {text}" if text else ""


def _signed(value: float, decimals: int) -> str:
    return f"{value:+z.{decimals}f}".replace("-", MINUS)


def _escaped(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text)
