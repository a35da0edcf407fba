"""The project file: rows that only grow, steps of the schema, one process at a time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gcbr.annotate import store as store_module
from gcbr.annotate.store import LABEL, SKIP, UNDO, Moment, NewAnswer, Store
from gcbr.errors import InputError


def rows_of(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_what_is_appended_is_there_on_reopening(tmp_path: Path) -> None:
    path = tmp_path / "p.gcbr"
    with Store(path) as store:
        (first,) = store.append([NewAnswer("Ada", 3, LABEL, "r-1", "spider")], "gcbr++", 7)
        store.append(
            [NewAnswer("Bob", 4, SKIP, "r-2"), NewAnswer("Ada", 3, UNDO, "r-3", undoes=first.id)], "age", 8
        )
    with Store(path) as store:
        rows = store.answers()
    assert [(row.id, row.annotator, row.node, row.kind, row.label, row.undoes) for row in rows] == [
        (1, "Ada", 3, "label", "spider", None),
        (2, "Bob", 4, "skip", None, None),
        (3, "Ada", 3, "undo", None, 1),
    ]
    assert [(row.strategy, row.seed) for row in rows] == [("gcbr++", 7), ("age", 8), ("age", 8)]
    assert rows[0].at.endswith("+00:00")


def test_the_file_is_in_wal_mode_and_syncs_every_commit(tmp_path: Path) -> None:
    with Store(tmp_path / "p.gcbr") as store:
        pragma = {
            name: store._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "locking_mode")
        }
    assert pragma == {"journal_mode": "wal", "synchronous": 2, "locking_mode": "exclusive"}


@pytest.mark.parametrize("change", ["UPDATE answers SET label = 'fly'", "DELETE FROM answers"])
def test_rows_can_be_neither_changed_nor_removed(tmp_path: Path, change: str) -> None:
    path = tmp_path / "p.gcbr"
    with Store(path) as store:
        store.append([NewAnswer("Ada", 3, LABEL, "r-1", "spider")], "gcbr++", 0)
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
        connection.execute(change)
    connection.close()


def test_of_several_rows_all_are_added_or_none(tmp_path: Path) -> None:
    with Store(tmp_path / "p.gcbr") as store:
        store.append([NewAnswer("Ada", 3, LABEL, "r-1", "spider")], "gcbr++", 0)
        with pytest.raises(sqlite3.IntegrityError):
            store.append([NewAnswer("Ada", 4, SKIP, "r-2"), NewAnswer("Ada", 5, SKIP, "r-1")], "gcbr++", 0)
        assert [row.request for row in store.answers()] == ["r-1"]


def test_a_second_process_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "p.gcbr"
    code = (
        "import sys; from pathlib import Path; from gcbr.annotate.store import Store\n"
        "try: Store(Path(sys.argv[1]))\n"
        "except ValueError as error: print(error)\n"
        "else: print('opened')"
    )
    command = [sys.executable, "-c", code, str(path)]
    with Store(path):
        refused = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "is open in another process" in refused
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "opened\n"


def test_steps_of_the_schema_are_applied_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "p.gcbr", store_module.STEPS
    monkeypatch.setattr(store_module, "STEPS", steps[:1])
    with Store(path) as store:
        store.append([NewAnswer("Ada", 3, LABEL, "r-1", "spider")], "gcbr++", 0)
    assert rows_of(path, "PRAGMA user_version") == [(1,)]
    monkeypatch.setattr(store_module, "STEPS", steps)
    with Store(path) as store:
        store.save_moment(Moment(1, 1, 0.5, None, False))
        assert store.moments() == [Moment(1, 1, 0.5, None, False)]
        assert len(store.answers()) == 1
    assert rows_of(path, "PRAGMA user_version") == [(len(steps),)]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.gcbr"
    with Store(path) as store:
        store.append([NewAnswer("Ada", 3, LABEL, "r-1", "spider")], "gcbr++", 0)
    broken = (*store_module.STEPS, ("CREATE TABLE half (id INTEGER) STRICT", "NOT SQL"))
    monkeypatch.setattr(store_module, "STEPS", broken)
    with pytest.raises(InputError, match="NOT"):
        Store(path)
    monkeypatch.undo()
    with Store(path) as store:
        assert len(store.answers()) == 1
    assert rows_of(path, "SELECT name FROM sqlite_schema WHERE name = 'half'") == []


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.gcbr"
    monkeypatch.setattr(
        store_module, "STEPS", (*store_module.STEPS, ("CREATE TABLE later (id INTEGER) STRICT",))
    )
    Store(path).close()
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"newer gcbr \(schema 3, this one knows 2\)"):
        Store(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be looked at " * 50)
    with pytest.raises(InputError, match="is not a project of gcbr"):
        Store(text)
    foreign = tmp_path / "other.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE things (id INTEGER)")
    connection.close()
    with pytest.raises(InputError, match="database of another program"):
        Store(foreign)
    with pytest.raises(InputError, match="no folder"):
        Store(tmp_path / "missing" / "p.gcbr")
    assert rows_of(foreign, "SELECT name FROM sqlite_schema") == [("things",)]
