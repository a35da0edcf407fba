"""REINFORCE with numbers on paper, its sign, and whether it learns."""

import math

import pytest
import torch
from torch import Tensor

from gcbr import reinforce
from gcbr.engine.gcn import GCNConfig
from gcbr.environment import EnvConfig, LabelingEnv, State
from gcbr.graph import Dataset, Graph
from gcbr.policy import Policy, log_policy
from gcbr.rollout import Rollout, collect, draw
from gcbr.seeding import generator, seeded


def drawn_policy(num_columns: int, seed: int = 0) -> Policy:
    with seeded(generator(seed)):
        return Policy(num_columns)


# --- By hand --------------------------------------------------------------------------------------------


def test_a_step_is_worth_what_follows_it():
    rewards = torch.tensor([[1.0, 0.0], [2.0, 0.0], [4.0, 8.0]])
    # From the last step back: 4, 2 + 4/2, 1 + 4/2 and 8, 8/2, 8/4.
    assert reinforce.returns(rewards, 0.5).tolist() == [[3.0, 2.0], [4.0, 4.0], [4.0, 8.0]]
    assert rewards.tolist() == [[1.0, 0.0], [2.0, 0.0], [4.0, 8.0]]


def test_with_no_discount_the_score_of_a_game_is_spread_over_all_its_steps():
    rewards = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.75, 0.5]])
    assert reinforce.returns(rewards, 1.0).tolist() == [[0.75, 0.5]] * 3


def two_choices(worth: float, other_worth: float) -> Rollout:
    """Node 2 was chosen of nodes 0 and 2, then node 1 of all four."""
    features = torch.tensor([[[1.0], [1.0], [3.0], [1.0], [1.0]]])  # node 2 can be told from node 0
    return Rollout(
        states=[
            State(features, torch.tensor([[True, False, True, False, False]])),
            State(features, torch.tensor([[True, True, True, True, False]])),
            State(features, torch.tensor([[True, False, True, True, False]])),
        ],
        actions=torch.tensor([[2], [1]]),
        log_probabilities=torch.zeros(2, 1),
        values=torch.zeros(3, 1),
        rewards=torch.tensor([[worth], [other_worth]]),
        done=torch.tensor([False, True]),
        entropy=torch.zeros(2, 1),
    )


def test_the_loss_weighs_log_probabilities_by_what_the_steps_were_worth(star: Graph):
    policy = drawn_policy(1)
    torch.nn.init.zeros_(policy.actor.last.weight)  # so that all nodes score the same
    still = torch.optim.SGD(policy.actor.parameters(), lr=0.0)
    mean = reinforce.update(policy, still, star.propagation, two_choices(3.0, -0.5))
    # -(3 log 1/2 - 1/2 log 1/4) / 2 = (3 log 2 - log 2) / 2
    assert mean.tolist() == pytest.approx(math.log(2))


@pytest.mark.parametrize(("worth", "sign"), [(2.0, 1), (-2.0, -1)])
def test_what_was_worth_more_than_usual_becomes_likelier(star: Graph, worth: float, sign: int):
    policy, played = drawn_policy(1), two_choices(worth, 0.0)
    for parameter in policy.actor.parameters():
        parameter.data.abs_()  # so that no ReLU is shut

    def chance() -> float:
        features, is_candidate = played.states[0]
        return log_policy(policy.scores(star.propagation, features), is_candidate)[0, 2].tolist()

    before = chance()
    reinforce.update(policy, torch.optim.Adam(policy.actor.parameters(), lr=0.01), star.propagation, played)
    assert (chance() - before) * sign > 0.001


# --- A whole game ---------------------------------------------------------------------------------------


def played_game(dataset: Dataset, policy: Policy, steps: int) -> tuple[LabelingEnv, Rollout]:
    env = LabelingEnv(dataset, EnvConfig(budget=steps, episodes=2, classifier=GCNConfig(hidden=8)))
    rollout, _ = collect(env, policy, env.reset(generator(0)), steps, generator(1))
    return env, rollout


def test_a_game_taken_step_by_step_has_the_gradient_of_the_whole_mean(skewed: Dataset):
    policy = drawn_policy(5)
    env, rollout = played_game(skewed, policy, 17)
    still = torch.optim.SGD(policy.actor.parameters(), lr=0.0)
    for _ in range(2):  # the gradient of the update before is forgotten
        total = reinforce.update(policy, still, env.propagation, rollout)
    by_steps = [parameter.grad.clone() for parameter in policy.actor.parameters()]
    features, is_candidate = (torch.cat(parts) for parts in zip(*rollout.states[:17], strict=True))
    logs = log_policy(policy.scores(env.propagation, features), is_candidate).view(17, 2, -1)
    literal = torch.zeros(())
    for step in range(17):
        for game in range(2):
            log = logs[step, game, rollout.actions[step, game]]
            literal = literal - log * rollout.rewards[step, game] / 34
    assert float(total) == pytest.approx(literal.tolist(), rel=1e-4)
    whole = torch.autograd.grad(literal, list(policy.actor.parameters()))
    torch.testing.assert_close(by_steps, list(whole), rtol=1e-3, atol=1e-5)


def test_the_critic_is_left_alone(skewed: Dataset):
    policy = drawn_policy(5)
    env, rollout = played_game(skewed, policy, 3)
    reinforce.update(policy, torch.optim.Adam(policy.actor.parameters()), env.propagation, rollout)
    assert all(parameter.grad is None for parameter in policy.critic.parameters())


# --- It learns ------------------------------------------------------------------------------------------


def marked_choices(policy: Policy, graph: Graph, rng: torch.Generator) -> Rollout:
    """Eight choices among 200 nodes, a fifth of which a column marks; a marked one is worth 1, another -1."""
    features = torch.rand(8, graph.num_nodes, 3, generator=rng)
    features[..., 1] = (features[..., 1] < 0.2).float()
    with torch.no_grad():
        actions = draw(policy.scores(graph.propagation, features).softmax(-1), rng)
    is_marked: Tensor = features[torch.arange(8), actions, 1]
    state = State(features, torch.ones(8, graph.num_nodes, dtype=torch.bool))
    return Rollout(
        states=[state, state],
        actions=actions.unsqueeze(0),
        log_probabilities=torch.zeros(1, 8),
        values=torch.zeros(2, 8),
        rewards=(2 * is_marked - 1).unsqueeze(0),
        done=torch.tensor([True]),
        entropy=torch.zeros(1, 8),
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns_to_choose_nodes_that_a_column_marks(seed: int, skewed: Dataset):
    policy, rng = drawn_policy(3, seed), generator(seed, 1)
    optimizer = torch.optim.Adam(policy.actor.parameters(), lr=0.01)

    def share_marked() -> float:
        drawn = [marked_choices(policy, skewed.graph, rng).rewards.mean() for _ in range(40)]
        return float((1 + torch.stack(drawn).mean()) / 2)

    assert share_marked() < 0.35
    for _ in range(300):
        rollout = marked_choices(policy, skewed.graph, rng)
        reinforce.update(policy, optimizer, skewed.graph.propagation, rollout)
    assert share_marked() > 0.7
