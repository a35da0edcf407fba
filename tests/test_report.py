"""Runs made up by hand, so that every number in a report can be told beforehand."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from gcbr import report
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.report import Comparison, Settings, figures, summary
from gcbr.report.summary import MEASURES, Estimate
from gcbr.simulation import Score, SimulationResult

MICRO, MACRO, RATIO = MEASURES
CLASSES = ("<b>bold</b>", "five $ and six $", "漢字")


@pytest.fixture
def dataset() -> Dataset:
    """A path of five nodes; names that would break a careless page or table."""
    ends = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]])
    adjacency = Csr.from_entries(ends[0], ends[1], torch.ones(8), (5, 5))
    names = ("a,b", '"quoted"', "<i>", "d", "e")
    graph = Graph("path & <more>", adjacency, Dense(torch.eye(5)), names)
    return Dataset(graph, torch.tensor([0, 1, 0, 1, 2]), CLASSES, test=torch.tensor([3, 4]))


def made_up(
    strategy: str, seed: int, micro: float, counts: tuple[int, int, int] = (1, 1, 0)
) -> SimulationResult:
    return SimulationResult(
        dataset="path & <more>",
        strategy=strategy,
        budget=2,
        seed=seed,
        class_names=CLASSES,
        nodes=(2, 1),
        classes=(0, 1),
        counts=counts,
        final=Score(2, micro, 0.5, 0.0),
        accuracy_per_class=(math.nan, 1.0, 0.25),
        curve=(Score(1, micro / 2, 0.25, 0.0), Score(2, micro, 0.5, 0.0)),
        cpu_seconds=1.5,
        wall_seconds=2.5,
        peak_megabytes=100.0,
    )


def compared(dataset: Dataset, results: dict[str, tuple[SimulationResult, ...]]) -> Comparison:
    num_runs = len(next(iter(results.values())))
    settings = Settings(budget=2, seeds=tuple(range(num_runs)), features="default", final_epochs=7, threads=1)
    return Comparison(dataset, settings, "gcbr run 'path & <more>'", results)


@pytest.fixture
def comparison(dataset: Dataset) -> Comparison:
    return compared(
        dataset,
        {
            "clever": (made_up("clever", 0, 0.7), made_up("clever", 1, 0.9)),
            "random": (made_up("random", 0, 0.6, (2, 0, 0)), made_up("random", 1, 0.7)),
        },
    )


def test_an_interval_is_the_t_distributions():
    # Deviation 1 over three runs; the t-distribution with two degrees of freedom leaves 2.5% beyond 4.302653.
    assert summary.estimate([1.0, 2.0, 3.0]) == pytest.approx((2.0, 4.302653 / math.sqrt(3)))


def test_a_single_run_has_no_interval_and_is_never_clear():
    assert summary.estimate([0.5]) == Estimate(0.5, None)
    assert not summary.estimate([0.5]).is_clear


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(3.14, None), "3.1"),
        (Estimate(3.14, 0.26), "3.1 ± 0.3"),
        (Estimate(math.nan, None), "-"),
        (Estimate(-0.01, None), "0.0"),
    ],
)
def test_numbers_read_as_people_write_them(estimate, text):
    assert summary.number(estimate, 1) == text


def test_the_lead_is_paired_by_seed(comparison):
    # 70 and 90 against 60 and 70: leads of 10 and 20, whatever the spread between the seeds.
    row = summary.measure_rows(comparison)[0]
    assert [value.mean for value in row.values] == pytest.approx([80.0, 65.0])
    assert row.lead == pytest.approx(summary.estimate([10.0, 20.0]))


def test_a_class_has_its_share_of_the_graph_and_its_labels_by_each_strategy(comparison):
    rows = summary.class_rows(comparison)
    assert [row.share for row in rows] == pytest.approx([0.4, 0.4, 0.2])
    assert [[value.mean for value in row.labels] for row in rows] == [[1, 1.5], [1, 0.5], [0, 0]]
    assert [rows[1].accuracy[0].mean, rows[2].accuracy[0].mean] == [1.0, 0.25]


def test_a_learning_curve_is_the_mean_at_each_number_of_labels(comparison):
    points = summary.learning_curve(comparison.results["clever"], MICRO)
    assert [point.labels for point in points] == [1, 2]
    assert [point.value.mean for point in points] == pytest.approx([40.0, 80.0])


def test_the_document_holds_every_run_and_no_nan(comparison):
    document = json.loads(report.to_json(comparison))
    assert document["dataset"]["classes"][0] == {"name": "<b>bold</b>", "nodes": 2}
    assert document["settings"]["seeds"] == [0, 1]
    assert document["summary"]["random"]["micro_f1"]["mean"] == pytest.approx(0.65)
    assert document["difference"]["micro_f1"]["mean"] == pytest.approx(0.15)
    assert [(run["strategy"], run["seed"], run["nodes"]) for run in document["runs"]] == [
        ("clever", 0, [2, 1]),
        ("clever", 1, [2, 1]),
        ("random", 0, [2, 1]),
        ("random", 1, [2, 1]),
    ]
    assert document["runs"][0]["accuracy_per_class"] == [None, 1.0, 0.25]


def test_one_strategy_alone_has_no_difference(dataset):
    document = report.as_document(compared(dataset, {"random": (made_up("random", 0, 0.6),)}))
    assert document["difference"] is None


def test_names_in_the_document_are_left_as_they_are(dataset, comparison):
    names = ("[ 1,\t2 ]", "[\n3 ]", "x")
    named = replace(comparison, dataset=replace(dataset, class_names=names))
    assert [cls["name"] for cls in json.loads(report.to_json(named))["dataset"]["classes"]] == list(names)


def test_labels_csv_holds_the_strategys_nodes_in_order(comparison):
    rows = list(csv.DictReader(report.labels_csv(comparison).splitlines()))
    assert [tuple(row.values()) for row in rows] == [
        ("1", "2", "<i>", "<b>bold</b>", "0"),
        ("2", "1", '"quoted"', "five $ and six $", "0"),
        ("1", "2", "<i>", "<b>bold</b>", "1"),
        ("2", "1", '"quoted"', "five $ and six $", "1"),
    ]
    assert list(rows[0]) == ["step", "node", "name", "class", "seed"]


def test_a_report_is_three_files_and_nothing_else(tmp_path, comparison):
    page = report.write_report(tmp_path / "new" / "folder", comparison)
    assert page == tmp_path / "new" / "folder" / "report.html"
    assert sorted(os.listdir(page.parent)) == ["labels.csv", "report.html", "result.json"]
    assert json.loads((page.parent / "result.json").read_text("utf-8")) == json.loads(
        report.to_json(comparison)
    )


class _Page(HTMLParser):
    """What a browser would fetch, run, and take for an id."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "srcset", "xlink:href", "action", "data"):
                self.targets.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def html(tmp_path: Path, comparison: Comparison) -> str:
    return report.write_report(tmp_path, comparison).read_text("utf-8")


def test_the_page_needs_nothing_from_outside(html):
    page = _Page(html)
    assert {target for target in page.targets if not target.startswith("#")} == {"labels.csv", "result.json"}
    assert not re.search(r"https?:|@import|//cdn", html)
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert all(target in {f"#{name}" for name in page.ids} for target in re.findall(r"url\((#[^)]*)\)", html))


def test_the_page_escapes_every_name(html):
    page = _Page(html)
    assert not {"b", "i", "more"} & set(page.tags)
    assert "clever on path & <more>" in page.text
    assert all(page.text.count(name) >= 2 for name in CLASSES)  # in the table and beside the bars


def test_the_page_says_what_was_run(html):
    text = " ".join(_Page(html).text.split())
    for fact in (
        "gcbr run 'path & <more>'",
        "seeds 0 to 1",
        "2 runs",
        "rule default",
        "torch",
        "7 more epochs",
    ):
        assert fact in text
    assert "difference +15.0 ± " in text


def test_figures_take_their_colors_from_the_page_and_keep_their_ids_apart(html):
    page = _Page(html)
    assert len(page.ids) == len(set(page.ids))
    drawing = html[html.index("</style>") :]
    assert not any(color in drawing for color in figures.CSS_VARIABLES)
    for variable in figures.CSS_VARIABLES.values():
        assert len(re.findall(rf"{variable}: #", html)) == 2  # once for light, once for dark


def test_a_strategy_alone_and_a_single_run_make_a_page_too(tmp_path, dataset):
    alone = compared(dataset, {"random": (made_up("random", 0, 0.6),)})
    text = _Page(report.write_report(tmp_path, alone).read_text("utf-8")).text
    assert "1 run, seed 0" in text
    assert "difference" not in text


def test_the_same_result_gives_the_same_page(tmp_path, html, comparison):
    assert report.write_report(tmp_path / "again", comparison).read_text("utf-8") == html


def test_a_page_that_cannot_be_written_leaves_the_old_one_whole(tmp_path, html, comparison, monkeypatch):
    def full(part: Path, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="No space left on device; give a folder that can be"):
        report.write_report(tmp_path, replace(comparison, command="other"))
    assert sorted(os.listdir(tmp_path)) == ["labels.csv", "report.html", "result.json"]
    assert (tmp_path / "report.html").read_text("utf-8") == html


def test_a_folder_is_refused_before_the_work_if_nothing_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="no report can be written"):
        report.check_writable(tmp_path / "file")
    report.check_writable(tmp_path / "new" / "folder")
    assert os.listdir(tmp_path / "new" / "folder") == []


def test_a_missing_matplotlib_is_told_with_the_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=re.escape("pip install 'gcbr[plot]'")):
        report.check_writable(tmp_path)
