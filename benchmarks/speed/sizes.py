"""Cost of a query against the size of the graph: 1k to 1M nodes, mean degree 20, 128 features."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed.cell import run_cell
from gcbr.datasets import load_dataset
from gcbr.formats import write_graph
from gcbr.strategies.sampled import QUICK

# The last one chooses among a sample of the candidates, as in interactive use.
STRATEGIES = {"gcbr++": None, "age": None, "entropy": None, "gcbr++, sampled": QUICK}
QUERIES = {1_000: 30, 10_000: 20, 100_000: 8, 1_000_000: 4}
STEEPEST = 1.1  # slope of the log-log fit of CPU-seconds to nodes + edges


@dataclass(frozen=True)
class Cell:
    strategy: str
    nodes: int
    edges: int
    set_up: float
    query: float
    peak_mb: float
    own_mb: float


def sizes(folder: Path, largest: int, on_cell: Callable[[str], None]) -> Iterator[Cell]:
    """Every strategy on every size up to `largest`; graphs are written to `folder` and stay there."""
    for nodes, queries in QUERIES.items():
        if nodes > largest:
            break
        graph = _mapped_graph(folder, nodes, on_cell)
        for strategy, sample in STRATEGIES.items():
            on_cell(f"{nodes:,} nodes: {strategy}")
            result = run_cell(str(graph), strategy.partition(",")[0], queries, sample)
            yield Cell(
                strategy,
                nodes,
                int(result["edges"]),
                result["set_up"],
                result["median_query"],
                result["peak_mb"],
                result["own_mb"],
            )


def slope(cells: list[Cell]) -> float:
    """Of the least-squares line through log(nodes + edges) and log(CPU-seconds a query)."""
    points = [(math.log(cell.nodes + cell.edges), math.log(cell.query)) for cell in cells]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def _mapped_graph(folder: Path, nodes: int, on_cell: Callable[[str], None]) -> Path:
    path = folder / f"nodes-{nodes}"
    if not path.exists():
        on_cell(f"{nodes:,} nodes: drawing the graph")
        dataset = load_dataset(f"synthetic:nodes={nodes},degree=20,features=128")
        labels = {node: dataset.class_names[cls] for node, cls in enumerate(dataset.y.tolist())}
        write_graph(path, dataset.graph, labels, format="mapped")
    return path
