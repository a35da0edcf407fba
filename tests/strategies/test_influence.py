"""On the path 0 - 1 - 2, one random step has the rows 1/2 1/2 0, 1/3 1/3 1/3 and 0 1/2 1/2."""

import pytest
import torch

from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Graph
from gcbr.strategies import influence
from gcbr.strategies.influence import influence_of, influence_on, strongest_influence

TWO_STEPS = [[5 / 12, 5 / 12, 1 / 6], [5 / 18, 4 / 9, 5 / 18], [1 / 6, 5 / 12, 5 / 12]]


def graph_of(edges: dict[tuple[int, int], float], num_nodes: int) -> Graph:
    rows, columns = torch.tensor(list(edges)).T
    both = torch.cat([rows, columns]), torch.cat([columns, rows])
    weights = torch.tensor(list(edges.values())).repeat(2)
    adjacency = Csr.from_entries(*both, weights, (num_nodes, num_nodes))
    return Graph("drawn", adjacency, Dense(torch.eye(num_nodes)))


PATH = graph_of({(0, 1): 1.0, (1, 2): 1.0}, 3)


@pytest.mark.parametrize("node", range(3))
def test_influence_is_two_random_steps(node: int):
    only = torch.zeros(3)
    only[node] = 1
    assert influence_on(PATH, only).tolist() == pytest.approx(TWO_STEPS[node])
    assert influence_of(PATH, only).tolist() == pytest.approx([row[node] for row in TWO_STEPS])


def test_all_the_influence_on_a_node_is_one():
    weighted = graph_of({(0, 1): 0.3, (1, 2): 5.0, (0, 2): 2.0}, 4)  # node 3 has no edge
    assert influence_of(weighted, torch.ones(4)).tolist() == pytest.approx([1] * 4)


def test_edge_weights_count():
    # steps from 0: 1/4 stay, 3/4 to 1; from 1: 3/4 to 0, 1/4 stay
    pair = graph_of({(0, 1): 3.0}, 2)
    assert influence_on(pair, torch.tensor([1.0, 0.0])).tolist() == pytest.approx([10 / 16, 6 / 16])


def test_the_strongest_influence_is_of_those_who_share_all_neighbors(barbell: Graph, star: Graph):
    assert strongest_influence(star).to_dense().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [1, 0, 0, 0, 1],
    ]
    # 0 and 1 see nothing but their triangle, which 2 sees as well, and more
    left = [[1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    assert strongest_influence(barbell).to_dense().tolist() == left + [row[::-1] for row in left[::-1]]


def test_a_node_counts_even_where_another_is_stronger():
    # Steps from 1: 4/7 to 0, 1/7 stay, 2/7 to 2; from 2: 2/3 to 1, 1/3 stay. So the influence on 2 of 0 is
    # 2/3 * 4/7 = .381, of 1 is 2/3 * 1/7 + 1/3 * 2/3 = .317, and of 2 itself is 2/3 * 2/7 + 1/9 = .302.
    weighted = graph_of({(0, 1): 4.0, (1, 2): 2.0}, 3)
    assert strongest_influence(weighted).to_dense()[2].tolist() == [1, 0, 1]


def test_a_node_without_edges_has_the_strongest_influence_on_itself():
    assert strongest_influence(graph_of({(0, 1): 1.0}, 3)).to_dense().tolist() == [
        [1, 1, 0],
        [1, 1, 0],
        [0, 0, 1],
    ]


def test_working_in_blocks_changes_nothing(barbell: Graph, monkeypatch: pytest.MonkeyPatch):
    whole = strongest_influence(barbell).to_dense()
    monkeypatch.setattr(influence, "_BLOCK", 4)
    assert torch.equal(strongest_influence(barbell).to_dense(), whole)


def test_the_square_of_a_graph_with_a_hub_stays_sparse():
    leaves = 2000  # without care, 4 million pairs of leaves
    star = graph_of({(0, leaf): 1.0 for leaf in range(1, leaves + 1)}, leaves + 1)
    first, second = influence._steps(star)
    assert (first @ second).nnz < 5 * leaves
    strongest = strongest_influence(star)
    assert strongest.rows(torch.tensor([0, 7])).indices.tolist() == [0, 0, 7]
