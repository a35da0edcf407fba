"""Graphs to choose policies by, beside Cora: none of them has a figure in any table of the paper.

Amazon Photo, whose hubs lie between classes as they do in real graphs, at a scale of its features where a
classifier learns slowly and at one where it learns fast; and drawn graphs with the nodes, the edges a node
and the class shares of the paper's, in which every class is made of several topics. Only nodes of a topic
share words and most of their edges, so a class is known when its topics are: hubs alone are not enough, and
neither is a balanced choice of odd nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from gcbr.datasets import load_dataset
from gcbr.datasets.features import DEFAULT_NORM, centered_shares, rows_of_norm
from gcbr.datasets.synthetic import SyntheticConfig, class_sizes, synthetic
from gcbr.engine.matrix import Csr, Dense, Matrix
from gcbr.graph import Dataset

RUNS = {"few edges": 3, "three classes": 4, "slow": 2, "many topics": 2, "photo slow": 2, "photo fast": 2}
PHOTO_NORMS = {"photo slow": 0.5, "photo fast": 2.0}  # of its rows, under the rule `paper`

# Each with the shares of its classes. Words, topics and homophily were set by `random` alone, under the rule
# `paper`: its Macro-F1 is 66, 75, 80 and 85, where the paper has 64, 77 and 83 on the graphs of these sizes.
TOPIC_GRAPHS = {
    "few edges": (
        SyntheticConfig(
            nodes=3327,
            classes=24,
            skew=4,
            homophily=0.7,
            degree=2.74,
            tail=2.9,
            features=3703,
            words=32,
            signal=0.58,
        ),
        (264, 590, 668, 701, 596, 508),
    ),
    "three classes": (
        SyntheticConfig(
            nodes=19717,
            classes=6,
            skew=4,
            homophily=0.6,
            degree=4.5,
            tail=2.9,
            features=100,
            words=50,
            signal=0.5,
        ),
        (4103, 7739, 7875),
    ),
    "slow": (
        SyntheticConfig(
            nodes=34493,
            classes=30,
            skew=8,
            homophily=0.9,
            degree=14.4,
            tail=3.2,
            features=2000,
            words=12,
            signal=0.6,
        ),
        (5750, 5045, 17426, 2753, 3519),
    ),
    "many topics": (
        SyntheticConfig(
            nodes=34493,
            classes=40,
            skew=8,
            homophily=0.85,
            degree=14.4,
            tail=3.2,
            features=300,
            words=20,
            signal=0.25,
        ),
        (5750, 5045, 17426, 2753, 3519),
    ),
}
SEED = 11


def development_graphs(features: str, data: Path | None) -> dict[str, Dataset]:
    """All of them, with the features scaled under a rule; `RUNS` says how often each is labeled."""
    graphs = {
        name: _scaled(_of_topics(*drawn), features, centered_shares) for name, drawn in TOPIC_GRAPHS.items()
    }
    photo = load_dataset("photo", data_dir=data, features="default")
    for name, norm in PHOTO_NORMS.items():
        graphs[name] = _scaled(photo, features, partial(rows_of_norm, norm=norm))
    return graphs


def topics_to_classes(sizes: Sequence[int], shares: Sequence[float]) -> list[int]:
    """The class of each topic: the largest first, each to the class that lacks most of its share."""
    lacking = [share / sum(shares) * sum(sizes) for share in shares]
    classes = [0] * len(sizes)
    for topic in sorted(range(len(sizes)), key=lambda topic: -sizes[topic]):
        classes[topic] = lacking.index(max(lacking))
        lacking[classes[topic]] -= sizes[topic]
    return classes


def _of_topics(config: SyntheticConfig, shares: Sequence[float]) -> Dataset:
    """A drawn graph whose classes are topics, with these gathered into fewer classes."""
    drawn = synthetic(config, SEED)
    classes = torch.tensor(topics_to_classes(class_sizes(config), shares))
    return replace(drawn, y=classes[drawn.y], class_names=tuple(f"class {cls}" for cls in range(len(shares))))


def _scaled(dataset: Dataset, rule: str, under_paper: Callable[[Csr | Dense], Matrix]) -> Dataset:
    x = dataset.graph.x
    assert isinstance(x, Csr | Dense)
    scaled = under_paper(x) if rule == "paper" else rows_of_norm(x, DEFAULT_NORM)
    return replace(dataset, graph=replace(dataset.graph, x=scaled, feature_rule=rule))
