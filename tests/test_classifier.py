import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from gcbr.classifier import Classifier, ClassifierFactory, GCNClassifier, ModuleClassifier, find_classifier
from gcbr.engine.gcn import GCNConfig
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Graph, Labels
from gcbr.seeding import generator

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PyG still calls torch.jit.script
    from torch_geometric.nn import GAT, GraphSAGE, SGConv


def module_classifier(module: Callable[[int, int], nn.Module]) -> ClassifierFactory:
    return lambda graph, num_classes, rng: ModuleClassifier(graph, num_classes, rng, module)


# The real networks, with dropout: what they draw matters as much as what they compute.
CLASSIFIERS: dict[str, ClassifierFactory] = {
    "gcn": GCNClassifier,
    "sage": module_classifier(lambda f, c: GraphSAGE(f, 16, num_layers=2, out_channels=c, dropout=0.5)),
    "gat": module_classifier(lambda f, c: GAT(f, 16, num_layers=2, out_channels=c, dropout=0.5, heads=2)),
    "sgc": module_classifier(lambda f, c: SGConv(f, c, K=2)),
}
ENDS = Labels(nodes=(0, 5), classes=(0, 1))  # of the barbell: one node of each triangle


@pytest.fixture(params=CLASSIFIERS)
def make(request: pytest.FixtureRequest, barbell: Graph) -> Callable[[], Classifier]:
    return lambda num_classes=2, seed=0: CLASSIFIERS[request.param](barbell, num_classes, generator(seed))


def probabilities(classifier: Classifier) -> Tensor:
    return classifier.predict().probabilities


def test_learns_two_triangles_from_a_label_in_each(make: Callable[[], Classifier]):
    classifier = make()
    classifier.update(ENDS, epochs=100)
    assert probabilities(classifier).argmax(1).tolist() == [0, 0, 0, 1, 1, 1]


def test_predicts_a_distribution_for_every_node(make: Callable[[], Classifier]):
    classifier = make(num_classes=4)
    prediction = classifier.predict()
    predicted, embeddings = prediction.probabilities, prediction.embeddings
    assert classifier.num_classes == 4
    assert predicted.shape == (6, 4)
    assert embeddings.shape[0] == 6
    torch.testing.assert_close(predicted.sum(1), torch.ones(6))
    assert not predicted.requires_grad


def test_one_generator_decides_everything(make: Callable[[], Classifier]):
    first, second, other = make(), make(), make(seed=1)
    for classifier in (first, second, other):
        classifier.update(ENDS, epochs=3)
        torch.rand(5)  # someone else draws in between
    assert torch.equal(probabilities(first), probabilities(second))
    assert not torch.equal(probabilities(first), probabilities(other))


def test_never_touches_the_global_generator(make: Callable[[], Classifier]):
    before = torch.get_rng_state()
    classifier = make()
    classifier.update(ENDS, epochs=2)
    classifier.predict()
    classifier.grow(3)
    classifier.clone().update(ENDS)
    assert torch.equal(torch.get_rng_state(), before)


def test_prediction_is_taken_with_dropout_off_and_changes_nothing(make: Callable[[], Classifier]):
    asked, unasked = make(), make()
    for _ in range(3):
        asked.update(ENDS)
        unasked.update(ENDS)
        assert torch.equal(probabilities(asked), probabilities(asked))
    assert torch.equal(probabilities(asked), probabilities(unasked))


def test_growing_keeps_what_was_learned(make: Callable[[], Classifier]):
    classifier = make()
    classifier.update(ENDS, epochs=50)
    before = probabilities(classifier)
    classifier.grow(4)
    after = probabilities(classifier)
    assert classifier.num_classes == 4
    assert after.shape == (6, 4)
    torch.testing.assert_close(after[:, :2] / after[:, :2].sum(1, keepdim=True), before, atol=1e-5, rtol=0)


def test_a_class_grown_later_is_learned_as_well(make: Callable[[], Classifier]):
    classifier = make()
    classifier.update(ENDS, epochs=30)
    classifier.grow(3)
    labels = ENDS.add(2, 2)
    classifier.update(labels, epochs=200)
    assert probabilities(classifier).argmax(1)[list(labels.nodes)].tolist() == [0, 1, 2]


def test_a_clone_learns_exactly_as_the_original_and_apart_from_it(make: Callable[[], Classifier]):
    classifier = make()
    classifier.update(ENDS, epochs=3)
    before = probabilities(classifier)
    twin = classifier.clone()
    assert torch.equal(probabilities(twin), before)
    twin.update(ENDS.add(2, 0), epochs=3)
    assert torch.equal(probabilities(classifier), before)
    classifier.update(ENDS.add(2, 0), epochs=3)
    assert torch.equal(probabilities(twin), probabilities(classifier))
    assert not torch.equal(probabilities(classifier), before)


def test_a_clone_grows_apart_from_the_original(make: Callable[[], Classifier]):
    classifier = make()
    classifier.update(ENDS)
    twin = classifier.clone()
    twin.grow(3)
    assert (twin.num_classes, classifier.num_classes) == (3, 2)
    assert probabilities(classifier).shape == (6, 2)


def test_epochs_in_one_call_are_as_many_calls(barbell: Graph):
    once, often = (GCNClassifier(barbell, 2, generator(0)) for _ in range(2))
    once.update(ENDS, epochs=4)
    for _ in range(4):
        often.update(ENDS)
    assert torch.equal(probabilities(once), probabilities(often))


def test_settings_reach_the_network(barbell: Graph):
    classifier = GCNClassifier(barbell, 2, generator(0), GCNConfig(hidden=5, dropout=0.0))
    assert classifier.predict().embeddings.shape == (6, 5)


def test_the_papers_settings_are_the_default():
    config = GCNConfig()
    assert (config.hidden, config.learning_rate, config.dropout) == (64, 0.01, 0.5)
    assert (config.weight_decay, config.feature_dropout) == (5e-4, 0.0)


def test_the_authors_classifier_learns_no_preference_for_a_class():
    # Nodes 0 and 1 have no features and no edges: only biases could tell their classes apart.
    edges = Csr.from_entries(torch.tensor([2, 3]), torch.tensor([3, 2]), torch.ones(2), (4, 4))
    x = Dense(torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    labels = Labels((0, 2), (1, 1))
    for form, is_even in {"authors": True, "usual": False}.items():
        classifier = GCNClassifier(Graph("pair", edges, x), 2, generator(0), find_classifier(form))
        classifier.update(labels, epochs=20)
        assert (probabilities(classifier)[1].tolist() == [0.5, 0.5]) is is_even


def test_an_unknown_form_is_answered_with_the_names():
    with pytest.raises(InputError, match="unknown form of the classifier 'own'; choose from usual, authors"):
        find_classifier("own")
