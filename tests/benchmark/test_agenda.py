"""From a plan to the list of runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gcbr.benchmark.agenda import (
    Agenda,
    Size,
    Trained,
    agenda,
    check_plan,
    load_sizes,
    recorded_sizes,
    trainings,
)
from gcbr.benchmark.plan import Plan, Training, narrowed, parse_plan, read_plan, shipped_plans
from gcbr.benchmark.records import Run
from gcbr.checkpoints import fingerprint, load_policy, write_tensors
from gcbr.errors import InputError
from gcbr.graph import Dataset
from gcbr.policies import shipped

SMALL = """
title = "small"
datasets = ["digits", "cora"]
strategies = ["random", "age"]
budgets = [5, 10]
runs = 2
"""


@pytest.fixture
def planned(skewed: Dataset, tmp_path: Path):
    """The runs of a plan, with 200 nodes and three classes behind every name."""

    def expand(plan: Plan, *, tolerant: bool = False) -> Agenda:
        sizes, _ = load_sizes(plan, lambda name, features: skewed)
        return agenda(plan, sizes, tmp_path, tolerant=tolerant)

    return expand


def test_runs_go_by_seed_then_dataset_then_strategy_then_budget(planned):
    runs = planned(parse_plan(SMALL, "here")).runs
    assert len(runs) == 2 * 2 * 2 * 2
    assert runs[:3] == (
        Run("digits", "default", "fixed", "random", "", 5, 0, 100),
        Run("digits", "default", "fixed", "random", "", 10, 0, 100),
        Run("digits", "default", "fixed", "age", "", 5, 0, 100),
    )
    assert [run.seed for run in runs] == [0] * 8 + [1] * 8
    assert [run.dataset for run in runs[:8]] == ["digits"] * 4 + ["cora"] * 4


def test_the_budget_is_20_per_class_or_a_third_of_a_small_pool(planned):
    plan = parse_plan('title = "t"\ndatasets = ["digits"]\nstrategies = ["random"]\nruns = 1', "here")
    # 200 nodes: 80 to test and 40 to validate leave 80; three classes would ask for 60 of them.
    assert [run.budget for run in planned(plan).runs] == [26]


def test_a_dataset_may_have_its_own_runs_budgets_features_and_test_sets(planned):
    deviation = '[on.cora]\nruns = 3\nbudgets = [7]\nfeatures = "paper"\ntests = ["fixed", "stratified"]\n'
    runs = planned(parse_plan(SMALL + deviation, "here")).runs
    cora = [run for run in runs if run.dataset == "cora"]
    assert len(cora) == 3 * 2 * 2
    assert {(run.budget, run.features) for run in cora} == {(7, "paper")}
    assert [run.test for run in cora[:4]] == ["fixed", "fixed", "stratified", "stratified"]
    assert [run.dataset for run in runs if run.seed == 2] == ["cora"] * 4  # digits has two runs


def test_an_unknown_strategy_is_a_mistake_or_left_out_of_a_tolerant_plan(planned):
    plan = parse_plan(SMALL.replace('"age"', '"sage"'), "here")
    for refuse in (check_plan, planned):
        with pytest.raises(InputError, match="unknown strategy 'sage'"):
            refuse(plan)
    check_plan(plan, tolerant=True)
    todo = planned(plan, tolerant=True)
    assert todo.left_out == ("unknown strategy 'sage'",)
    assert {run.strategy for run in todo.runs} == {"random"}


def test_an_unknown_dataset_or_a_rule_that_one_lacks_is_refused_before_anything_is_loaded():
    with pytest.raises(InputError, match="'digits' has no feature rule 'paper'"):
        check_plan(parse_plan(SMALL + 'features = "paper"', "here"))
    with pytest.raises(InputError, match="unknown dataset 'coral'; did you mean cora"):
        check_plan(narrowed(parse_plan(SMALL, "here"), datasets=["coral"]))


def test_a_dataset_that_cannot_be_loaded_leaves_the_others(skewed: Dataset):
    def load(name: str, features: str) -> Dataset:
        if name == "cora":
            raise InputError("no network")
        return skewed

    sizes, absent = load_sizes(parse_plan(SMALL, "here"), load)
    assert sizes == {"digits": Size(26, 80)}
    assert absent == {"cora": "no network"}


def test_records_tell_the_size_of_a_dataset_whose_files_are_not_there(make_record):
    plan = parse_plan(SMALL.replace("cora", "citeseer"), "here")
    recorded = make_record("random", 0, dataset="citeseer")  # of three classes
    # Digits needs no files: 710 nodes, 284 to test, 142 to validate, a third of the other 284.
    assert recorded_sizes(plan, {recorded.run: recorded}) == {
        "digits": Size(94, 284),
        "citeseer": Size(60, None),
    }
    assert list(recorded_sizes(plan, {})) == ["digits"]


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


def test_the_weights_of_a_policy_are_part_of_the_key_and_its_notes_are_not(planned, tmp_path: Path):
    policy, _ = load_policy(shipped()["gcbr-default"])
    mark = fingerprint(policy)
    file = tmp_path / "mine.safetensors"
    shutil.copy(shipped()["gcbr-default"], file)
    plan = parse_plan(SMALL.replace('"age"', f'"gcbr", "{file}", "mine"'), "here")
    plan = plan.model_copy(update={"policies": {"mine": str(file)}})
    assert {run.fingerprint for run in planned(plan).runs if run.strategy != "random"} == {mark}
    assert planned(plan).policies == {("mine", mark): file}

    from gcbr.checkpoints import read_tensors

    tensors, header = read_tensors(file)
    write_tensors(file, tensors, {**header, "scores": "fine"})
    assert {run.fingerprint for run in planned(plan).runs if run.strategy == "mine"} == {mark}
    write_tensors(file, {name: tensor + 1 for name, tensor in tensors.items()}, header)
    assert {run.fingerprint for run in planned(plan).runs if run.strategy == "mine"} != {mark}


TRAINED = (
    SMALL.replace('"age"', '"few", "many"')
    + """
[trained]
few = { method = "gcbr", episodes = 2 }
many = { method = "gcbr", episodes = 20 }
unused = { method = "gcbr" }
[on.cora]
features = "paper"
"""
)


def test_policies_are_trained_once_under_the_plans_rule():
    plan = parse_plan(TRAINED, "here")
    few, many = Training(method="gcbr", episodes=2), Training(method="gcbr", episodes=20)
    assert trainings(plan) == [Trained(few, "default"), Trained(many, "default")]
    assert trainings(narrowed(plan, strategies=["random"])) == []


def test_a_dataset_under_another_rule_is_labeled_by_the_same_policies(planned, tmp_path: Path):
    plan = narrowed(parse_plan(TRAINED, "here"), strategies=["few"])
    file = tmp_path / "gcbr-episodes-2-default.safetensors"
    shutil.copy(shipped()["gcbr-default"], file)
    runs = planned(plan).runs
    assert {(run.dataset, run.features) for run in runs} == {("digits", "default"), ("cora", "paper")}
    assert len({run.fingerprint for run in runs}) == 1


def test_a_trained_policy_has_one_key_whatever_a_plan_calls_it(planned, tmp_path: Path, make_record):
    plan = narrowed(parse_plan(TRAINED, "here"), datasets=["digits"])
    file = tmp_path / "gcbr-episodes-2-default.safetensors"
    shutil.copy(shipped()["gcbr-default"], file)
    todo = planned(plan, tolerant=True)
    assert todo.left_out == (
        "the policy 'gcbr(episodes=20)' for the feature rule 'default' is not trained yet",
    )
    (key,) = {run.strategy for run in todo.runs} - {"random"}
    assert key == "gcbr(episodes=2)"
    assert todo.policies == {(key, todo.runs[-1].fingerprint): file}
    labeled = todo.labeled([make_record(key, 0), make_record("random", 0)])
    assert [record.run.strategy for record in labeled] == ["few", "random"]


def test_a_budget_beyond_the_pool_is_refused(planned):
    with pytest.raises(InputError, match="a budget of 500 is more than the 80 nodes of 'digits'"):
        planned(parse_plan(SMALL.replace("[5, 10]", "[500]"), "here"))


@pytest.mark.parametrize("name", shipped_plans())
def test_every_shipped_plan_has_runs_or_policies_to_train(name: str, planned):
    plan = read_plan(name)
    check_plan(plan, tolerant=True)
    budgets_that_fit = plan.model_copy(update={"budgets": [5]})
    assert planned(budgets_that_fit, tolerant=True).runs or trainings(plan)


def test_the_classifier_of_a_plan_is_that_of_its_runs(planned):
    assert {run.classifier for run in planned(parse_plan(SMALL, "here")).runs} == {"usual"}
    said = planned(parse_plan('classifier = "authors"\n' + SMALL, "here")).runs
    assert {run.classifier for run in said} == {"authors"}


def test_a_policy_trained_with_another_classifier_has_a_file_of_its_own(tmp_path: Path):
    plan = parse_plan(TRAINED.replace("title", 'classifier = "authors"\ntitle', 1), "here")
    usual, authors = (trainings(each)[0] for each in (parse_plan(TRAINED, "here"), plan))
    assert usual.file(tmp_path).name == "gcbr-episodes-2-default.safetensors"
    assert authors.file(tmp_path).name == "gcbr-episodes-2-default-authors.safetensors"
