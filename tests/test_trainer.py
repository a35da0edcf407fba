"""Learning a policy, episode by episode: what is drawn, scaled, counted and kept."""

import json
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gcbr import a2c, reinforce
from gcbr.datasets import SyntheticConfig, synthetic
from gcbr.engine.gcn import GCNConfig
from gcbr.environment import EnvConfig, LabelingEnv, Step
from gcbr.graph import Dataset
from gcbr.state import GCBR_PLUS_COLUMNS
from gcbr.trainer import RewardScale, TrainConfig, Trainer

ENV = EnvConfig(budget=5, episodes=2, columns=GCBR_PLUS_COLUMNS, classifier=GCNConfig(hidden=4))
CONFIG = TrainConfig(episodes=4, update_every=2, width=4, actor_rate=0.01, critic_rate=0.02)
BY_REINFORCE = replace(CONFIG, algorithm="reinforce", standardize=True, discount=1.0)


@pytest.fixture(scope="module")
def tiny() -> Dataset:
    """40 nodes in two classes."""
    return synthetic(SyntheticConfig(nodes=40, classes=2, skew=3, degree=4, features=8), seed=0, name="tiny")


@pytest.fixture(scope="module")
def other() -> Dataset:
    """50 nodes in three classes."""
    return synthetic(SyntheticConfig(nodes=50, classes=3, skew=2, degree=4, features=6), seed=1, name="other")


def trained(
    sources: list[Dataset], env: EnvConfig = ENV, config: TrainConfig = CONFIG
) -> tuple[Trainer, list[Tensor]]:
    trainer = Trainer(sources, env, config)
    return trainer, [parameter.detach().clone() for parameter in trainer.train().parameters()]


def are_equal(first: list[Tensor], second: list[Tensor]) -> bool:
    return all(torch.equal(*pair) for pair in zip(first, second, strict=True))


# --- One seed, one policy -------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [CONFIG, BY_REINFORCE], ids=["a2c", "reinforce"])
def test_one_seed_gives_one_policy_and_one_curve(tiny: Dataset, config: TrainConfig):
    (first, weights), (second, weights_again) = (trained([tiny], config=config) for _ in range(2))
    assert are_equal(weights, weights_again)
    assert first.curve == second.curve


def test_another_seed_gives_another_policy(tiny: Dataset):
    _, weights = trained([tiny])
    _, others = trained([tiny], config=replace(CONFIG, seed=1))
    assert not any(torch.equal(*pair) for pair in zip(weights, others, strict=True))


def test_every_weight_is_learned(tiny: Dataset):
    trainer = Trainer([tiny], ENV, CONFIG)
    before = [parameter.detach().clone() for parameter in trainer.policy.parameters()]
    trainer.train()
    for (name, parameter), was in zip(trainer.policy.named_parameters(), before, strict=True):
        # A softmax is blind to what all scores share.
        assert name == "actor.last.bias" or not torch.equal(parameter, was), name


def test_the_global_generator_is_neither_read_nor_touched(tiny: Dataset):
    torch.manual_seed(1)
    _, weights = trained([tiny])
    torch.manual_seed(2)
    before = torch.get_rng_state()
    _, weights_again = trained([tiny])
    assert torch.equal(torch.get_rng_state(), before)
    assert are_equal(weights, weights_again)


def test_every_episode_draws_its_own_games(tiny: Dataset, monkeypatch):
    pools = []
    reset = LabelingEnv.reset

    def noted(env: LabelingEnv, rng: torch.Generator):
        state = reset(env, rng)
        pools.extend(tuple(row) for row in state.is_candidate.int().tolist())
        return state

    monkeypatch.setattr(LabelingEnv, "reset", noted)
    trained([tiny])
    assert len(pools) == len(set(pools)) == 8


# --- Rewards on one scale -------------------------------------------------------------------------------


def test_the_first_episode_is_measured_by_itself():
    scale = RewardScale(budget=4, rate=0.05)
    # Step 1: mean 2, deviation 1. Step 2: no deviation at all, and nothing to divide.
    scaled = scale.standardize(torch.tensor([[1.0, 3.0], [7.0, 7.0]]), first_step=1, is_first_episode=True)
    assert scaled.tolist() == [[-1.0, 1.0], [0.0, 0.0]]
    assert scale.mean.tolist() == [0.0, 2.0, 7.0, 0.0]
    assert scale.variance.tolist() == [1.0, 1.0, 0.0, 1.0]


def test_later_episodes_move_mean_and_deviation_by_a_twentieth():
    scale = RewardScale(budget=4, rate=0.05)
    scale.standardize(torch.tensor([[1.0, 3.0]]), first_step=1, is_first_episode=True)
    scaled = scale.standardize(torch.tensor([[4.0, 6.0]]), first_step=1, is_first_episode=False)
    # The mean goes from 2 to 2.15; rewards lie 1.85 and 3.85 above it, 9.1225 in the mean square;
    # the variance goes from 1 to 1.406125, whose root is 1.185801.
    assert scale.mean.tolist() == pytest.approx([0.0, 2.15, 0.0, 0.0])
    assert scale.variance.tolist() == pytest.approx([1.0, 1.406125, 1.0, 1.0])
    assert scaled.tolist() == [pytest.approx([1.85 / 1.185801, 3.85 / 1.185801], rel=1e-5)]


def test_a_step_is_compared_with_the_same_step_of_other_episodes():
    scale = RewardScale(budget=2, rate=0.5)
    rewards = torch.tensor([[10.0, 12.0], [0.0, 2.0]])
    assert scale.standardize(rewards, 0, is_first_episode=True).tolist() == [[-1.0, 1.0], [-1.0, 1.0]]


def test_a_tiny_deviation_does_not_blow_a_reward_up():
    scale = RewardScale(budget=1, rate=0.05)
    scale.standardize(torch.tensor([[0.5, 0.5]]), 0, is_first_episode=True)
    scaled = scale.standardize(torch.tensor([[0.5 + 1e-5, 0.5]]), 0, is_first_episode=False)
    assert scaled.abs().max() < 0.02


def test_without_standardizing_rewards_are_learned_from_as_they_are(tiny: Dataset, monkeypatch):
    seen = []
    losses = a2c.losses

    def noted(rollout, discount):
        seen.append(rollout.rewards)
        return losses(rollout, discount)

    monkeypatch.setattr(a2c, "losses", noted)
    trainer, _ = trained([tiny], config=replace(CONFIG, standardize=False))
    assert trainer._scale.mean.tolist() == [0.0] * 5
    episode = torch.cat(seen[:3])
    assert float(episode.sum(0).mean()) == pytest.approx(trainer.curve[0]["reward"], rel=1e-5)


# --- Steps, updates, rates ------------------------------------------------------------------------------


def test_an_update_follows_every_few_steps_and_the_last(tiny: Dataset, monkeypatch):
    sizes, discounts = [], []
    losses = a2c.losses

    def noted(rollout, discount):
        sizes.append(tuple(rollout.actions.shape))
        discounts.append(discount)
        return losses(rollout, discount)

    monkeypatch.setattr(a2c, "losses", noted)
    trained([tiny], config=replace(CONFIG, episodes=2, discount=0.7))
    assert sizes == [(2, 2), (2, 2), (1, 2)] * 2
    assert set(discounts) == {0.7}


def test_both_rates_decay_after_every_so_many_episodes(tiny: Dataset):
    rates: list[list[float]] = []

    def note(trainer: Trainer) -> None:
        rates.append([optimizer.param_groups[0]["lr"] for optimizer in trainer._optimizers])

    Trainer([tiny], ENV, replace(CONFIG, episodes=7, decay=0.5, decay_every=3)).train(note)
    actor, critic = zip(*rates, strict=True)
    assert list(actor) == pytest.approx([0.01] * 3 + [0.005] * 3 + [0.0025])
    assert list(critic) == pytest.approx([0.02] * 3 + [0.01] * 3 + [0.005])


def test_the_paper_s_rates_decay_after_episodes_1000_2000_and_3000(tiny: Dataset):
    trainer = Trainer([tiny], ENV, TrainConfig())
    for episode, rate in ((0, 1e-3), (999, 1e-3), (1000, 3e-4), (2000, 9e-5), (3999, 2.7e-5)):
        trainer.episode = episode
        trainer._set_rates()
        for optimizer in trainer._optimizers:
            assert optimizer.param_groups[0]["lr"] == pytest.approx(rate)


def test_several_sources_are_played_in_turn(tiny: Dataset, other: Dataset, monkeypatch):
    played = []
    reset = LabelingEnv.reset

    def noted(env: LabelingEnv, rng: torch.Generator):
        played.append(env._dataset.graph.name)
        return reset(env, rng)

    monkeypatch.setattr(LabelingEnv, "reset", noted)
    trainer, _ = trained([tiny, other, tiny], config=replace(CONFIG, episodes=7))
    assert played == ["tiny", "other", "tiny"] * 2 + ["tiny"]
    assert [point["episode"] for point in trainer.curve] == [1, 2, 3, 4, 5, 6, 7]


# --- By REINFORCE ---------------------------------------------------------------------------------------


def test_reinforce_updates_once_an_episode_by_standardized_returns(tiny: Dataset, monkeypatch):
    seen, worth = [], []
    update, returns = reinforce.update, reinforce.returns

    def noted_update(policy, optimizer, propagation, rollout):
        seen.append(rollout.rewards)
        return update(policy, optimizer, propagation, rollout)

    def noted_returns(rewards: Tensor, discount: float) -> Tensor:
        worth.append(returns(rewards, discount))
        return worth[-1]

    monkeypatch.setattr(reinforce, "update", noted_update)
    monkeypatch.setattr(reinforce, "returns", noted_returns)
    trained([tiny], config=BY_REINFORCE)
    assert [tuple(rewards.shape) for rewards in seen] == [(5, 2)] * 4
    scale = RewardScale(budget=5, rate=0.05)
    for episode, (given, raw) in enumerate(zip(seen, worth, strict=True)):
        assert torch.equal(given, scale.standardize(raw, 0, is_first_episode=episode == 0))


def test_reinforce_learns_the_actor_and_leaves_the_critic(tiny: Dataset):
    trainer = Trainer([tiny], ENV, BY_REINFORCE)
    before = {name: weight.detach().clone() for name, weight in trainer.policy.named_parameters()}
    trainer.train()
    for name, weight in trainer.policy.named_parameters():
        if name != "actor.last.bias":  # a softmax is blind to it, and only rounding moves it
            assert torch.equal(weight, before[name]) == name.startswith("critic"), name
    assert list(trainer.curve[0])[-2:] == ["entropy", "actor_loss"]


# --- The curve ------------------------------------------------------------------------------------------


def test_the_curve_says_what_happened(tiny: Dataset, monkeypatch):
    rewards: list[Tensor] = []
    step = LabelingEnv.step

    def noted(env: LabelingEnv, nodes: Tensor) -> Step:
        taken = step(env, nodes)
        rewards.append(taken.reward)
        return taken

    monkeypatch.setattr(LabelingEnv, "step", noted)
    trainer = Trainer([tiny], ENV, replace(CONFIG, episodes=1))
    trainer.train()
    (point,) = trainer.curve
    counts = trainer._envs[0].counts
    assert point["episode"] == 1
    assert point["reward"] == pytest.approx(float(torch.stack(rewards).sum(0).mean()), rel=1e-5)
    ratios = [min(game) / max(game) for game in counts.tolist()]
    assert point["imbalance_ratio"] == pytest.approx(sum(ratios) / 2)
    assert point["macro_f1"] == pytest.approx(float(trainer._envs[0].performance.mean()))
    # Sixteen nodes can be asked at first and twelve at last, and nothing has been learned yet.
    assert 2.4 < point["entropy"] <= 2.78
    assert point["critic_loss"] > 0
    assert list(point) == [
        "episode",
        "reward",
        "imbalance_ratio",
        "macro_f1",
        "entropy",
        "actor_loss",
        "critic_loss",
    ]


# --- Stopping and going on ------------------------------------------------------------------------------


class Stop(Exception):
    pass


def stop_after(episode: int):
    def on_episode(trainer: Trainer) -> None:
        if trainer.episode == episode:
            raise Stop

    return on_episode


@pytest.mark.parametrize("config", [CONFIG, BY_REINFORCE], ids=["a2c", "reinforce"])
def test_a_restored_trainer_ends_where_one_never_stopped_ends(
    tiny: Dataset, other: Dataset, config: TrainConfig
):
    config = replace(config, episodes=6, decay_every=2)
    whole, weights = trained([tiny, other], config=config)
    stopped = Trainer([tiny, other], ENV, config)
    with pytest.raises(Stop):
        stopped.train(stop_after(3))
    resumed = Trainer([tiny, other], ENV, config)
    resumed.restore(stopped.tensors(), stopped.episode, stopped.curve)
    resumed.train()
    assert are_equal(weights, list(resumed.policy.parameters()))
    assert resumed.curve == whole.curve
    kept, again = whole.tensors(), resumed.tensors()
    assert kept.keys() == again.keys()
    assert all(torch.equal(kept[name], again[name]) for name in kept)
    # And the one it was restored from has not been moved by it.
    assert stopped.episode == len(stopped.curve) == 3
    stopped.train()
    assert are_equal(weights, list(stopped.policy.parameters()))


def test_a_trainer_that_has_not_played_can_be_kept_as_well(tiny: Dataset):
    fresh = Trainer([tiny], ENV, CONFIG)
    restored = Trainer([tiny], ENV, CONFIG)
    restored.restore(fresh.tensors(), 0, [])
    _, weights = trained([tiny])
    assert are_equal(weights, list(restored.train().parameters()))


def test_everything_learned_is_among_the_tensors(tiny: Dataset):
    trainer, _ = trained([tiny])
    names = set(trainer.tensors())
    assert len([name for name in names if name.startswith("policy.")]) == 12
    for network in ("actor", "critic"):
        moments = {
            f"{network}.{index}.{key}" for index in range(6) for key in ("step", "exp_avg", "exp_avg_sq")
        }
        assert moments <= names
    assert {"scale.mean", "scale.variance"} <= names


def test_settings_are_plain_values(tiny: Dataset):
    settings = Trainer([tiny], ENV, CONFIG).settings()
    assert json.loads(json.dumps(settings)) == settings
    assert settings["train"]["update_every"] == 2
    assert settings["env"]["columns"] == list(GCBR_PLUS_COLUMNS)
    assert settings["env"]["reward"] == {"gain_weight": 0.5, "penalty": 0.0, "kind": "balanced"}
    assert settings["env"]["classifier"]["hidden"] == 4
