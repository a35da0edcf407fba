"""The paper's Eq. 11 to 14 with numbers on paper, their signs, and whether they learn."""

import math

import pytest
import torch
from torch import Tensor

from gcbr import a2c
from gcbr.engine.gcn import GCNConfig
from gcbr.engine.matrix import Csr, Dense
from gcbr.environment import EnvConfig, LabelingEnv, State, Step
from gcbr.graph import Dataset, Graph
from gcbr.policy import GraphEncoder, Policy, log_policy
from gcbr.rollout import Rollout, act, collect
from gcbr.seeding import generator, seeded


def drawn_policy(num_columns: int, seed: int = 0) -> Policy:
    with seeded(generator(seed)):
        return Policy(num_columns)


def optimizers(policy: Policy, rate: float) -> tuple[torch.optim.Optimizer, torch.optim.Optimizer]:
    return (
        torch.optim.Adam(policy.actor.parameters(), lr=rate),
        torch.optim.Adam(policy.critic.parameters(), lr=rate),
    )


# --- By hand --------------------------------------------------------------------------------------------


def test_the_target_is_the_reward_and_the_discounted_next_value():
    rewards = torch.tensor([[1.0, 0.0], [0.5, -1.0]])
    next_values = torch.tensor([[2.0, 4.0], [10.0, 20.0]])
    targets = a2c.td_target(rewards, next_values, torch.tensor([False, False]), 0.9)
    assert targets.tolist() == [pytest.approx([2.8, 3.6]), pytest.approx([9.5, 17.0])]


def test_nothing_follows_a_spent_budget():
    rewards = torch.tensor([[1.0, 0.0], [0.5, -1.0]])
    next_values = torch.tensor([[2.0, 4.0], [10.0, 20.0]])
    targets = a2c.td_target(rewards, next_values, torch.tensor([False, True]), 0.9)
    assert targets.tolist() == [pytest.approx([2.8, 3.6]), pytest.approx([0.5, -1.0])]


def test_the_critic_s_loss_is_the_mean_square():
    targets, values = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 0.0], [4.0, 7.0]])
    assert float(a2c.critic_loss(targets, values)) == pytest.approx((0 + 4 + 1 + 9) / 4)


def test_an_advantage_is_what_came_less_what_was_expected():
    assert a2c.advantage(torch.tensor([[3.0, 1.0]]), torch.tensor([[1.0, 2.0]])).tolist() == [[2.0, -1.0]]


def test_the_actor_s_loss_weighs_log_probabilities_by_advantages():
    logs = torch.tensor([[math.log(0.5), math.log(0.25)]])
    advantages = torch.tensor([[2.0, -1.0]])
    # -(2 log 1/2 - log 1/4) / 2 = -(2 log 1/2 - 2 log 1/2) / 2
    assert float(a2c.actor_loss(logs, advantages)) == pytest.approx(0.0, abs=1e-7)
    assert float(a2c.actor_loss(logs, torch.tensor([[2.0, 0.0]]))) == pytest.approx(math.log(2))


# --- One transition, whole ------------------------------------------------------------------------------

PAIR_AND_LONER = Csr.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (3, 3))


def one_transition(policy: Policy, reward: float, done: bool) -> Rollout:
    """Node 2, which its state sets apart, was chosen of nodes 0 and 2."""
    state = State(torch.tensor([[[1.0], [1.0], [3.0]]]), torch.tensor([[True, False, True]]))
    scores, values = policy.scores_and_values(hat(PAIR_AND_LONER), state.features)
    return Rollout(
        states=[state, state],
        actions=torch.tensor([[2]]),
        log_probabilities=log_policy(scores, state.is_candidate)[:, 2:],
        values=torch.stack([values, values.detach()]),
        rewards=torch.tensor([[reward]]),
        done=torch.tensor([done]),
        entropy=torch.zeros(1, 1),
    )


def constant_policy(value: float) -> Policy:
    """Scores 0 everywhere, and values every state the same."""
    policy = drawn_policy(1)
    for encoder, bias in ((policy.actor, 0.0), (policy.critic, value)):
        torch.nn.init.zeros_(encoder.last.weight)
        torch.nn.init.constant_(encoder.last.bias, bias)
    return policy


@pytest.mark.parametrize(
    ("done", "target"), [(False, 1.0 + 0.9 * 3.0), (True, 1.0)], ids=["midway", "at the end"]
)
def test_both_losses_of_one_transition(done: bool, target: float):
    loss = a2c.losses(one_transition(constant_policy(3.0), 1.0, done), 0.9)
    assert loss.critic.tolist() == pytest.approx((target - 3.0) ** 2, rel=1e-5)
    assert loss.actor.tolist() == pytest.approx(math.log(2) * (target - 3.0), rel=1e-5)  # -log(1/2) = log 2


def hat(adjacency: Csr) -> Csr:
    return Graph("drawn", adjacency, Dense(torch.eye(adjacency.shape[0]))).propagation


@pytest.mark.parametrize(("reward", "sign"), [(5.0, 1), (-5.0, -1)])
def test_what_turned_out_better_than_expected_becomes_likelier(reward: float, sign: int):
    policy = drawn_policy(1)
    for parameter in policy.parameters():
        parameter.data.abs_()  # so that no ReLU is shut
    before = one_transition(policy, reward, done=True)
    a2c.update(optimizers(policy, 0.01), a2c.losses(before, 0.9))
    after = one_transition(policy, reward, done=True)
    assert (after.log_probabilities - before.log_probabilities).item() * sign > 0.01
    assert (after.values - before.values)[0].item() * sign > 0.01


# --- Against a slow and literal reading -----------------------------------------------------------------


def hidden(encoder: GraphEncoder, a_hat: Tensor, state: Tensor) -> Tensor:
    first = torch.relu(a_hat @ state @ encoder.first.weight.T + encoder.first.bias)
    return torch.relu(a_hat @ first @ encoder.second.weight.T + encoder.second.bias)


def value_of(policy: Policy, a_hat: Tensor, state: Tensor) -> Tensor:
    return policy.critic.last(hidden(policy.critic, a_hat, state).mean(0))[0]


def literal_losses(policy: Policy, a_hat: Tensor, played: Rollout, discount: float) -> a2c.Losses:
    """Eq. 11 to 14, transition by transition."""
    actor, critic, count = torch.zeros(()), torch.zeros(()), played.actions.numel()
    for step in range(played.actions.shape[0]):
        for game in range(played.actions.shape[1]):
            state, after = (played.states[at].features[game] for at in (step, step + 1))
            value = value_of(policy, a_hat, state)
            target = played.rewards[step, game]
            if not played.done[step]:
                target = target + discount * value_of(policy, a_hat, after).detach()
            critic = critic + (target - value) ** 2 / count
            scores = policy.actor.last(hidden(policy.actor, a_hat, state))[:, 0]
            candidates = played.states[step].is_candidate[game].nonzero().flatten().tolist()
            place = candidates.index(int(played.actions[step, game]))
            log_probability = torch.log(torch.softmax(scores[candidates], 0)[place])
            actor = actor - log_probability * (target - value).detach() / count
    return a2c.Losses(actor, critic)


@pytest.mark.parametrize("first_steps", [0, 3], ids=["midway", "to the end"])
def test_losses_and_gradients_are_those_of_a_literal_reading(skewed: Dataset, first_steps: int):
    env = LabelingEnv(skewed, EnvConfig(budget=6, episodes=2, classifier=GCNConfig(hidden=8)))
    policy = drawn_policy(5)
    state = env.reset(generator(0))
    if first_steps:
        _, state = collect(env, policy, state, first_steps, generator(1))
    played, _ = collect(env, policy, state, 3, generator(2))
    assert bool(played.done[-1]) == (first_steps == 3)
    ours = a2c.losses(played, 0.9)
    theirs = literal_losses(policy, env.propagation.to_dense(), played, 0.9)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
    gradients = []
    for loss in (ours, theirs):
        policy.zero_grad()
        (loss.actor + loss.critic).backward()
        gradients.append([parameter.grad.clone() for parameter in policy.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-3, atol=1e-5)


def test_each_optimizer_moves_its_own_network_by_its_own_loss(skewed: Dataset):
    env = LabelingEnv(skewed, EnvConfig(budget=6, episodes=2, classifier=GCNConfig(hidden=8)))
    policy = drawn_policy(5)
    played, _ = collect(env, policy, env.reset(generator(0)), 3, generator(1))
    loss = a2c.losses(played, 0.9)
    of_actor = torch.autograd.grad(
        loss.actor, policy.critic.parameters(), allow_unused=True, retain_graph=True
    )
    of_critic = torch.autograd.grad(
        loss.critic, policy.actor.parameters(), allow_unused=True, retain_graph=True
    )
    for gradient in (*of_actor, *of_critic):
        assert gradient is None or not gradient.any()


def test_gradients_of_the_update_before_are_forgotten(skewed: Dataset):
    env = LabelingEnv(skewed, EnvConfig(budget=6, episodes=2, classifier=GCNConfig(hidden=8)))
    policy = drawn_policy(5)
    still = (
        torch.optim.SGD(policy.actor.parameters(), lr=0.0),
        torch.optim.SGD(policy.critic.parameters(), lr=0.0),
    )
    seen = []
    for _ in range(2):
        played, _ = collect(env, policy, env.reset(generator(0)), 3, generator(1))
        a2c.update(still, a2c.losses(played, 0.9))
        seen.append([parameter.grad.clone() for parameter in policy.parameters()])
    for first, second in zip(*seen, strict=True):
        assert torch.equal(first, second)


# --- It learns ------------------------------------------------------------------------------------------


class MarkedNode:
    """A ring of sixteen nodes, one of them marked anew at each step; choosing it is worth 1, any other 0.

    The state has three columns: noise, the mark, noise.
    """

    num_nodes = 16

    def __init__(self, episodes: int, budget: int, rng: torch.Generator) -> None:
        around = torch.arange(self.num_nodes)
        ends = (
            torch.cat([around, (around + 1) % self.num_nodes]),
            torch.cat([(around + 1) % self.num_nodes, around]),
        )
        self.propagation = hat(Csr.from_entries(*ends, torch.ones(32), (16, 16)))
        self._episodes, self._budget, self._rng = episodes, budget, rng

    def reset(self) -> State:
        self._steps = 0
        return self._state()

    def step(self, nodes: Tensor) -> Step:
        reward = (nodes == self._marked).float()
        self._steps += 1
        return Step(self._state(), reward, self._steps >= self._budget)

    def _state(self) -> State:
        self._marked = torch.randint(self.num_nodes, (self._episodes,), generator=self._rng)
        features = torch.rand(self._episodes, self.num_nodes, 3, generator=self._rng)
        features[..., 1] = torch.nn.functional.one_hot(self._marked, self.num_nodes)
        return State(features, torch.ones(self._episodes, self.num_nodes, dtype=torch.bool))


def share_right(env: MarkedNode, policy: Policy, rng: torch.Generator) -> float:
    """How often the marked node is drawn, over a hundred states."""
    hits, judge = [], policy.judge(env.propagation)
    for _ in range(100):
        state = env.reset()
        nodes = act(judge, state, rng).action
        hits.append((nodes == env._marked).float().mean())
    return float(torch.stack(hits).mean())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns_to_choose_the_node_that_a_column_marks(seed: int):
    rng = generator(seed, 1)
    env, policy = MarkedNode(episodes=5, budget=7, rng=rng), drawn_policy(3, seed)
    before = share_right(env, policy, rng)
    assert before < 0.2  # chance is one in sixteen
    steps = optimizers(policy, 0.01)
    for _ in range(150):
        played, _ = collect(env, policy, env.reset(), 7, rng)  # type: ignore[arg-type]
        a2c.update(steps, a2c.losses(played, 0.9))
    assert share_right(env, policy, rng) > 0.8
