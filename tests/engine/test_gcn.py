"""The hand-written steps against autograd through PyG's `GCNConv`, from the same weights."""

import warnings
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from gcbr.engine import dropout
from gcbr.engine.gcn import BatchedGCN, GCNConfig, cross_entropy
from gcbr.engine.matrix import Centered, Csr, Dense, Matrix, normalized_adjacency
from gcbr.engine.propagated import PropagatedGCN
from gcbr.engine.receptive import receptive_field
from gcbr.seeding import clone_generator, generator

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PyG still calls torch.jit.script
    from torch_geometric.nn import GCNConv

NUM_CLASSES = 3
PLAIN = GCNConfig(hidden=6, dropout=0.0)

# Three components: a triangle with a tail, a single edge, a square; nodes 4 and 11 have no edge at all.
RAGGED = [(0, 1), (1, 2), (0, 2), (2, 3), (5, 6), (7, 8), (8, 9), (9, 10), (7, 10)]
NUM_RAGGED = 12

# Labels of five networks: neighbors of each other, the two ends of an edge, a node twice, isolated nodes,
# nodes of every component; the first and the last network share their nodes but not their answers.
NODES = torch.tensor([[0, 1, 2, 3], [5, 6, 4, 11], [7, 7, 9, 0], [4, 5, 2, 10], [0, 1, 2, 3]])
CLASSES = torch.tensor([[0, 1, 2, 0], [1, 1, 2, 0], [2, 0, 1, 1], [0, 2, 2, 1], [2, 2, 0, 1]])


@pytest.fixture
def double() -> Iterator[None]:
    """Sixteen digits, where the optimizer would blow a difference in the eighth up."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(params=["whole", "restricted"])
def field(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of taking a step, each forced on every graph."""
    share = {"whole": 0.0, "restricted": 2.0}[request.param]
    monkeypatch.setattr("gcbr.engine.receptive._WORTH_BUILDING_ONCE", share)
    monkeypatch.setattr("gcbr.engine.receptive._WORTH_KEEPING", share)
    return request.param


def adjacency(edges: list[tuple[int, int]], num_nodes: int, weighted: bool = False) -> Csr:
    ends = torch.tensor(edges).reshape(-1, 2).T
    weights = torch.rand(len(edges), generator=generator(9)) * 3 + 0.2 if weighted else torch.ones(len(edges))
    both = torch.cat([ends, ends.flip(0)], dim=1)
    return Csr.from_entries(both[0], both[1], weights.repeat(2), (num_nodes, num_nodes))


def ring(num_nodes: int) -> Csr:
    return adjacency([(node, (node + 1) % num_nodes) for node in range(num_nodes)], num_nodes)


def features(form: str, num_nodes: int, num_features: int = 8) -> Matrix:
    rng = generator(7)
    values = torch.rand(num_nodes, num_features, generator=rng)
    values *= torch.rand(num_nodes, num_features, generator=rng) < 0.4
    if form == "dense":
        return Dense(values)
    places = values.nonzero().T
    sparse = Csr.from_entries(*places, values[tuple(places)], (num_nodes, num_features))
    return sparse if form == "csr" else Centered(sparse, values.mean(0))


class Reference(nn.Module):
    """One network of a `BatchedGCN` the way PyG's own examples write it."""

    def __init__(self, network: BatchedGCN, episode: int, graph: Csr, x: Matrix) -> None:
        super().__init__()
        self.conv1 = GCNConv(x.shape[1], network.config.hidden)
        self.conv2 = GCNConv(network.config.hidden, network.num_classes)
        self.x = x.to_dense()
        self.edge_index = torch.stack([graph.row_of_entry, graph.indices.long()])
        self.edge_weight = graph.values
        with torch.no_grad():
            for ours, theirs in zip(self.ours(network, episode), self.parameters_in_order(), strict=True):
                theirs.copy_(ours)

    @staticmethod
    def ours(network: BatchedGCN, episode: int) -> list[Tensor]:
        return [network.w1[episode].T, network.b1[episode], network.w2[episode].T, network.b2[episode]]

    def parameters_in_order(self) -> list[nn.Parameter]:
        return [self.conv1.lin.weight, self.conv1.bias, self.conv2.lin.weight, self.conv2.bias]

    def hidden(self, x: Tensor) -> Tensor:
        return self.conv1(x, self.edge_index, self.edge_weight).relu()

    def logits(self, hidden: Tensor) -> Tensor:
        return self.conv2(hidden, self.edge_index, self.edge_weight)

    def forward(self, kept: Tensor | float = 1.0, x: Tensor | None = None) -> Tensor:
        """Logits of every node; `kept` multiplies the hidden layer, as dropout does."""
        return self.logits(self.hidden(self.x if x is None else x) * kept)

    def gradients(self, nodes: Tensor, classes: Tensor, **masks: Tensor) -> tuple[Tensor, list[Tensor]]:
        loss = F.cross_entropy(self(**masks)[nodes], classes)
        return loss.detach(), list(torch.autograd.grad(loss, self.parameters_in_order()))


def references(network: BatchedGCN, graph: Csr, x: Matrix) -> list[Reference]:
    return [Reference(network, episode, graph, x) for episode in range(network.episodes)]


def build(graph: Csr, x: Matrix, episodes: int, config: GCNConfig = PLAIN, seed: int = 0) -> BatchedGCN:
    network = BatchedGCN(normalized_adjacency(graph), x, NUM_CLASSES, config, generator(seed), episodes)
    rng = generator(seed, 1)
    for bias in (network.b1, network.b2):  # zero to begin with, which would hide a missing term
        bias.copy_(torch.rand(bias.shape, generator=rng) - 0.5)
    return network


def assert_same_gradients(
    network: BatchedGCN, graph: Csr, x: Matrix, nodes: Tensor, classes: Tensor, tolerance: float = 1e-5
) -> None:
    loss, gradients = network.gradients(nodes, classes)
    for episode, reference in enumerate(references(network, graph, x)):
        expected_loss, expected = reference.gradients(nodes[episode], classes[episode])
        torch.testing.assert_close(loss[episode], expected_loss, atol=tolerance, rtol=0)
        w1, b1, w2, b2 = gradients
        ours = [w1[episode].T, b1[episode], w2[episode].T, b2[episode]]
        for got, wanted in zip(ours, expected, strict=True):
            torch.testing.assert_close(got, wanted, atol=tolerance, rtol=0)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("form", ["csr", "dense", "centered"])
@pytest.mark.parametrize("episodes", [1, 2, 5])
def test_predictions_are_those_of_autograd(episodes: int, form: str, weighted: bool):
    graph, x = adjacency(RAGGED, NUM_RAGGED, weighted), features(form, NUM_RAGGED)
    network = build(graph, x, episodes)
    prediction = network.predict()
    probabilities, embeddings = prediction.probabilities, prediction.embeddings
    assert probabilities.shape == (episodes, NUM_RAGGED, NUM_CLASSES)
    assert embeddings.shape == (episodes, NUM_RAGGED, PLAIN.hidden)
    for episode, reference in enumerate(references(network, graph, x)):
        torch.testing.assert_close(probabilities[episode], reference().softmax(-1), atol=1e-5, rtol=0)
        torch.testing.assert_close(embeddings[episode], reference.hidden(reference.x), atol=1e-5, rtol=0)


@pytest.mark.parametrize("after_prediction", [False, True], ids=["fresh", "after-prediction"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("form", ["csr", "dense", "centered"])
@pytest.mark.parametrize("episodes", [1, 2, 5])
def test_loss_and_gradients_are_those_of_autograd(
    episodes: int, form: str, weighted: bool, after_prediction: bool, field: str
):
    graph, x = adjacency(RAGGED, NUM_RAGGED, weighted), features(form, NUM_RAGGED)
    network = build(graph, x, episodes)
    if after_prediction:
        network.predict()
    assert_same_gradients(network, graph, x, NODES[:episodes], CLASSES[:episodes])


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.data())
def test_loss_and_gradients_are_those_of_autograd_on_any_graph(data: st.DataObject):
    num_nodes = data.draw(st.integers(2, 30))
    node = st.integers(0, num_nodes - 1)
    edge = st.tuples(node, node).filter(lambda ends: ends[0] < ends[1])
    edges = data.draw(st.lists(edge, unique=True, max_size=2 * num_nodes))
    episodes, num_labels = data.draw(st.sampled_from([1, 2, 5])), data.draw(st.integers(1, 4))
    draw_table = st.lists(node, min_size=episodes * num_labels, max_size=episodes * num_labels)
    nodes = torch.tensor(data.draw(draw_table)).view(episodes, num_labels)
    classes = torch.randint(NUM_CLASSES, nodes.shape, generator=generator(3))
    graph = adjacency(edges, num_nodes, weighted=data.draw(st.booleans()))
    x = features(data.draw(st.sampled_from(["csr", "dense", "centered"])), num_nodes)
    network = build(graph, x, episodes)
    for _ in range(3):  # made once, made to be kept, kept
        assert_same_gradients(network, graph, x, nodes, classes)


def test_a_far_neighborhood_is_cut_out_and_a_wide_one_is_not():
    # On a ring of 100 nodes, k labels side by side reach k + 2 hidden rows and k + 4 rows of features.
    propagation, x = normalized_adjacency(ring(100)), features("csr", 100)
    near = receptive_field(propagation, x, torch.arange(15).unsqueeze(0), used_again=False)
    assert near.nodes is not None
    assert near.nodes.tolist() == [*range(16), 99]
    assert near.inner.shape == (17, 19)
    assert near.x.shape == (19, 8)
    wide = receptive_field(propagation, x, torch.arange(16).unsqueeze(0), used_again=False)
    assert wide.nodes is None
    assert wide.inner.shape == (100, 100)
    kept = receptive_field(propagation, x, torch.arange(16).unsqueeze(0), used_again=True)
    assert kept.nodes is not None
    assert kept.inner.shape == (18, 20)
    assert receptive_field(propagation, x, torch.arange(66).unsqueeze(0), used_again=True).nodes is None


def test_each_network_reaches_only_its_own_neighborhood():
    labeled = torch.tensor([[10, 11], [50, 10]])
    field = receptive_field(normalized_adjacency(ring(100)), features("csr", 100), labeled, used_again=False)
    assert field.nodes is not None
    reached = [field.nodes[rows].tolist() for rows in field.active.split(field.per_network)]
    assert reached == [[9, 10, 11, 12], [9, 10, 11, 49, 50, 51]]
    assert field.outer.shape == (4, 10)


@pytest.mark.parametrize("form", ["csr", "dense", "centered"])
@pytest.mark.parametrize("ask_between", [False, True], ids=["steps-alone", "predicting-between"])
@pytest.mark.usefixtures("double")
def test_many_steps_are_those_of_adam(form: str, ask_between: bool, field: str):
    graph, x = adjacency(RAGGED, NUM_RAGGED, weighted=True), features(form, NUM_RAGGED)
    network = build(graph, x, episodes=5)
    models = references(network, graph, x)
    optimizers = [torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4) for model in models]
    for num_labels in (1, 2, 3, 4, 4, 4, 4, 2, 2):
        nodes, classes = NODES[:, :num_labels], CLASSES[:, :num_labels]
        loss = network.step(nodes, classes)
        for episode, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            optimizer.zero_grad()
            expected = F.cross_entropy(model()[nodes[episode]], classes[episode])
            expected.backward()
            optimizer.step()
            torch.testing.assert_close(loss[episode], expected.detach(), atol=1e-9, rtol=0)
        if ask_between:
            network.predict()
    probabilities = network.predict().probabilities
    for episode, model in enumerate(models):
        torch.testing.assert_close(probabilities[episode], model().softmax(-1), atol=1e-9, rtol=0)
        for ours, theirs in zip(Reference.ours(network, episode), model.parameters_in_order(), strict=True):
            torch.testing.assert_close(ours, theirs.detach(), atol=1e-9, rtol=0)


@pytest.mark.parametrize("form", ["csr", "dense", "centered"])
@pytest.mark.parametrize("feature_dropout", [0.0, 0.3])
@pytest.mark.parametrize("after_prediction", [False, True], ids=["fresh", "after-prediction"])
def test_dropout_is_that_of_autograd_under_the_same_mask(
    form: str, feature_dropout: float, after_prediction: bool, field: str
):
    config = GCNConfig(hidden=6, dropout=0.4, feature_dropout=feature_dropout)
    graph, x = adjacency(RAGGED, NUM_RAGGED), features(form, NUM_RAGGED)
    propagation, rng = normalized_adjacency(graph), generator(0)
    network = BatchedGCN(propagation, x, NUM_CLASSES, config, rng, episodes=5)
    if after_prediction:
        network.predict()
    twin = clone_generator(rng)
    loss, gradients = network.gradients(NODES, CLASSES)

    # The features first, of the nodes two steps away; then the hidden rows one step away, of each network.
    is_near = propagation.to_dense() > 0
    reached = torch.stack([is_near[nodes].any(0) for nodes in NODES])  # [E, N]
    is_source = is_near[reached.any(0)].any(0)
    if field == "whole":
        is_source = torch.ones_like(is_source)
    seen = x.to_dense().clone()
    if feature_dropout > 0:
        seen[is_source] = x.rows(is_source.nonzero().flatten()).with_dropout(feature_dropout, twin).to_dense()
    kept = torch.zeros(5, NUM_RAGGED, config.hidden)
    kept[reached] = dropout.kept(torch.Size([int(reached.sum()), config.hidden]), 0.4, twin) / 0.6

    for episode, reference in enumerate(references(network, graph, x)):
        expected_loss, expected = reference.gradients(
            NODES[episode], CLASSES[episode], kept=kept[episode], x=seen
        )
        torch.testing.assert_close(loss[episode], expected_loss, atol=1e-5, rtol=0)
        torch.testing.assert_close(gradients.w1[episode].T, expected[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(gradients.b1[episode], expected[1], atol=1e-5, rtol=0)
        torch.testing.assert_close(gradients.w2[episode].T, expected[2], atol=1e-5, rtol=0)
        torch.testing.assert_close(gradients.b2[episode], expected[3], atol=1e-5, rtol=0)
    assert torch.equal(rng.get_state(), twin.get_state())


def test_dropout_keeps_the_expected_gradient_of_the_last_layer():
    # With the second weights at zero the loss does not feel the mask, and the gradient is linear in it.
    graph, x = adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED)
    dropped = build(graph, x, 1, GCNConfig(hidden=6, dropout=0.5))
    plain = build(graph, x, 1)
    for network in (dropped, plain):
        network.w2.zero_()
    draws = torch.stack([dropped.gradients(NODES[:1], CLASSES[:1])[1].w2 for _ in range(2000)])
    expected = plain.gradients(NODES[:1], CLASSES[:1])[1].w2
    assert not torch.equal(draws[0], draws[1])
    deviation = draws.std(0) / 2000**0.5
    assert ((draws.mean(0) - expected).abs() <= 5 * deviation + 1e-6).all()


def test_prediction_uses_no_dropout_and_draws_nothing():
    graph, x, rng = adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED), generator(0)
    network = BatchedGCN(normalized_adjacency(graph), x, NUM_CLASSES, GCNConfig(feature_dropout=0.5), rng)
    before = rng.get_state()
    first = network.predict().probabilities
    torch.testing.assert_close(first[0], Reference(network, 0, graph, x)().softmax(-1), atol=1e-5, rtol=0)
    assert torch.equal(network.predict().probabilities, first)
    assert torch.equal(rng.get_state(), before)


def test_networks_that_are_alike_drop_out_differently():
    graph, x = adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED)
    network = build(graph, x, 2, GCNConfig(hidden=6, dropout=0.5))
    for parameter in network.parameters:
        parameter.copy_(parameter[:1].expand_as(parameter).clone())
    same = NODES[[0, 0]], CLASSES[[0, 0]]
    assert torch.equal(*network.predict().probabilities)
    loss, _ = network.gradients(*same)
    assert loss[0] != loss[1]


@pytest.mark.usefixtures("double")
def test_networks_side_by_side_learn_as_they_would_alone():
    graph, x = adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED)
    together = build(graph, x, episodes=5)
    alone = [build(graph, x, episodes=1, seed=episode + 1) for episode in range(5)]
    for episode, network in enumerate(alone):
        for target, source in zip(network.parameters, together.parameters, strict=True):
            target.copy_(source[episode : episode + 1])
    for num_labels in (1, 2, 3, 4, 4):
        together.step(NODES[:, :num_labels], CLASSES[:, :num_labels])
        for episode, network in enumerate(alone):
            network.step(NODES[[episode], :num_labels], CLASSES[[episode], :num_labels])
    for episode, network in enumerate(alone):
        torch.testing.assert_close(
            together.predict().probabilities[episode], network.predict().probabilities[0], atol=1e-9, rtol=0
        )


def test_a_prediction_before_a_step_changes_nothing_that_is_learned(field: str):
    # Rows cut out of a dense product differ in the last bit from the product of those rows when they are few.
    graph, x = adjacency([(0, 1), (3, 4)], 300), features("dense", 300, num_features=40)
    asked, unasked = (build(graph, x, 1, GCNConfig(hidden=64)) for _ in range(2))
    for num_labels in (1, 2, 3, 3, 3):
        nodes, classes = (
            torch.tensor([[2, 0, 250]])[:, :num_labels],
            torch.tensor([[0, 1, 2]])[:, :num_labels],
        )
        asked.predict()
        asked.step(nodes, classes)
        unasked.step(nodes, classes)
    for ours, theirs in zip(asked.parameters, unasked.parameters, strict=True):
        assert torch.equal(ours, theirs)


def test_labels_changed_in_place_are_new_labels():
    graph, x = adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED)
    network = build(graph, x, 1)
    nodes, classes = NODES[:1].clone(), CLASSES[:1]
    network.gradients(nodes, classes)
    network.gradients(nodes, classes)
    nodes.copy_(NODES[1])
    assert_same_gradients(network, graph, x, nodes, classes)


def test_the_loss_returned_is_the_one_before_the_step():
    graph, x = adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED)
    network = build(graph, x, 1)
    probabilities = network.predict().probabilities[0]
    expected = F.nll_loss(probabilities[NODES[0]].log(), CLASSES[0])
    torch.testing.assert_close(network.step(NODES[:1], CLASSES[:1])[0], expected)
    assert not torch.equal(network.predict().probabilities[0], probabilities)


def test_cross_entropy_worked_by_hand():
    # Two labels, probabilities (1/2, 1/2) and (3/4, 1/4): losses log 2 and log 4, a mean of 1.5 log 2.
    logits = torch.tensor([[[0.0, 0.0], [torch.tensor(3.0).log(), 0.0]]])
    loss, gradient = cross_entropy(logits, torch.tensor([[0, 1]]))
    assert loss.tolist() == pytest.approx([1.0397208])
    assert gradient[0].tolist() == [pytest.approx([-0.25, 0.25]), pytest.approx([0.375, -0.375])]


def test_growing_keeps_the_old_outputs_to_the_bit():
    network = build(adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED), 2, GCNConfig(hidden=6))
    for _ in range(3):
        network.step(NODES[:2], CLASSES[:2])
    before = [parameter.clone() for parameter in network.parameters]
    old = network.predict()
    network.grow(5)
    assert network.num_classes == 5
    w1, b1, w2, b2 = network.parameters
    assert torch.equal(w1, before[0])
    assert torch.equal(b1, before[1])
    assert torch.equal(w2[..., :3], before[2])
    assert torch.equal(b2[:, :3], before[3])
    assert (w2[..., 3:] != 0).all()
    assert (b2[:, 3:] == 0).all()
    new = network.predict()
    assert torch.equal(new.embeddings, old.embeddings)
    share = new.probabilities[..., :3] / new.probabilities[..., :3].sum(-1, keepdim=True)
    torch.testing.assert_close(share, old.probabilities)


def test_growing_keeps_the_moments():
    # New outputs nobody can predict take no part in the loss, so the next steps must be the old ones.
    network = build(adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED), 2, GCNConfig(hidden=6))
    for _ in range(3):
        network.step(NODES[:2], CLASSES[:2])
    grown = network.clone()
    state = grown._rng.get_state()
    grown.grow(5)
    grown._rng.set_state(state)  # the same dropout from here on
    grown.w2[..., 3:] = 0
    grown.b2[:, 3:] = -1000
    for _ in range(3):
        network.step(NODES[:2], CLASSES[:2])
        grown.step(NODES[:2], CLASSES[:2])
    torch.testing.assert_close(grown.w1, network.w1, atol=1e-6, rtol=0)
    torch.testing.assert_close(grown.b1, network.b1, atol=1e-6, rtol=0)
    torch.testing.assert_close(grown.w2[..., :3], network.w2, atol=1e-6, rtol=0)
    torch.testing.assert_close(grown.b2[:, :3], network.b2, atol=1e-6, rtol=0)


def test_new_outputs_learn():
    network = build(adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED), 1)
    network.step(NODES[:1], CLASSES[:1])
    network.grow(4)
    before = network.predict().probabilities[0, 0, 3]
    for _ in range(20):
        network.step(torch.tensor([[0]]), torch.tensor([[3]]))
    assert network.predict().probabilities[0, 0, 3] > before + 0.2


def test_growing_to_the_same_size_changes_nothing():
    network = build(adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED), 2)
    before = network.predict().probabilities
    network.grow(NUM_CLASSES)
    assert torch.equal(network.predict().probabilities, before)


def test_a_clone_learns_exactly_as_the_original_and_apart_from_it():
    network = build(
        adjacency(RAGGED, NUM_RAGGED),
        features("csr", NUM_RAGGED),
        2,
        GCNConfig(hidden=6, feature_dropout=0.2),
    )
    for _ in range(3):
        network.step(NODES[:2], CLASSES[:2])
    network.grow(4)
    before = network.predict().probabilities
    twin = network.clone()
    assert torch.equal(twin.predict().probabilities, before)
    for _ in range(3):
        twin.step(NODES[2:4], CLASSES[2:4])
    assert torch.equal(network.predict().probabilities, before)
    for _ in range(3):
        network.step(NODES[2:4], CLASSES[2:4])
    for ours, theirs in zip(network.parameters, twin.parameters, strict=True):
        assert torch.equal(ours, theirs)
    assert not torch.equal(network.predict().probabilities, before)


def test_a_network_is_the_same_from_the_same_generator():
    graph, x = adjacency(RAGGED, NUM_RAGGED), features("csr", NUM_RAGGED)
    first, second, other = (build(graph, x, 2, GCNConfig(hidden=6), seed) for seed in (0, 0, 1))
    for network in (first, second, other):
        for _ in range(3):
            network.step(NODES[:2], CLASSES[:2])
    assert torch.equal(first.predict().probabilities, second.predict().probabilities)
    assert not torch.equal(first.predict().probabilities, other.predict().probabilities)


def test_weights_begin_within_glorots_bounds():
    network = BatchedGCN(
        normalized_adjacency(ring(10)), features("csr", 10, 18), 3, GCNConfig(hidden=6), generator(0), 50
    )
    # sqrt(6 / (18 + 6)) = 1/2 and sqrt(6 / (6 + 3)) = 0.8165
    assert 0.49 < network.w1.max() <= 0.5
    assert -0.5 <= network.w1.min() < -0.49
    assert 0.8 < network.w2.abs().max() <= 0.8165
    assert not network.b1.any()
    assert not network.b2.any()


def test_without_glorot_weights_begin_within_bounds_by_a_layers_outputs():
    config = GCNConfig(hidden=16, glorot=False)
    network = BatchedGCN(normalized_adjacency(ring(10)), features("csr", 10, 18), 4, config, generator(0), 50)
    # 1 / sqrt(16) and 1 / sqrt(4), whatever the 18 features
    assert 0.248 < network.w1.max() <= 0.25
    assert -0.25 <= network.w1.min() < -0.248
    assert 0.49 < network.w2.abs().max() <= 0.5


@pytest.mark.parametrize("kind", [BatchedGCN, PropagatedGCN])
def test_without_biases_learning_is_that_of_layers_that_have_none(kind: type[BatchedGCN]):
    graph, config = adjacency(RAGGED, NUM_RAGGED), GCNConfig(hidden=6, dropout=0.0, biases=False)
    x = Dense(features("dense", NUM_RAGGED).to_dense())
    a_hat = normalized_adjacency(graph)
    given = x if kind is BatchedGCN else Dense(a_hat.matmul(x.to_dense()))
    network = kind(a_hat, given, NUM_CLASSES, config, generator(0), 1)
    layers = [network.w1[0].clone().requires_grad_(), network.w2[0].clone().requires_grad_()]
    adam = torch.optim.Adam(layers, lr=config.learning_rate, weight_decay=config.weight_decay)
    for _ in range(20):
        network.step(NODES[:1], CLASSES[:1])
        adam.zero_grad()
        dense = a_hat.to_dense()
        logits = dense @ torch.relu(dense @ x.to_dense() @ layers[0]) @ layers[1]
        F.cross_entropy(logits[NODES[0]], CLASSES[0]).backward()
        adam.step()
    torch.testing.assert_close(network.w1[0], layers[0].detach(), atol=1e-4, rtol=0)
    torch.testing.assert_close(network.w2[0], layers[1].detach(), atol=1e-4, rtol=0)
    assert not network.b1.any()
    assert not network.b2.any()
