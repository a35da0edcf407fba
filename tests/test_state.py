"""The columns of the state on graphs one can draw, every number worked out on paper."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gcbr.engine.gcn import GCNConfig, Prediction
from gcbr.engine.matrix import Csr, Dense
from gcbr.environment import EnvConfig, LabelingEnv
from gcbr.graph import Dataset, Graph, Labels
from gcbr.seeding import generator
from gcbr.state import (
    GCBR_COLUMNS,
    GCBR_PLUS_COLUMNS,
    GPA_COLUMNS,
    KNOWN_COLUMNS,
    GraphFacts,
    Situation,
    expected_answers,
    state_columns,
)
from gcbr.strategies.learned import situation
from gcbr.view import View

# Corners of the barbell, and the ends of its bar.
CORNER, END = math.log(1 + 120 / 137), math.log(1 + 171 / 137)
BARBELL_CENTRALITY = [CORNER, CORNER, END, END, CORNER, CORNER]
APART = END - CORNER


def view(
    graph: Graph,
    probabilities: Tensor,
    labels: Labels | None = None,
    pending: tuple[int, ...] = (),
    budget: int = 8,
) -> View:
    labels = labels or Labels()
    taken = {*labels.nodes, *pending}
    return View(
        graph=graph,
        labels=labels,
        candidates=torch.tensor([node for node in range(graph.num_nodes) if node not in taken]),
        prediction=Prediction(probabilities, torch.zeros(graph.num_nodes, 1)),
        counts=labels.counts(probabilities.shape[1]).float() + probabilities[list(pending)].sum(0),
        pending=pending,
        budget=budget,
        rng=generator(0),
    )


def column(name: str, shown: View) -> list[float]:
    built = state_columns(situation(GraphFacts(shown.graph), shown), (*GCBR_COLUMNS[:4], name))
    return built[0, :, -1].tolist()  # type: ignore[no-any-return]


# Four classes for the barbell. Its entropies: two of four classes are one bit of two, so 1/2.
GUESSES = torch.tensor(
    [
        [0.25, 0.25, 0.25, 0.25],
        [0.5, 0.5, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 0.5, 0.0, 0.5],
        [0.0, 0.0, 1.0, 0.0],
        [0.5, 0.25, 0.25, 0.0],
    ]
)
# Nodes 2 and 3 are told class 0, node 4 class 1, whatever the classifier believes: counts 2, 1, 0, 0.
TOLD = Labels((2, 4, 3), (0, 1, 0))


def test_centrality_is_the_logarithm_of_one_and_pagerank_in_units_of_the_average_node_s(
    barbell: Graph, star: Graph
):
    # The star, all ranks times 5: middle = 0.85 * 4 leaf + 0.15 and leaf = 0.85 * middle / 4 + 0.15.
    expected = [math.log(1 + 88 / 37)] + [math.log(1 + 97 / 148)] * 4
    assert column("centrality", view(star, torch.full((5, 2), 0.5))) == pytest.approx(expected, rel=1e-6)
    # The barbell, times 6: corner = 0.85 * (corner / 2 + end / 3) + 0.15 and 4 corners + 2 ends = 6.
    assert column("centrality", view(barbell, GUESSES)) == pytest.approx(BARBELL_CENTRALITY, rel=1e-6)


def test_relative_centrality_is_pagerank_as_a_share_of_the_largest(star: Graph):
    # The ranks above: 97/148 of a leaf beside 88/37 of the middle.
    expected = [1] + [97 / 352] * 4
    shown = view(star, torch.full((5, 2), 0.5))
    assert column("relative_centrality", shown) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["centrality", "relative_centrality"])
def test_centrality_does_not_change_with_the_answers(name: str, barbell: Graph):
    before, after = view(barbell, GUESSES), view(barbell, GUESSES, TOLD, pending=(5,))
    assert column(name, before) == column(name, after)


def test_uncertainty_is_the_entropy_of_the_prediction(barbell: Graph):
    # 1/2, 1/4, 1/4 is 1/2 + 1/2 + 1/2 bits of two.
    assert column("uncertainty", view(barbell, GUESSES)) == pytest.approx([1, 0.5, 0, 0.5, 0, 0.75])


def test_uncertainty_of_a_labeled_node_is_still_its_prediction_s(barbell: Graph):
    shown = view(barbell, GUESSES, TOLD, pending=(0,))
    assert column("uncertainty", shown) == pytest.approx([1, 0.5, 0, 0.5, 0, 0.75])


def test_class_diversity_reads_answers_where_there_are_some(barbell: Graph):
    # A label of class 0 weighs 1/2, of any other class 1. Nodes 2, 3 and 4 go by their answers.
    expected = [0.875, 0.75, 0.5, 0.5, 1.0, 0.75]
    assert column("class_diversity", view(barbell, GUESSES, TOLD)) == pytest.approx(expected)


def test_relative_class_diversity_reads_answers_and_is_1_for_the_rarest_class(barbell: Graph):
    # Three labels of class 0 weigh 2/3, two of class 1 weigh 1; only node 5 goes by its prediction.
    told = Labels((0, 1, 2, 3, 4), (0, 0, 0, 1, 1))
    expected = [2 / 3, 2 / 3, 2 / 3, 1, 1, 5 / 6]
    shown = view(barbell, torch.full((6, 2), 0.5), told)
    assert column("relative_class_diversity", shown) == pytest.approx(expected)


def test_paced_class_diversity_goes_by_the_budget(barbell: Graph):
    # Nine labels a class to give: three of class 0 count as 1 + 2 * 4/8 = 2, two of class 1 as 1.5.
    told = Labels((0, 1, 2, 3, 4), (0, 0, 0, 1, 1))
    shown = view(barbell, torch.full((6, 2), 0.5), told, budget=18)
    expected = [1 / 2, 1 / 2, 1 / 2, 2 / 3, 2 / 3, 7 / 12]
    assert column("paced_class_diversity", shown) == pytest.approx(expected)
    # Five to give: as in the plain column.
    shown = view(barbell, torch.full((6, 2), 0.5), told, budget=10)
    assert column("paced_class_diversity", shown) == column("class_diversity", shown)


def test_selectivity_marks_the_labeled_nodes(barbell: Graph):
    assert column("selectivity", view(barbell, GUESSES, TOLD)) == [0, 0, 1, 1, 1, 0]


def test_majority_score_reads_answers_where_there_are_some(barbell: Graph):
    # A budget of 8 gives each of four classes a share of 2: class 0 has it.
    assert column("majority_score", view(barbell, GUESSES, TOLD)) == pytest.approx([0.25, 0.5, 1, 1, 0, 0.5])
    # A budget of 4 gives a share of 1: classes 0 and 1 have it.
    shown = view(barbell, GUESSES, TOLD, budget=4)
    assert column("majority_score", shown) == pytest.approx([0.5, 1, 1, 1, 1, 0.75])
    # And one of 12 a share of 3, which none has.
    assert column("majority_score", view(barbell, GUESSES, TOLD, budget=12)) == [0] * 6


# Class 0 is told for a corner of which nothing is known and for an end of the bar that is certain: diversity
# is 1/2 where class 0 is certain, 1 where class 1 is, 3/4 in between.
HALF_KNOWN = torch.tensor([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 1.0]])
END_AND_CORNER = Labels((0, 2), (0, 0))


def test_criteria_similarity_is_the_distance_to_the_nearest_labeled_node(barbell: Graph):
    shown = view(barbell, HALF_KNOWN, END_AND_CORNER)
    assert column("class_diversity", shown) == pytest.approx([0.5, 0.5, 0.5, 1.0, 0.75, 1.0])
    # In centrality (corner and end are `APART`), uncertainty, diversity and selectivity:
    expected = [
        0,
        (1 + APART**2) ** 0.5,  # node 1: (0, 1, 0, 1) from node 0, and nearer: (APART, 0, 0, 1) from node 2
        0,
        1.25**0.5,  # node 3: (APART, 1, 1/2, 1) from node 0, and nearer: (0, 0, 1/2, 1) from node 2
        1.0625**0.5,  # node 4: (0, 0, 1/4, 1) from node 0, and farther: (APART, 1, 1/4, 1) from node 2
        (1.25 + APART**2) ** 0.5,  # node 5: (0, 1, 1/2, 1), and nearer: (APART, 0, 1/2, 1)
    ]
    assert column("criteria_similarity", shown) == pytest.approx(expected, abs=1e-6)


def test_before_the_first_label_nothing_but_centrality_tells_nodes_apart(barbell: Graph):
    uniform = torch.full((6, 4), 0.25)
    shown = situation(GraphFacts(barbell), view(barbell, uniform))
    assert shown.labeled.shape == (1, 0)
    assert shown.answers.shape == (1, 0, 4)
    built = dict(zip(GCBR_PLUS_COLUMNS, state_columns(shown, GCBR_PLUS_COLUMNS)[0].T.tolist(), strict=True))
    assert built.pop("centrality") == pytest.approx(BARBELL_CENTRALITY, rel=1e-6)
    assert built == {
        "uncertainty": [1.0] * 6,
        "class_diversity": [1.0] * 6,
        "selectivity": [0.0] * 6,
        "criteria_similarity": [0.0] * 6,
        "majority_score": [0.0] * 6,
    }


def test_while_a_single_class_is_known_every_node_is_uncertain(star: Graph):
    shown = view(star, torch.ones(5, 1), Labels((1, 2), (0, 0)), budget=4)
    assert column("uncertainty", shown) == [1.0] * 5
    assert column("class_diversity", shown) == [0.5] * 5
    assert column("majority_score", shown) == [0.0] * 5  # its share is the whole budget


# --- Nodes chosen and not answered yet ------------------------------------------------------------------


def test_a_pending_node_counts_as_labeled_with_its_predicted_distribution(barbell: Graph):
    # Told: node 2, class 0. Pending: node 3, half class 1 and half class 3, and node 0, a quarter of each.
    shown = view(barbell, GUESSES, Labels((2,), (0,)), pending=(3, 0), budget=4)
    given = situation(GraphFacts(barbell), shown)
    assert given.labeled.tolist() == [[2, 3, 0]]
    assert given.answers.tolist() == [[[1, 0, 0, 0], [0, 0.5, 0, 0.5], [0.25] * 4]]
    assert given.counts.tolist() == [[1.25, 0.75, 0.25, 0.75]]
    assert given.counts.tolist() == given.answers.sum(1).tolist()
    assert column("selectivity", shown) == [1, 0, 1, 1, 0, 0]
    # Only class 0 has more than one label: it weighs 1 / 1.25 = 0.8, the others 1.
    assert column("class_diversity", shown) == pytest.approx([0.95, 0.9, 0.8, 1.0, 1.0, 0.9])
    # The share is 1, which class 0 alone has reached.
    assert column("majority_score", shown) == pytest.approx([0.25, 0.5, 1, 0, 0, 0.5])


def test_a_node_not_answered_yet_is_expected_in_its_likeliest_class():
    guesses = torch.tensor([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [1 / 3, 1 / 3, 1 / 3]])
    expected = [[0, 1, 0], [0.5, 0.5, 0], pytest.approx([1 / 3] * 3)]
    assert expected_answers(guesses).tolist() == expected
    assert expected_answers(guesses[:0]).shape == (0, 3)


def test_criteria_similarity_is_measured_to_pending_nodes_as_well(star: Graph):
    certain = torch.tensor([[1.0, 0.0]]).expand(5, -1)
    shown = view(star, certain, Labels((0,), (0,)), pending=(1,))
    # Two of class 0 (one told, one expected): diversity is 1/2 everywhere, and leaf 1 is like the others
    # but for selectivity. To the middle the distance would be the root of 1.25.
    assert column("criteria_similarity", shown) == pytest.approx([0, 0, 1, 1, 1], abs=1e-6)


# --- GPA's columns --------------------------------------------------------------------------------------


def test_degree_is_the_number_of_neighbors_in_twentieths_and_at_most_1(barbell: Graph):
    assert column("degree", view(barbell, GUESSES)) == pytest.approx([0.1, 0.1, 0.15, 0.15, 0.1, 0.1])
    hub = torch.cat([torch.zeros(24, dtype=torch.long), torch.arange(1, 25)])
    adjacency = Csr.from_entries(hub, hub.roll(24), torch.ones(48), (25, 25))
    wheel = Graph("wheel", adjacency, Dense(torch.eye(25)))
    assert column("degree", view(wheel, torch.full((25, 2), 0.5))) == pytest.approx([1.0] + [0.05] * 24)


def test_divergence_columns_are_shares_of_the_largest_in_the_graph(star: Graph):
    # The middle is undecided; leaf 1 has a quarter and three quarters, leaf 2 is undecided as well.
    guesses = torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [0.75, 0.25], [0.5, 0.5]])
    middle, leaf = math.log(4 / 3) / 2, 0.75 * math.log(1.5) - 0.25 * math.log(2)  # KL from each to the other
    # Two of the middle's four neighbors differ from it.
    expected = [middle / 2 / leaf, 1, 0, 1, 0]
    assert column("divergence_from_neighbors", view(star, guesses)) == pytest.approx(expected, abs=1e-6)
    expected = [leaf / 2 / middle, 1, 0, 1, 0]
    assert column("divergence_to_neighbors", view(star, guesses)) == pytest.approx(expected, abs=1e-6)


def test_gpa_s_state_before_the_first_label(barbell: Graph):
    shown = situation(GraphFacts(barbell), view(barbell, torch.full((6, 4), 0.25)))
    built = dict(zip(GPA_COLUMNS, state_columns(shown, GPA_COLUMNS)[0].T.tolist(), strict=True))
    assert built.pop("degree") == pytest.approx([0.1, 0.1, 0.15, 0.15, 0.1, 0.1])
    assert built == {
        "uncertainty": [1.0] * 6,
        "divergence_from_neighbors": pytest.approx([0.0] * 6, abs=1e-6),
        "divergence_to_neighbors": pytest.approx([0.0] * 6, abs=1e-6),
        "selectivity": [0.0] * 6,
    }


# --- Several games at once ------------------------------------------------------------------------------


def test_two_games_stand_side_by_side_without_touching(barbell: Graph):
    views = [
        view(barbell, GUESSES, Labels((2, 4), (0, 1))),
        view(barbell, GUESSES.flip(0), Labels((5, 0), (3, 3))),
    ]
    facts = GraphFacts(barbell)
    alone = [situation(facts, shown) for shown in views]
    together = Situation(
        facts=facts,
        probabilities=torch.cat([one.probabilities for one in alone]),
        labeled=torch.cat([one.labeled for one in alone]),
        answers=torch.cat([one.answers for one in alone]),
        counts=torch.cat([one.counts for one in alone]),
        budget=8,
    )
    both = state_columns(together, GCBR_PLUS_COLUMNS)
    assert both.shape == (2, 6, 6)
    for game, one in zip(both, alone, strict=True):
        torch.testing.assert_close(game, state_columns(one, GCBR_PLUS_COLUMNS)[0])
    diversity, majority = (
        both[..., GCBR_PLUS_COLUMNS.index(c)] for c in ("class_diversity", "majority_score")
    )
    # One label of class 0 and one of class 1: every class weighs 1.
    assert diversity[0].tolist() == pytest.approx([1] * 6)
    assert majority[0].tolist() == [0] * 6
    # Two labels of class 3, which only node 2 (half) and the labeled nodes are of.
    assert diversity[1].tolist() == pytest.approx([0.5, 1, 0.75, 1, 1, 0.5])
    assert majority[1].tolist() == pytest.approx([1, 0, 0.5, 0, 0, 1])


# --- Which columns, in which order ----------------------------------------------------------------------


def test_the_paper_s_columns_in_the_paper_s_order():
    assert GCBR_COLUMNS == (
        "centrality",
        "uncertainty",
        "class_diversity",
        "selectivity",
        "criteria_similarity",
    )
    assert (*GCBR_COLUMNS, "majority_score") == GCBR_PLUS_COLUMNS


def test_columns_come_in_the_order_they_are_named(barbell: Graph):
    shown = situation(GraphFacts(barbell), view(barbell, GUESSES, TOLD))
    order = ("majority_score", "criteria_similarity", *GCBR_COLUMNS[:4])
    whole, turned = state_columns(shown, GCBR_PLUS_COLUMNS), state_columns(shown, order)
    for place, name in enumerate(order):
        assert torch.equal(turned[..., place], whole[..., GCBR_PLUS_COLUMNS.index(name)])


def test_the_majority_score_is_no_criterion_of_similarity(barbell: Graph):
    shown = situation(GraphFacts(barbell), view(barbell, GUESSES, TOLD))
    plain, plus = (state_columns(shown, columns) for columns in (GCBR_COLUMNS, GCBR_PLUS_COLUMNS))
    assert plus[..., 5].unique().numel() > 2
    assert torch.equal(plus[..., :5], plain)


def test_a_column_left_out_is_no_part_of_the_similarity_either(barbell: Graph):
    # As above, without the selectivity in which labeled and other nodes differ by 1.
    shown = situation(GraphFacts(barbell), view(barbell, HALF_KNOWN, END_AND_CORNER))
    columns = tuple(name for name in GCBR_COLUMNS if name != "selectivity")
    assert state_columns(shown, columns).shape == (1, 6, 4)
    expected = [0, APART, 0, 0.5, 0.25, (0.25 + APART**2) ** 0.5]
    assert state_columns(shown, columns)[0, :, -1].tolist() == pytest.approx(expected, abs=1e-5)


def test_similarity_is_measured_on_centrality_as_the_policy_reads_it(barbell: Graph):
    shown = situation(GraphFacts(barbell), view(barbell, HALF_KNOWN, END_AND_CORNER))
    apart = 1 - math.expm1(min(BARBELL_CENTRALITY)) / math.expm1(max(BARBELL_CENTRALITY))
    expected = [0, apart, 0, 0.5, 0.25, (0.25 + apart**2) ** 0.5]
    columns = ("relative_centrality", "uncertainty", "class_diversity", "criteria_similarity")
    assert state_columns(shown, columns)[0, :, -1].tolist() == pytest.approx(expected, abs=1e-5)


# --- Symmetry -------------------------------------------------------------------------------------------


def renumbered(graph: Graph, new_id: Tensor) -> Graph:
    """The same graph, where node `v` is called `new_id[v]`."""
    entries = graph.adjacency
    rows, columns = new_id[entries.row_of_entry], new_id[entries.indices.long()]
    x = torch.empty_like(graph.x.to_dense())
    x[new_id] = graph.x.to_dense()
    return Graph("renumbered", Csr.from_entries(rows, columns, entries.values, entries.shape), Dense(x))


@pytest.mark.parametrize("name", KNOWN_COLUMNS)
def test_renumbering_the_nodes_renumbers_the_column(name: str, skewed: Dataset):
    graph, rng = skewed.graph, generator(3)
    new_id = torch.randperm(graph.num_nodes, generator=rng)
    guesses = torch.randn(graph.num_nodes, 3, generator=rng).softmax(-1)
    guesses_there = torch.empty_like(guesses)
    guesses_there[new_id] = guesses
    told, pending = (5, 90, 17, 120, 33), (8, 199)
    here = view(graph, guesses, Labels(told, (0, 2, 2, 1, 2)), pending, budget=9)
    there = view(
        renumbered(graph, new_id),
        guesses_there,
        Labels(tuple(new_id[list(told)].tolist()), (0, 2, 2, 1, 2)),
        tuple(new_id[list(pending)].tolist()),
        budget=9,
    )
    expected = torch.empty(graph.num_nodes)
    expected[new_id] = torch.tensor(column(name, here))
    torch.testing.assert_close(torch.tensor(column(name, there)), expected, atol=1e-5, rtol=0)
    assert expected.unique().numel() > 1


# --- Training and use -----------------------------------------------------------------------------------


RELATIVE_COLUMNS = (
    "relative_centrality",
    "uncertainty",
    "relative_class_diversity",
    *GCBR_PLUS_COLUMNS[3:],
)


PACED_COLUMNS = ("relative_centrality", "uncertainty", "paced_class_diversity", *GCBR_PLUS_COLUMNS[3:])


@pytest.mark.parametrize(
    ("columns", "budget"),
    # Of three classes, so that nine let the majority score speak, and eighteen the pace.
    [(GCBR_PLUS_COLUMNS, 9), (RELATIVE_COLUMNS, 9), (PACED_COLUMNS, 18), (GPA_COLUMNS, 9)],
    ids=["GCBR++", "relative", "paced", "GPA"],
)
def test_training_and_use_build_the_same_state(columns: tuple[str, ...], budget: int, skewed: Dataset):
    """The environment's state, and the one that a strategy builds from a view of the same moment."""
    env = LabelingEnv(
        skewed, EnvConfig(budget=budget, episodes=2, columns=columns, classifier=GCNConfig(hidden=8))
    )
    state = env.reset(generator(5))
    for _ in range(8):
        for game in range(2):
            nodes = tuple(env.labeled[game].tolist())
            labels = Labels(nodes, tuple(skewed.y[list(nodes)].tolist()))
            shown = view(skewed.graph, env._probabilities[game], labels, budget=budget)
            used = state_columns(situation(GraphFacts(skewed.graph), shown), columns)[0]
            torch.testing.assert_close(used, state.features[game], atol=2e-6, rtol=0)
        first = state.is_candidate.float().argmax(1)
        state = env.step(first).state
    assert env.counts.max() > 3  # so that the majority score was put to the test


def test_a_state_holds_no_answer_that_was_not_given(skewed: Dataset):
    """Other answers to the nodes nobody asked: the same first state, and the same after the same labels."""
    nodes = torch.tensor([[3], [4]])
    other = skewed.y.roll(1)
    other[nodes] = skewed.y[nodes]
    config = EnvConfig(budget=9, episodes=2, columns=GCBR_PLUS_COLUMNS, classifier=GCNConfig(hidden=8))
    games = [LabelingEnv(dataset, config) for dataset in (skewed, replace(skewed, y=other))]
    first = [env.reset(generator(5)).features for env in games]
    assert torch.equal(first[0], first[1])
    second = [env.step(nodes[:, 0]).state.features for env in games]
    assert torch.equal(second[0], second[1])
