"""Graphs to choose policies by, beside Cora and its guises: none has a figure in a table of the paper.

Broad guises of Cora that no training had, and Amazon Photo, whose hubs lie between classes, at a scale of its
features where a classifier learns slowly and at one where it learns fast. All are real: on graphs drawn by
a model of blocks, however like the paper's in size, degree and speed of learning, other policies win.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gcbr.datasets import load_dataset
from gcbr.datasets.features import DEFAULT_NORM, rows_of_norm
from gcbr.datasets.guises import guises
from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Dataset

SEED = 1000  # of guises; those of trainings have another
NUM_GUISES = 24  # one of each kind
# Norms of Photo's rows, under the rule `paper`; the other rule has one for all.
PHOTO_NORMS = {"paper": {"photo slow": 0.5, "photo fast": 2.0}, "default": {"photo": DEFAULT_NORM}}


def runs_on(name: str) -> int:
    """How often the graph of this name is labeled: a guise is one of many."""
    return 4 if name.startswith("photo") else 2


def development_graphs(features: str, data: Path | None) -> dict[str, Dataset]:
    """All of them by name, with the features scaled under a rule."""
    cora = load_dataset("cora", data_dir=data, features=features)
    drawn = guises(cora, NUM_GUISES, SEED, broad=True)
    graphs = {f"broad guise {number}": guise for number, guise in enumerate(drawn, start=1)}
    photo = load_dataset("photo", data_dir=data, features="default")
    return graphs | {name: scaled(photo, features, norm) for name, norm in PHOTO_NORMS[features].items()}


def scaled(dataset: Dataset, rule: str, norm: float) -> Dataset:
    x = dataset.graph.x
    assert isinstance(x, Csr | Dense)
    return replace(dataset, graph=replace(dataset.graph, x=rows_of_norm(x, norm), feature_rule=rule))
