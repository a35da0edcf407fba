import torch

from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Graph
from gcbr.strategies.featprop import FeatProp
from gcbr.strategies.graphpart import GraphPart, communities, merge_small, proportional


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_the_communities_of_the_barbell_are_its_triangles(barbell: Graph):
    assert [nodes.tolist() for nodes in communities(barbell, rng())] == [[0, 1, 2], [3, 4, 5]]


def test_a_node_without_edges_is_a_community():
    adjacency = Csr.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (4, 4))
    graph = Graph("pair and two", adjacency, Dense(torch.eye(4)))
    assert [nodes.tolist() for nodes in communities(graph, rng())] == [[0, 1], [2], [3]]


def test_a_heavy_bridge_makes_a_community(barbell: Graph):
    weights = torch.where(
        (barbell.adjacency.row_of_entry - barbell.adjacency.indices).abs() == 1, 1.0, 0.001
    )  # of the edges 0-1, 1-2, 2-3, 3-4 and 4-5
    bridge = ((barbell.adjacency.row_of_entry == 2) & (barbell.adjacency.indices == 3)) | (
        (barbell.adjacency.row_of_entry == 3) & (barbell.adjacency.indices == 2)
    )
    heavy = Csr(
        barbell.adjacency.indptr,
        barbell.adjacency.indices,
        torch.where(bridge, 100.0, weights),
        num_columns=6,
    )
    assert any(
        {2, 3} <= set(nodes.tolist()) for nodes in communities(Graph("heavy", heavy, barbell.x), rng())
    )


def test_small_communities_are_taken_together():
    parts = [torch.tensor(nodes) for nodes in ([0, 1, 2], [3], [4, 5], [6, 7, 8, 9])]
    assert [part.tolist() for part in merge_small(parts, 3)] == [[0, 1, 2], [6, 7, 8, 9], [3, 4, 5]]
    assert [part.tolist() for part in merge_small(parts[:1], 3)] == [[0, 1, 2]]


def test_labels_are_shared_out_by_size():
    assert proportional([50, 30, 20], 10) == [5, 3, 2]
    assert proportional([5, 4, 1], 4) == [2, 2, 1]  # 2, 1.6 and 0.4: the 1.6 is rounded up, nobody gets 0
    assert proportional([7], 3) == [3]


def test_alike_features_in_two_communities_are_asked_for_twice(barbell: Graph, make_view):
    # With the same features everywhere, a node's propagated ones depend on its degree alone: {0, 1, 4, 5} and
    # {2, 3} are FeatProp's clusters, where GraphPart has one node of each triangle.
    plain = Graph("plain", barbell.adjacency, Dense(torch.ones(6, 1)))

    def first_two(strategy: FeatProp | GraphPart) -> set[int]:
        first = strategy.select(make_view(plain))
        return {first, strategy.select(make_view(plain, labels={first: 0}))}

    assert first_two(FeatProp(plain, 2, rng())) & {2, 3}
    parted = first_two(GraphPart(plain, 2, rng()))
    assert len(parted & {0, 1}) == len(parted & {4, 5}) == 1
