"""From a TOML file to the list of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcbr.benchmark.plan import Agenda, Plan, Run, agenda, narrowed, parse_plan, read_plan, shipped_plans
from gcbr.cli.bench import split_names
from gcbr.errors import InputError
from gcbr.graph import Dataset

SMALL = """
title = "small"
datasets = ["digits", "cora"]
strategies = ["random", "age"]
budgets = [5, 10]
runs = 2
"""


@pytest.fixture
def planned(skewed: Dataset):
    """The runs of a plan, with 200 nodes and three classes behind every name."""

    def expand(plan: Plan, *, tolerant: bool = False) -> Agenda:
        return agenda(plan, tolerant=tolerant, load=lambda name, features: skewed)

    return expand


def test_a_plan_is_every_dataset_seed_strategy_and_budget_in_this_order(planned):
    runs = planned(parse_plan(SMALL, "here")).runs
    assert len(runs) == 2 * 2 * 2 * 2
    assert runs[:3] == (
        Run("digits", "random", "", 5, 0, "default", 100),
        Run("digits", "random", "", 10, 0, "default", 100),
        Run("digits", "age", "", 5, 0, "default", 100),
    )
    assert [run.dataset for run in runs] == ["digits"] * 8 + ["cora"] * 8
    assert [run.seed for run in runs[:8]] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_the_budget_is_20_per_class_or_a_third_of_a_small_pool(planned):
    plan = parse_plan('title = "t"\ndatasets = ["digits"]\nstrategies = ["random"]\nruns = 1', "here")
    # 200 nodes: 80 to test and 40 to validate leave 80; three classes would ask for 60 of them.
    assert [run.budget for run in planned(plan).runs] == [26]


def test_a_dataset_may_have_its_own_runs_budgets_and_features(planned):
    text = SMALL + '[on.cora]\nruns = 3\nbudgets = [7]\nfeatures = "paper"\n'
    runs = [run for run in planned(parse_plan(text, "here")).runs if run.dataset == "cora"]
    assert len(runs) == 3 * 2
    assert {(run.budget, run.features) for run in runs} == {(7, "paper")}


def test_options_narrow_a_plan(planned):
    text = SMALL + "[on.cora]\nruns = 30\n"
    plan = narrowed(parse_plan(text, "here"), runs=1, datasets=["cora"], strategies=["pagerank"])
    assert [(run.dataset, run.strategy, run.seed) for run in planned(plan).runs] == [
        ("cora", "pagerank", 0),
        ("cora", "pagerank", 0),  # at both budgets
    ]


def test_names_are_split_at_commas_but_for_those_of_a_synthetic_graph():
    assert split_names("digits, synthetic:nodes=400,seed=1,cora") == [
        "digits",
        "synthetic:nodes=400,seed=1",
        "cora",
    ]


def test_an_unknown_strategy_is_a_mistake_or_left_out_of_a_tolerant_plan(planned):
    plan = parse_plan(SMALL.replace('"age"', '"sage"'), "here")
    with pytest.raises(InputError, match="unknown strategy 'sage'"):
        planned(plan)
    todo = planned(plan, tolerant=True)
    assert todo.left_out == ("unknown strategy 'sage'",)
    assert {run.strategy for run in todo.runs} == {"random"}


def test_a_file_that_chooses_is_part_of_the_key(planned, tmp_path: Path):
    file = tmp_path / "own.py"
    file.write_text(
        "class Own:\n    def __init__(self, graph, budget, rng): ...\n    def select(self, view): ...\n"
    )
    plan = narrowed(parse_plan(SMALL, "here"), strategies=[f"balanced({file}:Own)"])
    before = planned(plan).runs[0].fingerprint
    assert len(before) == 12
    file.write_text(file.read_text() + "# changed\n")
    assert planned(plan).runs[0].fingerprint not in ("", before)


def test_a_policy_file_stands_beside_its_plan(tmp_path: Path, planned):
    (tmp_path / "mine.safetensors").write_bytes(b"weights")
    (tmp_path / "plan.toml").write_text(
        SMALL.replace('"age"', '"mine"') + '[policies]\nmine = "mine.safetensors"\n'
    )
    plan = read_plan(str(tmp_path / "plan.toml"))
    assert plan.policies == {"mine": str(tmp_path / "mine.safetensors")}
    assert {run.strategy: run.fingerprint for run in planned(plan).runs} == {
        "random": "",
        "mine": "9a129038d9a0",  # sha256 of the seven bytes
    }


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


def test_a_budget_beyond_the_pool_is_refused(planned):
    with pytest.raises(InputError, match="a budget of 500 is more than the 80 nodes of 'skewed'"):
        planned(parse_plan(SMALL.replace("[5, 10]", "[500]"), "here"))


def test_a_feature_rule_that_a_dataset_lacks_is_refused_before_loading():
    def load(name: str, features: str) -> Dataset:
        raise AssertionError("loaded")

    with pytest.raises(InputError, match="'digits' has no feature rule 'paper'"):
        agenda(parse_plan(SMALL + 'features = "paper"', "here"), load=load)


@pytest.mark.parametrize("name", shipped_plans())
def test_every_shipped_plan_has_runs_of_random(name: str, planned):
    plan = read_plan(name)
    budgets_that_fit = plan.model_copy(update={"budgets": [5]})
    assert "random" in {run.strategy for run in planned(budgets_that_fit, tolerant=True).runs}
