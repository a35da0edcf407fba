"""The reward of a choice, worked out by hand."""

import pytest
import torch

from gcbr.rewards import KINDS, Outcome, RewardConfig, class_weights, diversity, in_majority, reward, worth

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


# --- Kinds of reward ------------------------------------------------------------------------------------


def outcome(done: bool = False) -> Outcome:
    """Two games: the score rose by 0.2 with a label of class 0, and fell by 0.1 with one of class 2."""
    return Outcome(
        before=torch.tensor([0.3, 0.6]),
        after=torch.tensor([0.5, 0.5]),
        counts=torch.tensor([[4.0, 0.0, 0.0], [1.0, 0.0, 2.0]]),
        classes=torch.tensor([0, 2]),
        frequencies=torch.tensor([0.6, 0.3, 0.1]),
        budget=6,
        done=done,
    )


def test_the_balanced_kind_is_the_paper_s():
    # (0.2 + 1/4) / 2 and (-0.1 + 1/2) / 2, and both classes have the 2 labels that are their share.
    assert worth(outcome(), RewardConfig(penalty=0.05)).tolist() == pytest.approx([0.175, 0.15])


def test_gpa_is_paid_at_the_end_by_what_the_game_came_to():
    assert worth(outcome(), RewardConfig(kind="final score")).tolist() == [0.0, 0.0]
    assert worth(outcome(done=True), RewardConfig(kind="final score")).tolist() == [0.5, 0.5]


def test_bigene_is_paid_by_the_gain():
    assert worth(outcome(), RewardConfig(kind="gain")).tolist() == pytest.approx([0.2, -0.1])


def test_allie_is_paid_by_the_gain_and_less_in_a_common_class():
    # Classes 1 and 2 are rarer than a third; 0.2 on average, a third of what class 0 has.
    assert worth(outcome(), RewardConfig(kind="weighed gain")).tolist() == pytest.approx([0.2 / 3, -0.1])


def test_of_two_classes_the_smaller_weighs_1_and_the_larger_their_ratio():
    assert class_weights(torch.tensor([0.8, 0.2])).tolist() == pytest.approx([0.25, 1.0])


def test_where_all_classes_are_alike_all_weigh_1():
    assert class_weights(torch.full((3,), 1 / 3)).tolist() == [1.0, 1.0, 1.0]


def test_a_class_without_a_node_weighs_as_a_rare_one_does():
    weights = class_weights(torch.tensor([0.9, 0.1, 0.0]))
    assert weights.tolist() == pytest.approx([0.05 / 0.9, 1.0, 1.0])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_pays_each_game(kind: str):
    assert worth(outcome(), RewardConfig(kind=kind)).shape == (2,)
