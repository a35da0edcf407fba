"""The figures of a report: SVG drawn by matplotlib that takes colors and letters from the page around it.

Strategy and baseline differ in line, marker and hatch as well as in color, so that a gray print reads too.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gcbr.figure_style import BASE_STYLE, INK, MUTED, RULE
from gcbr.report.summary import Comparison, Measure, class_rows, estimate, learning_curve
from gcbr.simulation import SimulationResult

# Drawn in the page's light colors; each becomes the CSS variable of its name, which the dark page redefines.
PAPER = "#ffffff"
FIRST, SECOND = "#1c4f8f", "#d98a2b"
CSS_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    RULE: "--rule",
    PAPER: "--paper",
    FIRST: "--first",
    SECOND: "--second",
}

LONGEST_NAME = 22  # characters of a class name beside its bars

_STYLE = BASE_STYLE | {
    "font.size": 11,
    "hatch.linewidth": 1.2,
    "legend.fontsize": 11,
    "legend.columnspacing": 1.4,
}


@dataclass(frozen=True)
class Look:
    """How one strategy is drawn, in every figure alike."""

    color: str
    line: str
    marker: str
    fill: str  # of its bars
    hatch: str


LOOKS = (Look(FIRST, "-", "o", FIRST, ""), Look(SECOND, "--", "s", PAPER, "////"))


def class_bars(comparison: Comparison) -> str:
    """Labels of each class, one bar for each strategy, with the line of a balanced set."""
    rows = class_rows(comparison)
    thickness = 0.8 / len(comparison.strategies)
    with _axes("bars", 5.2, 1.0 + 0.44 * len(rows)) as (figure, axes):
        handles: list[Artist] = []
        for column, (strategy, look) in enumerate(zip(comparison.strategies, LOOKS, strict=False)):
            places = [cls - 0.4 + (column + 0.5) * thickness for cls in range(len(rows))]
            counts = [row.labels[column].mean for row in rows]
            bars = axes.barh(places, counts, thickness * 0.84, label=strategy)
            for bar in bars:
                bar.set(facecolor=look.fill, edgecolor=look.color, hatch=look.hatch)
            handles.append(bars[0])
        target = comparison.settings.budget / len(rows)
        handles.append(axes.axvline(target, color=INK, linewidth=1.3))
        axes.set_yticks(range(len(rows)), [_shortened(row.name) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(_round_steps(6))
        axes.grid(axis="x")
        axes.set_xlabel("labels" if len(comparison.settings.seeds) == 1 else "labels, mean over runs")
        names = [*comparison.strategies, "balanced"]
        figure.legend(handles, names, loc="outside upper left", ncols=3, handlelength=1.6)
        return _svg(figure, "bars")


def curve(comparison: Comparison, measure: Measure) -> str:
    """A measure against the number of labels; right of it, what it comes to after the final epochs."""
    name, budget = f"curve-{measure.key}", comparison.settings.budget
    with _axes(name, 4.0, 3.4) as (figure, axes):
        axes.axvline(budget * 1.035, color=RULE, linewidth=0.8)
        handles: list[Artist] = []
        for place, (strategy, look) in enumerate(zip(comparison.strategies, LOOKS, strict=False)):
            handles.append(_draw_curve(axes, comparison.results[strategy], measure, look))
            # Side by side, or one would hide the other where they are close.
            _draw_final(axes, comparison.results[strategy], measure, look, budget * (1.08 + 0.08 * place))
        axes.set_xlim(0, budget * 1.2)
        axes.set_ylim(0, measure.scale * 1.04)
        axes.grid(axis="y")
        ticks = _round_steps(5).tick_values(0, budget)
        axes.set_xticks([tick for tick in ticks if 0 <= tick <= budget])
        axes.set_xlabel("labels")
        axes.set_ylabel(f"{measure.title} (%)" if measure.scale == 100 else measure.title)
        figure.legend(handles, comparison.strategies, loc="outside upper left", ncols=2, handlelength=2.4)
        return _svg(figure, name)


def _draw_curve(axes: Axes, runs: Sequence[SimulationResult], measure: Measure, look: Look) -> Artist:
    points = learning_curve(runs, measure)
    labels, means = [p.labels for p in points], [p.value.mean for p in points]
    (line,) = axes.plot(
        labels, means, look.line, color=look.color, marker=look.marker, markersize=3.5, linewidth=1.6
    )
    if len(runs) > 1:
        margins = [p.value.margin or 0.0 for p in points]
        low, high = ([m + side * d for m, d in zip(means, margins, strict=True)] for side in (-1, 1))
        axes.fill_between(labels, low, high, color=look.color, alpha=0.18, linewidth=0)
    return line


def _draw_final(
    axes: Axes, runs: Sequence[SimulationResult], measure: Measure, look: Look, place: float
) -> None:
    final = estimate([measure.of(run.final) for run in runs])
    # No share lies outside 0 and 1, whatever the interval of a few runs says.
    whiskers = None
    if final.margin is not None:
        whiskers = [[min(final.margin, final.mean)], [min(final.margin, measure.scale - final.mean)]]
    axes.errorbar(
        [place],
        [final.mean],
        yerr=whiskers,
        color=look.color,
        marker="D",
        markersize=6.5,
        markerfacecolor=look.fill,
        markeredgewidth=1.5,
        capsize=2.5,
        clip_on=False,
    )


@contextmanager
def _axes(name: str, width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """A figure in our style, `width` by `height` inches, while the style is in force."""
    # The salt makes the SVG's inner ids repeatable, and different between figures of one page.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # The browser has letters that matplotlib's font lacks; it alone draws them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def _svg(figure: Figure, name: str) -> str:
    """The drawing as an element to stand inside an HTML page: no prolog, no addresses, no fixed size."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    view_box = re.search(r'viewBox="([^"]*)"', svg)
    assert view_box
    svg = re.sub(r"<svg[^>]*>", f'<svg viewBox="{view_box[1]}" aria-hidden="true">', svg, count=1)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for color, variable in CSS_VARIABLES.items():
        svg = svg.replace(color, f"var({variable})")
    return svg


def _round_steps(most: int) -> MaxNLocator:
    return MaxNLocator(nbins=most, steps=[1, 2, 5, 10], integer=True)


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
