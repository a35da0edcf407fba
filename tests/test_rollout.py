"""Playing some steps: what is drawn, and what is kept of them."""

import math

import pytest
import torch

from gcbr import rollout
from gcbr.engine.gcn import GCNConfig
from gcbr.environment import EnvConfig, LabelingEnv
from gcbr.graph import Dataset
from gcbr.policy import Policy, log_policy
from gcbr.rollout import act, collect, draw
from gcbr.seeding import generator, seeded

CONFIG = EnvConfig(budget=6, episodes=3, classifier=GCNConfig(hidden=8))


def some_policy(num_columns: int = 5) -> Policy:
    with seeded(generator(0)):
        return Policy(num_columns)


def indifferent_policy() -> Policy:
    """Every node scores the same."""
    policy = some_policy()
    torch.nn.init.zeros_(policy.actor.last.weight)
    return policy


# --- Drawing --------------------------------------------------------------------------------------------


def test_entries_are_drawn_as_often_as_their_probability_says():
    probabilities = torch.tensor([0.0, 0.5, 0.0, 0.0, 0.25, 0.2, 0.05, 0.0])
    drawn = draw(probabilities.expand(40_000, -1), generator(0)).bincount(minlength=8) / 40_000
    # Four deviations of the share of an entry of probability 1/2 are 0.01.
    assert drawn.tolist() == pytest.approx(probabilities.tolist(), abs=0.01)
    assert drawn[[0, 2, 3, 7]].tolist() == [0, 0, 0, 0]


def test_each_row_is_drawn_from_its_own_probabilities():
    assert draw(torch.eye(5)[[3, 0, 4, 1]], generator(0)).tolist() == [3, 0, 4, 1]


@pytest.mark.parametrize(
    ("point", "expected"),
    [(0.0, [1, 0, 2]), (1 - 2**-24, [3, 4, 2])],
    ids=["the smallest number drawn", "the largest"],
)
def test_the_ends_of_the_range_fall_on_entries_that_can_be_drawn(monkeypatch, point, expected):
    monkeypatch.setattr(rollout.torch, "rand", lambda *size, generator, device: torch.full(size, point))
    probabilities = torch.tensor([[0, 0.5, 0, 0.5, 0], [0.1, 0.2, 0.3, 0.2, 0.2], [0, 0, 1.0, 0, 0]])
    assert draw(probabilities, generator(0)).tolist() == expected


def test_the_largest_number_drawn_stays_inside_rows_that_add_up_to_1_only_nearly(monkeypatch):
    monkeypatch.setattr(rollout.torch, "rand", lambda *size, generator, device: torch.full(size, 1 - 2**-24))
    probabilities = torch.randn(500, 301, generator=generator(0)).softmax(-1)
    probabilities[:, -1] = 0
    assert draw(probabilities, generator(0)).max() <= 299


def test_no_entry_of_probability_0_is_drawn_from_a_large_graph():
    """A softmax over 50,000 nodes adds up to 1 only nearly, and what is missing must go to no one."""
    scores = torch.randn(20, 50_000, generator=generator(0))
    is_candidate = torch.rand(20, 50_000, generator=generator(1)) < 0.01
    probabilities = log_policy(scores, is_candidate).exp()
    for seed in range(20):
        assert is_candidate.gather(1, draw(probabilities, generator(seed)).unsqueeze(1)).all()


def test_drawing_is_repeated_by_the_same_generator_alone():
    probabilities = torch.full((50, 30), 1 / 30)
    before = torch.get_rng_state()
    assert torch.equal(draw(probabilities, generator(1)), draw(probabilities, generator(1)))
    assert not torch.equal(draw(probabilities, generator(1)), draw(probabilities, generator(2)))
    assert torch.equal(torch.get_rng_state(), before)


# --- Acting ---------------------------------------------------------------------------------------------


def test_only_candidates_are_chosen(skewed: Dataset):
    env = LabelingEnv(skewed, CONFIG)
    judge, state = some_policy().judge(env.propagation), env.reset(generator(0))
    for seed in range(50):
        nodes = act(judge, state, generator(seed)).action
        assert state.is_candidate.gather(1, nodes.unsqueeze(1)).all()


def test_the_entropy_of_an_indifferent_policy_is_the_log_of_the_candidates(skewed: Dataset):
    env = LabelingEnv(skewed, CONFIG)
    played, _ = collect(env, indifferent_policy(), env.reset(generator(0)), 6, generator(1))
    for step, entropies in enumerate(played.entropy.tolist()):
        assert entropies == pytest.approx([math.log(80 - step)] * 3, rel=1e-5)


def test_the_entropy_of_a_decided_policy_is_0(skewed: Dataset):
    state = LabelingEnv(skewed, CONFIG).reset(generator(0))
    scores = torch.arange(200.0).mul(100).expand(3, -1)
    choice = act(lambda states: (scores, torch.zeros(3)), state, generator(0))
    assert choice.entropy.tolist() == pytest.approx([0.0] * 3, abs=1e-30)
    assert choice.log_probability.tolist() == [0.0] * 3
    assert choice.action.tolist() == [int(row.nonzero().max()) for row in state.is_candidate]


# --- What is kept ---------------------------------------------------------------------------------------


def test_a_rollout_holds_what_happened(skewed: Dataset):
    env, policy, rng = LabelingEnv(skewed, CONFIG), some_policy(), generator(0)
    start = env.reset(rng)
    first, middle = collect(env, policy, start, 4, rng)
    second, end = collect(env, policy, middle, 2, rng)
    assert [state.features.shape for state in first.states] == [(3, 200, 5)] * 5
    assert first.actions.shape == first.rewards.shape == first.entropy.shape == (4, 3)
    assert first.log_probabilities.shape == (4, 3)
    assert first.values.shape == (5, 3)
    assert len(second.states) == 3
    assert first.done.tolist() == [False] * 4
    assert second.done.tolist() == [False, True]
    # One rollout goes on where the other stopped.
    assert first.states[0] is start
    assert first.states[-1] is second.states[0] is middle
    assert second.states[-1] is end
    assert torch.equal(env.labeled, torch.cat([first.actions, second.actions]).T)
    for state, nodes in zip(first.states[:-1], first.actions, strict=True):
        assert state.is_candidate.gather(1, nodes.unsqueeze(1)).all()
        assert not state.features.requires_grad


def test_a_rollout_is_what_stepping_by_hand_gives(skewed: Dataset):
    env = LabelingEnv(skewed, CONFIG)
    played, _ = collect(env, some_policy(), env.reset(generator(0)), 6, generator(1))
    env = LabelingEnv(skewed, CONFIG)
    state = env.reset(generator(0))
    for step, nodes in enumerate(played.actions):
        assert torch.equal(state.features, played.states[step].features)
        assert torch.equal(state.is_candidate, played.states[step].is_candidate)
        state, reward, done = env.step(nodes)
        assert torch.equal(reward, played.rewards[step])
        assert done == bool(played.done[step])


def test_what_the_policy_said_of_each_state_is_kept(skewed: Dataset):
    env, policy = LabelingEnv(skewed, CONFIG), some_policy()
    played, _ = collect(env, policy, env.reset(generator(0)), 4, generator(1))
    for step, state in enumerate(played.states):
        scores, values = policy.scores_and_values(env.propagation, state.features)
        torch.testing.assert_close(played.values[step], values)
        if step < 4:
            logs = log_policy(scores, state.is_candidate)
            chosen = logs[torch.arange(3), played.actions[step]]
            torch.testing.assert_close(played.log_probabilities[step], chosen)


def test_the_value_after_the_last_step_has_no_gradient(skewed: Dataset):
    """It stands in a target alone, and a target is taken as it is."""
    env, policy = LabelingEnv(skewed, CONFIG), some_policy()
    played, _ = collect(env, policy, env.reset(generator(0)), 2, generator(1))
    bias = policy.critic.last.bias
    # A bias is added to each of two values of three games; the third value is not asked about it.
    assert torch.autograd.grad(played.values.sum(), bias)[0].tolist() == pytest.approx([6.0])
