"""Graphs that stay in their files: the same graph, the same choices, and memory for what is looked at."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from gcbr import scores
from gcbr.cli.app import main
from gcbr.datasets import load_dataset
from gcbr.datasets.features import centered_shares
from gcbr.engine.mapped import StoredAdjacency, StoredFeatures
from gcbr.engine.matrix import Centered, Csr
from gcbr.errors import InputError
from gcbr.formats import convert_graph, open_graph, write_graph
from gcbr.graph import Dataset, Graph
from gcbr.learner import ActiveLearner

WORDS = "synthetic:nodes=60,classes=3,skew=3,features=30,words=5"


@pytest.fixture
def folder(tmp_path: Path, skewed: Dataset) -> Path:
    labels = {node: f"class {cls}" for node, cls in enumerate(skewed.y.tolist()) if node % 2}
    write_graph(tmp_path / "graph", skewed.graph, labels, format="mapped")
    return tmp_path / "graph"


def test_comes_back_as_it_was(folder: Path, skewed: Dataset):
    opened = open_graph(folder)
    graph = opened.graph
    for part in ("indptr", "indices", "values"):
        assert torch.equal(getattr(graph.adjacency, part), getattr(skewed.graph.adjacency, part))
        assert torch.equal(getattr(graph.propagation, part), getattr(skewed.graph.propagation, part))
    assert torch.equal(graph.x.to_dense(), skewed.graph.x.to_dense())
    assert graph.name == "skewed"
    assert graph.node_names is None
    assert opened.notes == ()
    assert dict(opened.labels) == {
        node: f"class {cls}" for node, cls in enumerate(skewed.y.tolist()) if node % 2
    }
    assert len(opened.labels) == 100
    assert 0 not in opened.labels
    assert 1 in opened.labels
    assert 10_000 not in opened.labels
    assert open_graph(folder, labels=False).labels == {}


def test_what_every_query_needs_is_there_already(folder: Path, skewed: Dataset):
    graph = open_graph(folder).graph
    assert isinstance(graph.adjacency, StoredAdjacency)
    assert isinstance(graph.x, StoredFeatures)
    assert torch.equal(scores.pagerank(graph.adjacency), scores.pagerank(skewed.graph.adjacency))
    expected = skewed.graph.propagation.matmul(skewed.graph.x.to_dense())
    assert graph.propagated is not None
    torch.testing.assert_close(graph.propagated.values, expected)


@pytest.mark.parametrize("strategy", ["gcbr++", "age", "entropy", "coreset"])
def test_the_same_nodes_are_asked_for(folder: Path, skewed: Dataset, strategy: str):
    asked = []
    for graph in (skewed.graph, open_graph(folder).graph):
        learner = ActiveLearner(graph, strategy, budget=12, classes=["class 0", "class 1", "class 2"])
        for _ in range(11):
            (node,) = learner.ask()
            learner.tell(node, f"class {skewed.y[node]}")
        asked.append(learner.labels.nodes)
    assert asked[0] == asked[1]


def test_names_weights_and_sparse_features_are_kept(tmp_path: Path):
    drawn = load_dataset(WORDS).graph
    names = tuple(f"näme\n{node}" for node in range(60))
    adjacency = replace(drawn.adjacency, values=drawn.adjacency.values * 2.5)
    graph = Graph("words", adjacency, drawn.x, names, "default")
    write_graph(tmp_path / "words.mapped", graph)
    back = open_graph(tmp_path / "words.mapped").graph
    assert isinstance(back.x, Csr)
    assert torch.equal(back.x.to_dense(), drawn.x.to_dense())
    assert torch.equal(back.adjacency.values, adjacency.values)
    assert back.node_names == names


def test_centered_features_stay_centered_and_sparse(tmp_path: Path):
    drawn = load_dataset(WORDS).graph
    graph = replace(drawn, x=centered_shares(drawn.x), feature_rule="paper")
    write_graph(tmp_path / "centered", graph, format="mapped")
    back = open_graph(tmp_path / "centered", features="paper").graph
    assert isinstance(back.x, Centered)
    assert isinstance(back.x.base, Csr)
    assert torch.equal(back.x.to_dense(), graph.x.to_dense())
    assert back.feature_rule == "paper"


def test_converted_by_the_program_from_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,c\n")
    (tmp_path / "nodes.csv").write_text("id,size,label\na,1,red\nb,2,\nc,4,blue\n")
    assert main(["data", "convert", str(tmp_path), str(tmp_path / "out"), "--format", "mapped"]) == 0
    assert "3 nodes, 2 edges" in capsys.readouterr().out
    opened = open_graph(tmp_path / "out")
    assert opened.labels == {0: "red", 2: "blue"}
    assert opened.graph.node_names == ("a", "b", "c")
    assert torch.equal(opened.graph.x.to_dense(), open_graph(tmp_path).graph.x.to_dense())
    assert main(["data", "info", str(tmp_path / "out")]) == 0


def test_written_again_in_its_place_but_over_nothing_else(folder: Path, skewed: Dataset):
    write_graph(folder, skewed.graph, format="mapped")
    assert open_graph(folder).labels == {}
    assert sorted(path.name for path in folder.parent.iterdir()) == ["graph"]
    (folder / "graph.json").unlink()
    with pytest.raises(InputError, match="exists and is no mapped graph"):
        write_graph(folder, skewed.graph, format="mapped")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda folder: (folder / "x.npy").unlink(), "x.npy' cannot be read as an array"),
        (lambda folder: os.truncate(folder / "x.npy", 500), "x.npy' cannot be read as an array"),
        (
            lambda folder: np.save(folder / "pagerank.npy", np.zeros(7, np.float32)),
            r"holds float32 of shape \(7,\), not float32 of shape \(200,\)",
        ),
        (
            lambda folder: np.save(folder / "pagerank.npy", np.array([{}] * 200)),
            "pagerank.npy' cannot be read as an array",
        ),
        (
            lambda folder: np.save(folder / "adjacency.indptr.npy", np.zeros(201, np.int32)),
            "do not belong together",
        ),
        (lambda folder: (folder / "graph.json").write_text("{"), "does not describe a mapped graph"),
        (lambda folder: (folder / "graph.json").write_text('{"nodes": 3}'), "does not describe"),
        (
            lambda folder: (folder / "graph.json").write_text(
                (folder / "graph.json").read_text().replace('"version": 1', '"version": 2')
            ),
            "of version 2; this program reads version 1",
        ),
    ],
)
def test_a_damaged_folder_is_refused_with_a_word(folder: Path, damage, sentence: str):
    damage(folder)
    with pytest.raises(InputError, match=sentence):
        open_graph(folder)


def test_features_of_another_rule_are_not_to_be_had(folder: Path):
    with pytest.raises(InputError, match="scaled by the rule 'default', not 'raw'"):
        open_graph(folder, features="raw")
    with pytest.raises(InputError, match="scaled by the rule 'default', not 'raw'"):
        convert_graph(folder, folder.parent / "back.npz")
    with pytest.raises(InputError, match="none called 'y'"):
        open_graph(folder, labels="y")


def test_a_graph_larger_than_the_memory_allowed_is_asked_about(tmp_path: Path):
    """The process may hold 96 MB more than it starts with; the features alone are 154 MB, twice."""
    dataset = load_dataset("synthetic:nodes=60000,degree=8,features=640")
    folder = tmp_path / "large"
    write_graph(folder, dataset.graph, {0: "a", 1: "b"}, format="mapped")
    assert (folder / "propagated.npy").stat().st_size > 150e6
    code = f"""
import resource, torch
from pathlib import Path
from gcbr.formats import open_graph
from gcbr.learner import ActiveLearner
import scipy.sparse, torch.optim.adam
torch.set_num_threads(1)
lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
limit = int(lines["VmData"].split()[0]) * 1024 + (96 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
opened = open_graph({str(folder)!r})
learner = ActiveLearner(opened.graph, "gcbr++", budget=5, labels=opened.labels)
print(len(learner.ask(2)))
try:
    opened.graph.x.values.clone()
except (MemoryError, RuntimeError):
    print("not in memory")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["2", "not in memory"]


def test_the_manifest_says_what_is_there(folder: Path):
    manifest = json.loads((folder / "graph.json").read_text())
    assert manifest["kind"] == "gcbr mapped graph"
    assert (manifest["nodes"], manifest["features"], manifest["feature_rule"]) == (200, 16, "default")
