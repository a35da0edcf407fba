"""Exports: what is in the files, and that nothing outside their folder can be had."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from gcbr.annotate.exports import Exports
from gcbr.annotate.project import Project
from gcbr.formats import open_graph


@pytest.fixture
def labeled(project: Project, papers: Any, turn_of: Any) -> Project:
    """Five labels and a skip."""
    for rank in range(6):
        node = turn_of(project, "Ada").node
        if rank == 2:
            project.skip("Ada", node, "skipped-1")
        else:
            project.answer("Ada", node, papers.truth[node], f"label-{rank}")
    return project


def written(project: Project, format: str, until: Any) -> Path:
    exports = Exports(project)
    name = exports.begin(format)
    until(lambda: not exports.pending)
    assert exports.failed == []
    path = exports.path_of(name)
    assert path is not None
    assert path.parent == project.path.parent / "papers-exports"
    return path


def test_csv_has_a_row_for_each_node(labeled: Project, papers: Any, until: Any) -> None:
    with written(labeled, "csv", until).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["node"] for row in rows] == [f"paper-{node:03}" for node in range(240)]
    assert {row["node"]: row["label"] for row in rows if row["label"]} == {
        f"paper-{node:03}": label for node, label in labeled.labels().items()
    }
    assert sum(row["skipped"] == "true" for row in rows) == 1
    for row in rows:
        shares = {name: float(row[f"p({name})"]) for name in papers.classes}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        assert shares[row["predicted"]] == max(shares.values()) == pytest.approx(float(row["probability"]))
    assert {row["annotator"] for row in rows if row["label"]} == {"Ada"}


def test_json_has_the_settings_and_every_opinion(labeled: Project, until: Any) -> None:
    document = json.loads(written(labeled, "json", until).read_text())
    assert (document["graph"], document["strategy"], document["budget"]) == ("papers", "gcbr++", 60)
    assert len(document["nodes"]) == 240
    for node, label in labeled.labels().items():
        assert document["nodes"][node]["opinions"] == {"Ada": label}


def test_pyg_can_be_trained_on(labeled: Project, papers: Any, until: Any) -> None:
    path = written(labeled, "pyg", until)
    data = torch.load(path, weights_only=False)
    assert data.num_nodes == 240
    assert int(data.train_mask.sum()) == 5
    for node, label in labeled.labels().items():
        assert data.class_names[data.y[node]] == label
    assert data.prob.shape == (240, 4)
    assert torch.equal(data.pred, data.prob.argmax(1))
    again = open_graph(path)  # our own reader takes it too, without running a pickle
    assert again.labels == labeled.labels()
    assert again.graph.num_edges == papers.file.graph.num_edges


def test_graphml_opens_again_with_its_labels(labeled: Project, papers: Any, until: Any) -> None:
    again = open_graph(written(labeled, "graphml", until))
    assert again.graph.num_edges == papers.file.graph.num_edges
    assert {again.graph.name_of(node): label for node, label in again.labels.items()} == {
        f"paper-{node:03}": label for node, label in labeled.labels().items()
    }
    assert again.attributes is not None
    assert {"predicted", "probability"} <= set(again.attributes.columns)


def test_a_project_without_labels_can_be_exported(project: Project, until: Any) -> None:
    with written(project, "csv", until).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 240
    assert "predicted" not in rows[0]


def test_two_exports_in_one_second_have_two_names(project: Project, until: Any) -> None:
    exports = Exports(project)
    names = [exports.begin("csv") for _ in range(3)]
    until(lambda: not exports.pending)
    assert len(set(names)) == 3
    assert {file.name for file in exports.files()} == set(names)


def test_nothing_but_exports_can_be_reached(project: Project, tmp_path: Path, until: Any) -> None:
    exports = Exports(project)
    written(project, "csv", until)
    secret = tmp_path / "secret.csv"
    secret.write_text("secret")
    (exports.folder / "papers-link.csv").symlink_to(secret)
    (exports.folder / "notes.txt").write_text("mine")
    (exports.folder / "papers-folder.csv").mkdir()
    for name in (
        "../secret.csv",
        "papers-link.csv",
        "notes.txt",
        "papers-folder.csv",
        "",
        ".",
        "../papers.gcbr",
        str(secret),
    ):
        assert exports.path_of(name) is None, name


def test_a_folder_that_cannot_be_written_is_told(project: Project, until: Any) -> None:
    exports = Exports(project)
    exports.folder.write_text("a file stands where the folder should be")
    exports.begin("csv")
    until(lambda: not exports.pending)
    assert len(exports.failed) == 1
    assert exports.files() == []
