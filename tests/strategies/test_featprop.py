"""On the barbell 0 and 1 have the same neighbors, so the same propagated features, and so have 4 and 5.

The center of the left triangle lies one third of the way from that point to node 2: 0 and 1 are nearest.
"""

import pytest
import torch

from gcbr.graph import Graph
from gcbr.learner import ActiveLearner
from gcbr.strategies.featprop import FeatProp


def featprop(graph: Graph, budget: int, seed: int = 0) -> FeatProp:
    return FeatProp(graph, budget, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", range(5))
def test_one_node_of_each_triangle_nearest_its_center(barbell: Graph, make_view, seed: int):
    strategy = featprop(barbell, 2, seed)
    first = strategy.select(make_view(barbell))
    second = strategy.select(make_view(barbell, labels={first: 0}))
    assert {first, second} in ({0, 4}, {0, 5}, {1, 4}, {1, 5})


def test_a_pending_node_stands_for_its_cluster(barbell: Graph, make_view):
    strategy = featprop(barbell, 2)
    assert strategy.select(make_view(barbell, pending=(0,))) in (4, 5)


def test_a_node_that_cannot_be_asked_is_replaced_by_the_next_nearest(barbell: Graph, make_view):
    strategy = featprop(barbell, 2)
    assert strategy.select(make_view(barbell, labels={5: 1}, candidates=[1, 2, 3, 4])) == 1
    assert strategy.select(make_view(barbell, labels={5: 1}, candidates=[2, 3, 4])) == 2


def test_a_label_given_unasked_spares_its_cluster_a_question(barbell: Graph, make_view):
    assert featprop(barbell, 2).select(make_view(barbell, labels={2: 0})) in (4, 5)


def test_when_every_cluster_is_served_it_goes_round_again(barbell: Graph, make_view):
    strategy = featprop(barbell, 2)
    third = strategy.select(make_view(barbell, labels={0: 0, 4: 1}))
    assert third in (1, 5)
    assert strategy.select(make_view(barbell, labels={0: 0, 4: 1, third: 0})) == {1: 5, 5: 1}[third]


def test_the_largest_cluster_comes_first(make_view, star: Graph):
    # the four leaves have two clusters' worth of features: three alike, and one that is far away
    x = torch.tensor([[0.0], [0.0], [0.0], [0.0], [50.0]])
    graph = Graph("star", star.adjacency, type(star.x)(x))  # type: ignore[call-arg]
    strategy = featprop(graph, 2)
    first = strategy.select(make_view(graph))
    assert first in (1, 2, 3)
    assert strategy.select(make_view(graph, labels={first: 0})) == 4


def test_no_prediction_changes_the_questions(barbell: Graph):
    asked = []
    for answers in ("ab", "ba"):
        learner = ActiveLearner(barbell, FeatProp, budget=4, classes=("a", "b"))
        nodes = []
        for step in range(4):
            nodes += learner.ask()
            learner.tell(nodes[-1], answers[step % 2])
        asked.append(nodes)
    assert asked[0] == asked[1]
