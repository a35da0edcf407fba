"""The reward of a choice, worked out by hand."""

import pytest
import torch

from gcbr.rewards import RewardConfig, diversity, in_majority, reward

COUNTS = torch.tensor([[0.0, 1.0, 2.0, 4.0]])  # a budget of 8 over four classes gives a share of 2


def of_each_class(gain: float, config: RewardConfig) -> list[float]:
    """The reward of a choice that turns out to be of class 0, 1, 2 and 3."""
    counts = COUNTS.expand(4, -1)
    return reward(torch.full((4,), gain), counts, torch.arange(4), 8, config).tolist()


def test_diversity_is_one_over_the_labels_the_class_had_before():
    assert diversity(COUNTS.expand(4, -1), torch.arange(4)).tolist() == [1.0, 1.0, 0.5, 0.25]


def test_a_class_is_in_the_majority_once_it_has_its_share_of_the_budget():
    assert in_majority(COUNTS.expand(4, -1), torch.arange(4), 8).tolist() == [False, False, True, True]


def test_a_share_that_is_no_whole_number_must_be_reached():
    counts = torch.tensor([[3.0, 4.0, 0.0]]).expand(3, -1)  # 10 / 3 labels each
    assert in_majority(counts, torch.arange(3), 10).tolist() == [False, True, False]


def test_gcbr_weighs_gain_and_diversity_alike():
    assert of_each_class(0.2, RewardConfig()) == pytest.approx([0.6, 0.6, 0.35, 0.225])


def test_a_loss_of_performance_counts_against_the_choice():
    assert of_each_class(-0.2, RewardConfig()) == pytest.approx([0.4, 0.4, 0.15, 0.025])


def test_gcbr_plus_takes_the_penalty_from_majority_classes_alone():
    assert of_each_class(0.2, RewardConfig(penalty=0.05)) == pytest.approx([0.6, 0.6, 0.3, 0.175])


def test_alpha_1_reads_the_gain_alone_and_alpha_0_the_diversity_alone():
    assert of_each_class(0.2, RewardConfig(gain_weight=1.0)) == pytest.approx([0.2] * 4)
    assert of_each_class(0.2, RewardConfig(gain_weight=0.0)) == pytest.approx([1.0, 1.0, 0.5, 0.25])


def test_alpha_weighs_the_gain_and_not_the_diversity():
    assert of_each_class(0.4, RewardConfig(gain_weight=0.25)) == pytest.approx([0.85, 0.85, 0.475, 0.2875])


def test_each_game_has_counts_of_its_own():
    counts = torch.tensor([[5.0, 0.0], [0.0, 5.0]])
    gain = torch.tensor([0.1, 0.3])
    rewards = reward(gain, counts, torch.tensor([0, 0]), 8, RewardConfig(penalty=0.05))
    assert rewards.tolist() == pytest.approx([0.05 + 0.1 - 0.05, 0.15 + 0.5])
