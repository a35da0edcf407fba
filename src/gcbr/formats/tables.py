"""Graphs as tables: one of edges (source, target, weight) and one of nodes (id and any columns)."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.formats import places
from gcbr.formats.assembly import Edges, Parsed

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*SEPARATORS, ".parquet")

SOURCE_COLUMNS = ("source", "src", "from")
TARGET_COLUMNS = ("target", "dst", "to")
ID_COLUMNS = ("id", "node")


@dataclass(frozen=True, eq=False)
class Table:
    """A table and the way back from its rows to the file."""

    origin: str
    frame: pl.DataFrame
    rows: npt.NDArray[np.int64] | None  # where rows without anything were left out, the number each row had
    content: bytes | None  # None: a binary file, whose rows have no lines

    def place(self, row: int) -> str:
        record = row if self.rows is None else int(self.rows[row])
        if self.content is None:
            return f"{self.origin}, row {record + 1}"
        return f"{self.origin}, line {places.line_of(self.content, record)}"

    def column(self, names: tuple[str, ...], meaning: str) -> str:
        found = [name for name in self.frame.columns if name.strip().lower() in names]
        if len(found) != 1:
            problem = f"columns {' and '.join(found)} may both be" if found else "no column is"
            raise InputError(
                f"{self.origin}: {problem} {meaning}; expected one called {' or '.join(names)}, "
                f"and the columns are: {', '.join(self.frame.columns)}"
            )
        return found[0]


def find_tables(folder: Path) -> tuple[Path, Path | None]:
    """The tables of edges and of nodes in a folder."""
    return _only(folder, "edges", is_needed=True) or folder, _only(folder, "nodes", is_needed=False)


def parse_tables(name: str, edges: Path, nodes: Path | None) -> Parsed:
    edge_table = read_table(edges)
    node_table = None if nodes is None else read_table(nodes)
    source = edge_table.column(SOURCE_COLUMNS, "where an edge starts")
    target = edge_table.column(TARGET_COLUMNS, "where an edge ends")
    notes = ("edges were read without direction", *_ignored(edge_table, {source, target, "weight"}))
    ends = [ids_of(edge_table, column) for column in (source, target)]
    weights = _weights(edge_table)
    place: Callable[[int], str] = _nowhere
    if node_table is None:
        node_ids, attributes = _seen_ids(ends), None
    else:
        id_column = node_table.column(ID_COLUMNS, "the name of a node")
        node_ids, place = _unique_ids(node_table, id_column), node_table.place
        attributes = node_table.frame.drop(id_column)
    missing_from = f"{edges.name}" if node_table is None else node_table.origin
    numbers = [_numbered(edge_table, column, node_ids, missing_from) for column in ends]
    return Parsed(
        name=name,
        edges=Edges(numbers[0], numbers[1], weights),
        num_nodes=len(node_ids),
        node_names=node_ids.to_list(),
        place=place,
        attributes=attributes,
        notes=notes,
    )


def read_table(path: Path) -> Table:
    import polars as pl

    if path.suffix.lower() == ".parquet":
        try:
            return _without_blanks(Table(path.name, pl.read_parquet(path), None, None))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{path.name} is not a Parquet file: {_first_line(error)}") from error
    separator = SEPARATORS[path.suffix.lower()]
    content = path.read_bytes()
    places.check_encoding(content, path.name)
    try:
        # Everything as text: an id like 007 keeps its zeros, and what is a number is decided by column later.
        frame = pl.read_csv(content, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise _csv_error(path.name, content, separator, error) from error
    _check_header(path.name, frame)
    return _without_blanks(Table(path.name, frame, None, content))


def write_tables(folder: Path, edges: pl.DataFrame, nodes: pl.DataFrame, suffix: str) -> None:
    """Both tables into a folder; each is whole or not there."""
    for name, frame in (("nodes", nodes), ("edges", edges)):
        buffer = io.BytesIO()
        if suffix == ".parquet":
            frame.write_parquet(buffer)
        else:
            frame.write_csv(buffer, separator=SEPARATORS[suffix])
        write_atomically(folder / f"{name}{suffix}", buffer.getvalue())


def _only(folder: Path, stem: str, *, is_needed: bool) -> Path | None:
    found = [folder / f"{stem}{suffix}" for suffix in SUFFIXES if (folder / f"{stem}{suffix}").is_file()]
    if len(found) > 1:
        raise InputError(
            f"{folder} has {' and '.join(path.name for path in found)}; keep the one that is meant"
        )
    if is_needed and not found:
        names = " or ".join(f"{stem}{suffix}" for suffix in SUFFIXES)
        raise InputError(f"{folder} has no table of edges; expected {names} in it")
    return found[0] if found else None


def _csv_error(origin: str, content: bytes, separator: str, error: Exception) -> InputError:
    header = content[: content.find(b"\n")] if b"\n" in content else content
    open_line = places.open_quote(content)
    if open_line is not None:
        return InputError(f"{origin}, line {open_line}: a quote is opened and never closed")
    crowded = places.crowded_record(content, separator, header.count(separator.encode()) + 1)
    if crowded is not None:
        line, num_fields = crowded
        expected = header.count(separator.encode()) + 1
        return InputError(
            f"{origin}, line {line}: {num_fields} fields; expected {expected} as in the first line"
        )
    return InputError(f"{origin} is not a table: {_first_line(error)}")


def _check_header(origin: str, frame: pl.DataFrame) -> None:
    for name in frame.columns:
        twice = re.fullmatch(r"(.*)_duplicated_\d+", name)
        if twice and twice[1] in frame.columns:
            raise InputError(f"{origin}, line 1: two columns are called '{twice[1]}'")


def _without_blanks(table: Table) -> Table:
    import polars as pl

    frame = table.frame
    if not frame.width or not frame.height or frame[:, 0].null_count() == 0:
        return table
    is_kept = frame.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    return Table(table.origin, frame.filter(is_kept), is_kept.arg_true().to_numpy(), table.content)


def _weights(table: Table) -> npt.NDArray[np.float32] | None:
    import polars as pl

    named = [name for name in table.frame.columns if name.strip().lower() == "weight"]
    if not named:
        return None
    column = table.frame[named[0]]
    numbers = column.str.strip_chars() if column.dtype == pl.String else column
    numbers = numbers.cast(pl.Float64, strict=False)
    if numbers.null_count():
        row = int(numbers.is_null().arg_true()[0])
        raise _weight_error(table.place(row), column[row])
    with np.errstate(over="ignore"):
        weights = numbers.to_numpy().astype(np.float32)
    is_wrong = ~np.isfinite(weights) | (weights < 0)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise _weight_error(table.place(row), column[row])
    return weights


def _weight_error(place: str, given: object) -> InputError:
    what = "empty" if given in (None, "") else f"'{given}'"
    return InputError(f"{place}: the weight is {what}; expected a finite number, 0 or more")


def _ignored(table: Table, used: set[str]) -> tuple[str, ...]:
    others = [name for name in table.frame.columns if name not in used and name.strip().lower() != "weight"]
    return (f"{table.origin}: columns of edges left out: {', '.join(others)}",) if others else ()


def ids_of(table: Table, column: str) -> pl.Series:
    """A column of ids as text; every cell must say something."""
    import polars as pl

    series = table.frame[column]
    if series.dtype.is_float() or series.dtype.is_nested():
        raise InputError(
            f"{table.origin}: column '{column}' holds {series.dtype}; ids are text or whole numbers"
        )
    ids = series.cast(pl.String)
    is_empty = ids.is_null() | (ids == "")
    if is_empty.any():
        row = int(is_empty.arg_true()[0])
        raise InputError(f"{table.place(row)}: '{column}' is empty; expected the id of a node")
    return ids


def _unique_ids(table: Table, column: str) -> pl.Series:
    ids = ids_of(table, column)
    is_new = ids.is_first_distinct()
    if not is_new.all():
        row = int((~is_new).arg_true()[0])
        first = int((ids == ids[row]).arg_true()[0])
        raise InputError(
            f"{table.place(row)}: id '{ids[row]}' stands already in {table.place(first)}; "
            "every id must be unique"
        )
    return ids


def _seen_ids(ends: list[pl.Series]) -> pl.Series:
    """The nodes that edges name: by number where ids are whole numbers, else as they appear."""
    import polars as pl

    ids = pl.concat([column.alias("id") for column in ends]).unique(maintain_order=True)
    numbers = ids.cast(pl.Int64, strict=False)
    if numbers.null_count() == 0 and (numbers.cast(pl.String) == ids).all():
        return numbers.sort().cast(pl.String)
    return ids


def _numbered(table: Table, ids: pl.Series, node_ids: pl.Series, missing_from: str) -> npt.NDArray[np.int64]:
    """The node number of each id."""
    import polars as pl

    codes = ids.cast(pl.Enum(node_ids), strict=False).to_physical()
    if codes.null_count():
        row = int(codes.is_null().arg_true()[0])
        raise InputError(
            f"{table.place(row)}: {ids.name} '{ids[row]}' is no node; expected an id that {missing_from} has"
        )
    return codes.to_numpy().astype(np.int64)


def _nowhere(node: int) -> str:
    return f"node {node}"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
