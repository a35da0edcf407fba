"""What a policy chooses among: the least certain of each predicted class, one node of each neighborhood."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gcbr.actions import ActionSpace, choices, least_certain_of_each_class, representatives
from gcbr.engine.matrix import Csr
from gcbr.graph import Graph

GUESSES = torch.tensor(
    [[[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.5, 0.3, 0.2], [0.1, 0.9, 0.0], [0.0, 0.8, 0.2], [0.2, 0.2, 0.6]]]
)
ALL = torch.ones(1, 6, dtype=torch.bool)


def but(*nodes: int) -> torch.Tensor:
    left = ALL.clone()
    left[0, list(nodes)] = False
    return left


def test_one_candidate_of_each_predicted_class_the_least_certain():
    # Nodes 0 to 2 are predicted in class 0, nodes 3 and 4 in class 1, node 5 in class 2.
    assert least_certain_of_each_class(ALL, GUESSES).nonzero()[:, 1].tolist() == [2, 4, 5]
    assert least_certain_of_each_class(but(2, 5), GUESSES).nonzero()[:, 1].tolist() == [1, 4]
    assert least_certain_of_each_class(but(0, 1, 2, 4, 5), GUESSES).nonzero()[:, 1].tolist() == [3]


def test_before_the_first_answer_the_choice_is_open():
    assert torch.equal(least_certain_of_each_class(but(3), torch.full((1, 6, 3), 1 / 3)), but(3))


def test_games_have_proposals_of_their_own():
    both = least_certain_of_each_class(torch.cat([but(2), ALL]), torch.cat([GUESSES, GUESSES.flip(1)]))
    assert [row.nonzero()[:, 0].tolist() for row in both] == [[1, 4, 5], [0, 1, 3]]


def test_by_default_every_candidate_may_be_chosen():
    assert torch.equal(choices(but(1), GUESSES, None, ActionSpace()), but(1))


def test_both_ways_together():
    """Nodes 0, 1 and 4 stand for the graph: the less certain of the first two, and node 4."""
    standing = torch.tensor([True, True, False, False, True, False])
    space = ActionSpace(one_per_class=True, coarse=True)
    assert choices(ALL, GUESSES, standing, space).nonzero()[:, 1].tolist() == [1, 4]
    # When all of those are labeled, any candidate will do.
    assert choices(but(0, 1, 4), GUESSES, standing, space).nonzero()[:, 1].tolist() == [2, 3, 5]
    assert torch.equal(choices(but(0, 1, 4), GUESSES, standing, ActionSpace(coarse=True)), but(0, 1, 4))


def test_the_middle_of_a_star_stands_for_all_of_it(star: Graph):
    assert representatives(star.adjacency).nonzero()[:, 0].tolist() == [0]


def test_representatives_of_a_barbell(barbell: Graph):
    # Node 2 has three neighbors and goes first: 0, 1 and 3 stand behind it. Of 4 and 5, the first.
    assert representatives(barbell.adjacency).nonzero()[:, 0].tolist() == [2, 4]


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40))
def test_no_two_representatives_are_neighbors_and_every_other_node_is_next_to_one(edges):
    adjacency = torch.zeros(15, 15, dtype=torch.bool)
    for one, other in edges:
        if one != other:
            adjacency[one, other] = adjacency[other, one] = True
    rows, columns = adjacency.nonzero().T
    stays = representatives(Csr.from_entries(rows, columns, torch.ones(len(rows)), (15, 15)))
    assert not adjacency[stays][:, stays].any()
    assert (stays | adjacency[:, stays].any(1)).all()


@pytest.mark.parametrize("space", [ActionSpace(one_per_class=True), ActionSpace(True, True)])
def test_nothing_that_is_given_is_changed(space: ActionSpace):
    given_nodes, given_guesses = ALL.clone(), GUESSES.clone()
    choices(given_nodes, given_guesses, but(3)[0], space)
    assert torch.equal(given_nodes, ALL)
    assert torch.equal(given_guesses, GUESSES)
