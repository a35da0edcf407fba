"""Who activates whom on the barbell is worked out in test_influence: 2 does 0, 1 and 2; 0 only 0 and 1."""

import pytest
import torch

from gcbr.engine.matrix import Csr
from gcbr.graph import Graph
from gcbr.strategies import grain
from gcbr.strategies.grain import Grain, ball_similarity, covered_by, newly_reached
from gcbr.strategies.influence import strongest_influence

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]


def diagonal(num_nodes: int) -> Csr:
    nodes = torch.arange(num_nodes)
    return Csr.from_entries(nodes, nodes, torch.ones(num_nodes), (num_nodes, num_nodes))


def test_the_gain_is_the_share_of_rows_newly_reached(barbell: Graph):
    activated_by = strongest_influence(barbell)
    nobody = torch.zeros(6, 1)
    assert newly_reached(activated_by, nobody).tolist() == pytest.approx(
        [1 / 3, 1 / 3, 1 / 2, 1 / 2, 1 / 3, 1 / 3]
    )
    second = nobody.clone()
    second[2] = 1
    assert newly_reached(activated_by, second).tolist() == pytest.approx([0, 0, 0, 1 / 2, 1 / 3, 1 / 3])
    first = nobody.clone()
    first[0] = 1
    assert newly_reached(activated_by, first).tolist() == pytest.approx([0, 0, 1 / 6, 1 / 2, 1 / 3, 1 / 3])


def test_a_ball_holds_its_share_of_the_nodes():
    # of the 16 cosines 8 are 1 and 8 are 0
    directions = torch.tensor([EAST, EAST, NORTH, NORTH])
    assert ball_similarity(directions, 1 / 2) == pytest.approx(1, abs=1e-5)
    assert ball_similarity(directions, 3 / 4) == pytest.approx(0, abs=1e-5)


def test_a_ball_holds_at_least_its_center():
    directions = torch.nn.functional.normalize(torch.tensor([[3.0, 1.0], [1.0, 3.0], [1.0, 1.0]]))
    assert ball_similarity(directions, 1 / 1000) == pytest.approx(1, abs=1e-5)
    least = ball_similarity(directions, 1 / 1000)
    assert covered_by(directions, directions, diagonal(3), least).to_dense().tolist() == torch.eye(3).tolist()


@pytest.mark.parametrize("block", [1, 256])
def test_a_node_covers_the_balls_of_all_it_activates(monkeypatch: pytest.MonkeyPatch, block: int):
    # node 0 activates 1 as well, so it covers both directions
    monkeypatch.setattr(grain, "_BLOCK", block)
    directions = torch.tensor([EAST, NORTH, NORTH])
    activated_by = Csr.from_entries(
        torch.tensor([0, 1, 1, 2]), torch.tensor([0, 0, 1, 2]), torch.ones(4), (3, 3)
    )
    covered = covered_by(directions, directions, activated_by, 0.9)
    assert covered.to_dense().tolist() == [[1, 0, 0], [1, 1, 1], [1, 1, 1]]


def test_the_ends_of_the_bridge_come_first(barbell: Graph, make_view):
    # each activates half of the nodes; no other does, and after the first only the second does
    strategy = Grain(barbell, 3, torch.Generator().manual_seed(0))
    first = strategy.select(make_view(barbell))
    assert first in (2, 3)
    assert strategy.select(make_view(barbell, labels={first: 0})) == 5 - first
    assert strategy.select(make_view(barbell, pending=(first,))) == 5 - first


def test_what_is_alike_is_covered_already(make_view, star: Graph):
    # Three leaves are alike and one is apart. Each activates itself alone; the center is no candidate.
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    graph = Graph("star", star.adjacency, type(star.x)(x))  # type: ignore[call-arg]
    strategy = Grain(graph, 2, torch.Generator().manual_seed(0))
    first = strategy.select(make_view(graph, candidates=[1, 2, 3, 4]))
    assert first in (1, 2, 3)
    left = [leaf for leaf in (1, 2, 3, 4) if leaf != first]
    assert strategy.select(make_view(graph, candidates=left, labels={first: 0})) == 4


def test_coverage_of_a_larger_graph_is_measured_on_a_sample(barbell: Graph, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(grain, "_REFERENCES", 4)
    assert Grain(barbell, 2, torch.Generator().manual_seed(0))._covered_by.shape == (4, 6)
