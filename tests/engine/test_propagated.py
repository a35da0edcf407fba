"""Features propagated beforehand: the same network, in another order of sums."""

import pytest
import torch

from gcbr.classifier import GCNClassifier
from gcbr.engine.gcn import BatchedGCN, GCNConfig
from gcbr.engine.mapped import StoredFeatures
from gcbr.engine.matrix import Dense
from gcbr.engine.propagated import PropagatedGCN
from gcbr.graph import Dataset, Labels
from gcbr.seeding import generator

NODES = torch.tensor([[0, 3, 17, 60], [5, 3, 199, 100]])


def networks(dataset: Dataset, config: GCNConfig, seed: int = 0) -> tuple[BatchedGCN, PropagatedGCN]:
    """Both from the same seed, two networks each."""
    graph = dataset.graph
    propagated = Dense(graph.propagation.matmul(graph.x.to_dense()))
    return (
        BatchedGCN(graph.propagation, graph.x, dataset.num_classes, config, generator(seed), 2),
        PropagatedGCN(graph.propagation, propagated, dataset.num_classes, config, generator(seed), 2),
    )


def test_learns_the_same_as_the_network_that_propagates_itself(skewed: Dataset):
    """Dropout draws the same numbers: both look at the same hidden rows in the same order."""
    plain, propagated = networks(skewed, GCNConfig(hidden=8))
    for num_labels in (1, 2, 3, 4, 4, 4):
        labeled = NODES[:, :num_labels]
        losses = [network.step(labeled, skewed.y[labeled]) for network in (plain, propagated)]
        torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-5)
    first, second = plain.predict(), propagated.predict()
    torch.testing.assert_close(first.probabilities, second.probabilities, rtol=0, atol=1e-4)
    torch.testing.assert_close(first.embeddings, second.embeddings, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("nodes", [[7], [0, 1, 2], list(range(200)), [199, 5, 5]])
def test_some_nodes_are_predicted_as_they_are_among_all(skewed: Dataset, nodes: list[int]):
    _, network = networks(skewed, GCNConfig(hidden=8))
    network.step(NODES, skewed.y[NODES])
    some = network.predict().of(torch.tensor(nodes))
    every = network.predict().probabilities[:, nodes]
    torch.testing.assert_close(some, every, rtol=0, atol=1e-6)


def test_a_prediction_looked_at_late_is_that_of_its_moment(skewed: Dataset):
    _, network = networks(skewed, GCNConfig(hidden=8))
    network.step(NODES, skewed.y[NODES])
    early, late = network.predict(), network.predict()
    seen = early.probabilities
    network.step(NODES, skewed.y[NODES])
    other = network.predict()
    assert not torch.equal(other.probabilities, seen)
    torch.testing.assert_close(late.of(torch.tensor([4])), seen[:, [4]], rtol=0, atol=1e-6)
    assert torch.equal(late.probabilities, seen)
    assert not torch.equal(late.embeddings, other.embeddings)


def test_a_classifier_takes_propagated_features_where_a_graph_has_them(skewed: Dataset):
    graph, x = skewed.graph, skewed.graph.x.to_dense()
    assert graph.propagated is None  # a small graph: what is computed there never changes with this
    stored = StoredFeatures(x, Dense(graph.propagation.matmul(x)))
    kept = type(graph)(graph.name, graph.adjacency, stored)
    labels = Labels((0, 3, 17), (0, 1, 2))
    predictions = []
    for one in (graph, kept):
        classifier = GCNClassifier(one, 3, generator(0), GCNConfig(hidden=8))
        classifier.update(labels, 5)
        predictions.append(classifier.predict())
    torch.testing.assert_close(predictions[0].probabilities, predictions[1].probabilities, rtol=0, atol=1e-4)
    some = torch.tensor([3, 9])
    torch.testing.assert_close(predictions[1].of(some), predictions[0].of(some), rtol=0, atol=1e-4)


def test_features_changed_on_the_way_are_not_taken_for_the_stored_ones(skewed: Dataset):
    x = skewed.graph.x.to_dense()
    stored = StoredFeatures(x, Dense(x))
    assert stored.rows(torch.tensor([1, 0])).to_dense().equal(x[[1, 0]])
    assert not isinstance(stored.rows(torch.tensor([1, 0])), StoredFeatures)
