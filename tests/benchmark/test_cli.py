"""`gcbr bench` as a person types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcbr.benchmark import records
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
    lines = (tmp_path / "bench/smoke/records.jsonl").read_text().splitlines()
    assert [records.from_line(line).run.strategy for line in lines] == ["random", "pagerank"]
    page = (tmp_path / "bench/smoke/report.html").read_text()
    assert f"gcbr bench smoke --runs 1 --datasets {SYNTHETIC} --strategies random,pagerank" in page


def test_a_broken_line_is_told_and_its_run_done_again(narrow, tmp_path: Path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "records.jsonl").write_text('{"run": {"data')
    assert bench(*narrow, "--strategies", "random", "--out", str(out)) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told == f"note: line 1 of {out}/records.jsonl is broken and set aside; its run counts as not done"
    assert len(records.read(out / "records.jsonl").records) == 1


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
    shown.done(runs[1])
    (task,) = shown._progress.tasks
    assert task.fields["state"] == "2 done, 2 running, 1 left, 3 s to go"
    assert len(score_tables(runs)) == 1
