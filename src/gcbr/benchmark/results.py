"""All plans of a folder on one page, as a pure function of what is recorded there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gcbr.benchmark import figures, tables
from gcbr.benchmark.agenda import agenda, recorded_sizes
from gcbr.benchmark.page import Findings, write_report
from gcbr.benchmark.plan import Plan, read_plan
from gcbr.benchmark.records import Record, of_runs
from gcbr.benchmark.store import Store
from gcbr.benchmark.tables import Setting
from gcbr.files import write_atomically
from gcbr.statistics import MEASURES, Measure, estimate

PLANS = ("table2", "table2-default", "table3", "fig1", "fig3", "fig4", "fig5", "fig6", "beyond")

_OURS = ("gcbr", "gcbr++")
_, _MACRO, _RATIO = MEASURES

_INTRODUCTION = """\
# Results

Each number here is computed from the records in
[`benchmarks/results/records`](../benchmarks/results/records): one line for each run, with its key, the chosen
nodes, the metrics, the cost, the versions and the commit. `python -m benchmarks.make_results` writes this
page and the reports beside those records anew; the command of a section does the runs themselves, and skips
those that are recorded. Means are over n runs with 95% t-intervals, F1 in percent on test nodes.
\N{GREEK SMALL LETTER RHO}, the imbalance ratio, is the smallest class's labels over the largest's: 1 is
balanced, 0 means that a class has none. The best of a column is **bold**, the second <u>underlined</u>; below
stand the paper's figure, where it has one for the same experiment, and ours less it.
"""


def recorded_findings(plan: Plan, command: str, store: Store, policies: Path) -> Findings:
    """What is recorded of a plan; needs no dataset's files."""
    recorded = store.read()
    todo = agenda(plan, recorded_sizes(plan, recorded), policies, tolerant=True)
    done = todo.labeled(of_runs(todo.runs, recorded))
    return Findings(plan, command, done, len(todo.runs), todo.left_out)


def write_results(folder: Path, page: Path, plans: Sequence[str] = PLANS) -> None:
    """The report of each plan that has records in `folder`, and a page with all of them."""
    store = Store(folder / "records")
    parts = [_INTRODUCTION]
    for name in plans:
        command = f"gcbr bench {name} --out benchmarks/results"
        findings = recorded_findings(read_plan(name), command, store, folder / "policies")
        if not findings.records:
            continue
        write_report(folder / name, findings)
        if name == "table2":
            parts.append(_shape_section(findings.records))
        parts.append(_section(findings, page, name))
    write_atomically(page, "\n".join(parts).encode())


def shape(records: Sequence[Record]) -> Iterator[str]:
    """Whether what the paper's table 2 shows of balance holds in ours: a sentence for each dataset."""
    groups = tables.grouped(records)
    for setting, runs in groups.items():
        if setting.dataset in ("co-cs", "co-phy"):
            first_two = set(_ranked(runs, _MACRO)[:2]) == set(_OURS)
            yield _sentence(setting, runs, _MACRO, "GCBR and GCBR++ lead in Macro-F1", first_two)
    for setting, runs in groups.items():
        leads = _ranked(runs, _RATIO)[0] == "gcbr++"
        yield _sentence(setting, runs, _RATIO, "GCBR++ has the highest imbalance ratio", leads)


def _sentence(
    setting: Setting, runs: Mapping[str, Sequence[Record]], measure: Measure, claim: str, holds: bool
) -> str:
    values = ", ".join(
        f"{name} {_mean(runs[name], measure):.{measure.decimals}f}" for name in _ranked(runs, measure)
    )
    answer = "holds" if holds else "**does not hold**"
    return f"{setting.full_title}: {claim}: {answer} ({values})."


def _ranked(runs: Mapping[str, Sequence[Record]], measure: Measure) -> list[str]:
    return sorted(runs, key=lambda name: _mean(runs[name], measure), reverse=True)


def _mean(runs: Sequence[Record], measure: Measure) -> float:
    return estimate([measure.of(record.final) for record in runs]).mean


def _shape_section(records: Sequence[Record]) -> str:
    lines = [f"- {sentence}\n" for sentence in shape(records)]
    return f"## Does the shape of the paper's Table 2 hold?\n\n{''.join(lines)}"


def _section(findings: Findings, page: Path, name: str) -> str:
    plan = findings.plan
    parts = [f"## {plan.title}\n", f"{plan.caption.strip()}\n", f"Command: `{findings.command}`.\n"]
    if missing := findings.num_runs - len(findings.records):
        parts.append(f"{missing} of {findings.num_runs} runs are still missing.\n")
    if findings.left_out:
        parts.append(f"Left out: {'; '.join(findings.left_out)}.\n")
    report = f"[`benchmarks/results/{name}`](../benchmarks/results/{name})"
    if plan.figure:
        for drawing in figures.make_figures(findings.records, plan):
            place = Path(page.stem) / f"{name}-{drawing.name}.svg"
            write_atomically(page.parent / place, drawing.svg.encode())
            parts.append(f"**{drawing.title}**\n\n![{drawing.title}]({place.as_posix()})\n")
        parts.append(f"{_num_runs(findings.records)} The numbers behind the figures: {report}.\n")
        return "\n".join(parts)
    parts += [tables.to_markdown(table) for table in findings.tables]
    if leads := tables.make_leads(findings.records, plan.ours):
        parts.append("Against the best of the others, paired by seed, with the p-value of a paired t-test:\n")
        parts.append(tables.leads_to_markdown(leads))
    parts.append(f"Figures, LaTeX and a page of its own: {report}.\n")
    return "\n".join(parts)


def _num_runs(records: Sequence[Record]) -> str:
    counts = [len(runs) for by_strategy in tables.grouped(records).values() for runs in by_strategy.values()]
    fewest, most = min(counts), max(counts)
    return f"n = {most} runs a point." if fewest == most else f"n = {fewest} to {most} runs a point."
