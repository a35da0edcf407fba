"""Sparse matrices from what files and generators hold: pairs of ids, or the three arrays of a CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gcbr.engine.matrix import Csr
from gcbr.errors import InputError

Array = npt.NDArray[Any]


def undirected(sources: Tensor, targets: Tensor, num_nodes: int) -> Csr:
    """The adjacency of these edges, weight 1, both ways; self-loops and repetitions are dropped."""
    _check_range(sources, targets, num_nodes)
    kept = sources != targets
    sources, targets = sources[kept].long(), targets[kept].long()
    keys = torch.cat([sources * num_nodes + targets, targets * num_nodes + sources])
    return ones_at(distinct(keys), (num_nodes, num_nodes))


def _check_range(sources: Tensor, targets: Tensor, num_nodes: int) -> None:
    for ends in (sources, targets):
        if len(ends) and not (ends.min() >= 0 and ends.max() < num_nodes):
            wrong = int(ends.min()) if ends.min() < 0 else int(ends.max())
            raise InputError(
                f"an edge names node {wrong}; {num_nodes} nodes are numbered 0 to {num_nodes - 1}"
            )


def ones_at(keys: Tensor, shape: tuple[int, int]) -> Csr:
    """Ones at `keys`, each row * num_columns + column; they must be sorted and distinct."""
    index = torch.int32 if max(len(keys), *shape) < 2**31 else torch.int64
    indptr = torch.searchsorted(keys, torch.arange(shape[0] + 1) * shape[1])
    indices = (keys % shape[1]).to(index)
    return Csr(indptr.to(index), indices, torch.ones(len(keys)), shape[1])


def distinct(keys: Tensor) -> Tensor:
    """The distinct integers of `keys`, sorted."""
    # A stable sort is quick where parts are sorted already; numpy.unique takes ten times as long on 10M keys.
    ordered = torch.from_numpy(np.sort(keys.numpy(), kind="stable"))
    is_first = torch.ones(len(ordered), dtype=torch.bool)
    torch.ne(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def csr_from_parts(indptr: Array, indices: Array, values: Array, shape: tuple[int, int]) -> Csr:
    """A CSR matrix from arrays of a file, which may say anything: ValueError where they do not fit."""
    if (
        len(indptr) != shape[0] + 1
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or (np.diff(indptr) < 0).any()
    ):
        raise ValueError(f"row offsets do not describe {shape[0]} rows of {len(indices)} entries")
    if len(values) != len(indices):
        raise ValueError(f"{len(values)} values for {len(indices)} places")
    if len(indices) and not (indices.min() >= 0 and indices.max() < shape[1]):
        raise ValueError(f"a column lies outside 0 to {shape[1] - 1}")
    index = np.int32 if max(len(indices), *shape) < 2**31 else np.int64
    return Csr(
        torch.from_numpy(indptr.astype(index)),
        torch.from_numpy(indices.astype(index)),
        torch.from_numpy(values.astype(np.float32)),
        shape[1],
    )
