"""Splits of a dataset: which nodes may be asked, which shape the reward, which are reported."""

from __future__ import annotations

import torch
from torch import Tensor

from gcbr import seeding
from gcbr.errors import InputError
from gcbr.graph import Dataset, Split

NUM_TEST = 1000
NUM_VAL = 500
SMALLEST_FULL = 2500  # below this many nodes the two sets above would leave less than two fifths to ask


def is_scaled(num_nodes: int) -> bool:
    """Whether a graph of this size is too small for 1000 test and 500 validation nodes."""
    return num_nodes < SMALLEST_FULL


def split_sizes(num_nodes: int) -> tuple[int, int]:
    """Number of test and of validation nodes: 1000 and 500, or 2/5 and 1/5 of a small graph."""
    if num_nodes < 3:
        raise InputError(f"a graph of {num_nodes} nodes cannot be split; give one of at least 3 nodes")
    if is_scaled(num_nodes):
        return max(1, num_nodes * 2 // 5), max(1, num_nodes // 5)
    return NUM_TEST, NUM_VAL


def last_nodes(num_nodes: int) -> Tensor:
    """The test set of a dataset that defines none: its last node ids."""
    num_test, _ = split_sizes(num_nodes)
    return torch.arange(num_nodes - num_test, num_nodes)


def stratified_test(dataset: Dataset, rng: torch.Generator) -> Tensor:
    """A test set drawn by `rng`, of the usual size and with every class in proportion."""
    from sklearn.model_selection import train_test_split

    num_test, _ = split_sizes(dataset.graph.num_nodes)
    seed = seeding.integer(2**32, rng)
    nodes, classes = range(dataset.graph.num_nodes), dataset.y.cpu().numpy()
    _, drawn = train_test_split(nodes, test_size=num_test, stratify=classes, random_state=seed)
    return torch.tensor(sorted(drawn), device=dataset.y.device)


def draw_split(dataset: Dataset, rng: torch.Generator) -> Split:
    """The split of one evaluation: `rng` draws the validation set, the test set stays the dataset's own."""
    num_nodes = dataset.graph.num_nodes
    _, num_val = split_sizes(num_nodes)
    is_rest = torch.ones(num_nodes, dtype=torch.bool, device=dataset.test.device)
    is_rest[dataset.test] = False
    rest = is_rest.nonzero().flatten()
    if len(rest) <= num_val:
        raise InputError(
            f"dataset '{dataset.graph.name}': {len(rest)} nodes outside its test set leave none to ask "
            f"beside {num_val} for validation"
        )
    drawn = rest[torch.randperm(len(rest), generator=rng, device=rng.device).to(rest.device)]
    return _split(pool=drawn[num_val:], val=drawn[:num_val], test=dataset.test)


def redraw_split(num_nodes: int, rng: torch.Generator) -> Split:
    """The split of one training episode: test and validation are both drawn, on the generator's device."""
    num_test, num_val = split_sizes(num_nodes)
    drawn = torch.randperm(num_nodes, generator=rng, device=rng.device)
    num_drawn = num_test + num_val
    return _split(pool=drawn[num_drawn:], val=drawn[num_test:num_drawn], test=drawn[:num_test])


def _split(pool: Tensor, val: Tensor, test: Tensor) -> Split:
    return Split(pool=pool.sort().values, val=val.sort().values, test=test.sort().values)
