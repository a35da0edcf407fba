"""Named datasets: published graphs, the embedded one, and graphs drawn to order."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gcbr.datasets import digits, npz, planetoid, reddit
from gcbr.datasets.features import FEATURE_RULES, apply_rule, check_rule
from gcbr.datasets.raw import Progress, RawFile, RawFolder
from gcbr.datasets.synthetic import SyntheticConfig, parse_options, synthetic
from gcbr.errors import InputError
from gcbr.graph import Dataset

__all__ = [
    "DATASETS",
    "FEATURE_RULES",
    "DatasetEntry",
    "SyntheticConfig",
    "apply_rule",
    "load_dataset",
    "synthetic",
]


@dataclass(frozen=True)
class DatasetEntry:
    """One named dataset. `load` gives its features raw, as its files hold them."""

    title: str
    description: str
    load: Callable[[RawFolder], Dataset]
    files: tuple[RawFile, ...] = ()  # none: nothing to download


DATASETS: dict[str, DatasetEntry] = {
    "cora": DatasetEntry(
        "Cora",
        "papers on machine learning, citations; 2708 nodes, 7 classes",
        planetoid.CORA.load,
        planetoid.CORA.files,
    ),
    "citeseer": DatasetEntry(
        "CiteSeer",
        "papers on computer science, citations; 3327 nodes, 6 classes",
        planetoid.CITESEER.load,
        planetoid.CITESEER.files,
    ),
    "pubmed": DatasetEntry(
        "PubMed",
        "papers on diabetes, citations; 19717 nodes, 3 classes",
        planetoid.PUBMED.load,
        planetoid.PUBMED.files,
    ),
    "co-cs": DatasetEntry(
        "Coauthor CS",
        "authors in computer science, joint papers; 18333 nodes, 15 classes",
        npz.CO_CS.load,
        npz.CO_CS.files,
    ),
    "co-phy": DatasetEntry(
        "Coauthor Physics",
        "authors in physics, joint papers; 34493 nodes, 5 classes",
        npz.CO_PHY.load,
        npz.CO_PHY.files,
    ),
    "photo": DatasetEntry(
        "Amazon Photo",
        "goods, bought together; 7650 nodes, 8 classes",
        npz.PHOTO.load,
        npz.PHOTO.files,
    ),
    "reddit": DatasetEntry(
        "Reddit",
        "posts, commented by the same users, GloVe features; 4584 nodes, 10 classes",
        reddit.load,
        (reddit.EDGES, reddit.CLASSES, reddit.FEATURES),
    ),
    "reddit-structure": DatasetEntry(
        "Reddit, structure only",
        "the same posts with features computed from the edges; 4584 nodes, 10 classes",
        reddit.load_structure,
        (reddit.EDGES, reddit.CLASSES),
    ),
    "digits": DatasetEntry(
        "Digits",
        "embedded: handwritten digits, nearest neighbors; 710 nodes, 10 classes, skew 10",
        lambda _: digits.load(),
    ),
    "synthetic": DatasetEntry(
        "Synthetic",
        "drawn to order: synthetic:nodes=100000,classes=7,skew=20,homophily=0.7,seed=3",
        lambda _: synthetic(SyntheticConfig(), seed=0),
    ),
}


def load_dataset(
    name: str,
    *,
    data_dir: Path | None = None,
    features: str = "default",
    progress: Progress | None = None,
) -> Dataset:
    """A dataset by name, its features scaled by one of `FEATURE_RULES`; downloads what is missing.

    `synthetic` may carry options: `synthetic:nodes=100000,seed=3`.
    """
    base, colon, options = name.partition(":")
    entry = find_entry(base)
    if colon and base != "synthetic":
        raise InputError(f"'{base}' takes no options, but '{options}' was given; only synthetic does")
    check_rule(base, features)  # before anything is downloaded
    if colon:
        dataset = synthetic(*parse_options(options), name=name)
    else:
        dataset = entry.load(RawFolder(data_dir, progress))
    return replace(dataset, graph=apply_rule(base, dataset.graph, features))


def find_entry(name: str) -> DatasetEntry:
    """The table's entry of this name, or an error with the names there are."""
    if name not in DATASETS:
        close = difflib.get_close_matches(name.lower(), DATASETS, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(f"unknown dataset '{name}'; {hint}choose from {', '.join(DATASETS)}")
    return DATASETS[name]
