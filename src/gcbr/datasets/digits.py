"""The embedded graph: the digits scikit-learn carries, each joined to those that look most like it.

Class c keeps 174 * 10^(-c / 9) of its digits, so that zeros are ten times as many as nines.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gcbr.datasets.sparse import undirected
from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Dataset, Graph
from gcbr.seeding import generator
from gcbr.splits import last_nodes

NUM_CLASSES = 10
LARGEST_CLASS = 174  # the fewest digits scikit-learn has of any class
SKEW = 10.0  # largest class to smallest
NUM_NEIGHBORS = 5  # with fewer the graph falls apart; with more, edges between classes multiply
INK = 16.0  # the value of a black pixel
SEED = 0


def load() -> Dataset:
    from sklearn.datasets import load_digits

    pixels, digits = (torch.from_numpy(part) for part in load_digits(return_X_y=True))
    kept = _thinned(digits.long(), generator(SEED))
    y, x = digits[kept].long(), pixels[kept]
    names = tuple(f"digit-{digit}" for digit in kept.tolist())
    graph = Graph("digits", nearest_neighbors(x.long(), NUM_NEIGHBORS), Dense((x / INK).float()), names)
    class_names = tuple(str(cls) for cls in range(NUM_CLASSES))
    return Dataset(graph, y, class_names, last_nodes(graph.num_nodes))


def nearest_neighbors(x: Tensor, num_neighbors: int) -> Csr:
    """Each row of whole numbers joined to its nearest others; an edge stands if either end chose it."""
    # Whole numbers make the distances exact, so that ties fall to the lower id on every machine.
    squares = x.square().sum(1)
    distances = squares[:, None] + squares[None, :] - 2 * (x @ x.T)
    distances.fill_diagonal_(torch.iinfo(distances.dtype).max)
    targets = distances.sort(dim=1, stable=True).indices[:, :num_neighbors]
    sources = torch.arange(len(x)).repeat_interleave(num_neighbors)
    return undirected(sources, targets.flatten(), len(x))


def _thinned(digits: Tensor, rng: torch.Generator) -> Tensor:
    """Ids of the digits kept, in shuffled order."""
    kept = []
    for cls in range(NUM_CLASSES):
        members = (digits == cls).nonzero().flatten()
        size = round(LARGEST_CLASS * SKEW ** (-cls / (NUM_CLASSES - 1)))
        kept.append(members[torch.randperm(len(members), generator=rng)[:size]])
    ids = torch.cat(kept)
    return ids[torch.randperm(len(ids), generator=rng)]
