"""What the records of a plan come to, as files: one HTML page, tables in Markdown and LaTeX, figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from gcbr.benchmark import figures, tables
from gcbr.benchmark.plan import Plan
from gcbr.benchmark.records import Record
from gcbr.files import write_atomically
from gcbr.statistics import MEASURES


@dataclass(frozen=True)
class Findings:
    """Everything a report says."""

    plan: Plan
    command: str  # that gives it again
    records: Sequence[Record]
    num_runs: int  # of the whole plan, recorded or not
    left_out: Sequence[str]  # what this version lacks, a sentence each

    @property
    def tables(self) -> list[tables.Table]:
        datasets = {dataset: self.plan.deviation(dataset).note for dataset in self.plan.datasets}
        return tables.make_tables(self.records, self.plan.paper, datasets)


def write_report(folder: Path, findings: Findings) -> Path:
    """Write all files into `folder`, each whole or not at all; returns the page."""
    drawings = figures.make_figures(findings.records, findings.plan)
    contents: dict[str, bytes] = {
        "tables.md": markdown(findings).encode(),
        "tables.tex": latex(findings).encode(),
        "report.html": render(findings, drawings).encode(),
    }
    for drawing in drawings:
        contents[f"figures/{drawing.name}.svg"] = drawing.svg.encode()
        contents[f"figures/{drawing.name}.png"] = drawing.png
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return folder / "report.html"


def summary(findings: Findings) -> dict[str, Any]:
    """What the tables say, as plain values; shares in percent, as people read them."""
    made = findings.tables
    return {
        "title": findings.plan.title,
        "command": findings.command,
        "num_runs": findings.num_runs,
        "num_recorded": len(findings.records),
        "left_out": list(findings.left_out),
        "cells": [cell for table in made for cell in tables.to_values(table)],
        "leads": [
            {
                **lead.setting._asdict(),
                "strategy": lead.strategy,
                "measure": lead.measure.key,
                "baseline": lead.baseline,
                **tables.estimate_values(lead.difference),
                "p_value": lead.p_value,
                "num_pairs": lead.num_pairs,
            }
            for row in tables.make_leads(findings.records, findings.plan.ours)
            for lead in row
        ],
    }


def markdown(findings: Findings) -> str:
    plan = findings.plan
    parts = [f"# {plan.title}\n", f"{plan.caption.strip()}\n", f"Made by `{findings.command}`.\n"]
    parts += [tables.to_markdown(table) for table in findings.tables]
    if leads := tables.make_leads(findings.records, plan.ours):
        parts += ["## Against the best of the others, paired by seed\n", tables.leads_to_markdown(leads)]
    return "\n".join(parts)


def latex(findings: Findings) -> str:
    parts = [f"% {findings.plan.title}\n% {findings.command}\n% needs \\usepackage{{booktabs}}\n"]
    parts += [tables.to_latex(table) for table in findings.tables]
    return "\n".join(parts)


def render(findings: Findings, drawings: Sequence[figures.Drawing]) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(files(__package__).joinpath("page.html.jinja").read_text("utf-8"))
    made = findings.tables
    return template.render(
        plan=findings.plan,
        command=findings.command,
        num_runs=findings.num_runs,
        num_missing=findings.num_runs - len(findings.records),
        left_out=findings.left_out,
        tables=made,
        with_paper=any(tables.has_paper(row) for table in made for row in table.rows),
        leads=tables.make_leads(findings.records, findings.plan.ours),
        lead_text=tables.lead_text,
        opponent_text=tables.opponent_text,
        measures=MEASURES,
        short_titles=tables.SHORT_TITLES,
        mean=tables.mean_text,
        margin=tables.margin_text,
        paper=tables.paper_text,
        figures=[(drawing.title, Markup(_inline(drawing))) for drawing in drawings],
        fewest=figures.FEWEST_FOR_INTERVALS,
        most=figures.MOST_WITH_BANDS,
        cost=_cost(findings.records),
        versions="; ".join(_origins(findings.records)),
    )


def _inline(drawing: figures.Drawing) -> str:
    """The drawing as an element of a page: no prolog, no addresses, no fixed size, ids of its own."""
    svg = drawing.svg[drawing.svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    view_box = re.search(r'viewBox="([^"]*)"', svg)
    assert view_box
    svg = re.sub(r"<svg[^>]*>", f'<svg viewBox="{view_box[1]}" aria-hidden="true">', svg, count=1)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # nothing refers to a group
    svg = re.sub(r"\n +", "\n", svg)
    return re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{drawing.name}-", svg)


def _cost(records: Sequence[Record]) -> str:
    cpu = sum(record.cost.cpu_seconds for record in records)
    peak = max(record.cost.peak_megabytes for record in records)
    return (
        f"{len(records)} runs, {cpu / 3600:.2f} CPU hours, at most {peak:.0f} MB a process; one thread each"
    )


def _origins(records: Sequence[Record]) -> list[str]:
    """Each set of versions and commit that records were made with."""
    found = dict.fromkeys(
        ", ".join([*(f"{name} {version}" for name, version in record.origin.versions.items())])
        + (f", commit {record.origin.commit}" if record.origin.commit else "")
        for record in records
    )
    return list(found)
