"""Records as tables in the paper's shape: datasets across, methods down. Pure functions, no files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gcbr.benchmark.paper import PAPER
from gcbr.benchmark.records import Record
from gcbr.datasets import DATASETS
from gcbr.statistics import MEASURES, Estimate, Measure, estimate, p_value

BEST, SECOND = 1, 2
_MOST_ACROSS = 4  # datasets
SHORT_TITLES = {"micro_f1": "Micro", "macro_f1": "Macro", "imbalance_ratio": "\N{GREEK SMALL LETTER RHO}"}
MINUS = "\N{MINUS SIGN}"


class Setting(NamedTuple):
    """What the runs that compare with each other have in common."""

    dataset: str
    budget: int
    features: str
    test: str = "fixed"

    @property
    def title(self) -> str:
        base = self.dataset.partition(":")[0]
        return DATASETS[base].title if base in DATASETS else self.dataset

    @property
    def full_title(self) -> str:
        return self.title if self.test == "fixed" else f"{self.title}, {self.test} test sets"

    @property
    def details(self) -> str:
        options = self.dataset.partition(":")[2]  # of a synthetic graph
        drawn = f"{options.replace(',', ', ')}; " if options else ""
        test = "" if self.test == "fixed" else f", {self.test} test sets"
        return f"{drawn}{self.budget} labels, features {self.features}{test}"


class Cell(NamedTuple):
    value: Estimate  # nan where only the paper has a figure
    rank: int  # BEST, SECOND, or further behind
    paper: float | None  # the paper's figure, where it has one for the same experiment
    num_runs: int

    @property
    def difference(self) -> float | None:
        return None if self.paper is None or math.isnan(self.value.mean) else self.value.mean - self.paper


class Row(NamedTuple):
    strategy: str
    groups: tuple[tuple[Cell, ...] | None, ...]  # by setting, then by measure; None where nothing is recorded


@dataclass(frozen=True)
class Table:
    settings: tuple[Setting, ...]
    num_runs: tuple[str, ...]  # by setting: `20`, or `3 to 20` while runs are missing, or empty
    captions: tuple[str, ...]  # by setting: what was run, or why nothing was
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
        run = record.run
        setting = Setting(run.dataset, run.budget, run.features, run.test)
        groups.setdefault(setting, {}).setdefault(record.run.strategy, []).append(record)
    return groups


def make_tables(
    records: Sequence[Record], paper: str = "", datasets: Mapping[str, str] | None = None
) -> list[Table]:
    """One table for each budget, the smallest of every dataset first; several where there are many datasets.

    `datasets` are the plan's, with a note for each: where one was not run and the paper has figures, those
    stand alone in the first table.
    """
    groups = grouped(records)
    columns: dict[Setting, list[Setting]] = {}  # of each dataset, whatever the budget
    for setting in groups:
        columns.setdefault(setting._replace(budget=0), []).append(setting)
    # An empty column belongs where the plan has its dataset.
    names = list(datasets or {})
    absent = [name for name in names if all(key.dataset != name for key in columns) and _knows(paper, name)]
    columns |= {Setting(name, 0, "paper"): [Setting(name, 0, "paper")] for name in absent if groups}
    order = sorted(columns, key=lambda key: names.index(key.dataset) if key.dataset in names else -1)
    by_size = {key: sorted(columns[key], key=lambda setting: setting.budget) for key in order}
    most = max((len(settings) for settings in by_size.values()), default=0)
    levels = [[by_size[key][level] for key in order if level < len(by_size[key])] for level in range(most)]
    return [
        _table({setting: groups.get(setting, {}) for setting in settings}, paper, datasets or {})
        for level in levels
        for settings in _side_by_side(level)
    ]


def make_leads(records: Sequence[Record], ours: Sequence[str]) -> list[tuple[Lead, ...]]:
    """Each of `ours` against the strategy that is best without them: a row of one lead a measure."""
    rows = []
    for setting, strategies in grouped(records).items():
        others = {name: runs for name, runs in strategies.items() if name not in ours}
        for strategy in (name for name in strategies if name in ours and others):
            rows.append(tuple(_lead(setting, strategy, strategies, others, measure) for measure in MEASURES))
    return rows


def to_markdown(table: Table) -> str:
    titles = [f"{s.full_title}<br>{SHORT_TITLES[m.key]}" for s in table.settings for m in MEASURES]
    lines = [["method", *titles], ["---", *["---:"] * len(titles)]]
    for row in table.rows:
        cells = [_markdown_cell(cell, measure) for cell, measure in _flat(row)]
        lines.append([row.strategy, *cells])
    return f"{_markdown(lines)}\n{settings_text(table)}\n"


def settings_text(table: Table) -> str:
    """`CiteSeer: 120 labels, features paper, n = 50.` for each dataset."""
    each = zip(table.settings, table.captions, strict=True)
    return " ".join(f"{setting.title}: {caption}." for setting, caption in each)


def to_latex(table: Table) -> str:
    """For the package booktabs. The paper's figures, where it has any, are a second line of each method."""
    spans = range(len(table.settings))
    titles = [rf"\multicolumn{{3}}{{c}}{{{_escaped(setting.title)}}}" for setting in table.settings]
    details = [rf"\multicolumn{{3}}{{c}}{{\scriptsize {_escaped(caption)}}}" for caption in table.captions]
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


def to_values(table: Table) -> list[dict[str, Any]]:
    """Each cell of the table as plain values, for programs."""
    values = []
    for row in table.rows:
        for setting, group in zip(table.settings, row.groups, strict=True):
            for cell, measure in zip(group or (), MEASURES, strict=bool(group)):
                key = {**setting._asdict(), "strategy": row.strategy, "measure": measure.key}
                rest = {"paper": cell.paper, "rank": cell.rank, "num_runs": cell.num_runs}
                values.append({**key, **estimate_values(cell.value), **rest})
    return values


def estimate_values(value: Estimate) -> dict[str, float | None]:
    return {"mean": None if math.isnan(value.mean) else value.mean, "margin": value.margin}


def leads_to_markdown(rows: Sequence[tuple[Lead, ...]]) -> str:
    titles = [measure.title for measure in MEASURES]
    lines = [["dataset", "method", *titles], ["---", "---", *["---:"] * len(titles)]]
    for row in rows:
        place = f"{row[0].setting.full_title}, {row[0].setting.budget} labels"
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
    return "" if math.isnan(cell.value.mean) else f"{cell.value.mean:.{measure.decimals}f}"


def margin_text(cell: Cell, measure: Measure) -> str:
    return "" if cell.value.margin is None else f"± {cell.value.margin:.{measure.decimals}f}"


def paper_text(cell: Cell, measure: Measure) -> str:
    """`72.21, +0.4`: the paper's figure as it is printed, and ours less it."""
    if cell.paper is None:
        return ""
    beside = "" if cell.difference is None else f", {_signed(cell.difference, measure.decimals)}"
    return f"{cell.paper:.2f}{beside}"


def has_paper(row: Row) -> bool:
    return any(cell.paper is not None for group in row.groups for cell in group or ())


def _table(groups: Groups, paper: str, notes: Mapping[str, str]) -> Table:
    strategies = dict.fromkeys(name for by_strategy in groups.values() for name in by_strategy)
    cells = {
        setting: _cells(setting, by_strategy, paper) or _paper_alone(setting, list(strategies), paper)
        for setting, by_strategy in groups.items()
    }
    num_runs = tuple(_num_runs(by_strategy) for by_strategy in groups.values())
    return Table(
        settings=tuple(groups),
        num_runs=num_runs,
        captions=tuple(
            f"{setting.details}, n = {runs}" if runs else notes.get(setting.dataset) or "not run"
            for setting, runs in zip(groups, num_runs, strict=True)
        ),
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
                name: Cell(
                    value,
                    places.index(shown[name]) + 1,
                    _paper(setting, name, measure, paper),
                    len(by_strategy[name]),
                )
                for name, value in values.items()
            }
        )
    return {name: tuple(column[name] for column in columns) for name in by_strategy}


def _paper_alone(setting: Setting, strategies: Sequence[str], paper: str) -> dict[str, tuple[Cell, ...]]:
    nothing = Estimate(math.nan, None)
    return {
        name: tuple(
            Cell(nothing, SECOND + 1, _paper(setting, name, measure, paper), 0) for measure in MEASURES
        )
        for name in strategies
        if (name, setting.dataset) in PAPER[paper]
    }


def _side_by_side(settings: Sequence[Setting]) -> list[Sequence[Setting]]:
    """As few and as equal parts as a page has room for."""
    num_parts = -(-len(settings) // _MOST_ACROSS)
    size = -(-len(settings) // num_parts)
    return [settings[start : start + size] for start in range(0, len(settings), size)]


def _knows(paper: str, dataset: str) -> bool:
    """Whether the paper has figures of the dataset."""
    return any(known == dataset for _, known in PAPER[paper])


def _paper(setting: Setting, strategy: str, measure: Measure, paper: str) -> float | None:
    # Another feature rule is another experiment: its figures do not compare.
    figures = PAPER[paper].get((strategy, setting.dataset)) if setting.features == "paper" else None
    return None if figures is None else float(getattr(figures, measure.key))


def _estimated(runs: Sequence[Record], measure: Measure) -> Estimate:
    return estimate([measure.of(record.final) for record in runs])


def _num_runs(by_strategy: dict[str, list[Record]]) -> str:
    counts = sorted({len(runs) for runs in by_strategy.values()})
    if not counts:
        return ""
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
    text = f"{mean} {margin_text(cell, measure)}".strip()
    beside = "" if cell.paper is None else f"paper {paper_text(cell, measure)}"
    return "<br>".join(filter(None, [text, beside]))


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
