"""Graphs as matrices: Matrix Market, gnn-benchmark's `.npz`, PyG's `.pt`. None of them may run a pickle."""

from __future__ import annotations

import importlib
import io
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gcbr.datasets.sparse import Array, csr_from_parts
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.formats.assembly import Edges, Parsed
from gcbr.graph import Graph

if TYPE_CHECKING:
    import polars as pl


def parse_matrix_market(path: Path) -> Parsed:
    from scipy.io import mmread

    content = path.read_bytes()
    if not content.strip():
        raise InputError(f"{path.name} is empty; expected a matrix")
    try:
        matrix = mmread(io.BytesIO(content))
    except Exception as error:  # a broken file raises whatever the parser happens to hit
        raise InputError(f"{path.name} is not a Matrix Market file: {error!s:.200}") from error
    return parsed_of_matrix(matrix, path.stem, path.name)


def parsed_of_matrix(matrix: Any, name: str, origin: str, features: Any = None) -> Parsed:
    """A square matrix, sparse or not, as an adjacency; what is stored in it are the weights."""
    from scipy.sparse import coo_array

    entries = coo_array(matrix)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise InputError(f"{origin}: the matrix is {_size(entries.shape)}; an adjacency is square")
    if np.iscomplexobj(entries.data):
        raise InputError(f"{origin}: the matrix is complex; weights are real numbers, 0 or more")
    rows, columns = (part.astype(np.int64) for part in entries.coords)
    weights = _checked_weights(entries.data, rows, columns, origin)
    x = None if features is None else _checked_features(features, entries.shape[0], origin)
    return _parsed(name, origin, Edges(rows, columns, weights, "both ways"), entries.shape[0], features=x)


def parse_npz(path: Path) -> Parsed:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return _parse_arrays(arrays, path)
    except InputError:
        raise
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path.name} is not a graph in gnn-benchmark's form: {error!s:.200}") from error


def parse_pt(path: Path) -> Parsed:
    """A `Data` of PyG, its dictionary, or what `InMemoryDataset` stores of a single graph."""
    try:
        with torch.serialization.safe_globals(_pyg_classes()):
            value = torch.load(path, weights_only=True)
    except Exception as error:  # a broken archive raises whatever its instructions happen to hit
        reason = next(line for line in [*str(error).splitlines(), repr(error)] if line.strip())
        raise InputError(
            f"{path.name} was not loaded: it is broken, or holds more than tensors, plain values and PyG's "
            f"Data, and nothing else is run ({reason[:200]})"
        ) from error
    if isinstance(value, tuple) and value:
        value = _single(value, path.name)
    return parsed_of_data(value, path.stem, path.name)


def parsed_of_data(data: Any, name: str, origin: str) -> Parsed:
    """PyG's `Data`, or a mapping with its names: edge_index, x, y, edge_weight."""
    fields: Mapping[str, Any] = data if isinstance(data, Mapping) else _fields(data, origin)
    ends = fields.get("edge_index")
    if not isinstance(ends, Tensor) or ends.dim() != 2 or ends.shape[0] != 2 or ends.is_floating_point():
        raise InputError(f"{origin}: expected 'edge_index' of shape [2, edges] and whole numbers")
    num_nodes = _num_nodes(fields, ends)
    sources, targets = ends.long().cpu().numpy()
    if ends.numel() and not (int(ends.min()) >= 0 and int(ends.max()) < num_nodes):
        wrong = int(ends.min()) if int(ends.min()) < 0 else int(ends.max())
        raise InputError(f"{origin}: an edge names node {wrong}; nodes are numbered 0 to {num_nodes - 1}")
    weights = fields.get("edge_weight")
    notes = () if fields.get("edge_attr") is None else ("edge_attr left out: only edge_weight is read",)
    given = (
        None
        if weights is None
        else _checked_weights(weights.flatten().cpu().numpy(), sources, targets, origin)
    )
    x = fields.get("x")
    return _parsed(
        name,
        origin,
        Edges(sources, targets, given, "both ways"),
        num_nodes,
        features=None if x is None else _checked_features(x, num_nodes, origin),
        names=_texts(fields.get("node_names")),
        classes=_classes(fields.get("y"), _texts(fields.get("class_names")), num_nodes, origin),
        notes=notes,
    )


def write_matrix_market(path: Path, graph: Graph) -> None:
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    adjacency = graph.adjacency
    parts = (adjacency.values.numpy(), (adjacency.row_of_entry.numpy(), adjacency.indices.numpy()))
    buffer = io.BytesIO()
    mmwrite(buffer, coo_array(parts, shape=adjacency.shape), symmetry="symmetric", precision=9)
    write_atomically(path, buffer.getvalue())


def write_npz(path: Path, graph: Graph, labels: Mapping[int, str], *, with_features: bool) -> None:
    arrays: dict[str, Array] = _csr_arrays("adj", graph.adjacency)
    if with_features:
        x = graph.x if isinstance(graph.x, Csr) else _sparse(graph.x.to_dense())
        arrays |= _csr_arrays("attr", x)
    if labels:
        y, class_names = _numbered(labels, graph.num_nodes)
        arrays |= {"labels": y.numpy(), "class_names": _text_array(class_names)}
    if graph.node_names is not None:
        arrays["node_names"] = _text_array(graph.node_names)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    write_atomically(path, buffer.getvalue())


def write_pt(path: Path, graph: Graph, labels: Mapping[int, str], *, with_features: bool) -> None:
    adjacency = graph.adjacency
    data = _pyg().Data(
        x=graph.x.to_dense() if with_features else None,
        edge_index=torch.stack([adjacency.row_of_entry, adjacency.indices.long()]),
        num_nodes=graph.num_nodes,
    )
    if not bool((adjacency.values == 1).all()):
        data.edge_weight = adjacency.values
    if labels:
        data.y, data.class_names = _numbered(labels, graph.num_nodes)
    if graph.node_names is not None:
        data.node_names = list(graph.node_names)
    buffer = io.BytesIO()
    torch.save(data, buffer)
    write_atomically(path, buffer.getvalue())


def _parsed(
    name: str,
    origin: str,
    edges: Edges,
    num_nodes: int,
    *,
    features: Csr | Dense | None = None,
    names: list[str] | None = None,
    classes: list[str | None] | None = None,
    notes: tuple[str, ...] = (),
) -> Parsed:
    if names is not None and (len(names) != num_nodes or len(set(names)) != num_nodes):
        raise InputError(
            f"{origin}: {len(set(names))} distinct names for {num_nodes} nodes; each needs its own"
        )
    return Parsed(
        name=name,
        edges=edges,
        num_nodes=num_nodes,
        node_names=names,
        place=lambda node: f"{origin}, node {node}",
        attributes=_label_frame(classes),
        features=features,
        notes=notes,
    )


def _label_frame(classes: list[str | None] | None) -> pl.DataFrame | None:
    import polars as pl

    return None if classes is None else pl.DataFrame({"label": pl.Series(classes, dtype=pl.String)})


def _parse_arrays(arrays: Mapping[str, Array], path: Path) -> Parsed:
    adjacency = _csr(arrays, "adj")
    num_nodes = adjacency.shape[0]
    if adjacency.shape[1] != num_nodes:
        raise InputError(f"{path.name}: the adjacency is {_size(adjacency.shape)}; it must be square")
    rows, columns = adjacency.row_of_entry.numpy(), adjacency.indices.long().numpy()
    x: Csr | Dense | None = None
    if "attr_data" in arrays:
        x = _csr(arrays, "attr")
    elif "attr_matrix" in arrays:
        x = Dense(torch.from_numpy(arrays["attr_matrix"].astype(np.float32)))
    if x is not None and x.shape[0] != num_nodes:
        raise InputError(f"{path.name}: features of {x.shape[0]} nodes for {num_nodes}")
    notes: list[str] = []
    class_names = _plain_texts(arrays, "class_names", notes)
    y = torch.from_numpy(arrays["labels"]) if "labels" in arrays else None
    return _parsed(
        path.stem,
        path.name,
        Edges(
            rows, columns, _checked_weights(adjacency.values.numpy(), rows, columns, path.name), "both ways"
        ),
        num_nodes,
        features=x,
        names=_plain_texts(arrays, "node_names", notes),
        classes=_classes(y, class_names, num_nodes, path.name),
        notes=tuple(notes),
    )


def _plain_texts(arrays: Mapping[str, Array], key: str, notes: list[str]) -> list[str] | None:
    """An array of text. Some published files pickle theirs, and a pickle is not read."""
    if key not in arrays:
        return None
    try:
        return [str(value) for value in arrays[key]]
    except ValueError:
        notes.append(f"{key} are pickled in this file and were not read; numbers stand for them")
        return None


def _csr(arrays: Mapping[str, Array], prefix: str) -> Csr:
    num_rows, num_columns = (int(size) for size in arrays[f"{prefix}_shape"])
    indptr, indices, data = (arrays[f"{prefix}_{part}"] for part in ("indptr", "indices", "data"))
    return csr_from_parts(indptr, indices, data, (num_rows, num_columns))


def _csr_arrays(prefix: str, matrix: Csr) -> dict[str, Array]:
    parts = {"data": matrix.values, "indices": matrix.indices, "indptr": matrix.indptr}
    arrays: dict[str, Array] = {f"{prefix}_{key}": part.numpy() for key, part in parts.items()}
    return {**arrays, f"{prefix}_shape": np.array(matrix.shape)}


def _sparse(dense: Tensor) -> Csr:
    rows, columns = dense.nonzero(as_tuple=True)
    return Csr.from_entries(rows, columns, dense[rows, columns], (dense.shape[0], dense.shape[1]))


def _text_array(texts: Sequence[str]) -> Array:
    # NumPy ends a text at its last character that is not NUL.
    if any(text.endswith("\0") for text in texts):
        raise InputError("a name ends in a NUL character, which .npz cannot hold; use CSV or JSON")
    return np.array(list(texts), dtype=np.str_)


def _pyg_classes() -> list[Any]:
    """All that a stored `Data` names."""
    data, storage = _pyg().data, _pyg().storage
    inside = [data.DataEdgeAttr, data.DataTensorAttr]
    return [data.Data, *inside, storage.EdgeStorage, storage.GlobalStorage, storage.NodeStorage]


def _single(stored: tuple[Any, ...], origin: str) -> Any:
    """The one graph of (data, slices, class); slices say where each of several graphs begins."""
    slices = stored[1] if len(stored) > 1 and isinstance(stored[1], Mapping) else {}
    num_graphs = max((len(begins) - 1 for begins in slices.values()), default=1)
    if num_graphs > 1:
        raise InputError(f"{origin} holds {num_graphs} graphs; expected one")
    return stored[0]


def _pyg() -> Any:
    """PyG's `data`, which takes seconds to load and scripts its modules in a way PyTorch calls outdated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module("torch_geometric.data")


def _fields(data: Any, origin: str) -> Mapping[str, Any]:
    if not isinstance(data, _pyg().Data):
        raise InputError(f"{origin} holds a {type(data).__name__}; expected PyG's Data with one graph")
    return dict(data.to_dict())


def _num_nodes(fields: Mapping[str, Any], ends: Tensor) -> int:
    for key in ("x", "y"):
        if isinstance(fields.get(key), Tensor):
            return int(fields[key].shape[0])
    given = fields.get("num_nodes")
    return int(given) if given is not None else (int(ends.max()) + 1 if ends.numel() else 0)


def _texts(value: Any) -> list[str] | None:
    return None if value is None else [str(item) for item in value]


def _classes(
    y: Tensor | None, class_names: list[str] | None, num_nodes: int, origin: str
) -> list[str | None] | None:
    """The class of each node; a negative number is a node without a label."""
    if y is None:
        return None
    if y.dim() == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.dim() != 1:
        raise InputError(
            f"{origin}: labels of shape {_size(tuple(y.shape))}; one class for each node is supported"
        )
    if y.is_floating_point():
        raise InputError(f"{origin}: labels are {y.dtype}, a numeric target; classes are whole numbers")
    if len(y) != num_nodes:
        raise InputError(f"{origin}: {len(y)} labels for {num_nodes} nodes")
    if class_names is not None and len(y) and int(y.max()) >= len(class_names):
        raise InputError(f"{origin}: a label is {int(y.max())}, and there are {len(class_names)} class names")
    names = class_names or [str(cls) for cls in range(int(y.max()) + 1 if len(y) else 0)]
    return [None if cls < 0 else names[cls] for cls in y.long().tolist()]


def _numbered(labels: Mapping[int, str], num_nodes: int) -> tuple[Tensor, list[str]]:
    """Classes by number, -1 where there is no label, and their names."""
    class_names = sorted(set(labels.values()))
    number = {name: cls for cls, name in enumerate(class_names)}
    y = torch.full((num_nodes,), -1)
    for node, name in labels.items():
        y[node] = number[name]
    return y, class_names


def _checked_weights(values: Array, rows: Array, columns: Array, origin: str) -> Any:
    if len(values) != len(rows):
        raise InputError(f"{origin}: {len(values)} weights for {len(rows)} edges")
    with np.errstate(over="ignore"):
        weights = values.astype(np.float32)
    is_wrong = ~np.isfinite(weights) | (weights < 0)
    if is_wrong.any():
        index = int(is_wrong.argmax())
        raise InputError(
            f"{origin}: the weight of edge {rows[index]} to {columns[index]} is {values[index]}; "
            "expected a finite number, 0 or more"
        )
    return weights


def _checked_features(features: Any, num_nodes: int, origin: str) -> Csr | Dense:
    """A matrix of numbers from a tensor, an array or a sparse matrix."""
    from scipy.sparse import csr_array, issparse

    x: Csr | Dense
    if issparse(features):
        matrix: Any = csr_array(features)  # type: ignore[call-overload]
        x = csr_from_parts(matrix.indptr, matrix.indices, matrix.data, (matrix.shape[0], matrix.shape[1]))
    else:
        dense = (
            features.to_dense() if isinstance(features, Tensor) else torch.from_numpy(np.asarray(features))
        )
        if dense.dim() != 2 or dense.is_complex():
            raise InputError(
                f"{origin}: features of shape {_size(tuple(dense.shape))}; expected [nodes, features]"
            )
        x = Dense(dense.float().cpu())
    if x.shape[0] != num_nodes:
        raise InputError(f"{origin}: features of {x.shape[0]} nodes for {num_nodes}")
    if not bool(x.values.isfinite().all()):
        raise InputError(f"{origin}: some features are NaN or infinite; expected finite numbers")
    return x


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(str(size) for size in shape)
