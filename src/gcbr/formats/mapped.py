"""A graph as a folder of arrays that are mapped into memory, not read into it.

    graph.json          the manifest: what is there, and of what shape
    adjacency.*.npy     indptr, indices, values: compressed sparse rows
    propagation.*.npy   the same of A_hat, the normalized adjacency with self-loops
    x.npy               dense features, scaled by the manifest's rule; sparse ones are x.*.npy
    propagated.npy      A_hat X, where X is dense
    pagerank.npy        one number a node
    labels.npy          the number of each node's class, -1 for none, where labels are known
    names.json          node names, where nodes have names

What every query needs and no answer changes is computed once, when the folder is written.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gcbr import scores
from gcbr.engine.mapped import StoredAdjacency, StoredFeatures, mapped
from gcbr.engine.matrix import Centered, Csr, Dense, Matrix
from gcbr.errors import InputError
from gcbr.files import write_atomically
from gcbr.formats.assembly import GraphFile
from gcbr.formats.columns import Labels
from gcbr.graph import Graph

MANIFEST = "graph.json"
_KIND = "gcbr mapped graph"
_VERSION = 1
_BLOCK = 16_384  # rows propagated at once


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What `graph.json` says. Sizes are checked against the arrays when a graph is opened."""

    kind: str = _KIND
    version: int = _VERSION
    name: str
    nodes: int
    adjacency_entries: int  # each edge twice
    propagation_entries: int
    features: int
    feature_entries: int | None  # of sparse features; None: every number is stored
    is_centered: bool  # whether x.center.npy is to be taken from every row
    feature_rule: str
    has_own_features: bool  # False: they were made from the edges
    has_names: bool
    classes: list[str]  # of labels.npy; empty: no labels


class StoredLabels(Mapping[int, str]):
    """Node to class name, looked up in the file: a million entries are not made to read a hundred."""

    def __init__(self, class_of_node: Tensor, classes: list[str]) -> None:
        self._class_of_node = class_of_node
        self._classes = classes

    def __getitem__(self, node: int) -> str:
        cls = int(self._class_of_node[node]) if 0 <= node < len(self._class_of_node) else -1
        if cls < 0:
            raise KeyError(node)
        return self._classes[cls]

    def __iter__(self) -> Iterator[int]:
        return iter((self._class_of_node >= 0).nonzero().flatten().tolist())

    def __len__(self) -> int:
        return int((self._class_of_node >= 0).sum())


def is_mapped(path: Path) -> bool:
    return (path / MANIFEST).is_file()


def write_mapped(
    path: Path, graph: Graph, labels: Mapping[int, str], *, has_own_features: bool = True
) -> None:
    """Write the folder; it appears when it is whole, in place of one of its kind."""
    if path.exists() and not is_mapped(path):
        raise InputError(f"'{path}' exists and is no mapped graph; name a folder that is not there yet")
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    try:
        _write_into(folder, graph, labels, has_own_features)
        folder.chmod(0o755)  # mkdtemp's folders are their owner's alone
        if path.exists():
            shutil.rmtree(path)
        folder.rename(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def open_mapped(path: Path, *, labels: Labels = True, features: str = "default") -> GraphFile:
    """The graph in a folder; almost nothing is read before it is needed."""
    manifest = _manifest(path)
    if features != manifest.feature_rule:
        raise InputError(
            f"'{path}' holds features scaled by the rule '{manifest.feature_rule}', not '{features}'; "
            "open the graph it was converted from"
        )
    if isinstance(labels, str):
        raise InputError(f"'{path}' has no columns, so none called '{labels}'; its labels are its own")
    num_nodes = manifest.nodes
    edges = _csr(path, "adjacency", (num_nodes, num_nodes), manifest.adjacency_entries)
    adjacency = StoredAdjacency(
        edges.indptr,
        edges.indices,
        edges.values,
        num_nodes,
        normalized=_csr(path, "propagation", (num_nodes, num_nodes), manifest.propagation_entries),
        pagerank=_floats(path, "pagerank", num_nodes),
    )
    graph = Graph(
        manifest.name, adjacency, _features(path, manifest), _names(path, manifest), manifest.feature_rule
    )
    return GraphFile(graph, _labels(path, manifest) if labels else {}, (), manifest.has_own_features)


def _write_into(folder: Path, graph: Graph, labels: Mapping[int, str], has_own_features: bool) -> None:
    adjacency, propagation, x = graph.adjacency, graph.propagation, graph.x
    _write_csr(folder, "adjacency", adjacency)
    _write_csr(folder, "propagation", propagation)
    _save(folder, "pagerank", scores.pagerank(adjacency))
    base = x.base if isinstance(x, Centered) else x
    if isinstance(x, Centered):
        _save(folder, "x.center", x.center)
    if isinstance(base, Csr):
        _write_csr(folder, "x", base)
    else:
        _save(folder, "x", base.to_dense())
    if isinstance(x, Dense):
        _write_propagated(folder, propagation, x)
    classes = list(dict.fromkeys(labels.values()))
    if classes:
        _save(folder, "labels", _class_of_node(labels, classes, graph.num_nodes))
    if graph.node_names is not None:
        text = json.dumps(list(graph.node_names), ensure_ascii=False)
        write_atomically(folder / "names.json", text.encode())
    manifest = Manifest(
        name=graph.name,
        nodes=graph.num_nodes,
        adjacency_entries=adjacency.num_stored,
        propagation_entries=propagation.num_stored,
        features=graph.num_features,
        feature_entries=base.num_stored if isinstance(base, Csr) else None,
        is_centered=isinstance(x, Centered),
        feature_rule=graph.feature_rule,
        has_own_features=has_own_features,
        has_names=graph.node_names is not None,
        classes=classes,
    )
    write_atomically(folder / MANIFEST, f"{json.dumps(asdict(manifest), indent=1)}\n".encode())


def _write_propagated(folder: Path, propagation: Csr, x: Dense) -> None:
    """A_hat X, straight into its file: it is as large as X, which may be all that memory holds."""
    file = np.lib.format.open_memmap(folder / "propagated.npy", mode="w+", dtype=np.float32, shape=x.shape)
    start = 0
    for nodes in torch.split(torch.arange(x.shape[0]), _BLOCK):
        file[start : start + len(nodes)] = propagation.rows(nodes).matmul(x.values).numpy()
        start += len(nodes)
    file.flush()


def _class_of_node(labels: Mapping[int, str], classes: list[str], num_nodes: int) -> Tensor:
    number = {cls: position for position, cls in enumerate(classes)}
    class_of_node = torch.full((num_nodes,), -1, dtype=torch.int32)
    class_of_node[list(labels)] = torch.tensor([number[cls] for cls in labels.values()], dtype=torch.int32)
    return class_of_node


def _write_csr(folder: Path, name: str, matrix: Csr) -> None:
    for part in ("indptr", "indices", "values"):
        _save(folder, f"{name}.{part}", getattr(matrix, part))


def _save(folder: Path, name: str, tensor: Tensor) -> None:
    np.save(folder / f"{name}.npy", tensor.numpy(), allow_pickle=False)


def _manifest(path: Path) -> Manifest:
    file = path / MANIFEST
    try:
        manifest = Manifest(**json.loads(file.read_bytes()))
    except (ValueError, TypeError) as error:  # no JSON, no object, or not with these fields
        raise InputError(f"'{file}' does not describe a mapped graph; convert the graph again") from error
    if manifest.version != _VERSION:
        raise InputError(
            f"'{path}' is a mapped graph of version {manifest.version}; this program reads version "
            f"{_VERSION}: convert the graph again"
        )
    return manifest


def _csr(path: Path, name: str, shape: tuple[int, int], num_stored: int) -> Csr:
    indices = mapped(path / f"{name}.indices.npy", (np.int32, np.int64), (num_stored,))
    indptr = mapped(path / f"{name}.indptr.npy", (np.int32, np.int64), (shape[0] + 1,))
    if indptr.dtype != indices.dtype or int(indptr[-1]) != num_stored:
        raise InputError(f"'{path / name}.*.npy' do not belong together; convert the graph again")
    return Csr(indptr, indices, _floats(path, f"{name}.values", num_stored), shape[1])


def _features(path: Path, manifest: Manifest) -> Matrix:
    shape = (manifest.nodes, manifest.features)
    if manifest.feature_entries is None and not manifest.is_centered:
        return StoredFeatures(_floats(path, "x", *shape), Dense(_floats(path, "propagated", *shape)))
    base = (
        Dense(_floats(path, "x", *shape))
        if manifest.feature_entries is None
        else _csr(path, "x", shape, manifest.feature_entries)
    )
    return Centered(base, _floats(path, "x.center", manifest.features)) if manifest.is_centered else base


def _floats(path: Path, name: str, *shape: int) -> Tensor:
    return mapped(path / f"{name}.npy", (np.float32,), shape)


def _names(path: Path, manifest: Manifest) -> tuple[str, ...] | None:
    if not manifest.has_names:
        return None
    try:
        names = json.loads((path / "names.json").read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"'{path / 'names.json'}' cannot be read; convert the graph again") from error
    return tuple(map(str, names))


def _labels(path: Path, manifest: Manifest) -> Mapping[int, str]:
    if not manifest.classes:
        return {}
    return StoredLabels(mapped(path / "labels.npy", (np.int32,), (manifest.nodes,)), manifest.classes)
