"""A learner put on disk goes on as the one that was saved, in this process and in another."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gcbr.engine.matrix import Csr
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.learner import ActiveLearner
from gcbr.strategies.random import Random


def teach(learner: ActiveLearner, dataset: Dataset, rounds: int) -> None:
    for _ in range(rounds):
        for node in learner.ask(3):
            learner.tell(node, dataset.class_names[dataset.y[node]])


@pytest.mark.parametrize("strategy", ["gcbr++", "anrmab", "age", "random"])
def test_a_restored_learner_goes_on_exactly(skewed: Dataset, tmp_path: Path, strategy: str):
    candidates = torch.arange(0, 200, 2)
    learner = ActiveLearner(
        skewed.graph, strategy, budget=50, seed=4, classes=["c2"], candidates=candidates, labels={1: "c0"}
    )
    teach(learner, skewed, 5)
    learner.skip(int(learner.candidates[0]))
    learner.correct(1, "c1")
    learner.withdraw(learner.labels.nodes[2])
    path = tmp_path / "deep" / "saved.learner"
    learner.save(path)
    restored = ActiveLearner.load(path, skewed.graph)
    for _ in range(2):
        assert restored.ask(4) == learner.ask(4)
        assert torch.equal(restored.prediction().probabilities, learner.prediction().probabilities)
        assert torch.equal(restored.predict(7), learner.predict(7))
        assert restored.stop_hint() == learner.stop_hint()
        assert restored.progress() == learner.progress()
        teach(learner, skewed, 2)
        teach(restored, skewed, 2)
    assert restored.labels == learner.labels


def test_a_withdrawn_answer_keeps_its_place_across_the_disk(barbell: Graph, tmp_path: Path):
    learner = ActiveLearner(barbell, "random", budget=6)
    for node, answer in ((3, "a"), (1, "b"), (5, "c")):
        learner.tell(node, answer)
    learner.withdraw(3)
    learner.save(tmp_path / "saved")
    restored = ActiveLearner.load(tmp_path / "saved", barbell)
    restored.tell(3, "c")
    assert restored.labels.nodes == (3, 1, 5)


def test_labels_at_hand_that_were_withdrawn_do_not_stop_a_restart(barbell: Graph, tmp_path: Path):
    """The budget was checked with them counted in."""
    candidates = torch.tensor([0, 1])
    learner = ActiveLearner(barbell, "random", budget=4, candidates=candidates, labels={4: "a", 5: "b"})
    learner.withdraw(5)
    learner.save(tmp_path / "saved")
    assert ActiveLearner.load(tmp_path / "saved", barbell).progress() == learner.progress()


IN_ANOTHER_PROCESS = """
import json, os, signal, sys
import torch
from gcbr import load_dataset
from gcbr.learner import ActiveLearner
torch.set_num_threads(1)
dataset = load_dataset("synthetic:nodes=200,classes=3")
path, action = sys.argv[1:]
if action == "start":
    learner = ActiveLearner(dataset.graph, "gcbr++", budget=30, seed=7)
else:
    learner = ActiveLearner.load(path, dataset.graph)
for round in range(4):
    for node in learner.ask(2):
        learner.tell(node, dataset.class_names[dataset.y[node]])
    if action == "start" and round == 1:
        learner.save(path)
    if action == "start" and round == 2:  # two answers that nobody saved
        os.kill(os.getpid(), signal.SIGKILL)
    if action == "resume" and round == 1:
        break
print(json.dumps([learner.labels.nodes, learner.ask(3), learner.predict(5).tolist()]))
"""


def test_a_killed_labeling_goes_on_from_its_file(tmp_path: Path):
    def run(action: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(tmp_path / "saved"), action]
        return subprocess.run(
            command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )

    assert run("start").returncode == -signal.SIGKILL
    resumed = run("resume")
    assert resumed.returncode == 0, resumed.stderr
    # The same labeling, never interrupted: eight answers.
    from gcbr import load_dataset

    dataset = load_dataset("synthetic:nodes=200,classes=3")
    learner = ActiveLearner(dataset.graph, "gcbr++", budget=30, seed=7)
    for _ in range(4):
        for node in learner.ask(2):
            learner.tell(node, dataset.class_names[dataset.y[node]])
    nodes, asked, probabilities = json.loads(resumed.stdout)
    assert tuple(nodes) == learner.labels.nodes
    assert asked == learner.ask(3)
    assert probabilities == learner.predict(5).tolist()


def test_another_graph_is_refused(barbell: Graph, star: Graph, tmp_path: Path):
    learner = ActiveLearner(barbell, "random", budget=3)
    learner.save(tmp_path / "saved")
    heavier = replace(barbell.adjacency, values=2 * barbell.adjacency.values)
    others = [
        star,
        replace(barbell, adjacency=heavier),
        replace(barbell, x=replace(barbell.x, values=barbell.x.values.flip(0))),
        replace(barbell, node_names=tuple("abcdef")),
    ]
    for other in others:
        with pytest.raises(InputError, match="was saved on another graph"):
            ActiveLearner.load(tmp_path / "saved", other)
    ActiveLearner.load(tmp_path / "saved", replace(barbell, name="renamed"))


def test_a_strategy_of_ones_own_is_given_again(barbell: Graph, tmp_path: Path):
    learner = ActiveLearner(barbell, Random, budget=3, seed=5)
    learner.save(tmp_path / "saved")
    with pytest.raises(InputError, match=r"saved with a strategy of your own; give it again as strategy="):
        ActiveLearner.load(tmp_path / "saved", barbell)
    assert ActiveLearner.load(tmp_path / "saved", barbell, strategy=Random).ask(3) == learner.ask(3)


def test_files_that_hold_no_learner_are_refused(barbell: Graph, tmp_path: Path):
    from gcbr.policies import shipped

    with pytest.raises(InputError, match="there is no file"):
        ActiveLearner.load(tmp_path / "none", barbell)
    (tmp_path / "text").write_text("not a learner")
    with pytest.raises(InputError, match="damaged or not a safetensors file"):
        ActiveLearner.load(tmp_path / "text", barbell)
    with pytest.raises(InputError, match="holds no learner"):
        ActiveLearner.load(next(iter(shipped().values())), barbell)


def test_a_damaged_file_is_refused(barbell: Graph, tmp_path: Path):
    ActiveLearner(barbell, "random", budget=3, labels={2: "a"}).save(tmp_path / "saved")
    content = (tmp_path / "saved").read_bytes()
    for damaged in (
        content[:-1],
        content[:-1] + bytes([content[-1] ^ 1]),
        content.replace(b"random", b"entrop"),
    ):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(InputError, match="damaged"):
            ActiveLearner.load(tmp_path / "damaged", barbell)


def test_one_csr_written_in_two_index_types_has_one_fingerprint(barbell: Graph):
    from gcbr.graph import fingerprint

    wide = Csr(barbell.adjacency.indptr.long(), barbell.adjacency.indices.long(), barbell.adjacency.values, 6)
    assert fingerprint(replace(barbell, adjacency=wide)) == fingerprint(barbell)
    assert len(fingerprint(barbell)) == 64
