"""Graphs small enough to draw, and the way to the published ones where this machine has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from gcbr.datasets import SyntheticConfig, synthetic
from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Dataset, Graph

PUBLISHED = Path(__file__).parents[2] / "shared" / "data"

torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the data folders of the person who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GCBR_DATA", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of published raw files."""
    if not PUBLISHED.is_dir():
        pytest.skip("needs the published datasets in ../shared/data, beside the repository")
    return PUBLISHED


def drawn(name: str, edges: list[tuple[int, int]]) -> Graph:
    """A graph written as its edges; the features of a node say which one it is."""
    ends = torch.tensor(edges)
    num_nodes = int(ends.max()) + 1
    adjacency = Csr.from_entries(
        torch.cat([ends[:, 0], ends[:, 1]]),
        torch.cat([ends[:, 1], ends[:, 0]]),
        torch.ones(2 * len(edges)),
        (num_nodes, num_nodes),
    )
    return Graph(name, adjacency, Dense(torch.eye(num_nodes)))


@pytest.fixture
def barbell() -> Graph:
    """Two triangles, 0-1-2 and 3-4-5, joined by the edge 2-3."""
    return drawn("barbell", [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)])


@pytest.fixture
def star() -> Graph:
    """Node 0 in the middle of 1, 2, 3 and 4."""
    return drawn("star", [(0, 1), (0, 2), (0, 3), (0, 4)])


@pytest.fixture(scope="session")
def skewed() -> Dataset:
    """200 nodes in three classes of 135, 48 and 17 nodes, four edges in five inside a class."""
    return synthetic(
        SyntheticConfig(nodes=200, classes=3, skew=8, degree=6, features=16), seed=0, name="skewed"
    )
