"""A folder of records that any number of plans and processes share.

Processes append lines to `open.jsonl`; `pack` moves what has gathered there into numbered, compressed parts
of a size that a repository takes, each of which only ever grows at its end. A line that a crash cut short is
set aside; its run counts as not done.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Self

from gcbr.benchmark.records import Record, Run, from_line, to_line
from gcbr.files import write_atomically

_LINES_AT_ONCE = 400  # compressed together
_LARGEST_PART = 1_200_000  # bytes; another `_LINES_AT_ONCE` lines more stay below 2 MB
_BROKEN = "broken.txt"


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = folder / "open.jsonl"
        self._records: dict[Run, Record] = {}
        self._sizes: dict[Path, int] = {}  # of each file as far as it has been read

    def read(self) -> Mapping[Run, Record]:
        """All records, the first of two equal runs; reads no more than what is new since the last time."""
        with _opened(self._open, os.O_RDONLY, fcntl.LOCK_SH) as descriptor:
            packed = {path: path.stat().st_size for path in [*self._parts(), *self._aside()]}
            if packed != {path: size for path, size in self._sizes.items() if path != self._open}:
                self._sizes.pop(self._open, None)  # packed meanwhile: it began anew
            for path in self._parts():
                if packed[path] != self._sizes.get(path, 0):
                    # Parts grow by whole gzip members, so what is new can be read by itself.
                    self._take(gzip.decompress(path.read_bytes()[self._sizes.get(path, 0) :]))
            self._sizes |= packed
            if descriptor is not None:
                content = _content(descriptor, self._sizes.get(self._open, 0))
                self._take(content)
                self._sizes[self._open] = self._sizes.get(self._open, 0) + len(content)
        return MappingProxyType(self._records)

    def append(self, record: Record) -> None:
        """Add a line: whole, on a line of its own, and on the disk when this returns."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with _opened(self._open, os.O_RDWR | os.O_CREAT | os.O_APPEND, fcntl.LOCK_EX) as descriptor:
            assert descriptor is not None
            # After a crash the last line may have no end; what is cut stays a line by itself.
            start = "" if _ends_a_line(descriptor) else "\n"
            content = f"{start}{to_line(record)}\n".encode()
            if os.write(descriptor, content) != len(content):
                raise OSError(f"'{self._open}' took a part of a line only; is the disk full?")
            os.fsync(descriptor)

    def pack(self) -> list[str]:
        """Compress what was appended; gives the lines that are no records, set aside in `broken.txt`."""
        # Killed at any moment, a line is in one place or in both, never in none.
        with _opened(self._open, os.O_RDWR, fcntl.LOCK_EX) as descriptor:
            lines = [] if descriptor is None else _lines(_content(descriptor, 0))
            whole = [line for line in lines if _parsed(line) is not None]
            broken = [line for line in lines if _parsed(line) is None]
            for start in range(0, len(whole), _LINES_AT_ONCE):
                self._add_to_parts(whole[start : start + _LINES_AT_ONCE])
            if broken:
                before = [line for path in self._aside() for line in path.read_text("utf-8").split("\n")[:-1]]
                write_atomically(self.folder / _BROKEN, _text([*before, *broken]).encode())
            if descriptor is not None:
                os.ftruncate(descriptor, 0)
        return broken

    def _add_to_parts(self, lines: Sequence[str]) -> None:
        parts = self._parts()
        number, before = len(parts), parts[-1].read_bytes() if parts else b""
        if not parts or len(before) > _LARGEST_PART:
            number, before = len(parts) + 1, b""
        member = gzip.compress(_text(lines).encode(), mtime=0)
        write_atomically(self.folder / f"{number:03d}.jsonl.gz", before + member)

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.jsonl.gz"))

    def _aside(self) -> list[Path]:
        return sorted(self.folder.glob(_BROKEN))

    def _take(self, content: bytes) -> None:
        for line in _lines(content):
            record = _parsed(line)
            if record is not None:
                self._records.setdefault(record.run, record)


class Claims:
    """Which process is at what. The system gives up the claims of a process that ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def take(self, name: object) -> bool:
        """Claim what is called `name`, until this is closed; False if another process has it."""
        # One byte of an empty file for each name: locks need no bytes to be there.
        digest = hashlib.sha256(str(name).encode()).digest()
        place = int.from_bytes(digest[:8], "big") >> 2
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except BlockingIOError:
            return False
        return True


def _parsed(line: str) -> Record | None:
    try:
        return from_line(line)
    except (ValueError, KeyError, TypeError):
        return None


def _lines(content: bytes) -> list[str]:
    # Only a line feed ends a line: class names may hold letters that `splitlines` takes for ends.
    return [line for line in content.decode("utf-8", errors="replace").split("\n") if line.strip()]


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _content(descriptor: int, start: int) -> bytes:
    """From `start` to the end."""
    return os.pread(descriptor, os.fstat(descriptor).st_size - start, start)


def _ends_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


@contextmanager
def _opened(path: Path, flags: int, lock: int) -> Iterator[int | None]:
    """The open file while it is locked; None if there is none."""
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileNotFoundError:
        yield None
        return
    try:
        fcntl.flock(descriptor, lock)
        yield descriptor
    finally:
        os.close(descriptor)
