import re

import pytest
import torch

from gcbr.datasets import SyntheticConfig, load_dataset, synthetic
from gcbr.datasets.synthetic import class_sizes, parse_options
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError


def homophily(dataset):
    rows, columns = dataset.graph.adjacency.row_of_entry, dataset.graph.adjacency.indices.long()
    return float((dataset.y[rows] == dataset.y[columns]).double().mean())


def nearest_mean_accuracy(x, y):
    """How often a node lies nearest the mean of its own class: what the features tell, in one number."""
    means = torch.stack([x[y == cls].mean(0) for cls in y.unique()])
    return float((torch.cdist(x, means).argmin(1) == y).double().mean())


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        # Three classes 16 apart: 16, 4 and 1 parts of 21.
        (dict(nodes=2100, classes=3, skew=16), [1600, 400, 100]),
        (dict(nodes=300, classes=3, skew=1), [100, 100, 100]),
        (dict(nodes=301, classes=3, skew=1), [101, 100, 100]),
        # Two classes: 9 parts and 1 of 10.
        (dict(nodes=1000, classes=2, skew=9), [900, 100]),
    ],
)
def test_class_sizes_fall_geometrically(options, sizes):
    config = SyntheticConfig(**options)
    assert class_sizes(config) == sizes
    assert synthetic(config, seed=0).y.bincount().tolist() == sizes


@pytest.mark.parametrize("wanted", [0.0, 0.3, 0.8, 1.0])
def test_the_asked_part_of_the_edges_stays_inside_classes(wanted):
    assert homophily(synthetic(SyntheticConfig(homophily=wanted), seed=1)) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(("degree", "num_edges"), [(1, 1000), (8, 8000), (50, 50000)])
def test_the_mean_degree_is_the_one_asked_for(degree, num_edges):
    assert synthetic(SyntheticConfig(degree=degree), seed=0).graph.num_edges == num_edges


def test_small_classes_have_as_many_neighbors_as_large_ones():
    dataset = synthetic(SyntheticConfig(nodes=20000, skew=20), seed=0)
    for cls in range(5):
        assert float(dataset.graph.degree[dataset.y == cls].double().mean()) == pytest.approx(8, rel=0.15)


def test_a_heavier_tail_has_larger_hubs():
    largest = [
        int(synthetic(SyntheticConfig(nodes=20000, tail=tail), 0).graph.degree.max()) for tail in (2.2, 3, 50)
    ]
    assert largest[0] > largest[1] > 100 > 40 > largest[2]
    assert largest[0] < 500  # about sqrt(8 * 9300), a hub of the largest class: larger ones are held back


def test_graphs_are_simple_and_undirected():
    adjacency = synthetic(SyntheticConfig(nodes=300, degree=20), seed=0).graph.adjacency
    dense = adjacency.to_dense()
    assert torch.equal(dense, dense.T)
    assert (dense.diagonal() == 0).all()
    assert (adjacency.values == 1).all()
    assert adjacency.num_stored == int(dense.sum()) == 6000


def test_the_same_seed_gives_the_same_graph_whatever_was_drawn_before():
    first = synthetic(SyntheticConfig(), seed=3)
    torch.rand(5)
    again, other = synthetic(SyntheticConfig(), seed=3), synthetic(SyntheticConfig(), seed=4)
    assert torch.equal(first.y, again.y)
    assert torch.equal(first.graph.adjacency.indices, again.graph.adjacency.indices)
    assert torch.equal(first.graph.x.values, again.graph.x.values)
    assert not torch.equal(first.y, other.y)
    assert not torch.equal(first.graph.x.values, other.graph.x.values)


def test_drawing_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    synthetic(SyntheticConfig(words=5), seed=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_features_tell_as_much_as_the_signal_allows():
    accuracy = []
    for signal in (0, 1, 4):
        dataset = synthetic(SyntheticConfig(nodes=4000, skew=1, signal=signal), seed=0)
        assert isinstance(dataset.graph.x, Dense)
        accuracy.append(nearest_mean_accuracy(dataset.graph.x.values, dataset.y))
    assert accuracy[0] < 0.35  # chance is 1 in 5; the means are fitted to the same nodes
    assert 0.4 < accuracy[1] < 0.8
    assert accuracy[2] > 0.95


def test_words_are_sparse_and_tell_the_class():
    accuracy = []
    for signal in (0, 1):
        dataset = synthetic(
            SyntheticConfig(nodes=4000, skew=1, features=500, words=10, signal=signal), seed=0
        )
        x = dataset.graph.x
        assert isinstance(x, Csr)
        assert (x.values == 1).all()
        assert 9 < float(x.row_lengths.double().mean()) < 10  # a word drawn twice counts once
        accuracy.append(nearest_mean_accuracy(x.to_dense(), dataset.y))
    assert accuracy[0] < 0.5
    assert accuracy[1] > 0.9


def test_the_last_nodes_are_a_fair_test_set():
    dataset = synthetic(SyntheticConfig(), seed=0)
    assert dataset.test.tolist() == list(range(1200, 2000))
    counts = dataset.y[dataset.test].bincount(minlength=5).tolist()
    assert counts == pytest.approx([372, 209, 117, 66, 37], abs=30)  # two fifths of each class


def test_a_million_edges_take_a_moment():
    dataset = synthetic(SyntheticConfig(nodes=100_000, degree=20, features=8), seed=0)
    assert dataset.graph.num_edges == 1_000_000
    assert homophily(dataset) == pytest.approx(0.8, abs=1e-3)


def test_the_name_carries_options():
    dataset = load_dataset("synthetic:nodes=700,classes=7,skew=5,homophily=0.6,degree=4,features=9,seed=3")
    assert (dataset.graph.num_nodes, dataset.graph.num_edges, dataset.graph.num_features) == (700, 1400, 9)
    assert dataset.class_names == tuple(f"class {cls}" for cls in range(7))
    assert homophily(dataset) == pytest.approx(0.6, abs=1e-3)
    assert (
        dataset.graph.name == "synthetic:nodes=700,classes=7,skew=5,homophily=0.6,degree=4,features=9,seed=3"
    )


def test_options_have_defaults():
    config, seed = parse_options(" nodes = 5000 , signal=2 ")
    assert (config, seed) == (SyntheticConfig(nodes=5000, signal=2.0), 0)
    plain, empty, seeded = (load_dataset(name) for name in ("synthetic", "synthetic:", "synthetic:seed=1"))
    assert plain.graph.num_nodes == 2000
    assert torch.equal(plain.graph.adjacency.indices, empty.graph.adjacency.indices)
    assert not torch.equal(plain.y, seeded.y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("node=5", "unknown option 'node'; did you mean nodes? choose from nodes, classes, skew, homophily"),
        ("nodes", "nodes= is not a whole number"),
        ("nodes=many", "nodes=many is not a whole number"),
        ("nodes=1e3", "nodes=1e3 is not a whole number"),
        ("skew=big", "skew=big is not a number"),
        ("skew=nan", "skew=nan is not from 1 up"),
        ("skew=0.5", "skew=0.5 is not from 1 up"),
        ("homophily=1.5", "homophily=1.5 is not between 0 and 1"),
        ("classes=1", "classes=1 is not between 2 and 10000"),
        ("degree=-3", "degree=-3 is not between"),
        ("seed=-1", "seed=-1 is negative; give 0 or more"),
        ("seed=1,seed=2", "seed is given twice"),
        ("nodes=50,skew=1000", "nodes=50 leaves the smallest of 5 classes at skew=1000 fewer than 2 nodes"),
        ("skew=inf", "leaves the smallest of 5 classes at skew=inf fewer than 2 nodes"),
        (
            "nodes=50,degree=45",
            "degree=45 at homophily=0.8 asks for nearly all edges that 50 nodes in 5 classes",
        ),
        ("nodes=20,classes=2,skew=1,homophily=1,degree=9", "asks for nearly all edges that 20 nodes"),
        (
            "words=3,features=4",
            "features=4 cannot hold a word for each of 5 classes; give features=5 or more",
        ),
    ],
)
def test_wrong_options_are_one_clear_error(options, message):
    with pytest.raises(InputError, match=f"^synthetic: .*{re.escape(message)}"):
        load_dataset(f"synthetic:{options}")
