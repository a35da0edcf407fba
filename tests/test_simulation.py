"""One experiment from the first label to the figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from gcbr import seeding
from gcbr.datasets import load_dataset
from gcbr.engine.matrix import Csr
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.simulation import default_budget, run_simulation
from gcbr.splits import draw_split


def test_the_default_budget_is_20_a_class_where_the_pool_is_large_enough():
    # 3000 nodes: 1000 to test and 500 to validate leave 1500; 6 classes ask for 120.
    dataset = load_dataset("synthetic:nodes=3000,classes=6")
    assert default_budget(dataset) == 120


def test_the_default_budget_of_a_small_graph_is_a_third_of_its_pool():
    # 710 digits: 284 to test and 142 to validate leave 284; ten classes would ask for 200 of them.
    assert default_budget(load_dataset("digits")) == 94


def test_a_result_says_what_happened(skewed: Dataset):
    result = run_simulation(skewed, "random", budget=12, seed=3, curve_points=4)
    assert len(set(result.nodes)) == 12
    assert result.classes == tuple(skewed.y[list(result.nodes)].tolist())
    assert result.counts == tuple(torch.bincount(skewed.y[list(result.nodes)], minlength=skewed.num_classes))
    assert result.final.imbalance_ratio == pytest.approx(min(result.counts) / max(result.counts))
    assert [score.labels for score in result.curve] == [3, 6, 9, 12]
    assert result.final.labels == 12


def test_only_nodes_of_the_pool_are_asked(skewed: Dataset):
    result = run_simulation(skewed, "random", budget=30, seed=5, curve_points=1)
    split = draw_split(skewed, seeding.generator(5))
    assert set(result.nodes) <= set(split.pool.tolist())


def test_a_seed_gives_the_same_result_and_another_seed_another(skewed: Dataset):
    first, again, other = (
        run_simulation(skewed, "random", budget=10, seed=seed, curve_points=2) for seed in (1, 1, 2)
    )
    unchanging = {"cpu_seconds": 0.0, "wall_seconds": 0.0, "peak_megabytes": 0.0}
    assert replace(first, **unchanging) == replace(again, **unchanging)
    assert first.nodes != other.nodes


def test_final_training_changes_the_figures_and_never_the_choice(skewed: Dataset):
    short, long = (
        run_simulation(skewed, "random", budget=10, seed=1, curve_points=1, final_epochs=epochs)
        for epochs in (1, 60)
    )
    assert short.nodes == long.nodes
    assert short.curve == long.curve
    assert short.final != long.final


def test_one_class_is_refused(skewed: Dataset):
    with pytest.raises(InputError, match="has one class"):
        run_simulation(replace(skewed, y=torch.zeros_like(skewed.y)), "random", budget=5)


def test_a_graph_without_edges_is_refused(skewed: Dataset):
    num_nodes = skewed.graph.num_nodes
    nothing = torch.zeros(0, dtype=torch.long)
    empty = Csr.from_entries(nothing, nothing, torch.zeros(0), (num_nodes, num_nodes))
    with pytest.raises(InputError, match="has no edges"):
        run_simulation(replace(skewed, graph=replace(skewed.graph, adjacency=empty)), "random", budget=5)
