"""The project file: SQLite, append-only answers, numbered schema steps, open in one process at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from gcbr.errors import InputError

APPLICATION_ID = 0x67636272  # "gcbr", in the file's header: another program's database is not touched

GIVEN, LABEL, SECOND, SKIP, CORRECT, WITHDRAW, UNDO = (
    "given",  # came with a file of labels
    "label",
    "second",  # another person's opinion of a labeled node: it changes no label
    "skip",
    "correct",
    "withdraw",
    "undo",
)

# Each step runs once, in its own transaction, and is never edited afterwards: a change is a further step.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
        """CREATE TABLE answers (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at TEXT NOT NULL,
            annotator TEXT NOT NULL,
            node INTEGER NOT NULL,
            kind TEXT NOT NULL
                CHECK (kind IN ('given', 'label', 'second', 'skip', 'correct', 'withdraw', 'undo')),
            label TEXT CHECK ((label IS NOT NULL) = (kind IN ('given', 'label', 'second', 'correct'))),
            undoes INTEGER REFERENCES answers (id) CHECK ((undoes IS NOT NULL) = (kind = 'undo')),
            strategy TEXT NOT NULL,
            seed INTEGER NOT NULL,
            request TEXT NOT NULL UNIQUE
        ) STRICT""",
        *(
            f"""CREATE TRIGGER answers_no_{verb} BEFORE {verb} ON answers
            BEGIN SELECT RAISE(ABORT, 'answers are only ever added'); END"""
            for verb in ("UPDATE", "DELETE")
        ),
    ),
    (
        """CREATE TABLE moments (
            changes INTEGER PRIMARY KEY,
            given INTEGER NOT NULL,
            rho REAL NOT NULL,
            stability REAL,
            stop INTEGER NOT NULL CHECK (stop IN (0, 1))
        ) STRICT""",
    ),
)


class StorageError(InputError):
    """The file could not take what was to be written: nothing of it was kept."""


@dataclass(frozen=True)
class NewAnswer:
    """One row to be added."""

    annotator: str
    node: int
    kind: str
    request: str  # names the request: the same one sent again adds nothing
    label: str | None = None
    undoes: int | None = None


@dataclass(frozen=True)
class Answer:
    """One row of the file."""

    id: int
    at: str  # UTC, ISO 8601
    annotator: str
    node: int
    kind: str
    label: str | None
    undoes: int | None
    strategy: str
    seed: int
    request: str


@dataclass(frozen=True)
class Moment:
    """How the labeling stood once a learner had taken in so many changes."""

    changes: int
    given: int
    rho: float
    stability: float | None  # share of predictions that the last answer left as they were
    stop: bool  # whether stopping was advised


_COLUMNS = ", ".join(field.name for field in fields(Answer))


class Store:
    """The open file. Every method may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection = _connected(path)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def settings(self) -> dict[str, str]:
        with self._lock:
            return dict(self._connection.execute("SELECT key, value FROM settings"))

    def save_settings(self, settings: Mapping[str, str]) -> None:
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", settings.items())

    def answers(self) -> list[Answer]:
        with self._lock:
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM answers ORDER BY id").fetchall()
        return [Answer(*row) for row in rows]

    def answer_to(self, request: str) -> Answer | None:
        """The row that a request has already added."""
        with self._lock:
            row = self._connection.execute(
                f"SELECT {_COLUMNS} FROM answers WHERE request = ?", (request,)
            ).fetchone()
        return None if row is None else Answer(*row)

    def append(self, new: Iterable[NewAnswer], strategy: str, seed: int) -> list[Answer]:
        """Add rows, all or none of them; they are on the disk when this returns."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        added = []
        with self._transaction() as connection:
            for answer in new:
                values = (*astuple(answer), at, strategy, seed)
                cursor = connection.execute(
                    "INSERT INTO answers (annotator, node, kind, request, label, undoes, at, strategy, seed) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                )
                added.append(_added(cursor.lastrowid or 0, at, answer, strategy, seed))
        return added

    def moments(self) -> list[Moment]:
        with self._lock:
            rows = self._connection.execute(
                "SELECT changes, given, rho, stability, stop FROM moments ORDER BY changes"
            ).fetchall()
        return [
            Moment(changes, given, rho, stability, bool(stop))
            for changes, given, rho, stability, stop in rows
        ]

    def save_moment(self, moment: Moment) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO moments VALUES (?, ?, ?, ?, ?)", astuple(moment))

    def _prepare(self) -> None:
        try:
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")  # a commit survives a power cut as well
            self._connection.execute("PRAGMA fullfsync = ON")  # macOS alone needs to be told
            self._connection.execute("PRAGMA foreign_keys = ON")
            # The first write takes the lock; exclusive mode keeps it until the process ends, however it ends.
            self._connection.execute("BEGIN EXCLUSIVE")
            self._connection.execute("COMMIT")
            self._check_kind()
            self._migrate()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise InputError(
                    f"project '{self.path}' is open in another process; use the page that one has printed, "
                    "or stop it first"
                ) from error
            raise InputError(f"project '{self.path}' cannot be opened: {error}") from error
        except sqlite3.DatabaseError as error:
            raise InputError(f"'{self.path}' is not a project of gcbr: {error}") from error

    def _check_kind(self) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (num_tables,) = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if num_tables and application != APPLICATION_ID:
            raise InputError(
                f"'{self.path}' is a database of another program; name another file with --project"
            )

    def _migrate(self) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version > len(STEPS):
            raise InputError(
                f"project '{self.path}' was written by a newer gcbr (schema {version}, "
                f"this one knows {len(STEPS)}); update gcbr to open it"
            )
        for number, statements in enumerate(STEPS[version:], start=version + 1):
            with self._transaction() as connection:
                for statement in statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {number}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.IntegrityError:
                self._roll_back()
                raise
            except sqlite3.Error as error:
                self._roll_back()
                raise StorageError(
                    f"Nothing was saved: {self.path.name} could not be written ({error}). "
                    "Make room on the disk and try again; everything saved before is safe."
                ) from error
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _connected(path: Path) -> sqlite3.Connection:
    if not path.parent.is_dir():
        raise InputError(f"no folder '{path.parent}' for the project '{path.name}'")
    try:
        # Transactions are begun and ended by hand: the module's own would begin them late.
        return sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise InputError(f"project '{path}' cannot be opened: {error}") from error


def _added(row: int, at: str, new: NewAnswer, strategy: str, seed: int) -> Answer:
    return Answer(
        id=row,
        at=at,
        annotator=new.annotator,
        node=new.node,
        kind=new.kind,
        label=new.label,
        undoes=new.undoes,
        strategy=strategy,
        seed=seed,
        request=new.request,
    )
