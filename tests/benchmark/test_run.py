"""Doing what is missing: alone, in parallel, interrupted and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gcbr.benchmark import records
from gcbr.benchmark.plan import Agenda, agenda, parse_plan
from gcbr.benchmark.records import Cost, Record
from gcbr.benchmark.run import execute
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


def tiny(runs: int = 3, budget: int = 8) -> Agenda:
    return agenda(parse_plan(PLAN.format(runs=runs, budget=budget), "tiny"))


def without_cost(path: Path) -> dict[object, Record]:
    nothing = Cost(0.0, 0.0, 0.0)
    return {run: replace(record, cost=nothing) for run, record in records.read(path).records.items()}


def test_a_seed_gives_the_same_record_alone_and_in_parallel(tmp_path: Path):
    runs = tiny().runs
    heard: list[Record] = []
    execute(runs, tmp_path / "alone")
    execute(runs, tmp_path / "parallel", workers=2, on_done=heard.append)
    alone, parallel = without_cost(tmp_path / "alone"), without_cost(tmp_path / "parallel")
    assert alone == parallel
    assert set(alone) == set(runs) == {record.run for record in heard}


def test_a_record_says_what_was_chosen_and_what_it_cost(tmp_path: Path):
    run = tiny(runs=1).runs[0]
    execute([run], tmp_path / "r")
    record = records.read(tmp_path / "r").records[run]
    assert len(set(record.nodes)) == run.budget == sum(record.counts)
    assert [score.labels for score in record.curve] == list(range(1, 9))
    assert len(record.accuracy_per_class) == 3
    assert record.cost.cpu_seconds > 0
    assert record.cost.peak_megabytes > 1
    assert {"python", "gcbr", "torch"} <= set(record.origin.versions)


def test_an_error_of_a_worker_is_told_and_what_was_done_stays(tmp_path: Path):
    first, *others = tiny(runs=2).runs
    wrong = replace(others[0], strategy="sage")
    with pytest.raises(InputError, match="unknown strategy 'sage'"):
        execute([first, wrong], tmp_path / "r", workers=1)
    assert list(records.read(tmp_path / "r").records) == [first]


def test_killed_in_the_middle_and_started_again(tmp_path: Path):
    path, plan = slow_plan(tmp_path, runs=8)
    killed = start(plan, tmp_path)
    wait_for_lines(path, 2, killed)
    workers = children(killed.pid)
    killed.kill()
    killed.wait(10)
    kept = without_cost(path)
    assert 2 <= len(kept) < 8
    for worker in workers:
        wait_until_gone(worker)  # none goes on in secret

    again = start(plan, tmp_path)
    assert again.wait(60) == 0
    reading = records.read(path)
    assert reading.broken_lines == ()
    assert len(path.read_text().splitlines()) == len(reading.records) == 8  # none twice
    assert without_cost(path).items() >= kept.items()
    assert (tmp_path / "out" / "report.html").is_file()


def test_ctrl_c_stops_with_what_is_recorded(tmp_path: Path):
    path, plan = slow_plan(tmp_path, runs=40)
    interrupted = start(plan, tmp_path, stderr=subprocess.PIPE)
    wait_for_lines(path, 1, interrupted)
    workers = children(interrupted.pid)
    interrupted.send_signal(signal.SIGINT)
    _, told = interrupted.communicate(timeout=30)
    assert interrupted.returncode == 130
    num_kept = len(records.read(path).records)
    assert told.decode().splitlines() == [
        f"note: {num_kept} of 40 runs are recorded; the same command does the others",
        "gcbr: interrupted",
    ]
    for worker in workers:
        wait_until_gone(worker)


def slow_plan(folder: Path, runs: int) -> tuple[Path, Path]:
    """Runs of a fifth of a second at least; gives the file of records and the plan."""
    (folder / "slow.py").write_text(SLOW_STRATEGY)
    text = PLAN.format(runs=runs, budget=10).replace('"random", "age"', '"slow.py:Slow"')
    (folder / "plan.toml").write_text(text)
    return folder / "out" / "records.jsonl", folder / "plan.toml"


def start(plan: Path, folder: Path, stderr: int | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from gcbr.cli.app import entry_point; entry_point()"]
    return subprocess.Popen(
        [*command, "bench", str(plan), "--workers", "2", "--out", str(folder / "out")],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def wait_for_lines(path: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < number:
        assert process.poll() is None, "it ended too early"
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
