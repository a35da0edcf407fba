import torch
from benchmarks.development import RUNS, TOPIC_GRAPHS, _of_topics, topics_to_classes

from gcbr.datasets.synthetic import SyntheticConfig


def test_topics_fill_the_class_that_lacks_most():
    # Of 100 nodes the classes want 60 and 40. Topics of 50, 20, 20 and 10, in any order: 50 to the first
    # (60 lacking), which then lacks 10; 20 and 20 to the second (40, then 20 lacking), 10 to the first.
    assert topics_to_classes([20, 50, 10, 20], [3, 2]) == [1, 0, 0, 1]


def test_a_class_is_made_of_whole_topics_that_share_edges_and_words():
    config = SyntheticConfig(
        nodes=300, classes=4, skew=1, homophily=1, degree=6, features=8, words=20, signal=10**4
    )
    dataset = _of_topics(config, [1, 1])
    assert dataset.class_names == ("class 0", "class 1")
    assert dataset.y.bincount().tolist() == [150, 150]
    # Two words a topic: a node has those of its own, and neighbors have the same.
    has_word = dataset.graph.x.to_dense() > 0
    topic = has_word.view(300, 4, 2).all(2).float().argmax(1)
    assert all(len(topic[dataset.y == cls].unique()) == 2 for cls in (0, 1))
    edges = dataset.graph.adjacency
    assert torch.equal(topic[edges.row_of_entry], topic[edges.indices.long()])


def test_every_graph_has_its_number_of_runs():
    assert set(TOPIC_GRAPHS) < set(RUNS)
    assert min(RUNS.values()) >= 2  # a difference needs a variance
