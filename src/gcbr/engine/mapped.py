"""Matrices that were stored together with what follows from them, their numbers left in files.

The system reads pages of a mapped file when they are needed and lets go of them when memory is short, so
a graph may be larger than memory. Only what is read again and again must fit.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError


@dataclass(frozen=True, eq=False)
class StoredAdjacency(Csr):
    """Edges, their normalized form and their PageRank: a graph opened is a graph ready to be asked about."""

    normalized: Csr  # A_hat, with self-loops
    pagerank: Tensor  # [num_nodes], sums to 1


@dataclass(frozen=True, eq=False)
class StoredFeatures(Dense):
    """X and A_hat X. Features made from these, scaled or cut, are plain ones again."""

    propagated: Dense


def mapped(path: Path, dtypes: tuple[type[np.generic], ...], shape: tuple[int, ...]) -> Tensor:
    """The array in an .npy file, as a tensor whose pages are read when touched. Never write to it."""
    try:
        # Not copy-on-write: the system refuses such a mapping where it is larger than memory.
        array = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"'{path}' cannot be read as an array; convert the graph again") from error
    if array.shape != shape or array.dtype.type not in dtypes:
        wanted = " or ".join(dtype.__name__ for dtype in dtypes)
        raise InputError(
            f"'{path}' holds {array.dtype} of shape {array.shape}, not {wanted} of shape {shape}; "
            "convert the graph again"
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(array)
