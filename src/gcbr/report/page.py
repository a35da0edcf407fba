"""The report as one HTML page that needs nothing else: styles and figures are inside it."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from gcbr.report import figures
from gcbr.report.document import versions
from gcbr.report.summary import MEASURES, ClassRow, Comparison, MeasureRow, class_rows, measure_rows, number
from gcbr.splits import is_scaled


def render(comparison: Comparison) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(files(__package__).joinpath("page.html.jinja").read_text("utf-8"))
    return template.render(
        comparison=comparison,
        dataset=comparison.dataset,
        graph=comparison.dataset.graph,
        settings=comparison.settings,
        seeds=_seeds(comparison),
        measures=[_measure(row) for row in measure_rows(comparison)],
        classes=[_class(row) for row in class_rows(comparison)],
        bars=Markup(figures.class_bars(comparison)),
        curves=[(m.title, Markup(figures.curve(comparison, m))) for m in MEASURES],
        split=_split(comparison),
        cost=_cost(comparison),
        versions=", ".join(f"{name} {version}" for name, version in versions().items()),
    )


def _measure(row: MeasureRow) -> dict[str, object]:
    decimals, ours = row.measure.decimals, row.values[0]
    return {
        "measure": row.measure,
        "mean": f"{ours.mean:.{decimals}f}",
        "margin": None if ours.margin is None else f"{ours.margin:.{decimals}f}",
        "baseline": number(row.values[1], decimals) if len(row.values) > 1 else None,
        "lead": None if row.lead is None else _minus(number(row.lead, decimals, signed=True)),
    }


def _class(row: ClassRow) -> dict[str, object]:
    # Means alone: with intervals in every cell nobody reads the table.
    return {
        "name": row.name,
        "share": f"{100 * row.share:.1f}",
        "labels": [
            f"{value.mean:g}" if value.margin is None else f"{value.mean:.1f}" for value in row.labels
        ],
        "accuracy": [number(value._replace(mean=100 * value.mean, margin=None), 1) for value in row.accuracy],
    }


def _seeds(comparison: Comparison) -> str:
    seeds = comparison.settings.seeds
    return (
        f"1 run, seed {seeds[0]}"
        if len(seeds) == 1
        else f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}"
    )


def _split(comparison: Comparison) -> str:
    dataset = comparison.dataset
    test = f"{len(dataset.test):,} test nodes, the same in every run; validation drawn by the seed"
    return (
        f"{test}; in proportion, because the graph is small" if is_scaled(dataset.graph.num_nodes) else test
    )


def _cost(comparison: Comparison) -> str:
    each = [
        f"{strategy} {sum(run.cpu_seconds for run in runs) / len(runs):.2g} s"
        for strategy, runs in comparison.results.items()
    ]
    return f"CPU time of a run: {', '.join(each)}; threads: {comparison.settings.threads}"


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
