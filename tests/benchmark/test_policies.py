"""Policies that a plan names by their settings."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gcbr.benchmark.agenda import Trained
from gcbr.benchmark.plan import Training, read_plan
from gcbr.benchmark.policies import environment, train_missing
from gcbr.checkpoints import fingerprint, load_policy
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.simulation import run_simulation
from gcbr.state import GCBR_COLUMNS
from gcbr.strategies.learned import from_file

SOURCE = "synthetic:nodes=120,classes=3,skew=4,seed=1"

TRAIN = """
import sys
from pathlib import Path
from gcbr.benchmark.agenda import Trained
from gcbr.benchmark.plan import Training, read_plan
from gcbr.benchmark.policies import train_missing

names = ("gcbr", "gcbr++")
needed = [
    Trained(Training(method=name, episodes=int(sys.argv[2]), budget=9, source=sys.argv[3]), "default")
    for name in names
]
train_missing(needed, Path(sys.argv[1]), workers=1, on_done=lambda policy: print(policy.training.method))
"""


def small(method: str, **settings: object) -> Trained:
    given = {"method": method, "episodes": 2, "budget": 9, "source": SOURCE, **settings}
    return Trained(Training.model_validate(given), "default")


def test_settings_reach_the_training(tmp_path: Path):
    policy = small("gcbr", without="selectivity", alpha=0.25, eta=0.5, seed=3)
    heard: list[Trained] = []
    train_missing([policy], tmp_path, on_done=heard.append)
    assert heard == [policy]
    (file,) = tmp_path.glob("*.safetensors")
    _, card = load_policy(file)
    assert card.columns == ("centrality", "uncertainty", "class_diversity", "criteria_similarity")
    assert (card.method, card.episodes, card.features, card.sources) == ("gcbr", 2, "default", (SOURCE,))
    assert card.settings["env"]["budget"] == 9
    reward = card.settings["env"]["reward"]
    assert (reward["gain_weight"], reward["penalty"]) == (0.25, 0.5)
    assert card.settings["train"]["seed"] == 3
    assert card.settings["env"]["classifier"]["biases"] is True
    assert {path.name for path in tmp_path.iterdir()} == {file.name, ".claims"}


@pytest.mark.parametrize(
    "name", ["no-similarity", "no-uncertainty", "no-centrality", "no-selectivity", "no-diversity"]
)
def test_every_ablation_of_table_3_can_be_trained_and_used(name: str, tmp_path: Path, skewed: Dataset):
    training = read_plan("table3").trained[name]
    policy = small("gcbr", without=training.without, episodes=1)
    train_missing([policy], tmp_path)
    _, card = load_policy(policy.file(tmp_path))
    assert set(GCBR_COLUMNS) - set(card.columns) == {training.without}
    result = run_simulation(skewed, name, budget=5, final_epochs=1, factory=from_file(policy.file(tmp_path)))
    assert len(set(result.nodes)) == 5


def test_what_is_there_is_not_trained_again(tmp_path: Path):
    heard: list[Trained] = []
    train_missing([small("gcbr")], tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.safetensors")}
    train_missing([small("gcbr"), small("gcbr++")], tmp_path, on_done=heard.append)
    assert heard == [small("gcbr++")]
    assert before.items() <= {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}.items()


def test_alone_and_in_parallel_give_the_same_weights(tmp_path: Path):
    needed = [small("gcbr"), small("gcbr++")]
    train_missing(needed, tmp_path / "alone")
    train_missing(needed, tmp_path / "parallel", workers=2)
    for policy in needed:
        one, other = (load_policy(policy.file(tmp_path / place))[0] for place in ("alone", "parallel"))
        assert fingerprint(one) == fingerprint(other)


def test_a_mistake_is_told_before_anything_is_trained(tmp_path: Path):
    with pytest.raises(InputError, match="'gcbr' has no column 'majority_score' to leave out; it has centr"):
        environment(small("gcbr", without="majority_score"))
    with pytest.raises(InputError, match="unknown method 'gcbr--'"):
        train_missing([small("gcbr"), small("gcbr--")], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_two_processes_share_the_training_and_outlive_each_other(tmp_path: Path):
    killed, other = (_start(tmp_path, 100) for _ in range(2))
    deadline = time.monotonic() + 60
    while not (tmp_path / ".claims").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.5)
    killed.kill()
    killed.communicate(timeout=10)
    told, _ = other.communicate(timeout=120)
    assert other.returncode == 0
    assert sorted(told.split()) == ["gcbr", "gcbr++"]
    assert len(list(tmp_path.glob("*.safetensors"))) == 2


def _start(folder: Path, episodes: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(folder), str(episodes), SOURCE],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_the_classifier_of_the_plan_is_that_of_the_training(tmp_path: Path):
    policy = small("gcbr")._replace(classifier="authors")
    train_missing([policy], tmp_path)
    _, card = load_policy(policy.file(tmp_path))
    assert card.settings["env"]["classifier"]["biases"] is False
    assert card.settings["env"]["classifier"]["glorot"] is False
