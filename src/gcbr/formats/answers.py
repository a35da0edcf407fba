"""Tables of answers: which nodes have which label, which nodes may be asked, and what was predicted."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.formats.columns import LABEL_COLUMNS, labels_of
from gcbr.formats.tables import ID_COLUMNS, SEPARATORS, SUFFIXES, Table, ids_of, read_table
from gcbr.graph import Graph

NAME_COLUMN = "name"  # beside a node's number, as in the labels.csv of `gcbr run`


def read_labels(paths: Sequence[str | Path], graph: Graph) -> dict[int, str]:
    """The labels in tables with a column `node` and a column `label`, in the order of the files.

    A row with an empty label says nothing, so a list of suggestions may be filled in a little at a time.
    """
    labels: dict[int, str] = {}
    places: dict[int, str] = {}
    for path in paths:
        table = _table(path)
        nodes = _nodes(table, graph)
        column = table.frame[table.column(LABEL_COLUMNS, "the label of a node")]
        for row, label in labels_of(column, table.place).items():
            node, place = nodes[row], table.place(row)
            if node in labels:
                raise InputError(
                    f"{place}: node '{graph.name_of(node)}' has its label in {places[node]} already; "
                    "expected one label for a node"
                )
            labels[node], places[node] = label.strip(), place
    return labels


def read_nodes(path: str | Path, graph: Graph) -> Tensor:
    """The nodes that a table names in its column `node`; any other columns are not looked at."""
    return torch.tensor(_nodes(_table(path), graph), dtype=torch.long)


def write_columns(path: Path, columns: Mapping[str, Sequence[object]]) -> None:
    """A table as CSV, TSV or Parquet; whole or not there."""
    import polars as pl

    suffix = check_suffix(path)
    frame = pl.DataFrame(columns)
    buffer = io.BytesIO()
    if suffix in SEPARATORS:
        frame.write_csv(buffer, separator=SEPARATORS[suffix])
    else:
        frame.write_parquet(buffer)
    try:
        write_atomically(path, buffer.getvalue())
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error.strerror}") from error


def check_suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"'{path.name}' is no table; expected a name ending in {', '.join(SUFFIXES)}")
    return suffix


def _table(path: str | Path) -> Table:
    path = Path(path)
    check_suffix(path)
    if not path.is_file():
        raise InputError(f"no file '{path}'")
    return read_table(path)


def _nodes(table: Table, graph: Graph) -> list[int]:
    """The node that each row names."""
    names = [name for name in table.frame.columns if name.strip().lower() == NAME_COLUMN]
    ids = ids_of(table, names[0] if names else table.column(ID_COLUMNS, "the name of a node"))
    nodes = _numbers(ids, graph)
    if -1 in nodes:
        row = nodes.index(-1)
        raise InputError(
            f"{table.place(row)}: '{ids[row]}' is no node of {graph.name}; "
            f"expected an id such as '{graph.name_of(0)}'"
        )
    return nodes


def _numbers(names: Iterable[str], graph: Graph) -> list[int]:
    """The nodes of these names, -1 for one that there is not."""
    if graph.node_names is None:  # a name is its node's number: no table of millions of names is made
        return [int(name) if _is_number_below(graph.num_nodes, name) else -1 for name in names]
    numbers = {name: node for node, name in enumerate(graph.node_names)}
    return [numbers.get(name, -1) for name in names]


def _is_number_below(limit: int, name: str) -> bool:
    return name.isascii() and name.isdecimal() and str(int(name)) == name and int(name) < limit
