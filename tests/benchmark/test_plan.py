"""From a TOML file to a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcbr.benchmark.plan import Training, narrowed, parse_plan, read_plan, shipped_plans
from gcbr.cli.bench import split_names
from gcbr.errors import InputError

SMALL = """
title = "small"
datasets = ["digits", "cora"]
strategies = ["random", "age"]
budgets = [5, 10]
runs = 2
"""


def test_options_narrow_a_plan():
    text = SMALL + "[on.cora]\nruns = 30\nbudgets = [7]\n"
    plan = narrowed(parse_plan(text, "here"), runs=1, datasets=["cora"], strategies=["pagerank"])
    assert (plan.runs, plan.datasets, plan.strategies) == (1, ["cora"], ["pagerank"])
    assert plan.deviation("cora").runs is None
    assert plan.deviation("cora").budgets == [7]


def test_names_are_split_at_commas_but_for_those_of_a_synthetic_graph():
    assert split_names("digits, synthetic:nodes=400,seed=1,cora") == [
        "digits",
        "synthetic:nodes=400,seed=1",
        "cora",
    ]
    assert split_names("alpha=0.5,alpha=1.0") == ["alpha=0.5", "alpha=1.0"]


def test_a_policy_file_stands_beside_its_plan(tmp_path: Path):
    (tmp_path / "plan.toml").write_text(SMALL + '[policies]\nmine = "mine.safetensors"\n')
    plan = read_plan(str(tmp_path / "plan.toml"))
    assert plan.policies == {"mine": str(tmp_path / "mine.safetensors")}


def test_a_training_is_named_by_what_it_does_differently():
    assert Training(method="gcbr++").name == "gcbr++()"
    varied = Training(
        method="gcbr", without="selectivity", alpha=0.3, eta=0, budget=70, episodes=1000, seed=1
    )
    assert varied.name == "gcbr(without=selectivity,alpha=0.3,eta=0,budget=70,episodes=1000,seed=1)"
    assert Training(method="gcbr", alpha=0.5, budget=35).name == Training(method="gcbr").name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = \n", r"'p.toml' is no TOML: Invalid value \(at line 1, column 9\)"),
        (SMALL + "runn = 3", "'p.toml', line 7: unknown key 'runn'; the keys are title, caption"),
        (SMALL.replace("strategies", "stratgies"), "line 4: unknown key 'stratgies'"),
        (SMALL + "[on.cora]\nrunns = 3", "line 8: unknown key 'runns'; the keys are runs, features, budgets"),
        (
            SMALL.replace("runs = 2", "runs = 0"),
            "line 6: runs: input should be greater than or equal to 1, not 0",
        ),
        (SMALL.replace("[5, 10]", '["many"]'), "line 5: budgets: .*, not 'many'"),
        (
            SMALL + "[trained]\nmine = { method = 'gcbr', alpah = 1 }",
            "unknown key 'alpah'; the keys are method",
        ),
        (SMALL + "[trained]\nmine = { method = 'gcbr', alpha = 2 }", "trained: .* equal to 1, not 2"),
        ('title = "t"\nstrategies = ["random"]', "the key 'datasets' is missing"),
    ],
)
def test_a_mistake_in_a_plan_is_told_with_its_line(text: str, message: str):
    with pytest.raises(InputError, match=message):
        parse_plan(text, "'p.toml'")


def test_an_unknown_plan_is_answered_with_the_names(tmp_path: Path):
    with pytest.raises(InputError, match=r"unknown plan 'smok'; did you mean smoke\? choose from beyond"):
        read_plan("smok")
    with pytest.raises(InputError, match=r"cannot be read: No such file"):
        read_plan(str(tmp_path / "none.toml"))


GRIDS = {
    "fig4": ("gcbr", "alpha", [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]),
    "fig5": ("gcbr++", "eta", [0, 0.02, 0.05, 0.1, 0.2, 0.5]),
    "fig6": ("gcbr", "budget", [21, 35, 70, 105, 140]),
}


@pytest.mark.parametrize("name", shipped_plans())
def test_every_shipped_plan_can_be_read(name: str):
    assert read_plan(name).runs >= 1


@pytest.mark.parametrize("name", GRIDS)
def test_the_grids_of_trained_policies(name: str):
    method, setting, values = GRIDS[name]
    plan = read_plan(name)
    assert plan.varied == setting
    trainings = [plan.trained[strategy] for strategy in plan.strategies]
    assert trainings == [
        Training.model_validate({"method": method, setting: value, "episodes": 1000, "seed": 3})
        for value in values
    ]


def test_points_that_figures_have_in_common_are_trained_once():
    shared = [
        read_plan("table3").trained["gcbr"],
        read_plan("fig4").trained["alpha=0.5"],
        read_plan("fig6").trained["budget=35"],
    ]
    assert {training.name for training in shared} == {"gcbr(episodes=1000,seed=3)"}
