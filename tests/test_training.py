"""Training into a file: killed at any moment it goes on to the same weights, and it learns."""

import csv
import os
import random
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gcbr import metrics
from gcbr.actions import ActionSpace
from gcbr.checkpoints import fingerprint, load_policy, read_tensors, save_policy, write_tensors
from gcbr.cli.app import main
from gcbr.datasets import SyntheticConfig, synthetic
from gcbr.engine.gcn import GCNConfig
from gcbr.environment import EnvConfig, LabelingEnv
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.learner import ActiveLearner, simulate
from gcbr.policy import Policy
from gcbr.seeding import generator
from gcbr.state import GCBR_COLUMNS, GCBR_PLUS_COLUMNS, GPA_COLUMNS
from gcbr.strategies import find_strategy
from gcbr.trainer import TrainConfig, Trainer
from gcbr.training import METHODS, binned, env_config, train_config, train_policy

BASE = EnvConfig(budget=6, episodes=2, classifier=GCNConfig(hidden=4))
ENV = env_config("gcbr++", BASE, 0.5, None)
CONFIG = TrainConfig(episodes=5, update_every=3, width=4, actor_rate=0.01, critic_rate=0.01)


def tiny(name: str = "tiny", nodes: int = 40) -> Dataset:
    shape = SyntheticConfig(nodes=nodes, classes=2, skew=3, degree=4, features=8)
    return synthetic(shape, seed=0, name=name)


class Stop(Exception):
    """Takes the place of a person's patience."""


def stop_after(episode: int):
    def on_episode(trainer: Trainer) -> None:
        if trainer.episode == episode:
            raise Stop

    return on_episode


def same_weights(first: Path, second: Path) -> bool:
    ours, theirs = (load_policy(path)[0].state_dict() for path in (first, second))
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


# --- What is written ------------------------------------------------------------------------------------


def test_the_policy_file_says_how_it_was_trained(tmp_path: Path):
    out = tmp_path / "new" / "policy.safetensors"
    given = train_policy([tiny(), tiny("second")], "gcbr++", ENV, CONFIG, out)
    policy, card = load_policy(out)
    assert card == given
    assert (card.method, card.columns, card.width) == ("gcbr++", GCBR_PLUS_COLUMNS, 4)
    assert (card.features, card.sources, card.episodes) == ("default", ("tiny", "second"), 5)
    assert card.settings["train"]["update_every"] == 3
    assert card.settings["env"]["reward"] == {"gain_weight": 0.5, "penalty": 0.05, "kind": "balanced"}
    assert [point["episode"] for point in card.curve] == [5]
    assert policy.scores(tiny().graph.propagation, torch.rand(1, 40, 6)).shape == (1, 40)


def test_guises_are_sources_of_their_own_under_one_name(tmp_path: Path, capsys):
    out = tmp_path / "policy.safetensors"
    options = "--guises 2 --episodes 3 --budget 4 --parallel 2 --update-every 2"
    graph = "synthetic:nodes=60,classes=4,features=8"
    assert main(["train", graph, "--out", str(out), *options.split()]) == 0
    assert load_policy(out)[1].sources == (graph, f"2 guises of {graph}")
    assert f"on {graph}, 2 guises of {graph}" in capsys.readouterr().out
    assert (
        main(["train", "synthetic:classes=2", "--out", str(tmp_path / "2.safetensors"), "--guises", "1"]) == 2
    )
    assert "has 2 classes; guises are made of graphs with 3 or more" in capsys.readouterr().err


def test_guises_may_be_broad(tmp_path: Path):
    out = tmp_path / "policy.safetensors"
    options = "--guises 3 --broad --episodes 4 --budget 4 --parallel 2 --update-every 2"
    graph = "synthetic:nodes=80,classes=4,features=8"
    assert main(["train", graph, "--out", str(out), *options.split()]) == 0
    assert load_policy(out)[1].sources == (graph, f"3 broad guises of {graph}")
    assert main(["train", graph, "--out", str(tmp_path / "2"), "--broad", "--episodes", "1"]) == 2


def test_the_log_has_a_line_for_every_episode(tmp_path: Path):
    seen: list[dict[str, float]] = []
    out = tmp_path / "policy.safetensors"
    train_policy(
        [tiny()], "gcbr++", ENV, CONFIG, out, on_episode=lambda trainer: seen.append(trainer.curve[-1])
    )
    with open(tmp_path / "policy.csv", newline="", encoding="utf-8") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert rows == seen
    assert [row["episode"] for row in rows] == [1, 2, 3, 4, 5]


def test_nothing_but_the_policy_and_its_log_is_left(tmp_path: Path):
    train_policy([tiny()], "gcbr", ENV, CONFIG, tmp_path / "policy.safetensors", checkpoint_seconds=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.csv", "policy.safetensors"]


def test_copies_are_kept_on_the_way(tmp_path: Path):
    train_policy([tiny()], "gcbr++", ENV, CONFIG, tmp_path / "p.safetensors", keep_every=2)
    assert sorted(path.name for path in tmp_path.glob("*.safetensors")) == [
        "p-2.safetensors",
        "p-4.safetensors",
        "p.safetensors",
    ]
    assert load_policy(tmp_path / "p-4.safetensors")[1].episodes == 4
    # Episode by episode it is the policy of a shorter training.
    train_policy([tiny()], "gcbr++", ENV, replace(CONFIG, episodes=4), tmp_path / "four.safetensors")
    assert same_weights(tmp_path / "p-4.safetensors", tmp_path / "four.safetensors")


def test_a_run_killed_while_writing_its_checkpoint_has_its_copy_all_the_same(tmp_path: Path, monkeypatch):
    def fail(*given: object) -> None:
        raise Stop

    out = tmp_path / "p.safetensors"
    monkeypatch.setattr("gcbr.training.write_tensors", fail)
    with pytest.raises(Stop):
        train_policy([tiny()], "gcbr", ENV, CONFIG, out, checkpoint_seconds=0, keep_every=1)
    assert load_policy(tmp_path / "p-1.safetensors")[1].episodes == 1


# --- Beginning with another policy ----------------------------------------------------------------------

PLAIN = env_config("gcbr", BASE, 0.5, None)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    path = tmp_path / "begun.safetensors"
    train_policy([tiny()], "gcbr", PLAIN, CONFIG, path)
    return path


def test_a_training_may_begin_with_a_policy_of_fewer_columns(tmp_path: Path, begun: Path):
    first, out = [], tmp_path / "plus.safetensors"

    def at_rest(trainer: Trainer) -> None:
        first.append({name: weights.clone() for name, weights in trainer.policy.state_dict().items()})

    still = replace(CONFIG, actor_rate=0.0, critic_rate=0.0)
    card = train_policy([tiny()], "gcbr++", ENV, still, out, start=begun, on_episode=at_rest)
    weights = load_policy(begun)[0].state_dict()
    assert torch.equal(first[0]["actor.first.weight"][:, :5], weights["actor.first.weight"])
    assert first[0]["actor.first.weight"][:, 5].tolist() == [0] * 4  # of the majority score
    assert all(torch.equal(first[0][name], weights[name]) for name in weights if "first.weight" not in name)
    assert card.settings["train"]["start"] == fingerprint(load_policy(out)[0])  # nothing was learned


def test_a_training_that_began_with_a_policy_and_was_stopped_ends_with_the_same_weights(
    tmp_path: Path, begun: Path
):
    stopped, whole = tmp_path / "stopped.safetensors", tmp_path / "whole.safetensors"
    train_policy([tiny()], "gcbr++", ENV, CONFIG, whole, start=begun)
    with pytest.raises(Stop):
        train_policy(
            [tiny()],
            "gcbr++",
            ENV,
            CONFIG,
            stopped,
            start=begun,
            checkpoint_seconds=0,
            on_episode=stop_after(3),
        )
    with pytest.raises(InputError, match=r"train\.start was [0-9a-f]{12} and is "):
        train_policy([tiny()], "gcbr++", ENV, CONFIG, stopped)
    train_policy([tiny()], "gcbr++", ENV, CONFIG, stopped, start=begun)
    assert same_weights(stopped, whole)


def test_a_policy_that_does_not_fit_begins_nothing(tmp_path: Path, begun: Path):
    out = tmp_path / "out.safetensors"
    relative = env_config("gcbr", BASE, centrality="relative")
    with pytest.raises(InputError, match="reads columns that this training does not have: centrality"):
        train_policy([tiny()], "gcbr", relative, CONFIG, out, start=begun)
    with pytest.raises(InputError, match="are 4 wide; those of this training 8"):
        train_policy([tiny()], "gcbr", PLAIN, replace(CONFIG, width=8), out, start=begun)
    other = tiny()
    other = replace(other, graph=replace(other.graph, feature_rule="paper"))
    with pytest.raises(InputError, match="was trained under the feature rule 'default', not 'paper'"):
        train_policy([other], "gcbr", PLAIN, CONFIG, out, start=begun)
    assert not out.exists()


def test_the_curve_of_a_policy_file_is_a_mean_over_episodes():
    curve = [{"episode": n, "reward": float(n * n)} for n in (1, 2, 3, 4, 5)]
    assert binned(curve, 2) == [
        {"episode": 2, "reward": 2.5},
        {"episode": 4, "reward": 12.5},
        {"episode": 5, "reward": 25.0},
    ]
    assert binned([], 2) == []


# --- Methods --------------------------------------------------------------------------------------------


def test_methods_differ_in_columns_and_penalty():
    gcbr, plus = (env_config(method, BASE, 0.3, None) for method in ("gcbr", "gcbr++"))
    assert (gcbr.columns, gcbr.reward.penalty) == (GCBR_COLUMNS, 0.0)
    assert (plus.columns, plus.reward.penalty) == (GCBR_PLUS_COLUMNS, 0.05)
    assert gcbr.reward.gain_weight == plus.reward.gain_weight == 0.3
    assert replace(plus, columns=BASE.columns, reward=BASE.reward) == BASE
    assert env_config("gcbr++", BASE, 0.5, 0.2).reward.penalty == 0.2
    assert env_config("gcbr++", BASE, 0.5, 0.0).reward.penalty == 0.0


def test_gpa_and_its_kin_learn_by_reinforce_from_gpa_s_columns():
    gpa, allie, bigene = (env_config(method, BASE) for method in ("gpa", "allie", "bigene"))
    assert gpa.columns == allie.columns == bigene.columns == GPA_COLUMNS
    assert (gpa.reward.kind, gpa.score, gpa.final_epochs) == ("final score", "micro_f1", 35)
    assert (allie.reward.kind, allie.actions) == ("weighed gain", ActionSpace(one_per_class=True))
    assert (bigene.reward.kind, gpa.batch, allie.batch, bigene.batch) == ("gain", 1, 1, 5)
    for method in ("gpa", "allie", "bigene"):
        config = train_config(method, TrainConfig(seed=3))
        assert (config.algorithm, config.actor_rate, config.decay, config.seed) == ("reinforce", 0.01, 1.0, 3)
    assert [train_config(method, CONFIG).discount for method in METHODS] == [0.9, 0.9, 1.0, 1.0, 0.9]
    assert train_config("gpa", CONFIG, discount=0.5).discount == 0.5


def test_gcbr_learns_as_the_paper_does():
    assert train_config("gcbr", TrainConfig()) == train_config("gcbr++", TrainConfig()) == TrainConfig()


def test_rewards_are_standardized_where_the_method_or_the_user_says_so():
    assert [train_config(method, TrainConfig()).standardize for method in METHODS] == [False] * 2 + [True] * 3
    assert train_config("gcbr", TrainConfig(), standardize=True).standardize
    assert not train_config("gpa", TrainConfig(), standardize=False).standardize


def test_standardizing_is_another_training(tmp_path: Path):
    options = ["--episodes", "2", "--budget", "4", "--parallel", "2", "--update-every", "2"]
    graph = "synthetic:nodes=60,classes=4,features=8"
    files = [tmp_path / "scaled.safetensors", tmp_path / "plain.safetensors"]
    for file, flag in zip(files, ("--standardize", "--as-they-are"), strict=True):
        assert main(["train", graph, "--out", str(file), *options, flag]) == 0
        assert load_policy(file)[1].settings["train"]["standardize"] == (flag == "--standardize")
    assert not same_weights(*files)


def test_centrality_is_read_at_the_scale_the_user_names(tmp_path: Path, capsys):
    options = ["--episodes", "1", "--budget", "4", "--parallel", "2", "--update-every", "2"]
    train = ["train", "synthetic:nodes=60,classes=4,features=8", *options, "--out"]
    out = tmp_path / "relative.safetensors"
    assert main([*train, str(out), "--method", "gcbr++", "--centrality", "relative"]) == 0
    assert load_policy(out)[1].columns == ("relative_centrality", *GCBR_PLUS_COLUMNS[1:])
    assert env_config("gpa", BASE, centrality="relative").columns == GPA_COLUMNS
    assert main([*train, str(tmp_path / "other.safetensors"), "--centrality", "raw"]) == 2
    assert "unknown scale of centrality 'raw'; choose from log, relative" in capsys.readouterr().err


def test_class_diversity_is_read_at_the_scale_the_user_names(tmp_path: Path, capsys):
    options = ["--episodes", "1", "--budget", "4", "--parallel", "2", "--update-every", "2"]
    train = ["train", "synthetic:nodes=60,classes=4,features=8", *options, "--out"]
    for scale in ("relative", "paced"):
        out = tmp_path / f"{scale}.safetensors"
        assert main([*train, str(out), "--method", "gcbr++", "--diversity", scale]) == 0
        expected = (*GCBR_PLUS_COLUMNS[:2], f"{scale}_class_diversity", *GCBR_PLUS_COLUMNS[3:])
        assert load_policy(out)[1].columns == expected
    assert main([*train, str(tmp_path / "other.safetensors"), "--diversity", "log"]) == 2
    complaint = "unknown scale of class diversity 'log'; choose from plain, relative, paced"
    assert complaint in capsys.readouterr().err


def test_batch_and_coarseness_may_be_any_method_s():
    assert env_config("bigene", BASE, batch=3).batch == 3
    assert env_config("gcbr", BASE, batch=3).batch == 3
    assert env_config("allie", BASE, coarse=True).actions == ActionSpace(one_per_class=True, coarse=True)
    assert env_config("gpa", BASE, coarse=True).actions == ActionSpace(coarse=True)


@pytest.mark.parametrize("given", [{"alpha": 0.5}, {"eta": 0.0}])
def test_a_weight_that_a_method_s_reward_does_not_have_is_refused(given: dict[str, float]):
    with pytest.raises(InputError, match="the reward of 'gpa' has no alpha and no eta; those of gcbr and"):
        env_config("gpa", BASE, **given)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_into_a_file_that_can_be_used(method: str, tmp_path: Path):
    env, config = env_config(method, BASE), train_config(method, replace(CONFIG, episodes=2))
    train_policy([tiny()], method, env, config, tmp_path / "policy.safetensors")
    _, card = load_policy(tmp_path / "policy.safetensors")
    assert (card.method, card.columns, card.actions) == (method, env.columns, env.actions)
    factory = find_strategy(str(tmp_path / "policy.safetensors"))
    learner = ActiveLearner(tiny().graph, factory, budget=8, classes=("class 0", "class 1"))
    labels = simulate(learner, lambda node: tiny().class_names[tiny().y[node]], 6)
    assert len(set(labels.nodes)) == 6
    assert len(set(learner.ask(2))) == 2


def test_an_unknown_method_is_answered_with_the_list():
    with pytest.raises(InputError, match=r"unknown method 'gcbr\+'; choose from " + ", ".join(METHODS)[:4]):
        env_config("gcbr+", BASE, 0.5, None)


# --- Refused --------------------------------------------------------------------------------------------


def test_a_file_that_exists_is_not_written_over(tmp_path: Path):
    out = tmp_path / "policy.safetensors"
    out.write_text("precious")
    with pytest.raises(
        InputError, match=r"policy\.safetensors exists already; name another file or remove it"
    ):
        train_policy([tiny()], "gcbr", ENV, CONFIG, out)
    assert out.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["policy.safetensors"]


def test_a_folder_that_cannot_be_written_is_refused_before_training(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(Trainer, "train", lambda *given: pytest.fail("it was trained"))
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(InputError, match=r"cannot make the folder .*file: File exists"):
        train_policy([tiny()], "gcbr", ENV, CONFIG, tmp_path / "file" / "policy")
    monkeypatch.setattr(os, "access", lambda *given: False)
    with pytest.raises(InputError, match=r"cannot write into the folder .*; name another"):
        train_policy([tiny()], "gcbr", ENV, CONFIG, tmp_path / "policy")


@pytest.fixture(scope="module")
def half_done(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The checkpoint of a training stopped after three episodes."""
    out = tmp_path_factory.mktemp("half") / "policy.safetensors"
    with pytest.raises(Stop):
        train_policy([tiny()], "gcbr++", ENV, CONFIG, out, checkpoint_seconds=0, on_episode=stop_after(3))
    assert not out.exists()
    return (out.parent / "policy.safetensors.checkpoint").read_bytes()


@pytest.fixture
def out(tmp_path: Path, half_done: bytes) -> Path:
    (tmp_path / "policy.safetensors.checkpoint").write_bytes(half_done)
    return tmp_path / "policy.safetensors"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": replace(CONFIG, seed=7)}, "train.seed was 0 and is 7"),
        ({"config": replace(CONFIG, discount=0.5)}, "train.discount was 0.9 and is 0.5"),
        (
            {"config": replace(CONFIG, actor_rate=0.1, update_every=2)},
            "train.update_every was 3 and is 2, train.actor_rate was 0.01 and is 0.1",
        ),
        ({"env": replace(ENV, budget=5)}, "env.budget was 6 and is 5"),
        ({"env": env_config("gcbr++", BASE, 0.25, None)}, "env.reward.gain_weight was 0.5 and is 0.25"),
        ({"env": env_config("gcbr++", BASE, 0.5, 0.1)}, "env.reward.penalty was 0.05 and is 0.1"),
        ({"env": replace(ENV, columns=GCBR_COLUMNS)}, "env.columns was .*majority_score"),
        ({"env": replace(ENV, classifier=GCNConfig(hidden=5))}, "env.classifier.hidden was 4 and is 5"),
        ({"method": "gcbr"}, r"method was gcbr\+\+ and is gcbr"),
        ({"sources": [tiny("another")]}, r"sources was \['tiny \(40 .* and is \['another \(40"),
        (
            {"sources": [tiny(nodes=41)]},
            r"sources was \['tiny \(40 nodes, 80 edges.* and is \['tiny \(41 nodes",
        ),
        ({"sources": [tiny(), tiny("another")]}, r"sources was \['tiny .*'another"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused_by_their_names(
    out: Path, changes, message: str, half_done
):
    given = {"sources": [tiny()], "method": "gcbr++", "env": ENV, "config": CONFIG} | changes
    with pytest.raises(InputError, match=rf"belongs to a training with other settings \(.*{message}"):
        train_policy(given["sources"], given["method"], given["env"], given["config"], out)
    assert (out.parent / "policy.safetensors.checkpoint").read_bytes() == half_done


def scaled(dataset: Dataset, rule: str) -> Dataset:
    return replace(dataset, graph=replace(dataset.graph, feature_rule=rule))


def test_features_scaled_by_another_rule_are_other_settings(out: Path):
    with pytest.raises(InputError, match="features was default and is paper"):
        train_policy([scaled(tiny(), "paper")], "gcbr++", ENV, CONFIG, out)


def test_sources_scaled_by_different_rules_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="sources are scaled by different feature rules: default, paper"):
        train_policy([scaled(tiny(), "paper"), tiny()], "gcbr", ENV, CONFIG, tmp_path / "policy")


def test_fewer_episodes_than_have_been_played_are_refused(out: Path):
    with pytest.raises(InputError, match="has played 3 episodes already, more than the 2 asked for"):
        train_policy([tiny()], "gcbr++", ENV, replace(CONFIG, episodes=2), out)


def test_a_damaged_checkpoint_is_refused(out: Path, half_done: bytes):
    checkpoint = out.parent / "policy.safetensors.checkpoint"
    checkpoint.write_bytes(half_done[:-5])
    with pytest.raises(InputError, match=r"policy\.safetensors\.checkpoint is damaged"):
        train_policy([tiny()], "gcbr++", ENV, CONFIG, out)


def test_a_policy_in_a_checkpoint_s_place_is_refused(tmp_path: Path):
    card = train_policy([tiny()], "gcbr++", ENV, CONFIG, tmp_path / "policy")
    save_policy(tmp_path / "next.checkpoint", load_policy(tmp_path / "policy")[0], card)
    with pytest.raises(InputError, match=r"next\.checkpoint is no checkpoint of a training"):
        train_policy([tiny()], "gcbr++", ENV, CONFIG, tmp_path / "next")


def test_a_budget_that_the_graph_has_no_room_for_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="the budget is 17; a game on graph 'tiny' has 16 nodes to ask"):
        train_policy([tiny()], "gcbr", replace(ENV, budget=17), CONFIG, tmp_path / "policy")


# --- Going on -------------------------------------------------------------------------------------------


def test_a_stopped_training_goes_on_where_it_stood(out: Path, tmp_path: Path):
    played: list[float] = []
    train_policy(
        [tiny()], "gcbr++", ENV, CONFIG, out, on_episode=lambda trainer: played.append(trainer.episode)
    )
    assert played == [4, 5]
    train_policy([tiny()], "gcbr++", ENV, CONFIG, tmp_path / "whole.safetensors")
    assert same_weights(out, tmp_path / "whole.safetensors")
    assert out.with_suffix(".csv").read_text() == (tmp_path / "whole.csv").read_text()


def test_a_checkpoint_from_before_an_option_existed_goes_on_with_its_default(out: Path, tmp_path: Path):
    checkpoint = out.parent / "policy.safetensors.checkpoint"
    tensors, header = read_tensors(checkpoint)
    del header["settings"]["env"]["reward"]["kind"], header["settings"]["train"]["algorithm"]
    for option in ("batch", "score", "final_epochs", "actions"):
        del header["settings"]["env"][option]
    write_tensors(checkpoint, tensors, header)
    train_policy([tiny()], "gcbr++", ENV, CONFIG, out)
    train_policy([tiny()], "gcbr++", ENV, CONFIG, tmp_path / "whole.safetensors")
    assert same_weights(out, tmp_path / "whole.safetensors")


def test_a_training_may_be_made_longer_on_the_way(out: Path, tmp_path: Path):
    longer = replace(CONFIG, episodes=7)
    train_policy([tiny()], "gcbr++", ENV, longer, out)
    train_policy([tiny()], "gcbr++", ENV, longer, tmp_path / "whole.safetensors")
    assert same_weights(out, tmp_path / "whole.safetensors")
    assert load_policy(out)[1] == load_policy(tmp_path / "whole.safetensors")[1]


def test_a_training_killed_after_its_last_episode_needs_no_other(out: Path):
    with pytest.raises(Stop):
        train_policy([tiny()], "gcbr++", ENV, CONFIG, out, checkpoint_seconds=0, on_episode=stop_after(5))
    played: list[float] = []
    card = train_policy(
        [tiny()], "gcbr++", ENV, CONFIG, out, on_episode=lambda trainer: played.append(trainer.episode)
    )
    assert played == []
    assert card.episodes == 5


def test_a_disk_without_room_ends_a_training_with_one_line_and_it_goes_on_later(tmp_path: Path):
    """A file that the system lets grow no further stands for a full disk."""
    options = "train synthetic:nodes=60,classes=3,features=8 --budget 6 --episodes 4 --out p.safetensors"
    command = [Path(sys.executable).parent / "gcbr", *options.split()]

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    full = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=little_room
    )
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "cannot be written (File too large); make room" in full.stderr
    assert not (tmp_path / "p.safetensors").exists()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p.safetensors").exists()


KILLED = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from gcbr.datasets import SyntheticConfig, synthetic
from gcbr.engine.gcn import GCNConfig
from gcbr.environment import EnvConfig
from gcbr.trainer import TrainConfig
from gcbr.training import env_config, train_config, train_policy

method = sys.argv[3]
shape = SyntheticConfig(nodes=60, classes=3, skew=3, degree=4, features=8)
env = env_config(method, EnvConfig(budget=6, episodes=3, classifier=GCNConfig(hidden=8)))
config = train_config(method, TrainConfig(episodes=30, update_every=4, decay_every=10, seed=3))
train_policy(
    [synthetic(shape, seed=0), synthetic(shape, seed=1)], method, env, config, Path(sys.argv[1]),
    checkpoint_seconds=float(sys.argv[2]), keep_every=10,
    on_episode=lambda trainer: print(trainer.episode, flush=True),
)
"""


def training_process(out: Path, method: str, checkpoint_seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", KILLED, str(out), str(checkpoint_seconds), method]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed_training(out: Path, method: str, moments: random.Random) -> tuple[int, int]:
    """The first and the last episode a process told of before it was killed, somewhere inside the next."""
    with training_process(out, method, checkpoint_seconds=0) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(moments.randrange(1, 6))]
        time.sleep(moments.uniform(0, 0.03))
        process.kill()
    assert process.returncode == -signal.SIGKILL
    return told[0], told[-1]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gcbr++", "gpa", "bigene"])
def test_killed_again_and_again_it_ends_with_the_same_weights(method: str, tmp_path: Path):
    with training_process(tmp_path / "never.safetensors", method, checkpoint_seconds=1e9) as process:
        assert process.stdout is not None
        process.stdout.read()
    assert process.returncode == 0

    out = tmp_path / "killed" / "often.safetensors"
    moments = random.Random(os.urandom(8))
    last = 0
    for _ in range(3):
        first, reached = killed_training(out, method, moments)
        assert first > last  # it went on, and did not begin anew
        assert not out.exists()
        last = reached
    with training_process(out, method, checkpoint_seconds=0) as process:
        assert process.stdout is not None
        left = process.stdout.read().split()
    assert process.returncode == 0
    assert int(left[0]) > last
    assert left[-1] == "30"

    whole, often = (load_policy(path) for path in (tmp_path / "never.safetensors", out))
    for name, weight in whole[0].state_dict().items():
        assert torch.equal(weight, often[0].state_dict()[name]), name
    assert often[1] == whole[1]  # the curve among it
    assert out.with_suffix(".csv").read_text() == (tmp_path / "never.csv").read_text()
    for episode in (10, 20, 30):
        never = tmp_path / f"never-{episode}.safetensors"
        assert same_weights(never, out.with_name(f"often-{episode}.safetensors"))
    assert not out.with_name("often.safetensors.checkpoint").exists()


# --- It learns ------------------------------------------------------------------------------------------

NUM_GAMES = 30


def imbalance_ratio(dataset: Dataset, env: EnvConfig, policy: Policy | None) -> float:
    """The mean over games it was not trained on, played greedily; at random without a policy."""
    games, rng = LabelingEnv(dataset, replace(env, episodes=NUM_GAMES)), generator(99)
    state, done = games.reset(rng), False
    with torch.no_grad():
        while not done:
            if policy is None:
                scores = torch.rand(state.is_candidate.shape, generator=rng)
            else:
                scores = policy.scores(games.propagation, state.features)
            state, _, done = games.step(scores.masked_fill(~state.is_candidate, -torch.inf).argmax(1))
    return float(metrics.imbalance_ratio(games.counts).mean())


@pytest.mark.slow
def test_gcbr_plus_balances_better_than_gcbr_and_gcbr_than_random():
    """Classes of 183, 81 and 36 nodes, 7 labels for each to be had, and weights that start out no better."""
    shape = SyntheticConfig(nodes=300, classes=3, skew=5, degree=6, features=16, signal=3)
    dataset = synthetic(shape, seed=0, name="skewed")
    base = EnvConfig(budget=21, classifier=GCNConfig(hidden=16, learning_rate=0.03))
    config = TrainConfig(episodes=80, update_every=7, actor_rate=0.01, critic_rate=0.01, seed=1)
    ratios = {"random": imbalance_ratio(dataset, base, None)}
    for method in ("gcbr", "gcbr++"):
        env = env_config(method, base, alpha=0.5, eta=None)
        trainer = Trainer([dataset], env, config)
        assert imbalance_ratio(dataset, env, trainer.policy) < ratios["random"] + 0.1
        ratios[method] = imbalance_ratio(dataset, env, trainer.train())
    assert ratios["random"] + 0.2 < ratios["gcbr"], ratios
    assert ratios["gcbr"] + 0.1 < ratios["gcbr++"], ratios
