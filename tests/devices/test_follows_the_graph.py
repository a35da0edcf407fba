"""Whatever is computed is made where the graph lies, and random draws are the CPU's wherever that is.

Everything the package computes is done on two stand-ins for a GPU, and comes out as on the CPU to the bit: on
a simulated device, which takes no tensor of another one, and on the CPU while PyTorch's default device is one
that holds no numbers, where all ends that was made without saying where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gcbr import graph as graph_module
from gcbr import student as student_module
from gcbr.annotate.worker import Wanted, Worker
from gcbr.checkpoints import fingerprint, load_policy
from gcbr.classification import classify
from gcbr.classifier import GCNClassifier, ModuleClassifier
from gcbr.datasets import SyntheticConfig, synthetic
from gcbr.engine.gcn import GCNConfig
from gcbr.engine.matrix import Centered, Csr, Dense
from gcbr.environment import EnvConfig
from gcbr.formats.mapped import open_mapped, write_mapped
from gcbr.graph import Dataset, Graph
from gcbr.learner import ActiveLearner
from gcbr.policies import shipped_policy
from gcbr.simulation import run_simulation
from gcbr.splits import stratified_test
from gcbr.strategies import STRATEGIES
from gcbr.strategies import learned as learned_module
from gcbr.strategies.learned import Learned
from gcbr.suggestion import suggest
from gcbr.trainer import TrainConfig
from gcbr.training import METHODS, env_config, train_config, train_policy

Job = Callable[[Dataset, Path], Any]  # what is done with a dataset and a folder, as plain values


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """60 nodes in three classes, with sparse features."""
    made = synthetic(SyntheticConfig(nodes=60, classes=3, skew=4, degree=5, features=12, words=3), seed=1)
    assert isinstance(made.graph.x, Csr)
    return made


def labeling(dataset: Dataset, _: Path, **settings: Any) -> Any:
    """Ask in batches, tell, skip, correct and explain; then what was chosen and what is predicted."""
    learner = ActiveLearner(dataset.graph, **{"budget": 14, "seed": 3, "classifier": small_gcn} | settings)
    asked = []
    for _ in range(2):
        batch = learner.ask(3)
        asked.append(batch)
        learner.skip(batch[1])
        for node in (batch[0], batch[2]):
            learner.tell(node, dataset.class_names[dataset.y[node]])
    learner.correct(asked[0][0], dataset.class_names[0])
    last = learner.ask(2)
    reasons = learner.explain(last[1], after=last[:1])
    return asked, last, reasons, learner.stop_hint(), learner.progress(), learner.predict(2).tolist()


def small_gcn(graph: Graph, num_classes: int, rng: torch.Generator, **config: Any) -> GCNClassifier:
    return GCNClassifier(graph, num_classes, rng, GCNConfig(hidden=8, **config))


class Wide(nn.Module):
    """The smallest network that takes edges: a node's own features and the sum of its neighbors'."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.own = nn.Linear(num_features, num_classes)
        self.around = nn.Linear(num_features, num_classes)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        return self.dropout(
            self.own(x) + self.around(torch.zeros_like(x).index_add_(0, edges[0], x[edges[1]]))
        )


def of_centered_features(dataset: Dataset, folder: Path) -> Any:
    x = dataset.graph.x
    centered = Centered(x, x.to_dense().mean(0))
    graph = replace(dataset.graph, x=centered)
    return labeling(
        replace(dataset, graph=graph), folder, classifier=partial(small_gcn, feature_dropout=0.5, focal=2.0)
    )


def simulation(dataset: Dataset, _: Path) -> Any:
    result = run_simulation(dataset, "gcbr", budget=6, seed=2, final_epochs=3, curve_points=2)
    return result.nodes, result.final, result.curve, result.accuracy_per_class


def saving(dataset: Dataset, folder: Path) -> Any:
    candidates = torch.arange(0, 50, device="cpu")
    learner = ActiveLearner(dataset.graph, "random", budget=9, classes=["a", "b"], candidates=candidates)
    learner.tell(3, "a")
    learner.skip(5)
    learner.save(folder / "learner.safetensors")
    return ActiveLearner.load(folder / "learner.safetensors", dataset.graph).ask(3)


def suggestion(dataset: Dataset, _: Path) -> Any:
    labels = {node: dataset.class_names[dataset.y[node]] for node in range(0, 40, 2)}
    candidates = torch.arange(30, 60, device=dataset.graph.device)
    return suggest(dataset.graph, labels, 2, candidates=candidates, sample=20).to_json()


def classification(dataset: Dataset, _: Path) -> Any:
    labels = {node: dataset.class_names[dataset.y[node]] for node in range(0, 60, 2)}
    found = classify(dataset.graph, labels, epochs=2)
    assert found.quality is not None
    return found.classes, found.confidence, found.quality


def drawing_a_test_set(dataset: Dataset, _: Path) -> Any:
    drawn = stratified_test(dataset, torch.Generator().manual_seed(4))
    assert drawn.device == dataset.y.device
    return drawn.tolist()


def training(dataset: Dataset, folder: Path, method: str, **options: Any) -> Any:
    """Two episodes, stopped after the first and gone on with."""
    out = folder / "policy.safetensors"
    small = EnvConfig(budget=4, episodes=2, classifier=GCNConfig(hidden=4))
    env = env_config(method, small, **options)
    config = train_config(method, TrainConfig(episodes=2, update_every=3, seed=5))

    def stop(trainer: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_policy([dataset], method, env, config, out, checkpoint_seconds=0, on_episode=stop)
    card = train_policy([dataset], method, env, config, out)
    return card.curve, fingerprint(load_policy(out)[0])


def annotation(dataset: Dataset, _: Path) -> Any:
    """The learner of the app, its thread left out."""
    labels = {node: dataset.class_names[dataset.y[node]] for node in range(0, 40, 5)}
    snapshots = []
    worker = Worker(
        lambda budget, labels: ActiveLearner(dataset.graph, budget=budget, labels=labels),
        lambda: Wanted(num_changes=1, labels=labels, skips=frozenset({1}), budget=20, num_ready=2),
        snapshots.append,
    )
    worker._round(worker._wanted())
    (snapshot,) = snapshots
    return [one.node for one in snapshot.queue], snapshot.probabilities.tolist()


def own_module(dataset: Dataset, folder: Path) -> Any:
    return labeling(dataset, folder, strategy="entropy", classifier=partial(ModuleClassifier, module=Wide))


JOBS: dict[str, Job] = {
    **{f"labeling by {name}": partial(labeling, strategy=name) for name in STRATEGIES},
    "labeling by a sample": partial(labeling, strategy="anrmab", sample=7),
    **{f"training of {name}": partial(training, method=name) for name in METHODS},
    "training on a coarse graph": partial(training, method="gcbr", coarse=True),
    "labeling with centered features": of_centered_features,
    "labeling with an own module": own_module,
    "a simulation": simulation,
    "saving and loading": saving,
    "a suggestion": suggestion,
    "a classification": classification,
    "drawing a test set": drawing_a_test_set,
    "annotation": annotation,
}


@pytest.mark.parametrize("name", JOBS)
def test_is_the_same_on_another_device(name, dataset, simulated, away, tmp_path):
    (tmp_path / "away").mkdir()
    expected = JOBS[name](dataset, tmp_path)
    with simulated():
        assert JOBS[name](dataset.to(away), tmp_path / "away") == expected


@pytest.mark.parametrize("name", JOBS)
def test_is_the_same_with_another_default_device(name, dataset, tmp_path):
    (tmp_path / "other").mkdir()
    expected = JOBS[name](dataset, tmp_path)
    with torch.device("meta"):
        assert JOBS[name](dataset, tmp_path / "other") == expected


@pytest.mark.parametrize("sample", [None, 5])
def test_so_is_what_large_graphs_go_through(sample, dataset, simulated, away, monkeypatch, tmp_path):
    monkeypatch.setattr(graph_module, "_LARGE", 1)
    monkeypatch.setattr(student_module, "_WATCH_ALL", 1)
    monkeypatch.setattr(student_module, "_WATCHED", 20)
    monkeypatch.setattr(learned_module, "_WORTH_LOCALLY", 1.0)
    dense = replace(dataset, graph=replace(dataset.graph, x=Dense(dataset.graph.x.to_dense())))
    assert dense.graph.propagated is not None
    expected = labeling(dense, tmp_path, sample=sample)
    with simulated():
        assert labeling(dense.to(away), tmp_path, sample=sample) == expected
    with torch.device("meta"):
        assert labeling(dense, tmp_path, sample=sample) == expected


@pytest.mark.parametrize("is_dense", [True, False])
def test_a_mapped_graph_can_be_moved(is_dense, dataset, simulated, away, tmp_path):
    x = dataset.graph.x
    write_mapped(tmp_path / "mapped", replace(dataset.graph, x=Dense(x.to_dense()) if is_dense else x), {})
    mapped = replace(dataset, graph=open_mapped(tmp_path / "mapped").graph)
    expected = labeling(mapped, tmp_path)
    with simulated():
        moved = mapped.to(away)
        assert moved.graph.propagation.values.device == moved.graph.x.to_dense().device == away
        assert labeling(moved, tmp_path) == expected


def test_a_graph_that_is_there_already_is_itself(dataset):
    assert dataset.graph.to("cpu") is dataset.graph


def test_a_policy_that_others_use_is_not_moved(dataset, simulated, away):
    policy, card = shipped_policy("gcbr", dataset.graph.feature_rule)
    with simulated():
        Learned(dataset.graph.to(away), policy, card.columns)
        assert policy.on(away).device == away
    assert policy.device == torch.device("cpu")
    assert policy.on(torch.device("cpu")) is policy
