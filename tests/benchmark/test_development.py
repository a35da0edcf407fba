"""Development graphs need real data; without it the tests say so and skip."""

from __future__ import annotations

import pytest
import torch
from benchmarks.development import NUM_GUISES, SEED, development_graphs, runs_on

from gcbr.datasets import guises as of_training


def test_guises_are_none_of_a_training_s():
    assert of_training.SEED != SEED


@pytest.mark.parametrize(
    ("rule", "norms"), [("paper", {"photo slow": 0.5, "photo fast": 2}), ("default", {"photo": 8})]
)
def test_each_graph_is_scaled_by_the_rule_and_labeled_often_enough(data_dir, rule, norms):
    graphs = development_graphs(rule, data_dir)
    assert len(graphs) == NUM_GUISES + len(norms)
    assert {graph.graph.feature_rule for graph in graphs.values()} == {rule}
    assert min(map(runs_on, graphs)) >= 2  # a difference needs a variance
    for name, norm in norms.items():
        rows = graphs[name].graph.x.to_dense()[:50].norm(dim=1)
        torch.testing.assert_close(rows, torch.full((50,), float(norm)))
