"""Doing what is missing: alone, in parallel, interrupted and killed."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gcbr.benchmark.agenda import agenda, load_sizes
from gcbr.benchmark.plan import parse_plan
from gcbr.benchmark.records import Cost, Record, Run
from gcbr.benchmark.run import execute, labelings
from gcbr.benchmark.store import Store
from gcbr.datasets import load_dataset
from gcbr.errors import InputError

PLAN = """
title = "tiny"
datasets = ["synthetic:nodes=200,classes=3,skew=4,seed=1"]
strategies = ["random", "age"]
budgets = [{budget}]
runs = {runs}
final_epochs = 10
"""

SLOW_STRATEGY = """
import time

class Slow:
    def __init__(self, graph, budget, rng):
        pass

    def select(self, view):
        time.sleep(0.02)
        return int(view.candidates[0])
"""


def tiny(runs: int = 3, budget: int = 8) -> tuple[Run, ...]:
    plan = parse_plan(PLAN.format(runs=runs, budget=budget), "tiny")
    sizes, _ = load_sizes(plan, lambda name, features: load_dataset(name, features=features))
    return agenda(plan, sizes, Path()).runs


def without_cost(folder: Path) -> dict[Run, Record]:
    nothing = Cost(0.0, 0.0, 0.0)
    return {run: replace(record, cost=nothing) for run, record in Store(folder).read().items()}


def num_lines(folder: Path) -> int:
    """Of all files: a run done twice would be two lines."""
    packed = sum(gzip.decompress(path.read_bytes()).count(b"\n") for path in folder.glob("*.gz"))
    appended = folder / "open.jsonl"
    return packed + (appended.read_bytes().count(b"\n") if appended.exists() else 0)


def test_a_seed_gives_the_same_record_alone_and_in_parallel(tmp_path: Path):
    runs = (*tiny(), *(replace(run, test="stratified") for run in tiny(runs=1)))
    heard: list[Record] = []
    assert execute(runs, Store(tmp_path / "alone")) == []
    assert execute(runs, Store(tmp_path / "parallel"), workers=2, on_done=heard.append) == []
    alone, parallel = without_cost(tmp_path / "alone"), without_cost(tmp_path / "parallel")
    assert alone == parallel
    assert set(alone) == set(runs) == {record.run for record in heard}


def test_a_record_says_what_was_chosen_and_what_it_cost(tmp_path: Path):
    run = tiny(runs=1)[0]
    execute([run], Store(tmp_path))
    record = Store(tmp_path).read()[run]
    assert len(set(record.nodes)) == run.budget == sum(record.counts)
    assert [score.labels for score in record.curve] == list(range(1, 9))
    assert len(record.accuracy_per_class) == 3
    assert record.cost.cpu_seconds > 0
    assert record.cost.peak_megabytes > 1
    assert {"python", "gcbr", "torch"} <= set(record.origin.versions)


def test_an_error_of_a_worker_is_told_and_what_was_done_stays(tmp_path: Path):
    first, *others = tiny(runs=2)
    wrong = replace(others[0], strategy="sage")
    with pytest.raises(InputError, match="unknown strategy 'sage'"):
        execute([first, wrong], Store(tmp_path), workers=1)
    assert list(Store(tmp_path).read()) == [first]


def test_runs_of_several_budgets_that_are_one_labeling_have_the_records_of_runs_alone(tmp_path: Path):
    by_budget = [run for budget in (3, 14, 8) for run in tiny(runs=2, budget=budget)]
    of_bandit = [replace(run, strategy="anrmab") for run in by_budget if run.strategy == "age"]
    assert [[run.budget for run in labeling] for labeling in labelings(by_budget, {})] == [[3, 8, 14]] * 4
    assert labelings(of_bandit, {}) == [[run] for run in of_bandit]  # its floor is set by the budget
    own = {("random", ""): Path("mine.safetensors"), ("age", ""): Path("mine.safetensors")}
    assert labelings(by_budget, own) == [[run] for run in by_budget]  # policies of one's own
    runs = by_budget + of_bandit
    execute(runs, Store(tmp_path / "together"))
    for run in runs:
        execute([run], Store(tmp_path / "alone"))
    assert without_cost(tmp_path / "together") == without_cost(tmp_path / "alone")
    assert all(record.cost.cpu_seconds > 0 for record in Store(tmp_path / "together").read().values())


def test_a_recorded_run_is_not_done_again(tmp_path: Path):
    runs = tiny(runs=2)
    execute(runs[:2], Store(tmp_path))
    heard: list[Record] = []
    assert execute(runs, Store(tmp_path), on_done=heard.append) == []
    assert [record.run for record in heard] == list(runs[2:])
    assert num_lines(tmp_path) == 4


def test_a_drawn_test_set_is_another_experiment(tmp_path: Path):
    fixed = tiny(runs=1)[0]
    drawn = replace(fixed, test="stratified")
    execute([fixed, drawn], Store(tmp_path))
    recorded = Store(tmp_path).read()
    test = set(load_dataset(fixed.dataset).test.tolist())
    assert test.isdisjoint(recorded[fixed].nodes)
    assert not test.isdisjoint(recorded[drawn].nodes)  # some of those are candidates now


def test_killed_in_the_middle_and_started_again(tmp_path: Path):
    folder, plan = slow_plan(tmp_path, runs=8)
    killed = start(plan, tmp_path)
    wait_for_lines(folder, 2, killed)
    workers = children(killed.pid)
    killed.kill()
    killed.wait(10)
    kept = without_cost(folder)
    assert 2 <= len(kept) < 8
    for worker in workers:
        wait_until_gone(worker)  # none goes on in secret

    again = start(plan, tmp_path)
    assert again.wait(240) == 0
    assert num_lines(folder) == len(Store(folder).read()) == 8  # none lost, none twice
    assert not (folder / "broken.txt").exists()
    assert without_cost(folder).items() >= kept.items()
    assert (tmp_path / "out" / "plan" / "report.html").is_file()


def test_two_processes_share_a_plan_and_one_goes_on_when_the_other_is_killed(tmp_path: Path):
    folder, plan = slow_plan(tmp_path, runs=24)
    one, other = start(plan, tmp_path), start(plan, tmp_path)
    wait_for_lines(folder, 6, one, other)
    assert {len(children(process.pid)) >= 2 for process in (one, other)} == {True}
    one.kill()
    one.wait(10)
    assert other.wait(240) == 0
    assert num_lines(folder) == len(Store(folder).read()) == 24


def test_ctrl_c_stops_with_what_is_recorded(tmp_path: Path):
    folder, plan = slow_plan(tmp_path, runs=40)
    interrupted = start(plan, tmp_path, stderr=subprocess.PIPE)
    wait_for_lines(folder, 1, interrupted)
    workers = children(interrupted.pid)
    interrupted.send_signal(signal.SIGINT)
    _, told = interrupted.communicate(timeout=120)
    assert interrupted.returncode == 130
    num_kept = len(Store(folder).read())
    assert told.decode().splitlines() == [
        f"note: {num_kept} of 40 runs are recorded; the same command does the others",
        "gcbr: interrupted",
    ]
    for worker in workers:
        wait_until_gone(worker)


def slow_plan(folder: Path, runs: int) -> tuple[Path, Path]:
    """Runs of a fifth of a second at least; gives the folder of records and the plan."""
    (folder / "slow.py").write_text(SLOW_STRATEGY)
    text = PLAN.format(runs=runs, budget=10).replace('"random", "age"', '"slow.py:Slow"')
    (folder / "plan.toml").write_text(text)
    return folder / "out" / "records", folder / "plan.toml"


def start(plan: Path, folder: Path, stderr: int | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from gcbr.cli.app import entry_point; entry_point()"]
    return subprocess.Popen(
        [*command, "bench", str(plan), "--workers", "2", "--out", str(folder / "out")],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=hear_interrupts,
    )


def hear_interrupts() -> None:
    """A shell that starts the tests in the background has them, and all they start, ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for_lines(folder: Path, number: int, *processes: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 240
    while num_lines(folder) < number:
        assert all(process.poll() is None for process in processes), "it ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """The processes that `pid` started and that are at work."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == pid:
                found.append(int(folder.name))
    return found


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    stat = Path(f"/proc/{pid}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.05)


def test_another_classifier_is_another_experiment(tmp_path: Path):
    usual = tiny(runs=1)[0]
    authors = replace(usual, classifier="authors")
    execute([usual, authors], Store(tmp_path))
    found = Store(tmp_path).read()
    assert found[usual].nodes == found[authors].nodes  # both at random, by the same seed
    assert found[usual].curve != found[authors].curve
