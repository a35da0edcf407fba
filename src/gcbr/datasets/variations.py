"""Other labeled graphs out of one: with other classes, with fewer or more edges, with fewer features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy.sparse import csr_array, triu
from torch import Tensor

from gcbr.datasets.sparse import undirected
from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Dataset
from gcbr.splits import last_nodes

_SMOOTHING = 20  # propagations after which noise is nearly the same all over a neighborhood
_DIRECTIONS = 16


def some_classes(dataset: Dataset, classes: Tensor) -> Dataset:
    """The nodes of these classes and the edges between them; the test set is again of the last nodes."""
    nodes = torch.isin(dataset.y, classes).nonzero().flatten()
    graph = dataset.graph
    part = replace(
        graph,
        adjacency=graph.adjacency.rows(nodes).columns(nodes),
        x=graph.x.rows(nodes),
        node_names=None,
    )
    names = tuple(dataset.class_names[cls] for cls in classes.tolist())
    return Dataset(part, torch.searchsorted(classes, dataset.y[nodes]), names, last_nodes(len(nodes)))


def merged_classes(dataset: Dataset, num_classes: int, rng: torch.Generator) -> Dataset:
    """Every class put into one of fewer, at random; none of these is empty."""
    while True:
        into = torch.randint(num_classes, (dataset.num_classes,), generator=rng)
        if len(set(into.tolist())) == num_classes:
            break
    members: list[list[str]] = [[] for _ in range(num_classes)]
    for name, cls in zip(dataset.class_names, into.tolist(), strict=True):
        members[cls].append(name)
    return replace(dataset, y=into[dataset.y], class_names=tuple(" or ".join(names) for names in members))


def halved_classes(dataset: Dataset, rng: torch.Generator) -> Dataset:
    """Every class cut in two that lie apart in the graph, the smaller with 30% of its nodes at least.

    Noise is spread along the edges until neighbors have much the same; a class is cut where that differs
    most within it.
    """
    spread = torch.randn(dataset.graph.num_nodes, _DIRECTIONS, generator=rng)
    for _ in range(_SMOOTHING):
        spread = dataset.graph.propagation.matmul(spread)
    halves = torch.zeros_like(dataset.y)
    for cls in range(dataset.num_classes):
        nodes = (dataset.y == cls).nonzero().flatten()
        here = spread[nodes]
        main_direction = torch.linalg.svd(here - here.mean(0), full_matrices=False).U[:, 0]
        share = 0.3 + 0.4 * float(torch.rand(1, generator=rng))
        halves[nodes] = 2 * cls + (main_direction > main_direction.quantile(share)).long()
    names = tuple(f"{half} of {name}" for name in dataset.class_names for half in ("one part", "the rest"))
    return replace(dataset, y=halves, class_names=names)


def with_edges(dataset: Dataset, times: float, rng: torch.Generator) -> Dataset:
    """So many times the edges: some of them, or all and some between nodes that have a neighbor in common."""
    num_nodes = dataset.graph.num_nodes
    draws = np.random.default_rng(int(torch.randint(2**31, (1,), generator=rng)))
    sources, targets = _edges(dataset.graph.adjacency)
    if times < 1:
        is_kept = torch.from_numpy(draws.random(len(sources)) < times)
        sources, targets = sources[is_kept], targets[is_kept]
    else:
        firsts, seconds = _two_steps_apart(dataset.graph.adjacency)
        count = min(len(firsts), int(len(sources) * (times - 1)))
        chosen = torch.from_numpy(draws.choice(len(firsts), count, replace=False))
        sources, targets = torch.cat([sources, firsts[chosen]]), torch.cat([targets, seconds[chosen]])
    adjacency = undirected(sources, targets, num_nodes)
    return replace(dataset, graph=replace(dataset.graph, adjacency=adjacency))


def some_columns(x: Csr | Dense, share: float, rng: torch.Generator) -> Csr | Dense:
    """This share of the features, drawn at random."""
    num_columns = x.shape[1]
    kept = torch.randperm(num_columns, generator=rng)[: int(num_columns * share)].sort().values
    return Dense(x.values[:, kept]) if isinstance(x, Dense) else x.columns(kept)


def _edges(adjacency: Csr) -> tuple[Tensor, Tensor]:
    """Each once, the lower node first."""
    rows, columns = adjacency.row_of_entry, adjacency.indices.long()
    is_upper = rows < columns
    return rows[is_upper], columns[is_upper]


def _two_steps_apart(adjacency: Csr) -> tuple[Tensor, Tensor]:
    """Pairs with a neighbor in common and no edge, each once, the lower node first."""
    num_nodes = adjacency.shape[0]
    parts = (adjacency.values.numpy(), adjacency.indices.numpy(), adjacency.indptr.numpy())
    steps = csr_array(parts, shape=adjacency.shape)
    both = triu(steps @ steps, k=1).tocoo()
    firsts, seconds = torch.from_numpy(both.row).long(), torch.from_numpy(both.col).long()
    joined = adjacency.row_of_entry * num_nodes + adjacency.indices
    is_new = ~torch.isin(firsts * num_nodes + seconds, joined)
    return firsts[is_new], seconds[is_new]
