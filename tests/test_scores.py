"""Every score against numbers worked out on paper."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gcbr import scores
from gcbr.engine.matrix import Csr
from gcbr.graph import Graph

NEAR = {"abs": 1e-5}


def weighted(edges: dict[tuple[int, int], float], num_nodes: int) -> Csr:
    rows, columns = torch.tensor(list(edges)).T
    weights = torch.tensor(list(edges.values()))
    both = torch.cat([rows, columns]), torch.cat([columns, rows])
    return Csr.from_entries(*both, weights.repeat(2), (num_nodes, num_nodes))


def test_pagerank_of_a_star(star: Graph):
    # center = .03 + .85 * 4 * leaf, leaf = .03 + .85 * center / 4: center = .132 / .2775
    assert scores.pagerank(star.adjacency).tolist() == pytest.approx([0.475676] + [0.131081] * 4, **NEAR)


def test_a_node_without_edges_hands_its_pagerank_to_all():
    # alone = .05 + .85 * alone / 3 = .05 / .716667; the pair halves the rest
    ranks = scores.pagerank(weighted({(0, 1): 1.0}, 3))
    assert ranks.tolist() == pytest.approx([0.465116, 0.465116, 0.069767], **NEAR)


def test_pagerank_follows_edge_weights():
    # center = .05 + .85 * (1 - center) = .9 / 1.85; the leaves get 3/4 and 1/4 of .85 times it, and .05 each
    ranks = scores.pagerank(weighted({(0, 1): 3.0, (0, 2): 1.0}, 3))
    assert ranks.tolist() == pytest.approx([0.486486, 0.360135, 0.153378], **NEAR)


def test_percentile_counts_ties_half():
    # below and up to: 0 and 1, 1 and 3 twice, 3 and 4, out of twice 4
    assert scores.percentile(torch.tensor([1.0, 2.0, 5.0, 2.0])).tolist() == [0.125, 0.5, 0.875, 0.5]


def test_percentile_of_equals_is_one_half():
    assert scores.percentile(torch.full((3,), 7.0)).tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("node", range(5))
def test_the_percentile_of_one_node_is_that_among_all(node: int):
    values = torch.tensor([[1.0, 2.0, 5.0, 2.0, -1.0], [0.0, 0.0, 0.0, 0.0, 3.0]])
    assert torch.equal(scores.percentile_of(values, node), scores.percentile(values)[:, node])


def test_percentile_is_taken_within_each_row():
    values = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
    assert scores.percentile(values).tolist() == [[0.25, 0.75], [0.75, 0.25]]


def test_entropy_is_in_units_of_its_maximum():
    # in bits: 0, 1, and 1/4 * 2 + 3/4 * 0.415037
    rows = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]])
    assert scores.entropy(rows).tolist() == pytest.approx([0, 1, 0.811278], **NEAR)
    # two classes of four, equally likely: 1 bit of 2
    assert scores.entropy(torch.tensor([[0.5, 0.0, 0.5, 0.0]])).tolist() == pytest.approx([0.5], **NEAR)


def test_nothing_is_certain_while_one_class_is_known():
    only = torch.ones(3, 1)
    assert scores.entropy(only).tolist() == [1, 1, 1]
    assert scores.margin(only).tolist() == [1, 1, 1]


def test_margin_is_one_less_the_lead_of_the_first_class():
    rows = torch.tensor([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0], [0.4, 0.2, 0.4]])
    assert scores.margin(rows).tolist() == pytest.approx([0.8, 0, 1], **NEAR)


def test_density_falls_with_the_distance_to_the_nearest_center():
    centers = torch.tensor([[0.0, 0.0], [4.0, 0.0]])
    points = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])  # at distance 0, 1 and 3
    assert scores.density(points, centers).tolist() == [1, 0.5, 0.25]


def test_density_tells_apart_predictions_that_have_hardly_begun_to_differ():
    # a difference of 2e-6 in each of two columns; squares of it drown beside the squares of 1/2
    points = torch.tensor([[0.5, 0.5], [0.500002, 0.499998]])
    near, far = scores.density(points, points[:1]).tolist()
    assert near == 1
    assert 1 / far - 1 == pytest.approx(2.8284e-6, rel=0.1)


def test_class_diversity_weighs_a_class_by_one_over_its_labels():
    # weights 1/4, 1 and, for a class without labels, 1 as well
    rows = torch.tensor([[1.0, 0.0, 0.0], [0.4, 0.4, 0.2]])
    assert scores.class_diversity(rows, torch.tensor([4.0, 1.0, 0.0])).tolist() == pytest.approx([0.25, 0.7])


def test_relative_class_diversity_is_a_share_of_the_rarest_class_s():
    # weights 2/5, 2/10 and 1 instead of 1/5, 1/10 and 1/2
    rows = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.0, 0.0, 1.0]])
    shares = scores.relative_class_diversity(rows, torch.tensor([5.0, 10.0, 2.0]))
    assert shares.tolist() == pytest.approx([0.4, 0.65, 1.0])
    # a class without labels counts as one with one, as in the plain column: nothing changes
    counts = torch.tensor([5.0, 10.0, 0.0])
    assert torch.equal(scores.relative_class_diversity(rows, counts), scores.class_diversity(rows, counts))


def test_four_times_the_labels_leave_relative_class_diversity_as_it_was():
    rows = torch.tensor([[0.75, 0.25], [0.125, 0.875]])
    few, many = torch.tensor([2.0, 5.0]), torch.tensor([8.0, 20.0])
    torch.testing.assert_close(
        scores.relative_class_diversity(rows, few), scores.relative_class_diversity(rows, many)
    )
    assert not torch.allclose(scores.class_diversity(rows, few), scores.class_diversity(rows, many))


def test_paced_labels_count_as_they_would_in_a_game_of_five_a_class():
    # 40 for two classes is 20 each: the twentieth label counts as the fifth, so each after the first as 4/19
    counts = torch.tensor([[0.0, 1.0], [20.0, 2.0], [39.0, 5.75]])
    expected = [0.0, 1.0, 5.0, 1 + 4 / 19, 9.0, 2.0]
    assert scores.paced(counts, budget=40).flatten().tolist() == pytest.approx(expected)


@pytest.mark.parametrize("budget", [1, 5, 12, 25])
def test_labels_count_as_they_are_where_a_share_is_five_or_less(budget: int):
    counts = torch.tensor([0.0, 0.5, 1.0, 3.0, 12.0])
    assert torch.equal(scores.paced(counts, budget), counts)


def test_a_class_is_a_majority_from_its_share_of_the_budget_on():
    assert scores.is_majority(torch.tensor([3.0, 2.0, 1.9]), budget=6).tolist() == [True, True, False]


def test_majority_score_is_the_probability_of_the_majorities():
    rows = torch.tensor([[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]])
    shares = scores.majority_score(rows, torch.tensor([3.0, 2.0, 1.0]), budget=6)
    assert shares.tolist() == pytest.approx([0.8, 0])


def test_distance_to_nearest_is_to_the_nearest():
    rows = torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 10.0], [0.0, 1.0]])
    # 1 is 5 away from 0 and 6.7 away from 2
    assert scores.distance_to_nearest(rows, torch.tensor([2, 0])).tolist() == pytest.approx([0, 5, 0, 1])


def test_distance_to_nearest_is_zero_with_none_labeled():
    assert (
        scores.distance_to_nearest(torch.rand(3, 2), torch.tensor([], dtype=torch.long)).tolist() == [0] * 3
    )


def test_distance_to_nearest_keeps_games_apart():
    rows = torch.tensor([[[0.0], [1.0], [5.0]], [[0.0], [1.0], [5.0]]])
    labeled = torch.tensor([[0], [2]])
    assert scores.distance_to_nearest(rows, labeled).tolist() == [[0, 1, 5], [5, 4, 0]]


@pytest.mark.parametrize("block", [1, 2, 3])
def test_working_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch, block: int):
    rows = torch.tensor([[0.0], [1.0], [5.0], [7.0], [2.0]])
    monkeypatch.setattr(scores, "_BLOCK", block)
    assert scores.distance_to_nearest(rows, torch.tensor([2, 0])).tolist() == [0, 1, 0, 2, 2]
    assert scores.density(rows, rows[:1]).tolist() == pytest.approx([1, 1 / 2, 1 / 6, 1 / 8, 1 / 3])


COUNTS = torch.tensor([5.0, 2.0, 0.0])
CENTERS = torch.eye(3)
PER_NODE: dict[str, Callable[[Tensor], Tensor]] = {
    "percentile": lambda rows: scores.percentile(rows[:, 0]),
    "entropy": scores.entropy,
    "margin": scores.margin,
    "density": lambda rows: scores.density(rows, CENTERS),
    "class_diversity": lambda rows: scores.class_diversity(rows, COUNTS),
    "relative_class_diversity": lambda rows: scores.relative_class_diversity(rows, COUNTS),
    "paced_class_diversity": lambda rows: scores.class_diversity(rows, scores.paced(COUNTS, budget=30)),
    "majority_score": lambda rows: scores.majority_score(rows, COUNTS, budget=6),
}


@pytest.mark.parametrize("score", PER_NODE.values(), ids=PER_NODE)
def test_renumbering_the_nodes_renumbers_the_score(score: Callable[[Tensor], Tensor]):
    rng = torch.Generator().manual_seed(0)
    rows = torch.rand(20, 3, generator=rng).softmax(1)
    order = torch.randperm(20, generator=rng)
    torch.testing.assert_close(score(rows[order]), score(rows)[order])


def test_renumbering_the_nodes_renumbers_what_depends_on_others():
    rng = torch.Generator().manual_seed(0)
    edges = {(int(a), int(b)): 1.0 for a, b in torch.randint(12, (30, 2), generator=rng) if a < b}
    new_name = torch.randperm(12, generator=rng).tolist()
    renamed = weighted({(new_name[a], new_name[b]): w for (a, b), w in edges.items()}, 12)
    torch.testing.assert_close(
        scores.pagerank(renamed)[new_name], scores.pagerank(weighted(edges, 12)), rtol=1e-4, atol=1e-6
    )
    rows = torch.rand(12, 3, generator=rng)
    by_new_name = torch.empty_like(rows)
    by_new_name[new_name] = rows
    torch.testing.assert_close(
        scores.distance_to_nearest(by_new_name, torch.tensor([new_name[4], new_name[7]]))[new_name],
        scores.distance_to_nearest(rows, torch.tensor([4, 7])),
    )
