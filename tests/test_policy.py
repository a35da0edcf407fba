"""The actor and the critic, against sums done by hand and against plain autograd on a dense A_hat."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Dataset, Graph
from gcbr.policy import GraphEncoder, Policy, committee, log_policy, reading
from gcbr.seeding import generator, seeded


def graph_of(edges: list[tuple[int, int]], num_nodes: int) -> Graph:
    ends = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    both = torch.cat([ends, ends.flip(0)], dim=1)
    adjacency = Csr.from_entries(both[0], both[1], torch.ones(both.shape[1]), (num_nodes, num_nodes))
    return Graph("drawn", adjacency, Dense(torch.eye(num_nodes)))


def fill(layer: nn.Linear, weight: list[list[float]], bias: list[float]) -> None:
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight))
        layer.bias.copy_(torch.tensor(bias))


def drawn_policy(num_columns: int, width: int = 8, seed: int = 0) -> Policy:
    with seeded(generator(seed)):
        return Policy(num_columns, width)


def drawn_states(games: int, num_nodes: int, num_columns: int, seed: int = 0) -> Tensor:
    return torch.rand(games, num_nodes, num_columns, generator=generator(seed, 1))


# --- By hand --------------------------------------------------------------------------------------------


def test_two_layers_of_a_pair_and_a_loner():
    """A_hat mixes nodes 0 and 1 half and half, and leaves node 2 alone."""
    policy = Policy(num_columns=1, width=2)
    for encoder in (policy.actor, policy.critic):
        fill(encoder.first, [[1.0], [-1.0]], [0.0, 3.0])
        fill(encoder.second, [[1.0, 1.0], [1.0, -1.0]], [-1.0, 0.5])
        fill(encoder.last, [[1.0, 2.0]], [0.25])
    # Propagated: 2, 2, 1. First layer: (2, 1), (2, 1), (1, 2). Weighed again: (3, 1), (3, 1), (3, -1).
    # With the bias: (2, 1.5), (2, 1.5), (2, -0.5), the last cut off at 0.
    scores, values = policy.scores_and_values(
        graph_of([(0, 1)], 3).propagation, torch.tensor([[[1.0], [3.0], [1.0]]])
    )
    assert scores.tolist() == [pytest.approx([5.25, 5.25, 2.25])]
    # The mean over the nodes is (2, 1), and the last layer comes after the mean.
    assert values.tolist() == pytest.approx([4.25])


def test_two_layers_of_a_path_of_three():
    """A_hat holds 1/2, 1/3, 1/2 on its diagonal, and one over the root of 6 beside it."""
    policy = Policy(num_columns=1, width=1)
    fill(policy.actor.first, [[1.0]], [0.0])
    fill(policy.actor.second, [[1.0]], [-1.0])
    fill(policy.actor.last, [[1.0]], [0.0])
    # 2, 0, 4 becomes 1, root 6, 2; that becomes 3/2, 5 / root 6, 2; less 1.
    scores = policy.scores(graph_of([(0, 1), (1, 2)], 3).propagation, torch.tensor([[[2.0], [0.0], [4.0]]]))
    assert scores.tolist() == [pytest.approx([0.5, 5 / math.sqrt(6) - 1, 1.0])]


def test_log_policy_is_a_softmax_over_the_candidates():
    scores = torch.tensor([[0.0, math.log(3.0), 50.0], [1.0, 1.0, 1.0]])
    is_candidate = torch.tensor([[True, True, False], [True, True, True]])
    probabilities = log_policy(scores, is_candidate).exp()
    assert probabilities.tolist() == [pytest.approx([0.25, 0.75, 0.0]), pytest.approx([1 / 3] * 3)]


def test_a_committee_scores_and_values_as_its_members_do_in_the_mean():
    graph = graph_of([(0, 1), (1, 2), (1, 3)], 5)
    states = drawn_states(2, 5, 3)
    members = [drawn_policy(3, width=4, seed=seed) for seed in range(3)]
    joined = committee(members)
    assert joined.actor.first.out_features == 12
    scores, values = joined.scores_and_values(graph.propagation, states)
    each = [member.scores_and_values(graph.propagation, states) for member in members]
    torch.testing.assert_close(scores, torch.stack([of_one for of_one, _ in each]).mean(0))
    torch.testing.assert_close(values, torch.stack([of_one for _, of_one in each]).mean(0))
    assert scores.std() > 0


def test_a_committee_of_two_by_hand():
    """On a loner nothing is mixed: one member says 2 x + 1, the other 4 x - 1, where x is above 0."""
    members = [Policy(num_columns=1, width=1) for _ in range(2)]
    for member, slope, bias in zip(members, (2.0, 4.0), (1.0, -1.0), strict=True):
        for encoder in (member.actor, member.critic):
            fill(encoder.first, [[1.0]], [0.0])
            fill(encoder.second, [[1.0]], [0.0])
            fill(encoder.last, [[slope]], [bias])
    scores = committee(members).scores(graph_of([], 2).propagation, torch.tensor([[[1.0], [3.0]]]))
    assert scores.tolist() == [pytest.approx([3.0, 9.0])]


# --- Candidates -----------------------------------------------------------------------------------------


def test_other_nodes_have_probability_exactly_0_and_no_gradient():
    scores = torch.tensor([[0.5, 3.0, -1.0, 80.0]], requires_grad=True)
    is_candidate = torch.tensor([[True, False, True, False]])
    logs = log_policy(scores, is_candidate)
    assert logs.exp()[0, [1, 3]].tolist() == [0.0, 0.0]
    assert logs[0, [1, 3]].tolist() == [-math.inf, -math.inf]
    logs[0, 0].backward()
    assert scores.grad is not None
    assert scores.grad[0, [1, 3]].tolist() == [0.0, 0.0]
    # 1 - p for the node itself, -p of the other.
    p = 1 / (1 + math.exp(1.5))
    assert scores.grad[0, [0, 2]].tolist() == pytest.approx([p, -p])


def test_a_single_candidate_is_certain_however_low_its_score():
    logs = log_policy(torch.tensor([[-200.0, 300.0]]), torch.tensor([[True, False]]))
    assert logs.exp().tolist() == [[1.0, 0.0]]


# --- Against plain autograd -----------------------------------------------------------------------------


def dense_forward(encoder: GraphEncoder, a_hat: Tensor, states: Tensor) -> Tensor:
    """The hidden rows as the paper writes them, [G, nodes, width]."""
    hidden = torch.relu(a_hat @ states @ encoder.first.weight.T + encoder.first.bias)
    return torch.relu(a_hat @ hidden @ encoder.second.weight.T + encoder.second.bias)


def dense_scores_and_values(policy: Policy, a_hat: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    scores = policy.actor.last(dense_forward(policy.actor, a_hat, states)).squeeze(-1)
    values = policy.critic.last(dense_forward(policy.critic, a_hat, states).mean(1)).squeeze(-1)
    return scores, values


def test_outputs_and_gradients_are_those_of_plain_autograd(skewed: Dataset):
    propagation = replace(skewed.graph.propagation, values=skewed.graph.propagation.values.double())
    a_hat = propagation.to_dense()
    assert torch.equal(a_hat, a_hat.T)  # the backward pass relies on it, to the bit
    policy, states = drawn_policy(6).double(), drawn_states(4, 200, 6).double()
    weights = torch.randn(4, 200, generator=generator(8), dtype=torch.float64)
    gradients, outputs = [], []
    for forward, matrix in (
        (policy.scores_and_values, propagation),
        (lambda *given: dense_scores_and_values(policy, *given), a_hat),
    ):
        policy.zero_grad()
        scores, values = forward(matrix, states)
        loss = (scores * weights).sum() + (values * torch.tensor([1.0, -2.0, 3.0, 0.5])).sum()
        loss.backward()
        outputs.append((scores, values))
        gradients.append({name: weight.grad.clone() for name, weight in policy.named_parameters()})
    torch.testing.assert_close(outputs[0], outputs[1], atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-10, rtol=1e-10)
    assert len(gradients[0]) == 12
    assert all(gradient.abs().max() > 0 for gradient in gradients[0].values())


def test_edge_weights_are_kept_on_the_way_back():
    ends, weights = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([2.0, 2.0, 0.25, 0.25])
    adjacency = Csr.from_entries(ends[0], ends[1], weights, (3, 3))
    propagation = Graph("weighted", adjacency, Dense(torch.eye(3))).propagation
    policy, states = drawn_policy(2), drawn_states(1, 3, 2)
    for parameter in policy.parameters():
        parameter.data.abs_()  # so that no ReLU is shut
    ours = torch.autograd.grad(policy.scores(propagation, states)[0, 0], policy.actor.parameters())
    dense = dense_scores_and_values(policy, propagation.to_dense(), states)[0][0, 0]
    theirs = torch.autograd.grad(dense, policy.actor.parameters())
    torch.testing.assert_close(ours, theirs)


# --- One pass, or two -----------------------------------------------------------------------------------


def test_actor_and_critic_in_one_pass_equal_each_alone(skewed: Dataset):
    propagation = skewed.graph.propagation
    policy, states = drawn_policy(5), drawn_states(3, 200, 5)
    scores, values = policy.scores_and_values(propagation, states)
    torch.testing.assert_close(scores, policy.scores(propagation, states))
    swapped = Policy(5)
    swapped.actor, swapped.critic = policy.critic, policy.actor
    # The mean over the nodes goes through a linear layer: the mean of the scores it would give each.
    torch.testing.assert_close(values, swapped.scores(propagation, states).mean(1))


def test_neither_network_reads_the_other_s_weights(barbell: Graph):
    policy, states = drawn_policy(5), drawn_states(2, 6, 5)
    scores, values = policy.scores_and_values(barbell.propagation, states)
    of_scores = torch.autograd.grad(scores.sum(), policy.critic.parameters(), allow_unused=True)
    for gradient in of_scores:
        assert gradient is None or not gradient.any()
    _, values = policy.scores_and_values(barbell.propagation, states)
    of_values = torch.autograd.grad(values.sum(), policy.actor.parameters(), allow_unused=True)
    for gradient in of_values:
        assert gradient is None or not gradient.any()


def test_games_do_not_touch_each_other(barbell: Graph):
    policy, states = drawn_policy(5), drawn_states(3, 6, 5)
    together = policy.scores_and_values(barbell.propagation, states)
    for game in range(3):
        alone = policy.scores_and_values(barbell.propagation, states[game : game + 1])
        torch.testing.assert_close((together[0][game], together[1][game]), (alone[0][0], alone[1][0]))


# --- Any graph ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_nodes", [1, 2, 7, 500])
def test_one_policy_fits_a_graph_of_any_size(num_nodes: int):
    propagation = graph_of([(node, node + 1) for node in range(num_nodes - 1)], num_nodes).propagation
    scores, values = drawn_policy(6).scores_and_values(propagation, drawn_states(2, num_nodes, 6))
    assert scores.shape == (2, num_nodes)
    assert values.shape == (2,)
    assert scores.isfinite().all()
    assert values.isfinite().all()


def test_the_memory_order_of_the_states_does_not_matter(barbell: Graph):
    policy, states = drawn_policy(5), drawn_states(3, 6, 5)
    turned = states.transpose(0, 1).contiguous().transpose(0, 1)
    assert not turned.is_contiguous()
    for ours, theirs in zip(
        policy.scores_and_values(barbell.propagation, states),
        policy.scores_and_values(barbell.propagation, turned),
        strict=True,
    ):
        assert torch.equal(ours, theirs)


def test_renumbering_the_nodes_renumbers_the_scores_and_keeps_the_value(skewed: Dataset):
    graph = skewed.graph
    new_id = torch.randperm(200, generator=generator(4))
    entries = graph.propagation
    turned = Csr.from_entries(
        new_id[entries.row_of_entry], new_id[entries.indices.long()], entries.values, entries.shape
    )
    states = drawn_states(2, 200, 6)
    turned_states = torch.empty_like(states)
    turned_states[:, new_id] = states
    policy = drawn_policy(6)
    scores, values = policy.scores_and_values(entries, states)
    turned_scores, turned_values = policy.scores_and_values(turned, turned_states)
    torch.testing.assert_close(turned_scores[:, new_id], scores)
    torch.testing.assert_close(turned_values, values)
    assert scores.std() > 0.01


def test_a_policy_among_other_columns_says_what_it_said_whatever_they_hold():
    graph, policy = graph_of([(0, 1), (1, 2), (2, 3)], 4), drawn_policy(2)
    states = drawn_states(3, 4, 4)
    wider = reading(policy, ["b", "a"], ["a", "new", "b", "newer"])
    own = states[..., [2, 0]]  # b, then a
    for ours, theirs in zip(
        wider.scores_and_values(graph.propagation, states),
        policy.scores_and_values(graph.propagation, own),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)
    assert all(weights.requires_grad for weights in wider.parameters())
    with torch.no_grad():
        wider.actor.last.bias += 1
    assert not torch.equal(wider.actor.last.bias, policy.actor.last.bias)  # a copy
