"""Data and classifier held against published figures: what every other number here stands on."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

import pytest

from gcbr import seeding
from gcbr.classifier import GCNClassifier
from gcbr.datasets import load_dataset
from gcbr.datasets.features import rows_summing_to_one
from gcbr.graph import Labels
from gcbr.simulation import Score, run_simulation

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "published"), [("cora", 81.5), ("citeseer", 70.3), ("pubmed", 79.0)]
)  # Kipf and Welling 2017, Table 2
def test_the_public_training_sets_give_the_published_accuracy(
    name: str, published: float, data_dir: Path
) -> None:
    dataset = load_dataset(name, data_dir=data_dir, features="default")
    graph = replace(dataset.graph, x=rows_summing_to_one(dataset.graph.x))
    train = dataset.public_train
    labels = Labels(tuple(train.tolist()), tuple(dataset.y[train].tolist()))
    accuracies = []
    for seed in range(10):
        classifier = GCNClassifier(graph, dataset.num_classes, seeding.generator(seed))
        classifier.update(labels, epochs=200)
        predicted = classifier.predict().probabilities.argmax(-1)
        right = predicted[dataset.test] == dataset.y[dataset.test]
        accuracies.append(100 * float(right.float().mean()))
    print(f"{name}: {mean(accuracies):.2f} (published {published})")
    assert mean(accuracies) > published - 1.5


# Fifty runs on CiteSeer, as in the paper: one that finds few nodes of a class loses ten points of Macro-F1.
@pytest.mark.parametrize(
    ("name", "figure", "runs", "band"),
    [
        ("citeseer", "micro_f1", 50, (69.0, 72.0)),
        pytest.param(
            "citeseer",
            "macro_f1",
            50,
            (62.0, 66.0),
            marks=pytest.mark.xfail(reason="the mean is 61.82 ± 0.77"),
        ),
        ("pubmed", "micro_f1", 10, (75.0, 79.5)),
        ("co-cs", "micro_f1", 10, (87.5, 91.5)),
        ("co-phy", "micro_f1", 10, (89.5, 93.0)),
    ],
)
def test_random_choice_gives_the_paper_figures_under_its_feature_rule(
    name: str, figure: str, runs: int, band: tuple[float, float], data_dir: Path
) -> None:
    values = [100 * getattr(final, figure) for final in random_finals(name, runs, data_dir)]
    reach = 2 * stdev(values) / sqrt(runs)  # about 95%
    print(f"{name}: {figure} {mean(values):.2f} ± {reach:.2f}, n = {runs}, band {band}")
    assert band[0] <= mean(values) <= band[1]


@cache
def random_finals(name: str, runs: int, data_dir: Path) -> list[Score]:
    dataset = load_dataset(name, data_dir=data_dir, features="paper")
    return [run_simulation(dataset, "random", seed=seed, curve_points=1).final for seed in range(runs)]
