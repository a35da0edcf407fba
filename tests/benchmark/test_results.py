"""The page of all results, from records alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.make_results import README, RESULTS, excerpt, with_excerpts

from gcbr.benchmark.agenda import agenda, recorded_sizes
from gcbr.benchmark.plan import read_plan
from gcbr.benchmark.results import shape, write_results
from gcbr.benchmark.store import Store


def test_the_shape_of_table_2_is_told_with_the_means(make_record):
    records = [
        make_record("age", 0, macro=0.9, ratio=0.5, dataset="co-phy"),
        make_record("gcbr", 0, macro=0.8, ratio=0.6, dataset="co-phy"),
        make_record("gcbr++", 0, macro=0.85, ratio=0.7, dataset="co-phy"),
        make_record("gcbr", 0, macro=0.7, ratio=0.6, dataset="co-cs", test="stratified"),
        make_record("gcbr++", 0, macro=0.8, ratio=0.5, dataset="co-cs", test="stratified"),
        make_record("gcbr++", 0, dataset="citeseer"),
    ]
    assert list(shape(records)) == [
        "Coauthor Physics: GCBR and GCBR++ lead in Macro-F1: **does not hold** "
        "(age 90.0, gcbr++ 85.0, gcbr 80.0).",
        "Coauthor CS, stratified test sets: GCBR and GCBR++ lead in Macro-F1: holds "
        "(gcbr++ 80.0, gcbr 70.0).",
        "Coauthor Physics: GCBR++ has the highest imbalance ratio: holds (gcbr++ 0.70, gcbr 0.60, age 0.50).",
        "Coauthor CS, stratified test sets: GCBR++ has the highest imbalance ratio: **does not hold** "
        "(gcbr 0.60, gcbr++ 0.50).",
        "CiteSeer: GCBR++ has the highest imbalance ratio: holds (gcbr++ 0.50).",
    ]


@pytest.fixture
def results(tmp_path: Path, make_record) -> Path:
    """Two runs of one cell of table 2 and of two points of figure 3."""
    store = Store(tmp_path / "results" / "records")
    for dataset, budget in (("citeseer", 60), ("co-phy", 25), ("co-phy", 50)):
        for seed in range(2):
            store.append(make_record("random", seed, 0.7, dataset=dataset, budget=budget))
    return tmp_path / "results"


def test_the_page_has_a_section_for_each_plan_with_records(results: Path, tmp_path: Path):
    page = tmp_path / "docs" / "results.md"
    write_results(results, page)
    text = page.read_text("utf-8")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Does the shape of the paper's Table 2 hold?",
        "## Table 2: labeling by each method, under the paper's feature rule",
        "## Figure 3: what each method makes of budgets from 25 to 150",
    ]
    assert "Command: `gcbr bench table2 --out benchmarks/results`." in text
    # 60 is 20 for each of the three classes in the records; Reddit has the paper's figures alone.
    assert "CiteSeer: 60 labels, features paper, n = 2." in text
    assert "Reddit: not run: its features are not published with its edges." in text
    assert "n = 2 runs a point." in text
    assert (results / "table2" / "report.html").is_file()
    (drawn,) = (tmp_path / "docs" / "results").iterdir()
    assert drawn.name == "fig3-budgets-co-phy-paper.svg"
    assert f"(results/{drawn.name})" in text


def test_the_same_records_give_the_same_page(results: Path, tmp_path: Path):
    page = tmp_path / "docs" / "results.md"
    write_results(results, page)
    first = page.read_bytes()
    Store(results / "records").pack()
    write_results(results, page)
    assert page.read_bytes() == first


def test_the_cells_of_a_plan_are_found_among_all_records(results: Path, make_record):
    plan, store = read_plan("table2"), Store(results / "records")
    store.append(make_record("random", 0, dataset="citeseer", budget=60, features="default"))
    store.append(make_record("random", 50, dataset="citeseer", budget=60))  # beyond the fifty runs
    runs = agenda(plan, recorded_sizes(plan, store.read()), results, tolerant=True).runs
    assert sorted(run.seed for run in runs if run in store.read()) == [0, 1]


def test_an_excerpt_has_the_highest_of_each_measure_in_bold(make_record):
    records = [
        make_record("random", 0, macro=0.7, ratio=0.25, dataset="citeseer", budget=60),
        make_record("random", 1, macro=0.8, ratio=0.25, dataset="citeseer", budget=60),
        make_record("gcbr", 0, macro=0.9, ratio=0.125, dataset="citeseer", budget=60),
        make_record("gcbr", 0, macro=0.6, ratio=0.5, dataset="co-cs", budget=60, test="stratified"),
        make_record("gcbr", 0, macro=0.6, ratio=0.5, dataset="co-cs", budget=60),
    ]
    # Two runs: the interval is t(1 degree, 97.5%) = 12.71 times 5 points.
    assert excerpt(records).splitlines() == [
        "|  | CiteSeer, 60 labels | Coauthor CS, 60 labels |",
        "| --- | ---: | ---: |",
        "| `random` | 75.0 ± 63.5<br>**0.25 ± 0.00** |  |",
        "| `gcbr` | **90.0**<br>0.12 | **60.0**<br>**0.50** |",
    ]


def test_the_readme_shows_what_is_recorded():
    text = README.read_text("utf-8")
    assert text.count("<!-- end -->") == 2
    assert with_excerpts(text, RESULTS) == text
