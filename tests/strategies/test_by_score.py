import pytest
import torch

from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Graph
from gcbr.strategies.by_score import Degree, Entropy, Margin, PageRank
from gcbr.view import Strategy

RNG = torch.Generator()


def test_entropy_and_margin_differ_on_three_classes(barbell: Graph, make_view):
    # 0: two classes tie and the third is out, entropy .63; 1: entropy .94, lead .2
    rows = [[0.5, 0.5, 0.0], [0.5, 0.3, 0.2]] + [[1.0, 0.0, 0.0]] * 4
    assert Margin(barbell, 6, RNG).select(make_view(barbell, rows)) == 0
    assert Entropy(barbell, 6, RNG).select(make_view(barbell, rows)) == 1


def test_degree_counts_neighbors(star: Graph, make_view):
    assert Degree(star, 5, RNG).select(make_view(star)) == 0


def test_pagerank_prefers_the_node_that_many_depend_on(make_view):
    # 0 and 1 both have three neighbors: 1 is the only one of its two leaves, 0 shares a triangle
    edges = torch.tensor([[0, 1], [0, 2], [0, 3], [2, 3], [1, 4], [1, 5]]).T
    both = torch.cat([edges, edges.flip(0)], dim=1)
    graph = Graph("two centers", Csr.from_entries(*both, torch.ones(12), (6, 6)), Dense(torch.eye(6)))
    assert PageRank(graph, 6, RNG).select(make_view(graph)) == 1


@pytest.mark.parametrize("strategy", [Degree, PageRank])
def test_the_best_candidate_is_chosen_not_the_best_node(strategy: type[Strategy], barbell: Graph, make_view):
    made = strategy(barbell, 6, RNG)  # type: ignore[call-arg]
    assert made.select(make_view(barbell)) in (2, 3)
    assert made.select(make_view(barbell, candidates=[0, 3, 5])) == 3


def test_among_equals_any_may_be_chosen(star: Graph, make_view):
    views = [make_view(star, candidates=[1, 2, 3, 4], seed=seed) for seed in range(60)]
    assert {Degree(star, 5, RNG).select(view) for view in views} == {1, 2, 3, 4}
