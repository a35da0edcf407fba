"""Tables worked out by hand.

Two runs each: their interval is the mean ± 12.7062 (the t-distribution with one degree of freedom leaves
2.5% beyond it) times half the distance between them.
"""

from __future__ import annotations

import math

import pytest

from gcbr.benchmark import paper, tables
from gcbr.benchmark.records import Record
from gcbr.benchmark.tables import Setting
from gcbr.statistics import MEASURES

MICRO, MACRO, RATIO = MEASURES


@pytest.fixture
def small(make_record) -> list[Record]:
    return [
        make_record("random", 0, 0.70, 0.60, 0.25),
        make_record("random", 1, 0.72, 0.60, 0.25),
        make_record("age", 0, 0.74, 0.66, 0.50),
        make_record("age", 1, 0.74, 0.66, 0.50),
        make_record("gcbr", 0, 0.75, 0.60, 1.00),
        make_record("gcbr", 1, 0.79, 0.60, 0.50),
    ]


def test_means_intervals_ranks_and_the_papers_figures(small):
    (table,) = tables.make_tables(small, "table2")
    assert table.settings == (Setting("citeseer", 4, "paper"),)
    assert table.num_runs == ("2",)
    assert [row.strategy for row in table.rows] == ["random", "age", "gcbr"]
    random, age, gcbr = (row.groups[0] for row in table.rows)
    assert random[0].value == pytest.approx((71.0, 12.7062), abs=1e-4)
    assert age[0].value == pytest.approx((74.0, 0.0), abs=1e-9)
    assert gcbr[0].value == pytest.approx((77.0, 25.4124), abs=1e-4)
    assert [cell.rank for cell in random] == [3, 2, 3]
    assert [cell.rank for cell in age] == [2, 1, 2]
    assert [cell.rank for cell in gcbr] == [1, 2, 1]  # equal to random's in Macro-F1: both second
    assert random[0].paper == 70.96
    assert random[0].difference == pytest.approx(0.04)
    assert gcbr[2].difference == pytest.approx(0.75 - 0.45)


def test_markdown(small):
    (table,) = tables.make_tables(small, "table2")
    assert tables.to_markdown(table) == (
        "| method | CiteSeer<br>Micro | CiteSeer<br>Macro | CiteSeer<br>\N{GREEK SMALL LETTER RHO} |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| random | 71.0 ± 12.7<br>paper 70.96, +0.0 | <u>60.0</u> ± 0.0<br>paper 64.39, \N{MINUS SIGN}4.4 "
        "| 0.25 ± 0.00<br>paper 0.27, \N{MINUS SIGN}0.02 |\n"
        "| age | <u>74.0</u> ± 0.0<br>paper 72.21, +1.8 | **66.0** ± 0.0<br>paper 67.72, \N{MINUS SIGN}1.7 "
        "| <u>0.50</u> ± 0.00<br>paper 0.46, +0.04 |\n"
        "| gcbr | **77.0** ± 25.4<br>paper 72.50, +4.5 | <u>60.0</u> ± 0.0<br>paper 67.51, \N{MINUS SIGN}7.5 "
        "| **0.75** ± 3.18<br>paper 0.45, +0.30 |\n"
        "\n"
        "CiteSeer: 4 labels, features paper, n = 2.\n"
    )


def test_latex(small):
    (table,) = tables.make_tables(small[:4])
    assert tables.to_latex(table).splitlines() == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r" & \multicolumn{3}{c}{CiteSeer} \\",
        r" & \multicolumn{3}{c}{\scriptsize 4 labels, features paper, n = 2} \\",
        r"\cmidrule(lr){2-4}",
        r"Method & Micro & Macro & $\rho$ \\",
        r"\midrule",
        r"random & \underline{71.0}{\scriptsize$\,\pm\,$12.7} & \underline{60.0}{\scriptsize$\,\pm\,$0.0} "
        r"& \underline{0.25}{\scriptsize$\,\pm\,$0.00} \\",
        r"age & \textbf{74.0}{\scriptsize$\,\pm\,$0.0} & \textbf{66.0}{\scriptsize$\,\pm\,$0.0} "
        r"& \textbf{0.50}{\scriptsize$\,\pm\,$0.00} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_the_papers_figures_are_a_second_line_in_latex(small):
    (table,) = tables.make_tables(small, "table2")
    second = tables.to_latex(table).splitlines()[8]
    assert second == (
        r"\scriptsize paper, difference & \scriptsize 70.96, $+$0.0 & \scriptsize 64.39, $-$4.4 "
        r"& \scriptsize 0.27, $-$0.02 \\"
    )


def test_latex_names_are_escaped(make_record):
    (table,) = tables.make_tables([make_record("my_file.py:Best&Only", 0)])
    assert r"my\_file.py:Best\&Only & \textbf{50.0} &" in tables.to_latex(table)


def test_the_papers_figures_stand_beside_its_own_feature_rule_alone(make_record):
    (table,) = tables.make_tables([make_record("age", 0, features="default")], "table2")
    assert not tables.has_paper(table.rows[0])


def test_a_method_compares_with_the_best_of_the_others_on_the_same_seeds(small):
    ((micro, macro, ratio),) = tables.make_leads(small, ["gcbr", "gcbr++"])
    # 75 - 74 and 79 - 74: mean 3, standard error 2, so t = 1.5; with one degree of freedom the t-distribution
    # is Cauchy's, and p = 1 - 2 atan(1.5) / pi.
    assert micro.baseline == "age"
    assert micro.difference == pytest.approx((3.0, 2 * 12.7062), abs=1e-3)
    assert micro.p_value == pytest.approx(1 - 2 * math.atan(1.5) / math.pi)
    assert tables.lead_text(micro) == "+3.0 ± 25.4"
    assert tables.opponent_text(micro) == "age, p = .374, n = 2"
    assert tables.lead_text(macro) == "\N{MINUS SIGN}6.0 ± 0.0"
    assert tables.opponent_text(macro) == "age, p < .001, n = 2"
    assert ratio.num_pairs == 2


def test_only_seeds_that_both_have_are_paired(make_record):
    ours = [make_record("gcbr", seed, 0.9) for seed in (0, 2, 3)]
    theirs = [make_record("age", seed, 0.8) for seed in (3, 0, 1)]
    assert tables.paired_differences(ours, theirs, MICRO) == pytest.approx([10.0, 10.0])


def test_nothing_of_ours_or_nothing_else_gives_no_leads(small):
    assert tables.make_leads(small, ["entropy"]) == []
    assert tables.make_leads(small[4:], ["gcbr"]) == []


def test_datasets_stand_side_by_side_and_each_budget_has_its_table(make_record):
    records = [
        make_record("random", 0, dataset="pubmed", budget=50),
        make_record("random", 0, dataset="pubmed", budget=25),
        make_record("random", 0, dataset="cora", budget=30),
        make_record("age", 0, dataset="cora", budget=30),
        make_record("age", 1, dataset="cora", budget=30),
    ]
    small, large = tables.make_tables(records)
    assert [(setting.dataset, setting.budget) for setting in small.settings] == [("pubmed", 25), ("cora", 30)]
    assert [(setting.dataset, setting.budget) for setting in large.settings] == [("pubmed", 50)]
    assert small.num_runs == ("1", "1 to 2")  # random on Cora has one run, age two
    assert [row.strategy for row in small.rows] == ["random", "age"]
    assert small.rows[1].groups[0] is None  # age was not run on PubMed
    assert tables.to_markdown(small).splitlines()[3].startswith("| age |  |  |  | **50.0** ")


def test_no_records_give_no_tables():
    assert tables.make_tables([]) == []


def test_the_papers_table_2_is_copied_right():
    table = paper.PAPER["table2"]
    assert len(table) == 7 * 5
    assert table["gcbr++", "co-phy"] == (94.36, 90.26, 0.81)
    assert table["allie", "citeseer"] == (72.74, 67.19, 0.28)
    assert paper.PAPER["table3"]["no-diversity", "co-cs"] == (93.62, 84.77, 0.05)


def test_where_a_dataset_was_not_run_the_papers_figures_stand_alone(small):
    notes = {"citeseer": "", "reddit": "not run: no features", "cora": "the paper has none of it"}
    (table,) = tables.make_tables(small, "table2", notes)
    assert [setting.dataset for setting in table.settings] == ["citeseer", "reddit"]
    assert table.captions == ("4 labels, features paper, n = 2", "not run: no features")
    random = table.rows[0].groups[1]
    assert random is not None
    assert [cell.paper for cell in random] == [92.35, 92.17, 0.47]
    assert all(cell.difference is None for cell in random)
    assert "| paper 92.35 | paper 92.17 | paper 0.47 |\n" in tables.to_markdown(table)
    values = [cell for cell in tables.to_values(table) if cell["dataset"] == "reddit"]
    assert {(cell["mean"], cell["num_runs"]) for cell in values} == {(None, 0)}
    assert tables.make_tables([], "table2", notes) == []


def test_a_drawn_test_set_has_a_column_of_its_own(make_record):
    both = [make_record("age", 0, 0.6), make_record("age", 0, 0.8, test="stratified")]
    (table,) = tables.make_tables(both)
    assert table.captions == (
        "4 labels, features paper, n = 1",
        "4 labels, features paper, stratified test sets, n = 1",
    )
    assert [group[0].value.mean for group in table.rows[0].groups if group] == pytest.approx([60.0, 80.0])


def test_many_datasets_are_spread_over_equal_tables(make_record):
    names = ["cora", "citeseer", "pubmed", "co-cs", "co-phy", "photo"]
    made = tables.make_tables([make_record("age", 0, dataset=name) for name in names])
    assert [[setting.dataset for setting in table.settings] for table in made] == [names[:3], names[3:]]
