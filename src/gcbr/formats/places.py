"""Where in a text file a record stands: looked for only when there is something wrong with it.

A record may run over several lines inside quotes: it ends where the number of quotes so far is even.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcbr.errors import InputError

_CHUNK = 1 << 24  # bytes decoded at once: the text of a large file takes up to four times its size

Positions = npt.NDArray[np.int64]


def decoded(content: bytes, origin: str) -> str:
    """The text of a file that is small enough to hold twice."""
    check_encoding(content, origin)
    return content.decode("utf-8-sig")


def check_encoding(content: bytes, origin: str) -> None:
    """Refuse what is empty or not UTF-8, with the place of the first byte that is not."""
    if not content or content.isspace():
        raise InputError(f"{origin} is empty; expected a graph")
    if content.isascii():
        return
    start = 0
    while start < len(content):
        newline = content.find(b"\n", start + _CHUNK)
        end = len(content) if newline < 0 else newline + 1
        try:
            content[start:end].decode("utf-8")
        except UnicodeDecodeError as error:
            offset = start + error.start
            raise InputError(
                f"{origin}, line {content.count(10, 0, offset) + 1}: byte {offset} (0x{content[offset]:02x}) "
                "is not UTF-8; save the file as UTF-8"
            ) from error
        start = end


def line_of(content: bytes, record: int) -> int:
    """The line, counted from 1, on which this record below the header begins; records count from 0."""
    return int(_last_lines(content)[record]) + 2


def crowded_record(content: bytes, separator: str, num_fields: int) -> tuple[int, int] | None:
    """The first line with more fields than `num_fields`, and how many it has."""
    buffer = np.frombuffer(content, np.uint8)
    separators = _unquoted(buffer, _places(buffer, separator))
    ends = _unquoted(buffer, _places(buffer, "\n"))
    if not content.endswith(b"\n"):
        ends = np.append(ends, len(buffer))
    counts = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
    crowded = np.flatnonzero(counts > num_fields)
    if not len(crowded):
        return None
    first = int(crowded[0])
    return (1 if first == 0 else line_of(content, first - 1)), int(counts[first])


def open_quote(content: bytes) -> int | None:
    """The line of the record whose quotes are never closed."""
    if content.count(b'"') % 2 == 0:
        return None
    last_lines = _last_lines(content)
    return int(last_lines[-1]) + 2 if len(last_lines) else 1


def _last_lines(content: bytes) -> Positions:
    """Of each record, the header included, the number of its last line, counted from 0."""
    buffer = np.frombuffer(content, np.uint8)
    newlines = _places(buffer, "\n")
    last_lines: Positions = np.flatnonzero(_num_quotes(buffer, newlines) % 2 == 0)
    return last_lines


def _unquoted(buffer: npt.NDArray[np.uint8], positions: Positions) -> Positions:
    unquoted: Positions = positions[_num_quotes(buffer, positions) % 2 == 0]
    return unquoted


def _num_quotes(buffer: npt.NDArray[np.uint8], positions: Positions) -> Positions:
    counts: Positions = np.searchsorted(_places(buffer, '"'), positions)
    return counts


def _places(buffer: npt.NDArray[np.uint8], character: str) -> Positions:
    return np.flatnonzero(buffer == ord(character))
