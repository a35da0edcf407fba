"""Other graphs out of a path of six nodes, and out of two triangles."""

from __future__ import annotations

import pytest
import torch

from gcbr.datasets.sparse import undirected
from gcbr.datasets.variations import halved_classes, merged_classes, some_classes, some_columns, with_edges
from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Dataset, Graph
from gcbr.seeding import generator
from gcbr.splits import last_nodes

PATH = ([0, 1, 2, 3, 4], [1, 2, 3, 4, 5])
TRIANGLES = ([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5])


def graph_of(edges: tuple[list[int], list[int]], y: list[int], names: tuple[str, ...]) -> Dataset:
    sources, targets = map(torch.tensor, edges)
    graph = Graph("six", undirected(sources, targets, 6), Dense(torch.arange(24.0).view(6, 4)))
    return Dataset(graph, torch.tensor(y), names, last_nodes(6))


@pytest.fixture
def path() -> Dataset:
    return graph_of(PATH, [0, 1, 2, 3, 0, 1], ("red", "blue", "green", "gray"))


def edges_of(dataset: Dataset) -> set[tuple[int, int]]:
    adjacency = dataset.graph.adjacency
    assert torch.equal(adjacency.to_dense(), adjacency.to_dense().T)
    pairs = zip(adjacency.row_of_entry.tolist(), adjacency.indices.tolist(), strict=True)
    return {(source, target) for source, target in pairs if source < target}


def test_some_classes_keep_their_nodes_and_the_edges_between(path: Dataset):
    part = some_classes(path, torch.tensor([0, 3]))  # nodes 0, 3 and 4
    assert part.class_names == ("red", "gray")
    assert part.y.tolist() == [0, 1, 0]
    assert edges_of(part) == {(1, 2)}
    assert part.graph.x.to_dense()[:, 0].tolist() == [0, 12, 16]
    assert part.test.tolist() == [2]  # of three nodes


def test_merged_classes_are_unions_and_none_is_empty(path: Dataset):
    for seed in range(20):
        merged = merged_classes(path, 3, generator(seed))
        assert sorted(" or ".join(merged.class_names).split(" or ")) == ["blue", "gray", "green", "red"]
        for node, cls in enumerate(merged.y.tolist()):
            assert path.class_names[path.y[node]] in merged.class_names[cls].split(" or ")


def test_a_class_of_two_parts_is_cut_between_them():
    """Noise spreads within a triangle and never from one to the other."""
    triangles = graph_of(TRIANGLES, [0] * 6, ("all",))
    cuts = [halved_classes(triangles, generator(seed)) for seed in range(20)]
    assert {cut.class_names for cut in cuts} == {("one part of all", "the rest of all")}
    assert all(1 <= int(cut.y.sum()) <= 5 for cut in cuts)
    between = [cut for cut in cuts if len(set(cut.y[:3].tolist())) == len(set(cut.y[3:].tolist())) == 1]
    assert len(between) >= 5  # where the share drawn is about half, nothing but a triangle is cut off


def test_fewer_edges_are_some_of_them(path: Dataset):
    kept = [edges_of(with_edges(path, 0.5, generator(seed))) for seed in range(40)]
    assert all(edges <= edges_of(path) for edges in kept)
    assert 1.5 < sum(map(len, kept)) / 40 < 3.5  # half of five
    assert len({frozenset(edges) for edges in kept}) > 5


def test_more_edges_join_nodes_with_a_common_neighbor(path: Dataset):
    two_apart = {(0, 2), (1, 3), (2, 4), (3, 5)}
    added = [edges_of(with_edges(path, 1.5, generator(seed))) - edges_of(path) for seed in range(40)]
    assert all(len(edges) == 2 and edges < two_apart for edges in added)  # half of five
    assert set.union(*added) == two_apart
    assert edges_of(with_edges(path, 9, generator(0))) == edges_of(path) | two_apart


@pytest.mark.parametrize("kind", [Dense, Csr])
def test_some_columns_are_a_share_of_them_in_order(path: Dataset, kind: type):
    dense = path.graph.x.to_dense()
    rows, columns = (dense >= 0).nonzero().T
    x = Dense(dense) if kind is Dense else Csr.from_entries(rows, columns, dense[rows, columns], (6, 4))
    for seed in range(10):
        some = some_columns(x, 0.5, generator(seed)).to_dense()
        assert some.shape == (6, 2)
        first, second = some[0].tolist()
        assert first < second
        assert torch.equal(some, dense[:, [int(first), int(second)]])
