import time

import pytest
import torch
from sklearn.datasets import load_digits

from gcbr.datasets import digits, load_dataset


@pytest.fixture(scope="module")
def dataset():
    return digits.load()


def test_classes_are_thinned_to_ten_to_one(dataset):
    assert dataset.y.bincount().tolist() == [174, 135, 104, 81, 63, 48, 37, 29, 22, 17]
    assert dataset.class_names == ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")


def test_every_node_is_the_digit_its_name_says(dataset):
    pixels, answers = load_digits(return_X_y=True)
    ids = [int(name.removeprefix("digit-")) for name in dataset.graph.node_names]
    assert len(set(ids)) == 710
    assert dataset.y.tolist() == answers[ids].tolist()
    assert torch.equal(dataset.graph.x.values * 16, torch.from_numpy(pixels[ids]).float())


def test_pixels_run_from_0_to_1(dataset):
    assert dataset.graph.x.shape == (710, 64)
    assert (float(dataset.graph.x.values.min()), float(dataset.graph.x.values.max())) == (0.0, 1.0)


def test_the_graph_is_whole_enough_and_follows_the_classes(dataset):
    graph = dataset.graph
    assert graph.num_edges == 2474
    assert int(graph.degree.min()) == 5  # each node chose five
    rows, columns = graph.adjacency.row_of_entry, graph.adjacency.indices.long()
    assert float((dataset.y[rows] == dataset.y[columns]).double().mean()) == pytest.approx(0.94, abs=0.01)
    reached = torch.zeros(710, 1)
    reached[0] = 1
    for _ in range(50):
        reached = ((reached + graph.adjacency.matmul(reached)) > 0).float()
    assert int(reached.sum()) >= 680


def test_the_order_of_nodes_tells_nothing(dataset):
    assert dataset.test.tolist() == list(range(426, 710))
    assert len(dataset.y[dataset.test].unique()) == 10
    assert (dataset.y.diff() != 0).double().mean() > 0.5


def test_loading_twice_gives_the_same_graph_fast(dataset):
    start = time.process_time()
    again = load_dataset("digits")
    assert time.process_time() - start < 1
    assert again.graph.node_names == dataset.graph.node_names
    assert torch.equal(again.graph.adjacency.indices, dataset.graph.adjacency.indices)


def test_neighbors_are_the_nearest_with_ties_to_the_lower_id():
    # On a line at 0, 1, 3, 4, 9: with one neighbor each, 0-1, 3-4 and 9-4.
    adjacency = digits.nearest_neighbors(torch.tensor([[0], [1], [3], [4], [9]]), 1)
    assert adjacency.to_dense().tolist() == [
        [0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 1, 0, 1],
        [0, 0, 0, 1, 0],
    ]
    # At 0, 1, 3, 5, 6 the middle one is as far from 1 as from 5.
    tied = digits.nearest_neighbors(torch.tensor([[0], [1], [3], [5], [6]]), 1)
    assert tied.rows(torch.tensor([2])).indices.tolist() == [1]
