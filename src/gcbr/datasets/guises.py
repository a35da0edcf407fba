"""A labeled graph in other guises: some of its classes, and its features at another scale.

A policy trained on one graph learns that graph by heart. On guises of it, it meets three classes as well as
all of them, commoner and rarer ones, other numbers of labels for each, and classifiers that learn faster and
more slowly from an answer: what it will meet on graphs that it has never seen.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gcbr import seeding
from gcbr.datasets.features import centered_shares, rows_of_norm
from gcbr.engine.matrix import Csr, Dense, Matrix
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.splits import last_nodes

FEWEST_CLASSES = 3
SEED = 77


def guises(dataset: Dataset, count: int, seed: int = SEED) -> list[Dataset]:
    """So many of them, the same for the same seed; of three classes, of four and so on up to all, in turn.

    Scales differ under the feature rule `paper` alone: under the other one all graphs have the same.
    """
    if dataset.num_classes < FEWEST_CLASSES:
        raise InputError(
            f"'{dataset.graph.name}' has {dataset.num_classes} classes; guises are made of graphs with "
            f"{FEWEST_CLASSES} or more"
        )
    rng = seeding.generator(seed)
    spans = dataset.num_classes - FEWEST_CLASSES + 1
    drawn = [_guise(dataset, FEWEST_CLASSES + number % spans, rng) for number in range(count)]
    name = f"{count} guises of {dataset.graph.name}"
    return [replace(guise, graph=replace(guise.graph, name=name)) for guise in drawn]


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


def _guise(dataset: Dataset, num_classes: int, rng: torch.Generator) -> Dataset:
    drawn = torch.randperm(dataset.num_classes, generator=rng)[:num_classes]
    guise = some_classes(dataset, drawn.sort().values.to(dataset.y.device))
    if guise.graph.feature_rule != "paper":
        return guise
    return replace(guise, graph=replace(guise.graph, x=_scaled(guise.graph.x, rng)))


def _scaled(x: Matrix, rng: torch.Generator) -> Matrix:
    """As it is, as shares of the row, or at a norm from 1/2 to 4 or from 2 to 8: each as often as another."""
    if not isinstance(x, Csr | Dense):
        raise InputError("features that are scaled already have no guises; give a graph with raw ones")
    kind = seeding.integer(4, rng)
    exponent = float(torch.rand(1, generator=rng))
    if kind == 0:
        return x
    if kind == 1:
        return centered_shares(x)
    return rows_of_norm(x, 2 ** (3 * exponent - 1) if kind == 2 else 2 ** (2 * exponent + 1))
