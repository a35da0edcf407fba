"""Cora in other guises: some of its classes, its features at another scale.

A policy trained on one graph learns that graph by heart. On guises of it in turn, it meets two to three
times as many labels a class, rarer and commoner classes, and classifiers that learn fast and slowly.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gcbr.datasets.features import centered_shares, rows_of_norm
from gcbr.engine.matrix import Csr, Dense, Matrix
from gcbr.graph import Dataset
from gcbr.splits import last_nodes

_SEED = 77
_FEWEST = 3  # classes


def guises(dataset: Dataset, count: int) -> list[Dataset]:
    """So many of them, always the same ones."""
    rng = torch.Generator().manual_seed(_SEED)
    return [_guise(dataset, rng) for _ in range(count)]


def _guise(dataset: Dataset, rng: torch.Generator) -> Dataset:
    num_kept = int(torch.randint(_FEWEST, dataset.num_classes + 1, (1,), generator=rng))
    kept = torch.randperm(dataset.num_classes, generator=rng)[:num_kept].sort().values
    of_classes = some_classes(dataset, kept)
    graph = of_classes.graph
    assert isinstance(graph.x, Csr | Dense), "features are to be raw"
    return replace(of_classes, graph=replace(graph, x=_scaled(graph.x, rng)))


def some_classes(dataset: Dataset, kept: Tensor) -> Dataset:
    """The nodes of these classes and the edges between them."""
    nodes = torch.isin(dataset.y, kept).nonzero().flatten()
    numbers = torch.full((dataset.num_classes,), -1)
    numbers[kept] = torch.arange(len(kept))
    graph = dataset.graph
    adjacency = graph.adjacency.rows(nodes).columns(nodes)
    return Dataset(
        graph=replace(graph, adjacency=adjacency, x=graph.x.rows(nodes), node_names=None),
        y=numbers[dataset.y[nodes]],
        class_names=tuple(dataset.class_names[cls] for cls in kept.tolist()),
        test=last_nodes(len(nodes)),
    )


def _scaled(x: Csr | Dense, rng: torch.Generator) -> Matrix:
    """As it is, as shares of the row, or at a norm from half to 4 or from 2 to 8: one as often as another."""
    kind = int(torch.randint(0, 4, (1,), generator=rng))
    if kind == 0:
        return x
    if kind == 1:
        return centered_shares(x)
    drawn = float(torch.rand(1, generator=rng))
    return rows_of_norm(x, 2 ** (3 * drawn - 1) if kind == 2 else 2 ** (2 * drawn + 1))
