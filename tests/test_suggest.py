"""`gcbr suggest`, `gcbr classify` and `gcbr run` on a graph of one's own, as a user meets them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from gcbr.cli.app import main
from gcbr.datasets import load_dataset
from gcbr.formats import write_graph
from gcbr.graph import Dataset
from gcbr.learner import ActiveLearner
from gcbr.suggestion import default_budget, suggest


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


Ask = Callable[..., Answer]


@pytest.fixture
def gcbr(capsys: pytest.CaptureFixture[str]) -> Ask:
    def ask(*argv: object) -> Answer:
        code = main([str(word) for word in argv])
        return Answer(code, *capsys.readouterr())

    return ask


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_dataset("synthetic:nodes=200,classes=3,skew=4,features=16")


@pytest.fixture
def folder(dataset: Dataset, tmp_path: Path) -> Path:
    """A folder of two tables, without labels."""
    write_graph(tmp_path / "mine", dataset.graph)
    return tmp_path / "mine"


@pytest.fixture
def labels(dataset: Dataset, tmp_path: Path) -> Path:
    return write_labels(
        tmp_path / "labels.csv", {n: dataset.class_names[dataset.y[n]] for n in range(0, 200, 8)}
    )


def write_labels(path: Path, labels: dict[int, str]) -> Path:
    path.write_text("node,label\n" + "".join(f"{node},{label}\n" for node, label in labels.items()))
    return path


def test_the_first_query_needs_no_labels(gcbr: Ask, folder: Path):
    answer = gcbr("suggest", folder, "-n", "3")
    assert answer.code == 0
    assert "to label next in mine" in answer.out
    assert "0 of 20 labels given; no class known yet" in answer.out
    assert "Keep labeling" not in answer.err  # there is nothing to stop


def test_suggestions_are_those_of_a_learner_with_the_same_labels(gcbr: Ask, dataset: Dataset, folder, labels):
    answer = gcbr("suggest", folder, "--labels", labels, "-n", "4", "--seed", "2", "--json")
    document = json.loads(answer.out)
    at_hand = {node: dataset.class_names[dataset.y[node]] for node in range(0, 200, 8)}
    from gcbr.formats import read_graph

    learner = ActiveLearner(read_graph(folder), budget=60, seed=2, labels=at_hand)
    assert [node["node"] for node in document["nodes"]] == learner.ask(4)
    assert document["graph"] == str(folder)
    assert document["progress"]["given"] == 25
    assert document["progress"]["budget"] == 60
    assert document["stop_hint"]["sentence"] == learner.stop_hint().sentence
    assert document["stop_hint"]["sentence"] in answer.err
    assert document["nodes"][0]["sentence"] == learner.explain(learner.ask()[0]).sentence
    table = gcbr("suggest", folder, "--labels", labels, "-n", "4", "--seed", "2").out
    assert all(f"\n{node} " in table for node in learner.ask(4))


def test_a_table_is_written_that_can_be_filled_in_and_given_back(gcbr: Ask, folder: Path, labels: Path):
    todo = folder.parent / "todo.csv"
    assert gcbr("suggest", folder, "--labels", labels, "-n", "2", "--out", todo).code == 0
    with todo.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["node", "label", "predicted", "probability", "why"]
    assert [row["label"] for row in rows] == ["", ""]
    lines = todo.read_text().splitlines()
    todo.write_text("\n".join([lines[0], lines[1].replace(',""', ",class-new", 1), lines[2]]) + "\n")
    answer = gcbr("suggest", folder, "--labels", labels, "--labels", todo, "--json")
    progress = json.loads(answer.out)["progress"]
    assert progress["given"] == 26
    assert progress["counts"]["class-new"] == 1


def test_candidates_and_classes_are_heeded(gcbr: Ask, folder: Path, labels: Path):
    some = folder.parent / "some.csv"
    some.write_text("node\n3\n5\n11\n")
    options = ("--labels", labels, "--candidates", some, "--classes", "rare, c0", "-n", "3", "--json")
    document = json.loads(gcbr("suggest", folder, *options).out)
    assert sorted(node["name"] for node in document["nodes"]) == ["11", "3", "5"]
    assert list(document["progress"]["counts"])[:2] == ["rare", "c0"]
    assert document["progress"]["budget"] == 28  # 25 labels of other nodes, and the three that can be asked


def test_the_labels_in_the_graphs_own_column_are_used_where_no_file_is_given(gcbr: Ask, dataset, tmp_path):
    partly = {node: dataset.class_names[dataset.y[node]] for node in range(30)}
    write_graph(tmp_path / "partly", dataset.graph, partly)
    answer = gcbr("suggest", tmp_path / "partly", "--json")
    assert json.loads(answer.out)["progress"]["given"] == 30
    assert "column 'label' was read as the labels" in answer.err
    assert (
        json.loads(gcbr("suggest", tmp_path / "partly", "--no-labels", "--json").out)["progress"]["given"]
        == 0
    )


def test_the_labels_of_a_named_dataset_stay_out_of_sight(gcbr: Ask):
    answer = gcbr("suggest", "synthetic:nodes=60,classes=3,skew=2", "-n", "2", "--json")
    assert json.loads(answer.out)["progress"]["given"] == 0


def test_labels_that_ignore_the_edges_are_warned_of(gcbr: Ask, tmp_path: Path):
    strange = load_dataset("synthetic:nodes=300,classes=3,skew=1,homophily=0.3,degree=10")
    labels = {node: strange.class_names[strange.y[node]] for node in range(100)}
    write_graph(tmp_path / "strange", strange.graph, labels)
    answer = gcbr("suggest", tmp_path / "strange")
    assert "warning: the labels do not follow the edges" in answer.err
    assert "warning" not in answer.out
    friendly = load_dataset("synthetic:nodes=300,classes=3,skew=1,homophily=0.8,degree=10")
    labels = {node: friendly.class_names[friendly.y[node]] for node in range(100)}
    write_graph(tmp_path / "friendly", friendly.graph, labels)
    assert "warning" not in gcbr("suggest", tmp_path / "friendly").err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--labels", "none.csv"], "no file 'none.csv'"),
        (
            ["--labels", "labels.txt"],
            "'labels.txt' is no table; expected a name ending in .csv, .tsv, .parquet",
        ),
        (["--out", "next.doc"], "'next.doc' is no table"),
        (["--candidates", "none.csv"], "no file 'none.csv'"),
        (["--strategy", "gcbr+++"], "unknown strategy 'gcbr+++'"),
        (["-n", "0"], "greater than or equal to 1"),
        (["-n", "201"], "asked for 201 nodes; 200 can still be asked"),
        (["--budget", "201"], "the budget is 201, but only 200 nodes can be asked"),
        (["--classes", "a,b,a"], "classes are declared twice: a, b, a"),
        (["--label-column", "kind"], "no column 'kind' for the labels"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_would_work(gcbr: Ask, folder: Path, options, words):
    answer = gcbr("suggest", folder, *options)
    assert answer.code == 2
    assert answer.out == ""
    assert words in answer.err.splitlines()[-1]


def test_wrong_labels_are_answered_with_file_and_line(gcbr: Ask, folder: Path, tmp_path: Path):
    write_labels(tmp_path / "bad.csv", {1: "a", 777: "b"})
    answer = gcbr("suggest", folder, "--labels", tmp_path / "bad.csv")
    assert answer.code == 2
    assert "gcbr: bad.csv, line 3: '777' is no node of mine; expected an id such as '0'" in answer.err


def test_the_default_budget_is_twenty_a_class_or_what_is_needed(dataset: Dataset):
    graph = dataset.graph
    assert default_budget(graph, {}, 5, (), None) == 20
    assert default_budget(graph, {1: "a", 2: "b"}, 5, ("b", "c"), None) == 60
    assert default_budget(graph, {node: "a" for node in range(30)}, 5, (), None) == 35
    assert default_budget(graph, {1: "a"}, 5, (), torch.tensor([1, 2, 3])) == 3
    assert default_budget(graph, {0: "a"}, 5, (), torch.tensor([1, 2, 3])) == 4


def test_a_suggestion_is_for_python_too(dataset: Dataset):
    found = suggest(dataset.graph, {0: "a", 5: "b"}, 3, strategy="random", seed=1)
    assert len(found.nodes) == 3
    assert found.progress.given == 2


# gcbr classify


def test_every_node_is_classified_and_the_quality_estimated(
    gcbr: Ask, dataset: Dataset, folder: Path, labels: Path
):
    out = folder.parent / "classes.csv"
    answer = gcbr("classify", folder, "--labels", labels, "--out", out, "--json")
    document = json.loads(answer.out)
    assert sum(document["labels"].values()) == 25
    assert sum(document["predicted"].values()) == 200
    assert document["quality"]["folds"] == 5
    assert 0 <= document["quality"]["macro_f1"]["low"] <= document["quality"]["macro_f1"]["high"] <= 1
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["node"] for row in rows] == [str(node) for node in range(200)]
    assert [row["label"] != "" for row in rows] == [node % 8 == 0 for node in range(200)]
    right = sum(row["predicted"] == dataset.class_names[dataset.y[int(row["node"])]] for row in rows)
    assert right > 120
    table = gcbr("classify", folder, "--labels", labels).out
    assert "Macro-F1" in table
    assert "5-fold cross-validation over the 25 labels given" in table


def test_too_few_labels_are_said_and_classified_all_the_same(gcbr: Ask, folder: Path, tmp_path: Path):
    few = write_labels(tmp_path / "few.csv", {0: "a", 150: "b"})
    answer = gcbr("classify", folder, "--labels", few)
    assert answer.code == 0
    assert "2 labels are too few for an estimate of quality" in answer.err
    assert "Macro-F1" not in answer.out


def test_classifying_without_labels_is_a_mistake(gcbr: Ask, folder: Path, tmp_path: Path):
    answer = gcbr("classify", folder)
    assert (answer.code, answer.out) == (2, "")
    assert "comes with no labels; give some with --labels FILE" in answer.err
    one = write_labels(tmp_path / "one.csv", {0: "a", 1: "a"})
    assert "one class, 'a'" in gcbr("classify", folder, "--labels", one).err


# gcbr run


def test_a_file_with_labels_can_be_simulated_on(gcbr: Ask, dataset: Dataset, tmp_path: Path):
    labels = {node: dataset.class_names[cls] for node, cls in enumerate(dataset.y.tolist())}
    write_graph(tmp_path / "full", dataset.graph, labels)
    options = ("--strategy", "random", "--budget", "6", "--final-epochs", "3", "--json")
    answer = gcbr("run", tmp_path / "full", *options)
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    assert document["dataset"]["name"] == "full"
    assert document["command"].startswith(f"gcbr run {tmp_path / 'full'} ")
    assert [cls["name"] for cls in document["dataset"]["classes"]] == sorted(dataset.class_names)
    repeated = json.loads(gcbr(*document["command"].split()[1:], "--json").out)
    assert [run["nodes"] for run in repeated["runs"]] == [run["nodes"] for run in document["runs"]]


def test_a_file_sorted_by_class_is_tested_on_every_class(dataset: Dataset, tmp_path: Path):
    from gcbr.formats import open_dataset

    labels = {node: "a" if node < 150 else "b" for node in range(200)}
    write_graph(tmp_path / "sorted", dataset.graph, labels)
    opened, _ = open_dataset(tmp_path / "sorted")
    assert len(opened.test) == 80
    assert set(opened.y[opened.test].tolist()) == {0, 1}
    again, _ = open_dataset(tmp_path / "sorted")
    assert torch.equal(opened.test, again.test)


def test_a_simulation_needs_every_label(gcbr: Ask, dataset: Dataset, tmp_path: Path):
    write_graph(tmp_path / "partly", dataset.graph, {node: "a" for node in range(190)})
    answer = gcbr("run", tmp_path / "partly")
    assert answer.code == 2
    assert (
        "has no label for 10 of 200 nodes, such as '190'; a simulation needs the label of every node"
        in answer.err
    )
