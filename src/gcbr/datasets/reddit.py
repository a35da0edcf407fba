"""Reddit as GPA published it (Hu et al. 2020): an edge list, pickled classes, pickled features."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gcbr.datasets.raw import RawFile, RawFolder
from gcbr.datasets.sparse import undirected
from gcbr.datasets.unpickle import loads
from gcbr.engine.matrix import Csr, Dense, normalized_adjacency
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.splits import last_nodes

EDGES = RawFile(
    "Reddit/raw/reddit.edgelist", "6701440d2e8af5e5cad3dff5770e9eb5c9ceeb8f68f5cda2d172d30970f7a94d", None
)
CLASSES = RawFile(
    "Reddit/raw/reddit.y.pkl", "565df824b42bed85b9ae21391f6269e02666258b36310419dea56bd70743554c", None
)
FEATURES = RawFile("Reddit/raw/reddit.x.pkl", None, None)  # the unpickler alone guards this one

NUM_STRUCTURE_COLUMNS = 300  # as many as the published features have


def load(raw: RawFolder) -> Dataset:
    """The graph with its published features."""
    edges, classes = _read_required(raw)
    if raw.find(FEATURES) is None:
        raise InputError(
            f"reddit needs {FEATURES.name}, which GPA published as reddit1401/graph1 and no stable address "
            f"offers: put it at {raw.place(FEATURES)}; or use reddit-structure, with features of its edges"
        )
    return parse(edges, classes, raw.read(FEATURES))


def load_structure(raw: RawFolder) -> Dataset:
    """The same graph with features computed from its edges alone."""
    edges, classes = _read_required(raw)
    adjacency = _adjacency(edges)
    x = Dense(structure_columns(adjacency, NUM_STRUCTURE_COLUMNS))
    return _dataset(Graph("reddit-structure", adjacency, x), classes)


def parse(edges: bytes, classes: bytes, features: bytes) -> Dataset:
    """The dataset in the contents of GPA's three files."""
    adjacency = _adjacency(edges)
    x = _features(loads(features, FEATURES.name, object))
    if x.shape[0] != adjacency.shape[0]:
        raise InputError(
            f"{FEATURES.name} has {x.shape[0]} rows, expected one for each of {adjacency.shape[0]} nodes"
        )
    return _dataset(Graph("reddit", adjacency, x), classes)


def structure_columns(adjacency: Csr, num_columns: int) -> Tensor:
    """A_hat's best approximation by `num_columns` columns: U S of its truncated SVD."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import svds
    from threadpoolctl import threadpool_limits

    a_hat = normalized_adjacency(adjacency)
    matrix = csr_matrix(
        (a_hat.values.double().numpy(), a_hat.indices.numpy(), a_hat.indptr.numpy()), shape=a_hat.shape
    )
    # ARPACK starts from a random vector unless given one; the decomposition leaves each column's sign open.
    start = np.random.default_rng(0).standard_normal(a_hat.shape[0])
    with threadpool_limits(1):  # a second thread gains nothing here, and loses tenfold on a busy machine
        left, scales, _ = svds(matrix, k=num_columns, v0=start)
    columns = torch.from_numpy((left * scales)[:, ::-1].astype(np.float32))  # the largest value first
    peaks = columns.gather(0, columns.abs().argmax(0, keepdim=True))
    return columns * peaks.sign()


def _read_required(raw: RawFolder) -> tuple[bytes, bytes]:
    missing = [file for file in (EDGES, CLASSES) if raw.find(file) is None]
    if missing:
        names = " and ".join(file.name for file in missing)
        raise InputError(
            f"reddit needs {names}, which GPA published as reddit1401/graph1 and no stable address offers: "
            f"put {'it' if len(missing) == 1 else 'them'} into {raw.place(EDGES).parent}"
        )
    return raw.read(EDGES), raw.read(CLASSES)


def _adjacency(edges: bytes) -> Csr:
    """From lines of two node ids, after a first line with the number of nodes."""
    try:
        num_nodes, *ends = (int(word) for word in edges.split())
        pairs = torch.tensor(ends).reshape(-1, 2)
    except (ValueError, RuntimeError) as error:
        raise InputError(
            f"{EDGES.name} is not an edge list: expected the number of nodes, then two node ids on each line"
        ) from error
    return undirected(pairs[:, 0], pairs[:, 1], num_nodes)


def _features(value: object) -> Csr | Dense:
    if isinstance(value, Csr):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return Dense(torch.from_numpy(value.astype(np.float32)))
    raise InputError(f"{FEATURES.name} holds no matrix with one row per node")


def _dataset(graph: Graph, classes: bytes) -> Dataset:
    y = torch.from_numpy(loads(classes, CLASSES.name, np.ndarray).astype(np.int64))
    if y.shape != (graph.num_nodes,) or int(y.min()) < 0:
        raise InputError(
            f"{CLASSES.name} holds {tuple(y.shape)} classes from {int(y.min())} up, "
            f"expected one from 0 up for each of {graph.num_nodes} nodes"
        )
    class_names = tuple(f"class {cls}" for cls in range(int(y.max()) + 1))
    return Dataset(graph, y, class_names, last_nodes(graph.num_nodes))
