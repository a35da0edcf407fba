"""Records as figures: learning curves, budgets and class counts, told apart without color as well."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from string import ascii_lowercase
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gcbr.benchmark.plan import Plan
from gcbr.benchmark.records import Record
from gcbr.benchmark.tables import Groups, Setting, grouped
from gcbr.figure_style import BASE_STYLE, INK
from gcbr.statistics import MEASURES, Estimate, Measure, estimate

_STYLE = BASE_STYLE | {
    "font.size": 10,
    "axes.titlesize": 10,
}

# In gray some of the colors look alike: their lines and markers do not.
_COLORS = ("#5b6470", "#1c4f8f", "#b5482a", "#2f7d4f", "#d98a2b", "#7a4fa3", "#111111")
_LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
_MARKERS = "osD^vPX*<>hp"
FEWEST_FOR_INTERVALS = 3  # runs
MOST_WITH_BANDS = 9  # lines: the intervals of more hide each other, and the tables have them
_LONGEST_NAME = 18
_PANELS_ACROSS = 4
_AXES = {
    "alpha": "weight alpha of performance gain",
    "eta": "penalty eta for majority classes",
    "budget": "labels in a game of the training",
}
_LINEAR_UP_TO = {"eta": 0.02}  # then logarithmic: half of the penalties tried are close to 0


class Drawing(NamedTuple):
    name: str  # of its files
    title: str
    svg: str
    png: bytes


class Look(NamedTuple):
    color: str
    line: Any
    marker: str


class Point(NamedTuple):
    place: float  # number of labels
    value: Estimate


class Horizontal(NamedTuple):
    """The axis that the panels of a figure share."""

    title: str
    ticks: Sequence[float] = ()  # none: labels, from 0 up
    linear_up_to: float | None = None  # None: all the way


LABELS = Horizontal("labels")

Series = dict[str, list[Point]]  # by strategy


def make_figures(records: Sequence[Record], plan: Plan) -> list[Drawing]:
    """What the plan says to draw, dataset after dataset, with the paper's number where it has one."""
    groups = grouped(records)
    drawings = list(_drawings(groups, plan))
    if not plan.figure:
        return drawings
    letters = ascii_lowercase if len(drawings) > 1 else ("",)
    return [
        drawing._replace(title=f"Figure {plan.figure}{letter}: {drawing.title}")
        for letter, drawing in zip(letters, drawings, strict=False)
    ]


def _drawings(groups: Groups, plan: Plan) -> Iterator[Drawing]:
    if "varied" in plan.draw and plan.varied and groups:
        yield _varied_figure(groups, plan)
    looks = _looks(strategy for runs in groups.values() for strategy in runs)
    for place, settings in _by_dataset(groups).items():
        largest = max(settings, key=lambda setting: setting.budget)
        test = "" if place.test == "fixed" else f"-{place.test}"
        name = f"{_file_name(place.dataset)}-{place.features}{test}"
        if "budgets" in plan.draw and len(settings) > 1:
            by_budget = {setting: groups[setting] for setting in settings}
            yield _budget_figure(f"budgets-{name}", by_budget, looks, plan.ours)
        if "curves" in plan.draw:
            yield _curve_figure(f"curves-{name}", largest, groups[largest], looks, plan.ours)
        if "labels" in plan.draw:
            yield _count_figure(f"labels-{name}", largest, groups[largest])
        if "accuracy" in plan.draw:
            yield _accuracy_figure(f"accuracy-{name}", largest, groups[largest])


def curve_points(runs: Sequence[Record], measure: Measure) -> list[Point]:
    """The mean over runs at each number of labels at which they were measured."""
    steps = zip(*(record.curve for record in runs), strict=True)
    return [Point(scores[0].labels, estimate([measure.of(s) for s in scores])) for scores in steps]


def budget_points(groups: Groups, strategy: str, measure: Measure) -> list[Point]:
    """The final mean at each budget."""
    return [
        Point(setting.budget, estimate([measure.of(record.final) for record in runs[strategy]]))
        for setting, runs in sorted(groups.items(), key=lambda item: item[0].budget)
        if strategy in runs
    ]


def varied_points(runs: Mapping[str, Sequence[Record]], plan: Plan, measure: Measure) -> list[Point]:
    """The final mean at each value of the setting that the plan's trained policies differ in."""
    values = {name: getattr(training, plan.varied) for name, training in plan.trained.items() if name in runs}
    places = {name: float(value) for name, value in values.items() if value is not None}
    return [
        Point(places[name], estimate([measure.of(record.final) for record in runs[name]]))
        for name in sorted(places, key=lambda name: places[name])
    ]


def class_means(runs: Sequence[Record]) -> list[Estimate]:
    """Labels of each class."""
    return [estimate(counts) for counts in zip(*(record.counts for record in runs), strict=True)]


def class_accuracies(runs: Sequence[Record]) -> list[Estimate]:
    """In percent; 0 for a class with no test node, which has no bar then."""
    by_class = zip(*(record.accuracy_per_class for record in runs), strict=True)
    known = ([100 * value for value in values if value is not None] for values in by_class)
    return [estimate(values) if values else Estimate(0.0, None) for values in known]


def class_names(runs: dict[str, list[Record]]) -> tuple[str, ...]:
    return next(iter(runs.values()))[0].class_names


def _curve_figure(
    name: str, setting: Setting, runs: dict[str, list[Record]], looks: dict[str, Look], ours: Sequence[str]
) -> Drawing:
    def series(measure: Measure) -> Series:
        return {strategy: curve_points(records, measure) for strategy, records in runs.items()}

    title = f"{setting.full_title}: on test nodes, one training step after each label"
    return _line_figure(name, title, series, looks, LABELS, _show_intervals(runs), ours)


def _varied_figure(groups: Groups, plan: Plan) -> Drawing:
    """A line for each dataset, over the setting that the policies differ in."""
    titles = {setting: setting.full_title for setting in groups}

    def series(measure: Measure) -> Series:
        return {titles[setting]: varied_points(runs, plan, measure) for setting, runs in groups.items()}

    title = f"each dataset after training on 20 labels a class, by {_AXES[plan.varied]}"
    with_bands = all(_show_intervals(runs) for runs in groups.values())
    ticks = {point.place for line in series(MEASURES[0]).values() for point in line}
    axis = Horizontal(_AXES[plan.varied], sorted(ticks), _LINEAR_UP_TO.get(plan.varied))
    return _line_figure(f"by-{plan.varied}", title, series, _looks(titles.values()), axis, with_bands)


def _budget_figure(name: str, groups: Groups, looks: dict[str, Look], ours: Sequence[str]) -> Drawing:
    strategies = dict.fromkeys(strategy for runs in groups.values() for strategy in runs)

    def series(measure: Measure) -> Series:
        return {strategy: budget_points(groups, strategy, measure) for strategy in strategies}

    setting = next(iter(groups))
    with_bands = all(_show_intervals(runs) for runs in groups.values())
    title = f"{setting.full_title}: after training on each budget"
    axis = LABELS._replace(ticks=sorted({setting.budget for setting in groups}))
    return _line_figure(name, title, series, looks, axis, with_bands, ours)


def _line_figure(
    name: str,
    title: str,
    series: Callable[[Measure], Series],
    looks: dict[str, Look],
    axis: Horizontal,
    with_bands: bool,
    ours: Sequence[str] = (),
) -> Drawing:
    """One panel for each measure; among many lines ours are the strong ones."""
    with _figure(name, 10.5, 3.6) as figure:
        panels = figure.subplots(1, len(MEASURES))
        for axes, measure in zip(panels, MEASURES, strict=True):
            lines = series(measure)
            are_many = len(lines) > MOST_WITH_BANDS
            for strategy, points in lines.items():
                width = 1.5 if not are_many else 2.4 if strategy in ours else 1.0
                _draw_line(axes, strategy, points, looks[strategy], width)
            _set_horizontal(axes, axis)
            axes.set_ylim(axes.get_ylim())  # the lines decide what is shown, not the intervals of a few runs
            for strategy, points in lines.items() if with_bands and not are_many else ():
                _draw_band(axes, points, looks[strategy])
            axes.set_title(f"{measure.title}, %" if measure.scale == 100 else measure.title, loc="left")
            axes.grid(axis="y")
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 7), handlelength=3)
        return _drawing(figure, name, title)


def _set_horizontal(axes: Axes, axis: Horizontal) -> None:
    axes.set_xlabel(axis.title)
    if not axis.ticks:
        axes.set_xlim(0, axes.get_xlim()[1])
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        return
    if axis.linear_up_to is not None:
        axes.set_xscale("symlog", linthresh=axis.linear_up_to)
    axes.set_xticks(axis.ticks, [f"{tick:g}" for tick in axis.ticks])
    axes.set_xticks([], minor=True)


def _draw_line(axes: Axes, strategy: str, points: Sequence[Point], look: Look, width: float) -> None:
    places, means = [point.place for point in points], [point.value.mean for point in points]
    axes.plot(
        places,
        means,
        linestyle=look.line,
        color=look.color,
        marker=look.marker,
        markersize=2.5 + width,
        markevery=max(1, len(points) // 6),
        linewidth=width,
        zorder=1 + width,
        label=strategy,
    )


def _draw_band(axes: Axes, points: Sequence[Point], look: Look) -> None:
    places, values = [point.place for point in points], [point.value for point in points]
    low = [value.mean - (value.margin or 0.0) for value in values]
    high = [value.mean + (value.margin or 0.0) for value in values]
    axes.fill_between(places, low, high, color=look.color, alpha=0.12, linewidth=0)


def _count_figure(name: str, setting: Setting, runs: dict[str, list[Record]]) -> Drawing:
    values = {strategy: class_means(records) for strategy, records in runs.items()}
    title = f"{setting.full_title}: labels of each class among {setting.budget}"
    return _bar_figure(name, title, runs, values, target=setting.budget / len(class_names(runs)))


def _accuracy_figure(name: str, setting: Setting, runs: dict[str, list[Record]]) -> Drawing:
    values = {strategy: class_accuracies(records) for strategy, records in runs.items()}
    title = f"{setting.full_title}: accuracy of each class, %, after training on {setting.budget} labels"
    return _bar_figure(name, title, runs, values, target=None)


def _bar_figure(
    name: str,
    title: str,
    runs: dict[str, list[Record]],
    values: dict[str, list[Estimate]],
    target: float | None,
) -> Drawing:
    """A panel for each strategy with a bar for each class, and a line at `target`."""
    names = class_names(runs)
    down = -(-len(runs) // _PANELS_ACROSS)
    across = -(-len(runs) // down)
    with _figure(name, 10.5, down * (0.9 + 0.2 * len(names))) as figure:
        panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flatten()
        for axes, strategy in zip(panels, runs, strict=False):
            _draw_bars(axes, strategy, values[strategy], target)
            if _show_intervals(runs):
                _draw_whiskers(axes, values[strategy])
        for axes in panels[len(runs) :]:
            axes.set_visible(False)
        for axes in panels[max(0, len(runs) - across) : len(runs)]:
            axes.tick_params(labelbottom=True)  # nothing below it in its column
        panels[0].set_yticks(range(len(names)), [_shortened(cls) for cls in names])
        panels[0].set_ylim(len(names) - 0.4, -0.6)
        return _drawing(figure, name, title)


def _draw_bars(axes: Axes, strategy: str, values: Sequence[Estimate], target: float | None) -> None:
    means = [value.mean for value in values]
    axes.barh(range(len(values)), means, 0.72, color="#9db3cd", edgecolor=INK, linewidth=0.6)
    if target is not None:
        axes.axvline(target, color=INK, linewidth=1.2, linestyle="--")
    axes.set_title(strategy, loc="left")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.grid(axis="x")


def _draw_whiskers(axes: Axes, values: Sequence[Estimate]) -> None:
    margins = [value.margin or 0.0 for value in values]
    low = [min(value.mean, value.margin or 0.0) for value in values]  # no class has fewer labels than none
    means = [value.mean for value in values]
    axes.errorbar(means, range(len(values)), xerr=[low, margins], fmt="none", ecolor=INK, elinewidth=0.9)


def _show_intervals(runs: dict[str, list[Record]]) -> bool:
    """The interval of two runs is wider than any panel and hides the rest."""
    return all(len(records) >= FEWEST_FOR_INTERVALS for records in runs.values())


def _by_dataset(groups: Groups) -> dict[Setting, list[Setting]]:
    """The settings that differ in nothing but their budget."""
    found: dict[Setting, list[Setting]] = {}
    for setting in groups:
        found.setdefault(setting._replace(budget=0), []).append(setting)
    return found


def _looks(names: Iterable[str]) -> dict[str, Look]:
    """The same name looks the same in every figure."""
    styles = zip(cycle(_COLORS), cycle(_LINES), cycle(_MARKERS), strict=False)
    return {name: Look(*style) for name, style in zip(dict.fromkeys(names), styles, strict=False)}


@contextmanager
def _figure(name: str, width: float, height: float) -> Iterator[Figure]:
    """A figure in our style, `width` by `height` inches, while the style is in force."""
    # The salt makes the SVG's inner ids repeatable, and different between figures of one page.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # The browser has letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Figure(figsize=(width, height), layout="constrained")


def _drawing(figure: Figure, name: str, title: str) -> Drawing:
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # arranged once, for both files
    svg, png = io.StringIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return Drawing(name, title, _compact(svg.getvalue()), png.getvalue())


def _compact(svg: str) -> str:
    """The same drawing in fewer letters: a hundredth of a point is enough for any coordinate."""
    return re.sub(r'="[^"]*"', lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), svg)


def _file_name(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
