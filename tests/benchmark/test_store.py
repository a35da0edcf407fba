"""Records survive whatever happens to the processes that write, pack and read them."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from gcbr.benchmark import records, store
from gcbr.benchmark.records import Record
from gcbr.benchmark.store import Claims, Store

APPEND_200 = """
import sys
from dataclasses import replace
from pathlib import Path
from gcbr.benchmark import records
from gcbr.benchmark.store import Store

store, strategy = Store(Path(sys.argv[1])), sys.argv[2]
template = records.from_line(sys.stdin.read())
for seed in range(200):
    store.append(replace(template, run=replace(template.run, strategy=strategy, seed=seed)))
    if seed % 50 == 49:
        store.pack()
"""

CLAIM = """
import sys, time
from pathlib import Path
from gcbr.benchmark.store import Claims

with Claims(Path(sys.argv[1])) as claims:
    print(claims.take("a run"), flush=True)
    time.sleep(60)
"""


def fill(folder: Path, written: list[Record]) -> Store:
    filled = Store(folder)
    for record in written:
        filled.append(record)
    return filled


def open_lines(folder: Path) -> int:
    return (folder / "open.jsonl").read_bytes().count(b"\n")


def test_records_are_read_as_they_were_written(tmp_path: Path, make_record):
    written = [make_record("random", 0, 0.7), make_record("age", 1, 0.25)]
    filled = fill(tmp_path / "new folder", written)
    assert list(filled.read().values()) == written
    assert list(Store(tmp_path / "new folder").read().values()) == written


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path):
    empty = Store(tmp_path / "none")
    assert empty.read() == {}
    assert empty.pack() == []
    assert not (tmp_path / "none").exists()


def test_packed_records_are_the_same_and_compressed(tmp_path: Path, make_record):
    written = [make_record("random", seed) for seed in range(6)]
    filled = fill(tmp_path, written[:3])
    reader = Store(tmp_path)
    reader.read()
    filled.pack()
    assert open_lines(tmp_path) == 0
    before = (tmp_path / "001.jsonl.gz").read_bytes()
    assert gzip.decompress(before).count(b"\n") == 3
    filled.append(written[3])
    assert list(reader.read().values()) == written[:4]  # one that had read them before
    filled.pack()
    fill(tmp_path, written[4:])
    assert list(reader.read().values()) == written
    assert list(Store(tmp_path).read().values()) == written
    assert (tmp_path / "001.jsonl.gz").read_bytes().startswith(before)  # it only grew


def test_a_full_part_is_followed_by_the_next(tmp_path: Path, make_record, monkeypatch):
    monkeypatch.setattr(store, "_LARGEST_PART", 100)
    written = [make_record("random", seed) for seed in range(3)]
    for record in written:
        fill(tmp_path, [record]).pack()
    assert sorted(path.name for path in tmp_path.glob("*.gz")) == [f"00{n}.jsonl.gz" for n in (1, 2, 3)]
    assert list(Store(tmp_path).read().values()) == written


def test_killed_between_compressing_and_clearing_counts_nothing_twice(tmp_path: Path, make_record):
    written = [make_record("random", seed) for seed in range(3)]
    filled = fill(tmp_path, written)
    content = (tmp_path / "open.jsonl").read_bytes()
    filled.pack()
    (tmp_path / "open.jsonl").write_bytes(content)
    assert list(Store(tmp_path).read().values()) == written


def test_a_cut_line_is_set_aside_and_the_next_starts_anew(tmp_path: Path, make_record):
    first, cut, last = (make_record("random", seed) for seed in range(3))
    reader = fill(tmp_path, [first])
    with (tmp_path / "open.jsonl").open("ab") as file:
        # In the middle of a letter of three bytes, as a crash may.
        file.write(records.to_line(cut).encode().partition("\u6f22".encode())[0] + b"\xe6")
    assert list(reader.read().values()) == [first]
    fill(tmp_path, [last])
    assert list(reader.read().values()) == [first, last]
    (broken,) = reader.pack()
    assert broken.startswith('{"run":{"dataset":"citeseer"')
    assert (tmp_path / "broken.txt").read_text() == f"{broken}\n"
    assert reader.pack() == []  # told once
    fill(tmp_path, [cut])
    assert list(reader.read().values()) == [first, last, cut]


def test_json_that_is_no_record_is_set_aside_too(tmp_path: Path):
    (tmp_path / "open.jsonl").write_text('{"run": {}}\n[1]\n3\n\n')
    assert Store(tmp_path).pack() == ['{"run": {}}', "[1]", "3"]


def test_of_two_equal_runs_the_first_counts(tmp_path: Path, make_record):
    first, second = make_record("random", 0, 0.1), make_record("random", 0, 0.9)
    assert list(fill(tmp_path, [first, second]).read().values()) == [first]


def test_two_processes_append_and_pack_while_a_third_reads(tmp_path: Path, make_record):
    # Lines longer than a pipe or a page takes at once.
    template = replace(make_record("random", 0), nodes=tuple(range(3000)))
    writers = [_writer(tmp_path, name) for name in ("one", "two")]
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(records.to_line(template))
        writer.stdin.close()
    reader, sizes = Store(tmp_path), [0]
    while any(writer.poll() is None for writer in writers):
        sizes.append(len(reader.read()))
        time.sleep(0.01)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert sizes == sorted(sizes)
    everything = {(name, seed) for name in ("one", "two") for seed in range(200)}
    for read in (reader.read(), Store(tmp_path).read()):
        assert {(run.strategy, run.seed) for run in read} == everything
        assert all(replace(record, run=template.run) == template for record in read.values())
    packed = b"".join(gzip.decompress(path.read_bytes()) for path in tmp_path.glob("*.gz"))
    assert packed.count(b"\n") + open_lines(tmp_path) == 400
    assert not (tmp_path / "broken.txt").exists()


def test_what_one_process_claims_no_other_gets_until_it_is_killed(tmp_path: Path):
    path = tmp_path / "folder" / ".claims"
    holder = subprocess.Popen([sys.executable, "-c", CLAIM, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "True\n"
    with Claims(path) as claims:
        assert not claims.take("a run")
        assert claims.take("another run")
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
        holder.stdout.close()
        assert claims.take("a run")


def _writer(folder: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", APPEND_200, str(folder), name],
        stdin=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
