"""CPU-seconds and memory of a query against the size of the graph, both on logarithmic axes."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from benchmarks.speed.sizes import STRATEGIES, Cell, slope
from gcbr.figure_style import BASE_STYLE, MUTED

# Told apart without color as well: by marker and dash.
_LOOKS = {
    "gcbr++": {"color": "#0b5fa5", "marker": "o", "linestyle": "-"},
    "age": {"color": "#b3541e", "marker": "s", "linestyle": "--"},
    "entropy": {"color": "#4d4d4d", "marker": "^", "linestyle": ":"},
    "gcbr++, sampled": {"color": "#3f9bd1", "marker": "v", "linestyle": "-."},
}


def draw(cells: list[Cell], stem: Path) -> list[Path]:
    """Write the figure as PNG and SVG, and return the files."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot
    from matplotlib.ticker import NullLocator

    with pyplot.rc_context(BASE_STYLE | {"font.size": 9}):
        figure, (time, memory) = pyplot.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
        ordered = sorted(cells, key=lambda cell: (list(STRATEGIES).index(cell.strategy), cell.nodes))
        for strategy, group in groupby(ordered, key=lambda cell: cell.strategy):
            own = list(group)
            nodes = [cell.nodes for cell in own]
            label = f"{strategy} (slope {slope(own):.2f})"
            time.plot(nodes, [cell.query for cell in own], label=label, **_LOOKS[strategy])
            memory.plot(nodes, [cell.peak_mb for cell in own], label=strategy, **_LOOKS[strategy])
        _line_of_slope_one(time, ordered)
        time.set(title="CPU-time of a query", yscale="log")
        time.yaxis.set_major_formatter(lambda seconds, _: f"{1000 * seconds:,.10g} ms")
        memory.set(title="peak memory, mapped files included", yscale="log", ylim=(100, 10_000))
        memory.yaxis.set_major_formatter(lambda megabytes, _: f"{megabytes:,.0f} MB")
        for axes in (time, memory):
            axes.set(xscale="log", xlabel="nodes (mean degree 20, 128 features)")
            axes.set_xticks(sorted({cell.nodes for cell in cells}))
            axes.xaxis.set_major_formatter(lambda nodes, _: f"{nodes:,.0f}")
            axes.xaxis.set_minor_locator(NullLocator())
            axes.grid(True)
            axes.legend(loc="upper left")
        files = [stem.with_suffix(suffix) for suffix in (".png", ".svg")]
        for file in files:
            figure.savefig(file, dpi=160)
        pyplot.close(figure)
    return files


def _line_of_slope_one(axes, cells: list[Cell]) -> None:  # type: ignore[no-untyped-def]
    """For the eye: what grows as the graph does runs along it."""
    first, last = min(cell.nodes for cell in cells), max(cell.nodes for cell in cells)
    start = 0.5 * min(cell.query for cell in cells if cell.nodes == first)
    axes.plot([first, last], [start, start * last / first], color=MUTED, linewidth=0.8, label="slope 1")
