"""Graphs from files and from the objects of other libraries, and back into files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gcbr import seeding
from gcbr.errors import InputError
from gcbr.formats import mapped, matrices, networks, tables
from gcbr.formats.assembly import GraphFile, Parsed, assemble
from gcbr.formats.columns import Labels
from gcbr.graph import Dataset, Graph
from gcbr.splits import split_sizes

if TYPE_CHECKING:
    import networkx as nx
    import polars as pl

__all__ = [
    "READERS",
    "WRITABLE",
    "GraphFile",
    "convert_graph",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "open_dataset",
    "open_graph",
    "read_graph",
    "write_graph",
]

READERS: dict[str, Callable[[Path], Parsed]] = {
    **dict.fromkeys(networks.READERS, networks.parse_network),
    ".mtx": matrices.parse_matrix_market,
    ".npz": matrices.parse_npz,
    ".pt": matrices.parse_pt,
}
_MAPPED = ".mapped"
WRITABLE = tuple(suffix[1:] for suffix in (*tables.SUFFIXES, *READERS))


def read_graph(
    source: str | Path, *, nodes: str | Path | None = None, labels: Labels = True, features: str = "default"
) -> Graph:
    """The graph in a file or folder; see `open_graph`, which also tells what was decided on the way."""
    return open_graph(source, nodes=nodes, labels=labels, features=features).graph


def open_graph(
    source: str | Path, *, nodes: str | Path | None = None, labels: Labels = True, features: str = "default"
) -> GraphFile:
    """The graph in a file or folder, the labels in it, and what was dropped, merged or made while reading.

    `source` is a folder with tables `edges` and `nodes` (CSV, TSV, Parquet), a table of edges (`nodes` may
    name the other one), a folder of mapped arrays, or a file in GraphML, GML, GEXF, node-link JSON, Matrix
    Market, .npz or .pt. `labels` names the column of labels; True looks for label, class or y, False leaves
    them out. `features` is "default" (rows of one norm, as datasets have them) or "raw".
    """
    if mapped.is_mapped(Path(source)):
        return mapped.open_mapped(Path(source), labels=labels, features=features)
    parsed = _parse(Path(source), None if nodes is None else Path(nodes))
    return assemble(parsed, labels=labels, features=features)


def open_dataset(
    source: str | Path, *, labels: Labels = True, features: str = "default"
) -> tuple[Dataset, tuple[str, ...]]:
    """The graph in a file or folder with its labels, every node's, to simulate on; and `open_graph`'s notes.

    The test nodes are drawn, always the same ones: files are often sorted, so the last nodes would be alike.
    """
    opened = open_graph(source, labels=labels, features=features)
    graph, given = opened.graph, opened.labels
    unknown = graph.num_nodes - len(given)
    if unknown:
        first = next(node for node in range(graph.num_nodes) if node not in given)
        raise InputError(
            f"'{source}' has no label for {unknown:,} of {graph.num_nodes:,} nodes, such as "
            f"'{graph.name_of(first)}'; a simulation needs the label of every node"
        )
    class_names = tuple(sorted(set(given.values())))
    numbers = {name: number for number, name in enumerate(class_names)}
    y = torch.tensor([numbers[given[node]] for node in range(graph.num_nodes)])
    num_test, _ = split_sizes(graph.num_nodes)
    test = torch.randperm(graph.num_nodes, generator=seeding.generator(0))[:num_test].sort().values
    return Dataset(graph, y, class_names, test), opened.notes


def from_networkx(graph: nx.Graph, *, labels: Labels = True, features: str = "default") -> Graph:
    """A NetworkX graph: edges with their `weight`, the nodes' attributes as features."""
    parsed = networks.parsed_of(graph, str(graph.name or "networkx"), "graph")
    return assemble(parsed, labels=labels, features=features).graph


def from_pyg(data: Any, *, features: str = "default") -> Graph:
    """A PyG `Data`: edge_index, edge_weight and x. Answers in y are checked and left behind."""
    return assemble(matrices.parsed_of_data(data, "pyg", "data"), features=features).graph


def from_scipy(matrix: Any, x: Any = None, *, features: str = "default") -> Graph:
    """A square matrix of weights, and a matrix of features if there is one."""
    return assemble(matrices.parsed_of_matrix(matrix, "scipy", "matrix", x), features=features).graph


def write_graph(
    path: str | Path,
    graph: Graph,
    labels: Mapping[int, str] | None = None,
    *,
    format: str | None = None,
    with_features: bool = True,
) -> tuple[str, ...]:
    """Write the graph in the format of the path's suffix, or as two tables into a folder.

    `format` is that of the tables, csv, tsv or parquet; `mapped` makes a folder that is mapped into memory,
    not read into it. Features are written as they stand in the graph. Returns what the format could not hold.
    """
    if _target_suffix(Path(path), format) == _MAPPED:
        mapped.write_mapped(Path(path), graph, labels or {}, has_own_features=with_features)
        return ()
    nodes = _node_frame(graph, with_features=with_features)
    return _write(Path(path), graph, nodes, labels or {}, format, with_features)


def convert_graph(
    source: str | Path, target: str | Path, *, labels: Labels = True, format: str | None = None
) -> tuple[GraphFile, tuple[str, ...]]:
    """Read one file and write the other; columns of nodes stay as they are where the target has columns."""
    suffix = _target_suffix(Path(target), format)  # before a long read
    if suffix == _MAPPED:
        opened = open_graph(source, labels=labels)
        return opened, write_graph(
            target, opened.graph, opened.labels, format=format, with_features=opened.has_features
        )
    opened = open_graph(source, labels=labels, features="raw")
    columns = opened.attributes
    if columns is not None and columns.width and not any(dtype.is_nested() for dtype in columns.dtypes):
        frame = _with_ids(opened.graph, columns)
    else:
        frame = _node_frame(opened.graph, with_features=opened.has_features)
    lost = _write(Path(target), opened.graph, frame, opened.labels, suffix[1:], opened.has_features)
    return opened, lost


def _parse(source: Path, nodes: Path | None) -> Parsed:
    if not source.exists() or (nodes is not None and not nodes.is_file()):
        missing = source if nodes is None or not source.exists() else nodes
        raise InputError(f"no file or folder '{missing}'")
    if source.is_dir() and nodes is None:
        return tables.parse_tables(source.resolve().name, *tables.find_tables(source))
    suffix = source.suffix.lower()
    if suffix in tables.SUFFIXES and (nodes is None or nodes.suffix.lower() in tables.SUFFIXES):
        return tables.parse_tables(source.stem, source, nodes)
    if nodes is not None:
        raise InputError(f"'{source}' and '{nodes}': a pair of tables is two files in csv, tsv or parquet")
    if suffix not in READERS:
        raise InputError(
            f"'{source.name}' is in no known format; expected a folder of tables, "
            f"or a file in {', '.join(WRITABLE)}"
        )
    return READERS[suffix](source)


def _target_suffix(path: Path, format: str | None) -> str:
    """The format to write, as a suffix."""
    own = path.suffix.lower()
    if format == _MAPPED[1:] or (own == _MAPPED and format is None):
        return _MAPPED
    if own in READERS and format in (None, own[1:]):
        return own
    if own in tables.SUFFIXES:
        raise InputError(
            f"'{path.name}': edges and nodes are two tables; give a folder, and {own[1:]} as the format"
        )
    wanted = f".{format or 'csv'}".lower()
    if own in READERS or wanted not in tables.SUFFIXES:
        raise InputError(
            f"'{path.name}' cannot be written as {format or own}; the suffix of a file is its format "
            f"({', '.join(suffix[1:] for suffix in READERS)}), a folder is csv, tsv, parquet or mapped"
        )
    return wanted


def _write(
    path: Path,
    graph: Graph,
    nodes: pl.DataFrame,
    labels: Mapping[int, str],
    format: str | None,
    with_features: bool,
) -> tuple[str, ...]:
    suffix = _target_suffix(path, format)
    if suffix == ".mtx":
        matrices.write_matrix_market(path, graph)
        lost = [("names", graph.node_names), ("features", with_features), ("labels", labels)]
        return tuple(f"Matrix Market holds no {what}: left out" for what, is_there in lost if is_there)
    if suffix == ".npz":
        matrices.write_npz(path, graph, labels, with_features=with_features)
    elif suffix == ".pt":
        matrices.write_pt(path, graph, labels, with_features=with_features)
    else:
        edges, nodes = _edge_frame(graph), _with_labels(nodes, labels)
        if suffix in tables.SUFFIXES:
            tables.write_tables(path, edges, nodes, suffix)
        else:
            networks.write_network(path, edges, nodes)
    return ()


def _edge_frame(graph: Graph) -> pl.DataFrame:
    """Each edge once; without a column of weights where all are 1."""
    import polars as pl

    adjacency = graph.adjacency
    rows, columns = adjacency.row_of_entry.numpy(), adjacency.indices.long().numpy()
    is_upper = rows < columns
    names = pl.Series(_names(graph), dtype=pl.String)
    frame = pl.DataFrame({"source": names.gather(rows[is_upper]), "target": names.gather(columns[is_upper])})
    weights = adjacency.values.numpy()[is_upper]
    if np.all(weights == 1):
        return frame
    return frame.with_columns(weight=pl.Series(weights.astype(np.float64)))


def _node_frame(graph: Graph, *, with_features: bool) -> pl.DataFrame:
    import polars as pl

    frame = pl.DataFrame({"id": pl.Series(_names(graph), dtype=pl.String)})
    if not with_features:
        return frame
    columns = graph.x.to_dense().double().T.contiguous().numpy()
    return frame.with_columns(pl.Series(f"feature_{number}", column) for number, column in enumerate(columns))


def _with_ids(graph: Graph, frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return frame.drop("id", strict=False).insert_column(0, pl.Series("id", _names(graph), dtype=pl.String))


def _with_labels(nodes: pl.DataFrame, labels: Mapping[int, str]) -> pl.DataFrame:
    import polars as pl

    if not labels:
        return nodes
    column = [labels.get(node) for node in range(nodes.height)]
    return nodes.with_columns(label=pl.Series(column, dtype=pl.String))


def _names(graph: Graph) -> list[str]:
    return [graph.name_of(node) for node in range(graph.num_nodes)]
