"""What a person is shown of a node: its own columns as they stand in the file, and its neighborhood."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import torch

from gcbr.graph import Graph
from gcbr.state import GraphFacts

if TYPE_CHECKING:
    import polars as pl

MAX_TEXT = 20_000  # characters of one attribute
MAX_NEIGHBORS = 24  # drawn around a node
MAX_DRAWN = 40  # nodes of a drawing, neighbors of neighbors included
MAX_FEATURES = 16  # of a node without columns of its own: its largest ones
MAX_GRID = 1024  # numbers that still make a picture

AttributeKind = Literal["text", "number", "grid"]


@dataclass(frozen=True)
class Attribute:
    """One column of a node: text or number as it stands, or a vector as a grid of shades."""

    name: str
    kind: AttributeKind
    text: str
    values: tuple[float, ...] = ()  # of a grid: 0 to 1, row by row
    width: int = 0  # of a grid


@dataclass(frozen=True)
class Drawing:
    """A node's neighborhood, small enough to look at."""

    nodes: tuple[int, ...]  # the node itself first, then its neighbors, then some of theirs
    edges: tuple[tuple[int, int], ...]
    num_neighbors: int  # in the graph
    num_shown: int  # of them in the drawing


class Cards:
    """Reads nodes of one graph. `columns` are those of its file, one row per node, if it has any."""

    def __init__(self, graph: Graph, columns: pl.DataFrame | None = None) -> None:
        self.graph = graph
        self._columns = columns if columns is not None and columns.width else None

    @cached_property
    def centrality(self) -> list[float]:
        """0 for the least central node to 1 for the most."""
        ranks = GraphFacts(self.graph).centrality
        low, high = float(ranks.min()), float(ranks.max())
        return [round(value, 4) for value in ((ranks - low) / max(high - low, 1e-9)).tolist()]

    def attributes(self, node: int) -> tuple[Attribute, ...]:
        if self._columns is None:
            return self._features(node)
        row = self._columns.row(node, named=True)
        return tuple(_attribute(name, value) for name, value in row.items() if value not in (None, ""))

    def drawing(self, node: int, is_labeled: Iterable[int] = ()) -> Drawing:
        """Labeled neighbors first, then the most central; a hub's other thousands would say nothing."""
        labeled = set(is_labeled)
        neighbors = self.graph.neighbors(node)
        shown = self._most_telling(neighbors, labeled, MAX_NEIGHBORS)
        drawn = dict.fromkeys([node, *shown])
        # Each neighbor brings a few of its own, until the drawing is full.
        share = max(1, (MAX_DRAWN - len(drawn)) // max(1, len(shown)))
        for neighbor in shown:
            others = [other for other in self.graph.neighbors(neighbor) if other not in drawn]
            room = min(share, MAX_DRAWN - len(drawn))
            drawn.update(dict.fromkeys(self._most_telling(others, labeled, room)))
        edges = [(a, b) for a in drawn for b in self.graph.neighbors(a) if a < b and b in drawn]
        return Drawing(tuple(drawn), tuple(edges), len(neighbors), len(shown))

    def _most_telling(self, nodes: list[int], labeled: set[int], limit: int) -> list[int]:
        if len(nodes) <= limit:
            return nodes
        return sorted(nodes, key=lambda node: (node not in labeled, -self.centrality[node]))[: max(0, limit)]

    def _features(self, node: int) -> tuple[Attribute, ...]:
        """A graph without columns: its features, as a picture where they fill one, else the largest."""
        row = self.graph.x.rows(torch.tensor([node])).to_dense()[0]
        num_features, num_set = len(row), int((row != 0).sum())
        if 4 <= num_features <= MAX_GRID and num_set >= num_features / 4:
            return (_grid("features", row.tolist()),)
        largest = row.abs().topk(min(MAX_FEATURES, num_set)).indices.tolist()
        listed = tuple(
            Attribute(f"feature {column}", "number", f"{float(row[column]):.4g}") for column in largest
        )
        rest = num_set - len(listed)
        return (*listed, Attribute("others", "text", f"{rest:,} smaller ones")) if rest else listed


def _attribute(name: str, value: object) -> Attribute:
    if isinstance(value, list | tuple):
        numbers = [float(item) for item in value]
        if 4 <= len(numbers) <= MAX_GRID:
            return _grid(name, numbers)
        return Attribute(name, "text", f"{len(numbers):,} numbers")
    text = str(value)
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}… ({len(text) - MAX_TEXT:,} more characters)"
    return Attribute(name, "number" if _is_number(text) else "text", text)


def _grid(name: str, values: list[float]) -> Attribute:
    low, high = min(values), max(values)
    shades = tuple(round((value - low) / ((high - low) or 1), 3) for value in values)
    width = next(size for size in range(1, len(values) + 1) if size * size >= len(values))
    return Attribute(name, "grid", f"{len(values)} numbers from {low:.3g} to {high:.3g}", shades, width)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
