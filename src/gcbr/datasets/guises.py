"""A labeled graph in other guises: what a policy trained on it will meet on graphs that it has never seen.

A policy trained on one graph learns that graph by heart. A guise is of some of its classes, with features
at another scale: three classes as well as all of them, commoner and rarer ones, other numbers of labels for
each, and classifiers that learn faster and more slowly from an answer. A broad guise may also have classes
put together or cut in two, fewer edges or more, and fewer features.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from gcbr import seeding
from gcbr.datasets.features import DEFAULT_NORM, centered_shares, rows_of_norm
from gcbr.datasets.variations import halved_classes, merged_classes, some_classes, some_columns, with_edges
from gcbr.engine.matrix import Csr, Dense, Matrix
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.splits import last_nodes

FEWEST_CLASSES = 3
SEED = 77


def guises(dataset: Dataset, count: int, seed: int = SEED, *, broad: bool = False) -> list[Dataset]:
    """So many of them, the same for the same seed; their kinds come in turn.

    Scales differ under the feature rule `paper` alone: under the other one all graphs have the same.
    """
    if dataset.num_classes < FEWEST_CLASSES:
        raise InputError(
            f"'{dataset.graph.name}' has {dataset.num_classes} classes; guises are made of graphs with "
            f"{FEWEST_CLASSES} or more"
        )
    rng = seeding.generator(seed)
    make = _broad_guise if broad else _guise
    drawn = [make(dataset, number, rng) for number in range(count)]
    name = f"{count} {'broad ' if broad else ''}guises of {dataset.graph.name}"
    return [replace(guise, graph=replace(guise.graph, name=name)) for guise in drawn]


def _guise(dataset: Dataset, number: int, rng: torch.Generator) -> Dataset:
    """Of three classes, of four and so on up to all, in turn."""
    spans = dataset.num_classes - FEWEST_CLASSES + 1
    guise = _of_classes(dataset, FEWEST_CLASSES + number % spans, rng)
    if guise.graph.feature_rule != "paper":
        return guise
    kind = seeding.integer(4, rng)
    return replace(guise, graph=replace(guise.graph, x=_scaled(_raw(guise), kind, _share(rng))))


def _broad_guise(dataset: Dataset, number: int, rng: torch.Generator) -> Dataset:
    """Of some classes (twice in four), merged or halved ones; every third with fewer edges, every third with
    up to four times as many; every second dozen with fewer features."""
    guise = _with_edges(_with_classes(dataset, number % 4, rng), number // 4 % 3, rng)
    x = _raw(guise)
    if number // 12 % 2 == 1:
        x = some_columns(x, 0.25 + 0.5 * _share(rng), rng)
    if guise.graph.feature_rule == "paper":
        scaled: Matrix = _scaled(x, int(4 * _share(rng)), _share(rng))
    else:
        scaled = rows_of_norm(x, DEFAULT_NORM)
    test = last_nodes(guise.graph.num_nodes)
    return replace(guise, graph=replace(guise.graph, x=scaled, node_names=None), test=test, public_train=None)


def _with_classes(dataset: Dataset, kind: int, rng: torch.Generator) -> Dataset:
    more = dataset.num_classes - FEWEST_CLASSES
    if kind < 2:
        num_classes = FEWEST_CLASSES + int((more + 1) * _share(rng))
        return dataset if num_classes == dataset.num_classes else _of_classes(dataset, num_classes, rng)
    if kind == 2:
        return merged_classes(dataset, FEWEST_CLASSES + int(max(more - 1, 0) * _share(rng)), rng)
    return halved_classes(dataset, rng)


def _with_edges(dataset: Dataset, kind: int, rng: torch.Generator) -> Dataset:
    if kind == 0:
        return dataset
    share = _share(rng)
    return with_edges(dataset, 0.4 + 0.6 * share if kind == 1 else 1 + 3 * share, rng)


def _of_classes(dataset: Dataset, num_classes: int, rng: torch.Generator) -> Dataset:
    drawn = torch.randperm(dataset.num_classes, generator=rng)[:num_classes]
    return some_classes(dataset, drawn.sort().values.to(dataset.y.device))


def _scaled(x: Csr | Dense, kind: int, share: float) -> Matrix:
    """As it is, as shares of the row, or at a norm from 1/2 to 4 or from 2 to 8."""
    if kind == 0:
        return x
    if kind == 1:
        return centered_shares(x)
    return rows_of_norm(x, 2 ** (3 * share - 1) if kind == 2 else 2 ** (2 * share + 1))


def _share(rng: torch.Generator) -> float:
    return float(torch.rand(1, generator=rng))


def _raw(dataset: Dataset) -> Csr | Dense:
    if not isinstance(dataset.graph.x, Csr | Dense):
        raise InputError("features that are scaled already have no guises; give a graph with raw ones")
    return dataset.graph.x
