"""`gcbr bench` as a person types it."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gcbr.benchmark.plan import parse_plan, shipped_plans
from gcbr.benchmark.store import Store
from gcbr.cli.app import main
from gcbr.cli.bench_display import Display, duration, score_tables, seconds_left

SYNTHETIC = "synthetic:nodes=200,classes=3,skew=4,seed=1"


def bench(*arguments: str) -> int:
    return main(["bench", *arguments, "--workers", "1"])


@pytest.fixture
def narrow() -> list[str]:
    return ["smoke", "--runs", "1", "--datasets", SYNTHETIC]


def test_from_nothing_to_a_page_and_on_from_there(narrow, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bench(*narrow, "--strategies", "random") == 0
    shown = capsys.readouterr()
    assert "Synthetic" in shown.out
    assert "random" in shown.out
    assert shown.err == "note: report written to bench/smoke/report.html\n"
    assert bench(*narrow, "--strategies", "random,pagerank") == 0
    done = Store(tmp_path / "bench/records").read()
    assert [run.strategy for run in done] == ["random", "pagerank"]
    page = (tmp_path / "bench/smoke/report.html").read_text()
    assert f"gcbr bench smoke --runs 1 --datasets {SYNTHETIC} --strategies random,pagerank" in page


@pytest.mark.slow
def test_the_smoke_plan_takes_less_than_90_seconds_from_nothing(tmp_path: Path):
    command = [sys.executable, "-c", "from gcbr.cli.app import entry_point; entry_point()", "bench", "smoke"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--out", str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (tmp_path / "smoke" / "report.html").is_file()
    # CPU seconds of the program and its workers: what a machine with nothing else to do takes at most.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 90


def test_a_broken_line_is_told_and_its_run_done_again(narrow, tmp_path: Path, capsys):
    out = tmp_path / "out"
    (out / "records").mkdir(parents=True)
    (out / "records" / "open.jsonl").write_text('{"run": {"data')
    assert bench(*narrow, "--strategies", "random", "--out", str(out)) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told == (
        'note: a broken line of the records is set aside, its run counts as not done: {"run": {"data'
    )
    assert len(Store(out / "records").read()) == 1


TRAINED = f"""
title = "trained"
datasets = ["{SYNTHETIC}"]
strategies = ["random", "mine"]
budgets = [6]
runs = 2
ours = ["mine"]
[trained]
mine = {{ method = "gcbr", episodes = 1, budget = 5, source = "{SYNTHETIC}" }}
"""


def test_policies_are_trained_first_and_other_plans_share_them_and_their_runs(tmp_path: Path, capsys):
    (tmp_path / "one.toml").write_text(TRAINED)
    (tmp_path / "other.toml").write_text(TRAINED.replace('mine"', 'ours"').replace("mine =", "ours ="))
    out = ["--out", str(tmp_path / "out")]
    assert bench(str(tmp_path / "one.toml"), *out) == 0
    assert f"policies to train first, into {tmp_path}/out/policies: 1" in capsys.readouterr().err
    before = list(Store(tmp_path / "out/records").read())
    assert bench(str(tmp_path / "other.toml"), "--json", *out) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # nothing to train, nothing to say
    assert list(Store(tmp_path / "out/records").read()) == before
    told = json.loads(shown.out)
    assert told["num_recorded"] == told["num_runs"] == 4
    assert told["report"] == str(tmp_path / "out/other/report.html")
    assert {cell["strategy"] for cell in told["cells"]} == {"random", "ours"}
    assert {(lead["strategy"], lead["baseline"], lead["num_pairs"]) for lead in told["leads"]} == {
        ("ours", "random", 2)
    }


def test_a_report_needs_nothing_but_the_records(narrow, tmp_path: Path, capsys):
    out = ["--out", str(tmp_path / "out")]
    assert bench(*narrow, *out) == 0
    page = tmp_path / "out/smoke/report.html"
    before = page.read_bytes()
    page.unlink()
    lines = list(Store(tmp_path / "out/records").read())
    assert bench(*narrow, "--report-only", *out) == 0
    assert page.read_bytes() == before
    assert list(Store(tmp_path / "out/records").read()) == lines
    capsys.readouterr()
    assert bench("table2", "--report-only", *out) == 2
    assert capsys.readouterr().err == f"gcbr: nothing of the plan is recorded in {tmp_path}/out\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["smok"], "unknown plan 'smok'; did you mean smoke?"),
        (["smoke", "--strategies", "sage"], "unknown strategy 'sage'"),
        (["smoke", "--datasets", "coral"], "unknown dataset 'coral'; did you mean cora?"),
        (["smoke", "--runs", "0"], "--runs"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, tmp_path: Path, capsys):
    assert bench(*arguments, "--out", str(tmp_path / "out")) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_time_left_goes_by_the_runs_most_alike(make_record):
    done = [make_record("random", 0), make_record("age", 0)]  # two seconds each
    left = [make_record("random", 1).run, make_record("gcbr", 1, dataset="pubmed").run]
    assert seconds_left(left, done, workers=1) == 4.0
    assert seconds_left(left, done, workers=2) == 2.0
    assert seconds_left(left, [], workers=1) is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.4, "4 s"), (89, "89 s"), (600, "10 min"), (11100, "3 h 05 min")]
)
def test_durations_read_well(seconds: float, text: str):
    assert duration(seconds) == text


def test_the_display_counts_what_is_done_running_and_left(make_record):
    runs = [make_record("random", seed) for seed in range(5)]
    shown = Display(runs[:1], [record.run for record in runs[1:]], workers=2)
    shown.done(runs[1].run, runs[1])
    (task,) = shown._progress.tasks
    assert task.fields["state"] == "2 done, 2 running, 1 left, 3 s to go"
    assert len(score_tables(runs)) == 1


def test_the_plan_in_the_manual_is_one():
    manual = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
    (text,) = re.findall(r"```toml\n(.*?)```", manual, re.DOTALL)
    plan = parse_plan(text, "docs/benchmarks.md")
    assert plan.trained["eager"].name == "gcbr++(alpha=0.9,eta=0.1,budget=70,episodes=500,seed=1)"
    assert {name for name in shipped_plans() if f"`{name}`" in manual} == set(shipped_plans())
