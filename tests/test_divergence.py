"""GPA's divergences from and to the neighbors' predictions, every number worked out on paper."""

from math import log

import pytest
import torch
from torch import Tensor

from gcbr.divergence import divergences, mean_over_neighbors, share_of_largest
from gcbr.engine.matrix import Csr


def neighbors_of(edges: list[tuple[int, int]], num_nodes: int, weights: list[float] | None = None) -> Csr:
    ends = torch.tensor(edges).T
    both = torch.cat([ends, ends.flip(0)], dim=1)
    values = torch.tensor(weights or [1.0] * len(edges)).repeat(2)
    return mean_over_neighbors(Csr.from_entries(both[0], both[1], values, (num_nodes, num_nodes)))


PATH = neighbors_of([(0, 1), (1, 2)], 4)  # node 3 has no neighbor
GUESSES = torch.tensor([[[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [1.0, 0.0]]])
HALF_FROM_QUARTER = log(4 / 3) / 2  # (log 2 + log 2/3) / 2
QUARTER_FROM_HALF = 0.75 * log(1.5) - 0.25 * log(2)
QUARTER_FROM_THREE = 0.5 * log(3)  # -log(3) / 4 + 3 log(3) / 4, and the same the other way


def test_divergences_of_a_path():
    of_node, of_neighbors = divergences(GUESSES, PATH)
    assert of_node[0].tolist() == pytest.approx(
        [HALF_FROM_QUARTER, (QUARTER_FROM_HALF + QUARTER_FROM_THREE) / 2, QUARTER_FROM_THREE, 0]
    )
    assert of_neighbors[0].tolist() == pytest.approx(
        [QUARTER_FROM_HALF, (HALF_FROM_QUARTER + QUARTER_FROM_THREE) / 2, QUARTER_FROM_THREE, 0]
    )


def test_every_neighbor_counts_alike_whatever_the_weight_of_its_edge():
    weighted = neighbors_of([(0, 1), (1, 2)], 4, [0.1, 7.0])
    for ours, theirs in zip(divergences(GUESSES, weighted), divergences(GUESSES, PATH), strict=True):
        assert torch.equal(ours, theirs)


def test_games_stand_side_by_side():
    both = divergences(torch.cat([GUESSES, GUESSES.flip(-1), GUESSES.roll(1, dims=1)]), PATH)
    for game, alone in enumerate((GUESSES, GUESSES.flip(-1), GUESSES.roll(1, dims=1))):
        for together, single in zip(both, divergences(alone, PATH), strict=True):
            torch.testing.assert_close(together[game], single[0])


def test_neighbors_that_are_certain_of_different_classes_are_far_apart_and_not_infinitely():
    of_node, of_neighbors = divergences(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), neighbors_of([(0, 1)], 2))
    assert of_node.isfinite().all()
    assert of_node.min() > 50
    assert torch.equal(of_node, of_neighbors)


def test_predictions_that_nearly_agree_are_told_apart():
    """(1/2 + e, 1/2 - e) is 2 e^2 from (1/2, 1/2): for e = 1/8192 less than the rounding of a float."""
    e = 2.0**-13
    of_node, _ = divergences(torch.tensor([[[0.5 + e, 0.5 - e], [0.5, 0.5]]]), neighbors_of([(0, 1)], 2))
    assert of_node[0].tolist() == pytest.approx([2 * e**2] * 2, rel=1e-3)


def column(values: list[float]) -> Tensor:
    return share_of_largest(torch.tensor([values], dtype=torch.float64))


def test_a_column_is_a_share_of_the_largest_in_the_graph():
    assert column([0.0, 0.5, 2.0]).tolist() == [[0.0, 0.25, 1.0]]
    assert column([0.0, 0.5, 2.0]).dtype == torch.float32


def test_where_all_predictions_agree_the_columns_are_0_and_not_rounding_blown_up():
    assert column([0.0, 0.0]).tolist() == [[0.0, 0.0]]
    seventh = torch.full((1, 4, 7), 1 / 7)
    for values in divergences(seventh, PATH):
        assert share_of_largest(values).max() < 1e-5


def test_a_large_graph_needs_no_table_of_pairs():
    """60,000 nodes in a ring: a table of pairs would take 14 GB."""
    ring = neighbors_of([(node, (node + 1) % 60_000) for node in range(60_000)], 60_000)
    guesses = GUESSES[:, torch.arange(60_000) % 2]
    of_node, of_neighbors = divergences(guesses, ring)
    assert of_node[0, :2].tolist() == pytest.approx([HALF_FROM_QUARTER, QUARTER_FROM_HALF])
    assert of_neighbors[0, :2].tolist() == pytest.approx([QUARTER_FROM_HALF, HALF_FROM_QUARTER])
