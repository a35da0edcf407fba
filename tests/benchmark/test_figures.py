"""What figures show, and that every file of them can be opened."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from gcbr.benchmark import figures
from gcbr.benchmark.page import Findings, write_report
from gcbr.benchmark.plan import Plan, read_plan
from gcbr.benchmark.records import Record
from gcbr.benchmark.tables import grouped
from gcbr.statistics import MEASURES

MICRO = MEASURES[0]
PLAN = Plan(
    title="Ours & <theirs>", caption="Made up.", datasets=["citeseer"], strategies=["random"], paper="table2"
)


@pytest.fixture
def runs(make_record) -> list[Record]:
    return [
        make_record(name, seed, 0.6 + 0.1 * seed, budget=budget, counts=(budget - 2 - seed, 1, 1 + seed))
        for name in ("random", "gcbr")
        for budget in (4, 8)
        for seed in range(3)
    ]


def test_a_curve_is_the_mean_at_each_number_of_labels(make_record):
    points = figures.curve_points([make_record("age", 0, 0.6), make_record("age", 1, 0.8)], MICRO)
    assert [point.place for point in points] == [2, 4]
    assert [point.value.mean for point in points] == pytest.approx([35.0, 70.0])


def test_budgets_are_in_order_with_the_final_mean(runs):
    points = figures.budget_points(grouped(reversed(runs)), "gcbr", MICRO)
    assert [point.place for point in points] == [4, 8]
    assert [point.value.mean for point in points] == pytest.approx([70.0, 70.0])


def test_class_counts_are_means_over_runs(make_record):
    counted = [make_record("age", 0, counts=(2, 1, 1)), make_record("age", 1, counts=(4, 0, 0))]
    assert [value.mean for value in figures.class_means(counted)] == [3.0, 0.5, 0.5]


def test_accuracies_are_means_over_the_runs_that_have_one(make_record):
    known = figures.class_accuracies([make_record("age", 0), make_record("age", 1)])
    assert [value.mean for value in known] == [100.0, 0.0, 25.0]


def test_each_dataset_has_its_figures_as_svg_and_png(runs):
    drawings = figures.make_figures(runs, PLAN)
    assert [drawing.name for drawing in drawings] == [
        "budgets-citeseer-paper",
        "curves-citeseer-paper",
        "labels-citeseer-paper",
        "accuracy-citeseer-paper",
    ]
    for drawing in drawings:
        words = "".join(ElementTree.fromstring(drawing.svg).itertext())
        assert "gcbr" in words
        assert "random" in words
        with Image.open(io.BytesIO(drawing.png)) as image:
            assert image.width > 1000
    assert "five $ and six $" in "".join(ElementTree.fromstring(drawings[2].svg).itertext())


def test_one_budget_needs_no_figure_of_budgets(runs):
    names = [drawing.name for drawing in figures.make_figures([r for r in runs if r.run.budget == 8], PLAN)]
    assert names == ["curves-citeseer-paper", "labels-citeseer-paper", "accuracy-citeseer-paper"]


def test_the_same_records_give_the_same_svg(runs):
    first, second = (figures.make_figures(runs[:3], PLAN) for _ in range(2))
    assert [drawing.svg for drawing in first] == [drawing.svg for drawing in second]


def test_no_two_strategies_look_alike_without_color(make_record):
    records = [make_record(f"strategy {number}", 0) for number in range(17)]
    looks = figures._looks(record.run.strategy for record in records).values()
    assert len({(str(look.line), look.marker) for look in looks}) == 12  # then markers and lines begin again
    assert len({(look.color, str(look.line), look.marker) for look in looks}) == 17


@pytest.mark.parametrize(("num_strategies", "has_bands"), [(9, True), (10, False)])
def test_many_lines_have_no_bands_and_ours_are_strong(make_record, num_strategies: int, has_bands: bool):
    names = ["gcbr", *(f"other-{number}" for number in range(num_strategies - 1))]
    records = [make_record(name, seed, 0.5 + seed / 10) for name in names for seed in range(3)]
    plan = Plan(title="many", datasets=["cora"], strategies=names, ours=["gcbr"], draw=["curves"])
    (drawing,) = figures.make_figures(records, plan)
    assert ("PolyCollection" in drawing.svg) == has_bands
    widths = set(re.findall(r"stroke-width: ([\d.]+)", drawing.svg))
    assert ("2.4" in widths) != has_bands


def test_numbers_are_shortened_in_coordinates_but_not_in_words():
    svg = '<g><path d="M 1.23456 -2.00499" style="opacity: 0.12"/><text x="3.987654">p = 0.12345</text></g>'
    assert figures._compact(svg) == (
        '<g><path d="M 1.23 -2.00" style="opacity: 0.12"/><text x="3.98">p = 0.12345</text></g>'
    )


def test_a_varied_setting_is_the_axis_and_datasets_are_lines(make_record):
    plan = read_plan("fig5")
    made = [
        make_record(name, 0, micro, dataset=dataset)
        for dataset in ("citeseer", "co-phy")
        for name, micro in (("eta=0.5", 0.9), ("eta=0.0", 0.6))
    ]
    points = figures.varied_points({r.run.strategy: [r] for r in made[:2]}, plan, MICRO)
    assert [point.place for point in points] == [0.0, 0.5]
    assert [point.value.mean for point in points] == pytest.approx([60.0, 90.0])
    (drawing,) = figures.make_figures(made, plan)
    assert drawing.name == "by-eta"
    assert drawing.title.startswith("Figure 5: ")
    words = "".join(ElementTree.fromstring(drawing.svg).itertext())
    assert "CiteSeer" in words
    assert "Coauthor Physics" in words
    assert "penalty eta for majority classes" in words


def test_the_parts_of_a_figure_have_letters(make_record):
    titles = [
        d.title for d in figures.make_figures([make_record("gcbr++", 0, dataset="co-phy")], read_plan("fig1"))
    ]
    assert titles == [
        "Figure 1a: Coauthor Physics: labels of each class among 4",
        "Figure 1b: Coauthor Physics: accuracy of each class, %, after training on 4 labels",
    ]


class _Page(HTMLParser):
    """Everything a page would fetch, and its ids."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href") and value and not value.startswith("#"):
                self.addresses.append(value)
            if name == "id" and value:
                self.ids.append(value)


def test_the_report_is_one_page_with_everything_inside(runs, tmp_path: Path):
    findings = Findings(PLAN, "gcbr bench table2", runs, num_runs=14, left_out=["unknown strategy 'gpa'"])
    page = write_report(tmp_path, findings)
    text = page.read_text("utf-8")
    parsed = _Page()
    parsed.feed(text)
    assert parsed.addresses == ["tables.md", "tables.tex"]  # beside it, none from afar
    assert len(parsed.ids) == len(set(parsed.ids))
    assert "Ours &amp; &lt;theirs&gt;" in text
    assert "2 of 14 runs are still missing." in text
    assert "Left out: unknown strategy &#39;gpa&#39;." in text
    assert re.search(r"<strong>70\.0</strong> <span class=\"margin\">± 24\.8</span>", text)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "tables.md", "tables.tex", "figures"}
    assert len(list((tmp_path / "figures").iterdir())) == 8
