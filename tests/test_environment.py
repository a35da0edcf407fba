"""Labeling as a game: what a step does, what it is worth, and when the game is over."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from sklearn.metrics import f1_score
from torch import Tensor

from gcbr.actions import ActionSpace, least_certain_of_each_class
from gcbr.engine.gcn import GCNConfig
from gcbr.environment import EnvConfig, LabelingEnv, State
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.rewards import RewardConfig
from gcbr.seeding import generator
from gcbr.state import GCBR_COLUMNS, GCBR_PLUS_COLUMNS

CONFIG = EnvConfig(budget=6, episodes=3, classifier=GCNConfig(hidden=8))


def any_candidate(state: State, rng: torch.Generator) -> Tensor:
    return torch.multinomial(state.is_candidate.float(), 1, generator=rng).squeeze(1)


def played(
    dataset: Dataset, config: EnvConfig, seed: int = 0
) -> tuple[LabelingEnv, list[Tensor], list[Tensor]]:
    """A game played to its end with nodes chosen at random: its states' features and its rewards."""
    env, rng = LabelingEnv(dataset, config), generator(seed, 1)
    state, done = env.reset(generator(seed)), False
    features, rewards = [state.features], []
    while not done:
        state, reward, done = env.step(any_candidate(state, rng))
        features.append(state.features)
        rewards.append(reward)
    return env, features, rewards


def test_the_game_is_over_when_the_budget_is_spent(skewed: Dataset):
    env, rng = LabelingEnv(skewed, CONFIG), generator(0)
    state = env.reset(rng)
    ends = []
    for _ in range(6):
        step = env.step(any_candidate(state, rng))
        state = step.state
        ends.append(step.done)
    assert ends == [False] * 5 + [True]


def test_a_fresh_game_has_no_label_and_asks_outside_test_and_validation(skewed: Dataset):
    env = LabelingEnv(skewed, CONFIG)
    state = env.reset(generator(0))
    assert state.features.shape == (3, 200, 5)
    assert state.is_candidate.shape == (3, 200)
    assert state.is_candidate.sum(1).tolist() == [80] * 3  # 200 less 80 for test and 40 for validation
    assert env.labeled.shape == (3, 0)
    assert env.counts.tolist() == [[0.0] * 3] * 3
    assert not state.is_candidate.gather(1, env._val).any()


def test_a_labeled_node_is_no_candidate_any_more_and_all_others_still_are(skewed: Dataset):
    env, rng = LabelingEnv(skewed, CONFIG), generator(0)
    state = env.reset(rng)
    for _ in range(6):
        nodes = any_candidate(state, rng)
        expected = state.is_candidate.clone()
        expected[torch.arange(3), nodes] = False
        kept = state.is_candidate.clone()
        after = env.step(nodes).state
        assert torch.equal(after.is_candidate, expected)
        assert torch.equal(state.is_candidate, kept)  # the state that was handed out has not changed
        state = after
    assert all(len(set(game)) == 6 for game in env.labeled.tolist())


def test_labels_stand_in_the_order_they_were_asked_and_are_counted(skewed: Dataset):
    env = LabelingEnv(skewed, CONFIG)
    env.reset(generator(0))
    of_class = [(skewed.y == cls).nonzero().flatten() for cls in range(3)]
    first = torch.stack([of_class[0][0], of_class[1][0], of_class[2][0]])
    second = torch.stack([of_class[0][1], of_class[2][0], of_class[2][1]])
    env.step(first)
    assert env.counts.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    env.step(second)
    assert env.counts.tolist() == [[2, 0, 0], [0, 1, 1], [0, 0, 2]]
    assert torch.equal(env.labeled, torch.stack([first, second], dim=1))


def test_performance_is_macro_f1_on_the_validation_nodes(skewed: Dataset):
    env, rng = (
        LabelingEnv(skewed, replace(CONFIG, classifier=GCNConfig(hidden=8, learning_rate=0.2))),
        generator(1),
    )
    state = env.reset(rng)
    for _ in range(6):
        state = env.step(any_candidate(state, rng)).state
    predicted = env._network.predict().probabilities.argmax(-1)
    for game, val in enumerate(env._val):
        truth, guess = skewed.y[val].tolist(), predicted[game, val].tolist()
        expected = f1_score(truth, guess, labels=[0, 1, 2], average="macro", zero_division=0)
        assert float(env.performance[game]) == pytest.approx(expected)
    assert len(set(env.performance.tolist())) > 1


@pytest.mark.parametrize(("alpha", "eta"), [(0.5, 0.0), (0.5, 0.05), (0.2, 0.3), (1.0, 0.0)])
def test_the_reward_is_made_of_the_recorded_performance_and_the_counts_before(
    skewed: Dataset, alpha: float, eta: float
):
    config = replace(
        CONFIG, reward=RewardConfig(alpha, eta), classifier=GCNConfig(hidden=8, learning_rate=0.2)
    )
    env, rng = LabelingEnv(skewed, config), generator(2)
    state = env.reset(rng)
    penalties, gains = 0, 0
    for _ in range(6):
        counts, before = env.counts.tolist(), env.performance.tolist()
        nodes = any_candidate(state, rng)
        step = env.step(nodes)
        for game, node in enumerate(nodes.tolist()):
            had = counts[game][skewed.y[node]]
            gain = env.performance[game].item() - before[game]
            worth = alpha * gain + (1 - alpha) * (1 / max(1, had))
            if had >= 2:  # a budget of 6 over three classes
                worth -= eta
                penalties += 1
            gains += gain != 0
            assert step.reward[game].item() == pytest.approx(worth, abs=1e-6)
        state = step.state
    assert penalties > 3
    assert gains > 3


def test_the_first_gain_is_measured_against_knowing_nothing(skewed: Dataset):
    """All classes equally likely: the first class is predicted for every node."""
    env = LabelingEnv(skewed, CONFIG)
    env.reset(generator(0))
    for game, val in enumerate(env._val):
        share = float((skewed.y[val] == 0).float().mean())
        assert float(env.performance[game]) == pytest.approx(2 * share / (1 + share) / 3)


def test_the_columns_are_those_of_the_configuration(skewed: Dataset):
    for columns in (GCBR_COLUMNS, GCBR_PLUS_COLUMNS, ("selectivity", "uncertainty")):
        env = LabelingEnv(skewed, replace(CONFIG, columns=columns))
        env.reset(generator(0))
        step = env.step(torch.tensor([7, 8, 9]))
        assert step.state.features.shape == (3, 200, len(columns))
        marked = step.state.features[..., columns.index("selectivity")]
        assert marked.nonzero().tolist() == [[0, 7], [1, 8], [2, 9]]


def test_more_epochs_for_each_query_teach_more(skewed: Dataset):
    def confidence(epochs: int) -> float:
        env = LabelingEnv(skewed, replace(CONFIG, epochs_per_query=epochs))
        env.reset(generator(0))
        nodes = torch.tensor([7, 8, 9])
        env.step(nodes)
        return float(env._probabilities[torch.arange(3), nodes, skewed.y[nodes]].mean())

    assert confidence(20) > confidence(1) + 0.1


# --- Methods beside the paper's -------------------------------------------------------------------------


def test_the_score_may_be_micro_f1(skewed: Dataset):
    env, _, _ = played(skewed, replace(CONFIG, score="micro_f1"))
    predicted = env._network.predict().probabilities.argmax(-1)
    for game, val in enumerate(env._val):
        right = (skewed.y[val] == predicted[game, val]).sum().item()
        assert float(env.performance[game]) == pytest.approx(right / 40)
        expected = f1_score(
            skewed.y[val], predicted[game, val], labels=[0, 1, 2], average="macro", zero_division=0
        )
        assert float(env.val_score("macro_f1")[game]) == pytest.approx(expected)


def test_final_epochs_follow_the_last_label_alone(skewed: Dataset):
    short, features, _ = played(skewed, CONFIG)
    long, more_features, _ = played(skewed, replace(CONFIG, final_epochs=40))
    for before, after in zip(features[:-1], more_features[:-1], strict=True):
        assert torch.equal(before, after)
    own = skewed.y[long.labeled].unsqueeze(-1)

    def confidence(env: LabelingEnv) -> Tensor:
        index = env.labeled.unsqueeze(-1).expand(-1, -1, 3)
        return env._probabilities.gather(1, index).gather(2, own).mean()

    assert torch.equal(short.labeled, long.labeled)
    assert confidence(long) > confidence(short) + 0.1


def test_a_batch_is_answered_when_it_is_full(skewed: Dataset):
    env, rng = LabelingEnv(skewed, replace(CONFIG, batch=4, reward=RewardConfig(kind="gain"))), generator(3)
    state = env.reset(rng)
    predicted, rewards = [env._probabilities], []
    for _ in range(6):
        state, reward, done = env.step(any_candidate(state, rng))
        predicted.append(env._probabilities)
        rewards.append(reward)
    changed = [not torch.equal(*pair) for pair in pairwise(predicted)]
    assert changed == [False, False, False, True, False, True]  # the last batch is a shorter one
    assert done
    assert [bool(reward.any()) for reward in rewards] == [False, False, False, True, False, True]


def test_the_labels_of_a_batch_are_learned_one_by_one(skewed: Dataset):
    """After a batch, the classifier stands where it would stand if each had been answered at once."""
    nodes = torch.tensor([[3, 50, 7, 120, 9, 33], [8, 90, 1, 60, 4, 5], [11, 12, 140, 14, 70, 16]])
    games = [LabelingEnv(skewed, replace(CONFIG, batch=batch)) for batch in (1, 3, 6)]
    for env in games:
        env.reset(generator(0))
        for step in range(6):
            env.step(nodes[:, step])
    # A prediction in between may change the last bit of the next step, and nothing else.
    for env in games[1:]:
        torch.testing.assert_close(env._probabilities, games[0]._probabilities, rtol=0, atol=1e-5)


def test_within_a_batch_earlier_choices_count_as_labeled_with_their_likeliest_class(skewed: Dataset):
    columns = ("selectivity", "class_diversity", "uncertainty")
    env = LabelingEnv(skewed, replace(CONFIG, batch=2, columns=columns, episodes=1))
    env.reset(generator(0))
    env.step(torch.tensor([3]))
    env.step(torch.tensor([50]))
    state = env.step(torch.tensor([7])).state  # the first of the second batch
    selected, diversity, uncertainty = state.features[0].T
    assert selected.nonzero()[:, 0].tolist() == [3, 7, 50]
    counts, guess = [0, 0, 0], int(env._probabilities[0, 7].argmax())
    for cls in (*skewed.y[[3, 50]].tolist(), guess):
        counts[cls] += 1
    assert float(diversity[7]) == pytest.approx(1 / counts[guess])
    assert float(diversity[3]) == pytest.approx(1 / counts[skewed.y[3]])
    assert (uncertainty == 0).nonzero()[:, 0].tolist() == [7]  # as if it had been answered


def test_where_one_candidate_of_each_class_is_proposed_the_state_says_which(skewed: Dataset):
    config = replace(CONFIG, actions=ActionSpace(one_per_class=True))
    env, rng = LabelingEnv(skewed, config), generator(4)
    state = env.reset(rng)
    assert state.is_candidate.sum(1).tolist() == [80] * 3  # nothing is predicted yet
    for _ in range(5):
        state = env.step(any_candidate(state, rng)).state
        expected = least_certain_of_each_class(env._is_candidate, env._probabilities)
        assert torch.equal(state.is_candidate, expected)
        assert state.is_candidate.sum(1).max() <= 3


def test_a_coarse_choice_is_among_representatives(skewed: Dataset):
    env = LabelingEnv(skewed, replace(CONFIG, actions=ActionSpace(coarse=True)))
    is_open = env.reset(generator(0)).is_candidate
    assert torch.equal(is_open, env._is_candidate & env._facts.representatives)
    assert is_open.sum(1).min() >= 5
    assert is_open.sum(1).max() < 60


# --- Chance ---------------------------------------------------------------------------------------------


def test_every_game_of_every_reset_draws_its_own_split(skewed: Dataset):
    env, rng = LabelingEnv(skewed, CONFIG), generator(0)
    pools = [tuple(row) for _ in range(2) for row in env.reset(rng).is_candidate.int().tolist()]
    assert len(set(pools)) == 6


def test_reset_forgets_the_game_before(skewed: Dataset):
    env = LabelingEnv(skewed, CONFIG)
    fresh = env.reset(generator(3))
    performance = env.performance
    env.step(fresh.is_candidate.float().argmax(1))
    again = env.reset(generator(3))
    assert torch.equal(again.features, fresh.features)
    assert torch.equal(again.is_candidate, fresh.is_candidate)
    assert torch.equal(env.performance, performance)
    assert env.labeled.shape == (3, 0)


def test_the_same_generator_gives_the_same_game(skewed: Dataset):
    first, second, other = (played(skewed, CONFIG, seed) for seed in (4, 4, 5))
    assert torch.equal(first[0].labeled, second[0].labeled)
    for ours, theirs in zip(first[1] + first[2], second[1] + second[2], strict=True):
        assert torch.equal(ours, theirs)
    assert not torch.equal(torch.stack(first[2]), torch.stack(other[2]))


def test_the_global_generator_is_neither_read_nor_touched(skewed: Dataset):
    torch.manual_seed(1)
    first = played(skewed, CONFIG)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    second = played(skewed, CONFIG)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(torch.stack(first[2]), torch.stack(second[2]))


# --- Mistakes -------------------------------------------------------------------------------------------


def test_a_pool_may_be_asked_to_its_last_node(skewed: Dataset):
    env, _, rewards = played(skewed, replace(CONFIG, budget=80, episodes=1))
    assert len(rewards) == 80
    assert not env._is_candidate.any()


@pytest.mark.parametrize("budget", [0, -1, 81])
def test_a_budget_that_no_game_has_room_for_is_refused(skewed: Dataset, budget: int):
    with pytest.raises(InputError, match=f"the budget is {budget}; a game on graph 'skewed' has 80 nodes"):
        LabelingEnv(skewed, replace(CONFIG, budget=budget))
