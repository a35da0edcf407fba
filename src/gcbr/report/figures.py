"""The figures of a report, drawn by matplotlib as SVG that takes its colors and letters from the page around it.

Strategy and baseline differ in line, marker and hatch as well as in color, so that a gray print reads the same.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gcbr.report.summary import Comparison, Measure, class_rows, estimate, learning_curve

# Drawn in the page's light colors; each becomes the CSS variable of its name, which the dark page redefines.
INK, MUTED, RULE = "#1b1f24", "#5b6470", "#d9dde3"
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

_STYLE = {
    "font.size": 11,
    "svg.fonttype": "none",  # letters stay letters: they can be searched, copied and read aloud
    "text.parse_math": False,  # a dollar sign in a class name is a dollar sign
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": 11,
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
    height = 1.1 + len(rows) * (0.2 + 0.14 * len(comparison.strategies))
    with _axes("bars", 4.6, height) as (figure, axes):
        thickness = 0.8 / len(comparison.strategies)
        for column, (strategy, look) in enumerate(zip(comparison.strategies, LOOKS, strict=False)):
            places = [cls - 0.4 + (column + 0.5) * thickness for cls in range(len(rows))]
            axes.barh(
                places,
                [row.labels[column].mean for row in rows],
                thickness * 0.86,
                label=strategy,
                facecolor=look.fill,
                edgecolor=look.color,
                hatch=look.hatch,
            )
        target = comparison.settings.budget / len(rows)
        axes.axvline(target, color=INK, linewidth=1.2, linestyle=":", label=f"balanced: {target:g} each")
        axes.set_yticks(range(len(rows)), [_shortened(row.name) for row in rows])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axes.grid(axis="x")
        axes.set_xlabel("labels" if len(comparison.settings.seeds) == 1 else "labels, mean over runs")
        figure.legend(loc="outside upper left", ncols=3, handlelength=1.4, columnspacing=1.2)
        return _svg(figure, "bars")


def curve(comparison: Comparison, measure: Measure) -> str:
    """A measure against the number of labels, with its value after the final epochs as a diamond."""
    name = f"curve-{measure.key}"
    with _axes(name, 4.0, 3.3) as (figure, axes):
        for strategy, look in zip(comparison.strategies, LOOKS, strict=False):
            _draw_curve(axes, comparison, strategy, measure, look)
        axes.set_xlim(left=0)
        axes.set_ylim(0, measure.scale * 1.04)
        axes.grid(axis="y")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        axes.set_xlabel("labels")
        axes.set_ylabel(f"{measure.title} (%)" if measure.scale == 100 else measure.title)
        figure.legend(loc="outside upper left", ncols=2, handlelength=2.2, columnspacing=1.2)
        return _svg(figure, name)


def _draw_curve(axes: Axes, comparison: Comparison, strategy: str, measure: Measure, look: Look) -> None:
    runs = comparison.results[strategy]
    points = learning_curve(runs, measure)
    labels, means = [p.labels for p in points], [p.value.mean for p in points]
    axes.plot(
        labels, means, look.line, color=look.color, marker=look.marker, markersize=3.5, linewidth=1.6, label=strategy
    )
    if len(runs) > 1:
        margins = [p.value.margin or 0.0 for p in points]
        low, high = ([m + side * d for m, d in zip(means, margins, strict=True)] for side in (-1, 1))
        axes.fill_between(labels, low, high, color=look.color, alpha=0.18, linewidth=0)
    final = estimate([measure.of(run.final) for run in runs])
    axes.errorbar(
        [comparison.settings.budget],
        [final.mean],
        yerr=None if final.margin is None else [final.margin],
        color=look.color,
        marker="D",
        markersize=8,
        markerfacecolor=look.fill,
        markeredgewidth=1.6,
        capsize=3,
        clip_on=False,
        zorder=5,
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


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
