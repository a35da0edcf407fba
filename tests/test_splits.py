from dataclasses import replace

import pytest
import torch

from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.seeding import generator
from gcbr.splits import draw_split, is_scaled, last_nodes, redraw_split, split_sizes, stratified_test


def edgeless(num_nodes: int, test: torch.Tensor) -> Dataset:
    nothing = torch.empty(0, dtype=torch.long)
    adjacency = Csr.from_entries(nothing, nothing, torch.empty(0), (num_nodes, num_nodes))
    graph = Graph("edgeless", adjacency, Dense(torch.ones(num_nodes, 1)))
    return Dataset(graph, torch.zeros(num_nodes, dtype=torch.long), ("only",), test)


@pytest.mark.parametrize(
    ("num_nodes", "sizes", "scaled"),
    [
        (34493, (1000, 500), False),
        (2500, (1000, 500), False),
        (2499, (999, 499), True),
        (710, (284, 142), True),
        (10, (4, 2), True),
        (4, (1, 1), True),
        (3, (1, 1), True),
    ],
)
def test_small_graphs_are_split_in_proportion(num_nodes, sizes, scaled):
    assert split_sizes(num_nodes) == sizes
    assert is_scaled(num_nodes) is scaled


def test_two_nodes_cannot_be_split():
    with pytest.raises(InputError, match="2 nodes cannot be split; give one of at least 3"):
        split_sizes(2)


def test_last_nodes_are_the_last_ids():
    assert last_nodes(10).tolist() == [6, 7, 8, 9]
    assert last_nodes(3000).tolist() == list(range(2000, 3000))


def test_evaluation_keeps_the_test_set_and_draws_validation_from_the_rest():
    dataset = edgeless(10, torch.tensor([1, 3, 5, 9]))
    seen = set()
    for seed in range(40):
        split = draw_split(dataset, generator(seed))
        assert split.test.tolist() == [1, 3, 5, 9]
        assert (len(split.val), len(split.pool)) == (2, 4)
        assert sorted([*split.val.tolist(), *split.pool.tolist()]) == [0, 2, 4, 6, 7, 8]
        seen.update(split.val.tolist())
    assert seen == {0, 2, 4, 6, 7, 8}


def test_training_redraws_test_and_validation():
    seen_in_test, seen_in_val = set(), set()
    for seed in range(40):
        split = redraw_split(10, generator(seed))
        assert (len(split.test), len(split.val), len(split.pool)) == (4, 2, 4)
        together = [*split.test.tolist(), *split.val.tolist(), *split.pool.tolist()]
        assert sorted(together) == list(range(10))
        seen_in_test.update(split.test.tolist())
        seen_in_val.update(split.val.tolist())
    assert seen_in_test == seen_in_val == set(range(10))


def test_large_graphs_get_1000_and_500():
    split = redraw_split(3000, generator(0))
    assert (len(split.test), len(split.val), len(split.pool)) == (1000, 500, 1500)


def test_ids_come_sorted():
    split = redraw_split(3000, generator(0))
    for nodes in (split.test, split.val, split.pool):
        assert (nodes.diff() > 0).all()


def test_the_same_seed_draws_the_same_split():
    dataset = edgeless(3000, last_nodes(3000))
    assert torch.equal(draw_split(dataset, generator(7)).val, draw_split(dataset, generator(7)).val)
    assert not torch.equal(draw_split(dataset, generator(7)).val, draw_split(dataset, generator(8)).val)
    assert torch.equal(redraw_split(3000, generator(7)).test, redraw_split(3000, generator(7)).test)


def test_a_test_set_that_leaves_nothing_to_ask_is_refused():
    with pytest.raises(InputError, match="2 nodes outside its test set leave none to ask beside 2"):
        draw_split(edgeless(10, torch.arange(8)), generator(0))


def test_a_stratified_test_set_has_every_class_in_proportion():
    dataset = edgeless(100, torch.arange(40))
    dataset = replace(dataset, y=torch.tensor([0] * 60 + [1] * 30 + [2] * 10), class_names=("a", "b", "c"))
    drawn = stratified_test(dataset, generator(0))
    assert dataset.y[drawn].bincount().tolist() == [24, 12, 4]  # two fifths of each
    assert drawn.tolist() == sorted(set(drawn.tolist()))
    assert torch.equal(drawn, stratified_test(dataset, generator(0)))
    assert not torch.equal(drawn, stratified_test(dataset, generator(1)))
