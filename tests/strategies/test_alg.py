"""Influences on the path 0 - 1 - 2 are worked out in test_influence."""

import pytest
import torch

from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Graph
from gcbr.strategies.alg import ALG
from gcbr.strategies.influence import influence_of, influence_on


def alg(graph: Graph) -> ALG:
    return ALG(graph, 10, torch.Generator())


def graph_of(edges: list[tuple[int, int]], num_nodes: int) -> Graph:
    ends = torch.tensor(edges).T
    both = torch.cat([ends, ends.flip(0)], dim=1)
    adjacency = Csr.from_entries(*both, torch.ones(2 * len(edges)), (num_nodes, num_nodes))
    return Graph("drawn", adjacency, Dense(torch.eye(num_nodes)))


def test_the_gain_after_a_label_at_the_end_of_a_path():
    # The label holds 5/12, 5/18 and 1/6 of the receptive fields; at 1/5 a node counts 1/e, so they count
    # exp(-25/12) = .124514, exp(-25/18) = .249352 and exp(-5/6) = .434598. Node 1 gains 5/12, 4/9 and 5/12 of
    # these, node 2 gains 1/6, 5/18 and 5/12.
    path = graph_of([(0, 1), (1, 2)], 3)
    uncovered = (-influence_of(path, torch.tensor([1.0, 0.0, 0.0])) / 0.2).exp()
    assert uncovered.tolist() == pytest.approx([0.124514, 0.249352, 0.434598], abs=1e-5)
    assert influence_on(path, uncovered).tolist()[1:] == pytest.approx([0.343787, 0.271099], abs=1e-5)


def test_covered_nodes_count_little(make_view):
    # two stars, of five and three leaves: the second center comes second, before any leaf of the first
    graph = graph_of([(0, leaf) for leaf in range(1, 6)] + [(6, leaf) for leaf in range(7, 10)], 10)
    assert alg(graph).select(make_view(graph)) == 0
    assert alg(graph).select(make_view(graph, labels={0: 0})) == 6
    assert alg(graph).select(make_view(graph, pending=(0,))) == 6


def test_a_predicted_class_that_has_its_share_is_closed(star: Graph, make_view):
    # budget 4, two classes: two labels of class 0 are its share, and the center is predicted in it
    rows = [[0.6, 0.4], [0.6, 0.4], [0.6, 0.4], [0.4, 0.6], [0.6, 0.4]]
    assert alg(star).select(make_view(star, rows, budget=4, labels={1: 0})) == 0
    assert alg(star).select(make_view(star, rows, budget=4, labels={1: 0, 2: 0})) == 3
    rows[2] = [1.0, 0.0]  # expected in class 0, and that counts as much as an answer
    assert alg(star).select(make_view(star, rows, budget=4, labels={1: 0}, pending=(2,))) == 3


def test_when_every_predicted_class_is_closed_all_are_open(star: Graph, make_view):
    rows = [[0.6, 0.4]] * 5
    assert alg(star).select(make_view(star, rows, budget=4, labels={1: 0, 2: 0})) == 0


def test_what_the_classifier_is_sure_of_counts_for_nothing(make_view):
    # two stars, of five and three leaves: of the larger one everything is known
    graph = graph_of([(0, leaf) for leaf in range(1, 6)] + [(6, leaf) for leaf in range(7, 10)], 10)
    rows = [[1.0, 0.0]] * 6 + [[0.5, 0.5]] * 4
    assert alg(graph).select(make_view(graph, rows)) == 6
    # of the smaller one but a leaf as well: two steps from it end there and at the center with 3/8 each,
    # staying half the time and coming from the center a quarter, and at each other leaf with 1/8
    rows[6:9] = [[0.0, 1.0]] * 3
    assert alg(graph).select(make_view(graph, rows)) in (6, 9)
