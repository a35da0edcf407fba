"""One line for each run, whatever happens to the processes that write them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from gcbr.benchmark import records
from gcbr.benchmark.records import Record

APPEND_200 = """
import sys
from dataclasses import replace
from pathlib import Path
from gcbr.benchmark import records

path, strategy = Path(sys.argv[1]), sys.argv[2]
template = records.from_line(sys.stdin.read())
print("ready", flush=True)
for seed in range(200):
    records.append(path, replace(template, run=replace(template.run, strategy=strategy, seed=seed)))
"""


def test_a_record_is_read_as_it_was_written(tmp_path: Path, make_record):
    written = [make_record("random", 0, 0.7), make_record("age", 1, 0.25)]
    for record in written:
        records.append(tmp_path / "new folder" / "r.jsonl", record)
    reading = records.read(tmp_path / "new folder" / "r.jsonl")
    assert list(reading.records.values()) == written
    assert reading.broken_lines == ()


def test_a_line_is_json_with_the_key_first(make_record):
    document = json.loads(records.to_line(make_record("age", 3)))
    assert next(iter(document)) == "run"
    assert document["run"] == {
        "dataset": "citeseer",
        "strategy": "age",
        "fingerprint": "",
        "budget": 4,
        "seed": 3,
        "features": "paper",
        "final_epochs": 100,
    }
    assert document["accuracy_per_class"] == [1.0, None, 0.25]
    assert document["curve"]["labels"] == [2, 4]


def test_a_file_that_is_not_there_holds_nothing(tmp_path: Path):
    assert records.read(tmp_path / "none").records == {}


def test_what_is_recorded_is_not_missing(tmp_path: Path, make_record):
    done, other = make_record("random", 0), make_record("random", 1)
    records.append(tmp_path / "r", done)
    reading = records.read(tmp_path / "r")
    assert records.missing([done.run, other.run, other.run], reading) == [other.run]
    assert records.of_runs([other.run, done.run], reading) == [done]


def test_a_cut_line_is_set_aside_and_the_next_starts_anew(tmp_path: Path, make_record):
    path = tmp_path / "r"
    first, cut, last = (make_record("random", seed) for seed in range(3))
    records.append(path, first)
    with path.open("ab") as file:
        # In the middle of a letter of three bytes, as a crash may.
        file.write(records.to_line(cut).encode().partition("\u6f22".encode())[0] + b"\xe6")
    records.append(path, last)
    reading = records.read(path)
    assert list(reading.records.values()) == [first, last]
    assert reading.broken_lines == (2,)


def test_json_that_is_no_record_is_set_aside_too(tmp_path: Path, make_record):
    (tmp_path / "r").write_text('{"run": {}}\n[1]\n3\n\n')
    assert records.read(tmp_path / "r").broken_lines == (1, 2, 3)


def test_of_two_equal_runs_the_first_counts(tmp_path: Path, make_record):
    first, second = make_record("random", 0, 0.1), make_record("random", 0, 0.9)
    for record in (first, second):
        records.append(tmp_path / "r", record)
    assert list(records.read(tmp_path / "r").records.values()) == [first]


def test_two_processes_append_to_one_file(tmp_path: Path, make_record):
    path = tmp_path / "r.jsonl"
    # Lines longer than a pipe or a page takes at once.
    template = replace(make_record("random", 0), nodes=tuple(range(3000)))
    writers = [_writer(path, name) for name in ("one", "two")]
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(records.to_line(template))
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0, 0]
    for writer in writers:
        assert writer.stdout
        writer.stdout.close()
    reading = records.read(path)
    assert reading.broken_lines == ()
    assert {(run.strategy, run.seed) for run in reading.records} == {
        (name, seed) for name in ("one", "two") for seed in range(200)
    }
    assert path.read_bytes().count(b"\n") == 400
    assert all(_same_but_key(record, template) for record in reading.records.values())


def _writer(path: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", APPEND_200, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def _same_but_key(record: Record, template: Record) -> bool:
    return replace(record, run=template.run) == template
