"""Guises of a graph of seven nodes in four classes, all of them neighbors of the first."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch

from gcbr.datasets.features import rows_of_norm
from gcbr.datasets.guises import guises
from gcbr.datasets.variations import some_classes
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.splits import last_nodes

X = torch.tensor([[1.0, 0], [2, 0], [3, 1], [0, 4], [5, 5], [0, 6], [7, 1]])


@pytest.fixture
def star() -> Dataset:
    ends = torch.arange(1, 7)
    rows, columns = torch.cat([ends, 0 * ends]), torch.cat([0 * ends, ends])
    adjacency = Csr.from_entries(rows, columns, torch.ones(12), (7, 7))
    graph = Graph("star", adjacency, Dense(X), feature_rule="paper")
    y = torch.tensor([0, 1, 2, 3, 3, 0, 1])
    return Dataset(graph, y, ("red", "blue", "green", "gray"), last_nodes(7))


def test_guises_are_the_same_for_the_same_seed_and_differ_in_classes_and_scale(star: Dataset):
    drawn, again, others = guises(star, 40), guises(star, 40), guises(star, 40, seed=5)

    def described(made: list[Dataset]) -> list[tuple[tuple[str, ...], list[list[float]]]]:
        return [(guise.class_names, guise.graph.x.to_dense().tolist()) for guise in made]

    assert described(drawn) == described(again)
    assert described(drawn) != described(others)
    assert {guise.num_classes for guise in drawn} == {3, 4}
    assert {guise.graph.name for guise in drawn} == {"40 guises of star"}
    whole = [guise.graph.x.to_dense() for guise in drawn if guise.num_classes == 4]
    assert any(torch.equal(x, X) for x in whole)
    shares = X / X.sum(1, keepdim=True)
    assert any(torch.allclose(x, shares - shares.mean(0)) for x in whole)
    norms = [float(x[1].norm()) for x in whole if not torch.equal(x, X) and x.min() >= 0]
    assert all(0.5 <= norm <= 8 for norm in norms)
    assert min(norms) < 2 < 4 < max(norms)


def test_under_the_other_rule_every_guise_has_the_scale_of_its_graph(star: Dataset):
    x = rows_of_norm(Dense(X), 8)
    for guise in guises(replace(star, graph=replace(star.graph, x=x, feature_rule="default")), 20):
        assert guise.graph.x.to_dense().norm(dim=1).tolist() == pytest.approx([8] * guise.graph.num_nodes)


def test_two_classes_have_no_guises(star: Dataset):
    with pytest.raises(
        InputError, match=re.escape("has 2 classes; guises are made of graphs with 3 or more")
    ):
        guises(some_classes(star, torch.tensor([0, 1])), 1)


def test_broad_guises_differ_in_classes_edges_and_features(star: Dataset):
    drawn, again, others = [guises(star, 24, seed, broad=True) for seed in (77, 77, 5)]

    def described(made: list[Dataset]) -> list[tuple[object, ...]]:
        return [
            (g.class_names, g.graph.adjacency.to_dense().tolist(), g.graph.x.to_dense().tolist())
            for g in made
        ]

    assert described(drawn) == described(again)
    assert described(drawn) != described(others)
    assert {guise.graph.name for guise in drawn} == {"24 broad guises of star"}
    # Some classes twice, then merged ones, then halved ones; edges as they are, fewer, more, four times each.
    assert {guise.num_classes for guise in drawn[2::4]} == {3}
    assert {guise.num_classes for guise in drawn[3::4]} == {8}
    halved = drawn[3::4]
    assert [guise.graph.num_edges <= 6 for guise in halved] == [True, True, False, True, True, False]
    assert halved[0].graph.num_edges == 6
    # The second dozen has one of the two features, or none.
    assert {guise.graph.num_features for guise in drawn[:12]} == {2}
    assert {guise.graph.num_features for guise in drawn[12:]} <= {0, 1}
    assert all(len(guise.test) == len(last_nodes(guise.graph.num_nodes)) for guise in drawn)


def test_broad_guises_under_the_other_rule_have_its_norm(star: Dataset):
    x = rows_of_norm(Dense(X), 8)
    for guise in guises(
        replace(star, graph=replace(star.graph, x=x, feature_rule="default")), 24, broad=True
    ):
        norms = guise.graph.x.to_dense().norm(dim=1)
        assert norms[norms > 0].tolist() == pytest.approx([8] * int((norms > 0).sum()))
