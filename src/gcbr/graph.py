"""The plain values everything else passes around: graphs, answers, splits. No file is touched here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import torch
from torch import Tensor

from gcbr.engine.mapped import StoredAdjacency, StoredFeatures
from gcbr.engine.matrix import Centered, Csr, Dense, Matrix, normalized_adjacency
from gcbr.errors import InputError

_BLOCK = 16_384  # rows of features read at once
_LARGE = 50_000  # nodes from which on fetching their hidden rows costs more than computing them


@dataclass(frozen=True, eq=False)
class Graph:
    """Everything a strategy may see from the start: features and edges, and no answers."""

    name: str
    adjacency: Csr  # [num_nodes, num_nodes], symmetric, positive weights, no self-loops
    x: Matrix  # [num_nodes, num_features]
    node_names: Sequence[str] | None = None  # None: nodes are called 0, 1, 2, ...
    feature_rule: str = "default"  # how `x` was scaled; a policy is used under the rule it was trained under

    def __post_init__(self) -> None:
        num_nodes = self.adjacency.shape[0]
        if self.adjacency.shape != (num_nodes, num_nodes) or self.x.shape[0] != num_nodes:
            raise InputError(
                f"graph '{self.name}': adjacency is {self.adjacency.shape} and features are {self.x.shape}; "
                "both need one row per node"
            )
        if self.node_names is not None and len(self.node_names) != num_nodes:
            raise InputError(f"graph '{self.name}': {len(self.node_names)} names for {num_nodes} nodes")

    @property
    def device(self) -> torch.device:
        """Where it lies, and where all that is computed from it is made."""
        return self.adjacency.values.device

    def to(self, device: torch.device | str) -> Graph:
        """The same graph on a device: itself, with all that was computed from it, if it is there already."""
        moved = replace(self, adjacency=self.adjacency.to(device), x=self.x.to(device))
        return self if moved.device == self.device else moved

    @property
    def num_nodes(self) -> int:
        return self.adjacency.shape[0]

    @property
    def num_edges(self) -> int:
        """Undirected edges, each counted once."""
        return self.adjacency.num_stored // 2

    @property
    def num_features(self) -> int:
        return self.x.shape[1]

    @cached_property
    def propagation(self) -> Csr:
        """A_hat, the normalized adjacency with self-loops."""
        if isinstance(self.adjacency, StoredAdjacency):
            return self.adjacency.normalized
        return normalized_adjacency(self.adjacency)

    @cached_property
    def propagated(self) -> Dense | None:
        """A_hat X, where it is worth its memory: dense features of a graph that no cache holds."""
        if isinstance(self.x, StoredFeatures):
            return self.x.propagated
        if isinstance(self.x, Dense) and self.num_nodes >= _LARGE:
            return Dense(self.propagation.matmul(self.x.values))
        return None

    @property
    def degree(self) -> Tensor:
        """Number of neighbors of each node."""
        return self.adjacency.row_lengths

    def name_of(self, node: int) -> str:
        return str(node) if self.node_names is None else self.node_names[node]

    def neighbors(self, node: int) -> list[int]:
        """In ascending order."""
        start, end = self.adjacency.indptr[node : node + 2].tolist()
        numbers: list[int] = self.adjacency.indices[start:end].tolist()
        return numbers


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint node ids: `pool` may be asked, `val` shapes the reward, `test` is reported."""

    pool: Tensor
    val: Tensor
    test: Tensor


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph together with its answers. Only oracles, environments and evaluations hold one."""

    graph: Graph
    y: Tensor  # [num_nodes], long
    class_names: tuple[str, ...]
    test: Tensor  # node ids of the fixed test set
    public_train: Tensor | None = None  # Planetoid's own training nodes, where the files define them

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    def to(self, device: torch.device | str) -> Dataset:
        """The same dataset on a device."""
        return replace(
            self,
            graph=self.graph.to(device),
            y=self.y.to(device),
            test=self.test.to(device),
            public_train=None if self.public_train is None else self.public_train.to(device),
        )


@dataclass(frozen=True)
class Labels:
    """Answers in the order they were given."""

    nodes: tuple[int, ...] = ()
    classes: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, node: int, cls: int) -> Labels:
        return Labels((*self.nodes, node), (*self.classes, cls))

    def counts(self, num_classes: int) -> Tensor:
        """How many labels each class has."""
        classes = torch.tensor(self.classes, dtype=torch.long, device="cpu")
        return torch.bincount(classes, minlength=num_classes)


def fingerprint(graph: Graph) -> str:
    """SHA-256 of edges, features and node names, in hexadecimal: what is said of one graph fits no other."""
    graph = graph.to("cpu")
    digest = hashlib.sha256()
    for part in chain(_parts(graph.adjacency), _parts(graph.x)):
        digest.update(f"{part.dtype} {list(part.shape)}".encode())
        digest.update(part.contiguous().view(-1).view(torch.uint8).numpy().data)
    for name in graph.node_names or ():
        digest.update(f"{len(name)} {name}".encode())
    return digest.hexdigest()


def _parts(matrix: Matrix) -> Iterator[Tensor]:
    """Tensors that together say all of a matrix; one that is not stored is made in blocks."""
    if isinstance(matrix, Csr):
        yield from (matrix.indptr.long(), matrix.indices.long(), matrix.values)
    elif isinstance(matrix, Centered):
        yield from (*_parts(matrix.base), matrix.center)
    else:
        for nodes in torch.split(torch.arange(matrix.shape[0], device="cpu"), _BLOCK):
            yield matrix.rows(nodes).to_dense()
