"""From what a file holds to a graph: edges merged and counted, columns turned into features and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import torch

from gcbr.datasets.features import apply_rule
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.formats.columns import Labels, features_of, labels_of, split_labels
from gcbr.graph import Graph

if TYPE_CHECKING:
    import polars as pl

# How a source lists its edges: each once, each from both ends (a matrix), or with a direction of its own.
Listing = Literal["once", "both ways", "directed"]

FEATURES = ("default", "raw")

NUM_PROJECTIONS = 32
"""Columns of a graph without features that say where a node is, beside the two that say how large it is."""


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges as a source lists them, node numbers from 0."""

    sources: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32] | None = None  # finite, not negative; None: 1 each
    listing: Listing = "once"


@dataclass(frozen=True, eq=False)
class Parsed:
    """What a source says, before anything is decided about it."""

    name: str
    edges: Edges
    num_nodes: int
    node_names: list[str] | None
    place: Callable[[int], str]  # of a node, for errors: "nodes.csv, line 3"
    attributes: pl.DataFrame | None = None  # one row per node
    features: Csr | Dense | None = None  # where the source has a matrix of them
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class GraphFile:
    """A graph, the labels that came with it, and all that was decided while reading it."""

    graph: Graph
    labels: Mapping[int, str]  # node to class name; a node without a label is not in it
    notes: tuple[str, ...]  # what was dropped, merged or made
    has_features: bool = True  # False: the source has none, and the columns were made from the edges
    attributes: pl.DataFrame | None = field(default=None, repr=False)  # the nodes' columns but for labels


def assemble(parsed: Parsed, *, labels: Labels = True, features: str = "default") -> GraphFile:
    """Decide what the source leaves open. `features` is a rule of scaling: "default" or "raw"."""
    if features not in FEATURES:
        raise InputError(f"unknown feature rule '{features}'; choose from {', '.join(FEATURES)}")
    if parsed.num_nodes == 0:
        raise InputError(f"'{parsed.name}' has no nodes; a graph needs at least one")
    notes = list(parsed.notes)
    adjacency = adjacency_of(parsed.edges, parsed.num_nodes, notes)
    others, label_column = split_labels(parsed.attributes, labels, notes)
    given = labels_of(label_column, parsed.place) if label_column is not None else {}
    x = parsed.features
    if x is None and others is not None:
        x = features_of(others, parsed.place, notes)
    graph = Graph(
        parsed.name,
        adjacency,
        structural_columns(adjacency, notes) if x is None else x,
        _names(parsed.node_names),
        "raw",
    )
    if features == "default":
        graph = apply_rule(graph.name, graph, "default")
    return GraphFile(graph, given, tuple(notes), x is not None, others)


def adjacency_of(edges: Edges, num_nodes: int, notes: list[str]) -> Csr:
    """The undirected graph of these edges; self-loops and weights of 0 go, repetitions become one."""
    edges = _proper(edges, notes)
    low, high = np.minimum(edges.sources, edges.targets), np.maximum(edges.sources, edges.targets)
    # The direction as the last digit: one sort brings repetitions together, and both directions of an edge.
    arcs, weights = _sorted(2 * (low * num_nodes + high) + (edges.sources > edges.targets), edges.weights)
    keys = arcs >> 1
    starts = np.flatnonzero(_is_first(keys))
    _note_listing(edges.listing, len(arcs), int(_is_first(arcs).sum()), len(starts), notes)
    return _symmetric(keys[starts], _merged(weights, starts, notes), num_nodes)


def structural_columns(adjacency: Csr, notes: list[str]) -> Dense:
    """Columns for a graph that has none, cheap on millions of edges.

    Two say how large a node is: log(1 + degree) and its mean over the neighbors. The others say where it is:
    random signs averaged over neighbors, then over theirs (FastRP, Chen et al. 2019), so that nodes with
    common neighbors get similar rows.
    """
    degree = adjacency.row_lengths.float()[:, None]
    size = degree.log1p()
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (adjacency.shape[0], NUM_PROJECTIONS))
    columns = torch.cat([size, torch.from_numpy(signs.astype(np.float32))], dim=1)
    total = adjacency.matmul(torch.ones(adjacency.shape[0], 1)).clamp(min=torch.finfo(torch.float32).tiny)
    once = adjacency.matmul(columns) / total
    twice = adjacency.matmul(once[:, 1:]) / total
    notes.append(
        f"no features were given: {NUM_PROJECTIONS + 2} columns were made from the edges "
        "(degree, the neighbors' degree, random projections of the neighborhood)"
    )
    return Dense(torch.cat([size, once[:, :1], once[:, 1:] + twice], dim=1))


def counted(number: int, thing: str) -> str:
    """ "1 edge", "2,000 edges"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _names(names: list[str] | None) -> tuple[str, ...] | None:
    """None where the names are the numbers a node has anyway."""
    if names is None or all(name == str(node) for node, name in enumerate(names)):
        return None
    return tuple(names)


def _proper(edges: Edges, notes: list[str]) -> Edges:
    """Without self-loops and edges of weight 0, both of which join nothing."""
    is_loop = edges.sources == edges.targets
    is_kept = ~is_loop
    if is_loop.any():
        notes.append(f"{counted(int(is_loop.sum()), 'self-loop')} dropped")
    if edges.weights is not None:
        is_void = is_kept & (edges.weights == 0)
        is_kept &= ~is_void
        if is_void.any():
            notes.append(f"{counted(int(is_void.sum()), 'edge')} of weight 0 dropped")
    if is_kept.all():
        return edges
    weights = None if edges.weights is None else edges.weights[is_kept]
    return Edges(edges.sources[is_kept], edges.targets[is_kept], weights, edges.listing)


def _sorted(
    keys: npt.NDArray[np.int64], weights: npt.NDArray[np.float32] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32] | None]:
    if weights is None:
        return np.sort(keys), None
    order = np.argsort(keys)
    return keys[order], weights[order]


def _is_first(ordered: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which of these sorted numbers differ from the one before."""
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return is_first


def _merged(
    weights: npt.NDArray[np.float32] | None, starts: npt.NDArray[np.int64], notes: list[str]
) -> npt.NDArray[np.float32]:
    """One weight for each edge. Of several the largest is kept, whatever the order of lines."""
    if weights is None or not len(starts):
        return np.ones(len(starts), np.float32)
    largest: npt.NDArray[np.float32] = np.maximum.reduceat(weights, starts)
    num_torn = int((largest != np.minimum.reduceat(weights, starts)).sum())
    if num_torn:
        notes.append(f"{counted(num_torn, 'edge')} listed with different weights: the largest was kept")
    return largest


def _note_listing(listing: Listing, num_listed: int, num_arcs: int, num_edges: int, notes: list[str]) -> None:
    """Say what became of repetitions and of direction; arcs differ in their ends or in their direction."""
    num_mutual = num_arcs - num_edges
    if num_listed > num_arcs:
        notes.append(f"{counted(num_listed - num_arcs, 'repeated edge')} merged")
    if listing == "once" and num_mutual:
        notes.append(f"{counted(num_mutual, 'edge')} listed in both directions, each counted once")
    elif listing == "both ways" and num_mutual < num_edges:
        notes.append(f"direction dropped: {counted(num_edges - num_mutual, 'edge')} went one way only")
    elif listing == "directed" and num_edges:
        notes.append(f"direction dropped: {num_mutual:,} of {counted(num_edges, 'edge')} went both ways")


def _symmetric(keys: npt.NDArray[np.int64], weights: npt.NDArray[np.float32], num_nodes: int) -> Csr:
    """Both directions of edges whose keys, low * num_nodes + high, are sorted and distinct."""
    from scipy.sparse import csr_array

    low, high = np.divmod(keys, num_nodes)
    indptr = np.searchsorted(low, np.arange(num_nodes + 1))
    upper = csr_array((weights, high, indptr), shape=(num_nodes, num_nodes))
    both = (upper + upper.T.tocsr()).tocsr()
    both.sort_indices()
    index = np.int32 if max(both.nnz, num_nodes) < 2**31 else np.int64
    return Csr(
        torch.from_numpy(both.indptr.astype(index)),
        torch.from_numpy(both.indices.astype(index)),
        torch.from_numpy(both.data.astype(np.float32)),
        num_nodes,
    )
