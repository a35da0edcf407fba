import dataclasses

import pytest
import torch

from gcbr.engine.matrix import Centered, Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph, Labels, Split


def square_with_a_diagonal() -> Csr:
    """0-1-2-3-0 and 0-2; node 4 has no edge."""
    ends = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    both = torch.cat([ends, ends.flip(0)], dim=1)
    return Csr.from_entries(both[0], both[1], torch.ones(10), (5, 5))


def test_a_graph_counts_its_parts():
    graph = Graph("square", square_with_a_diagonal(), Dense(torch.zeros(5, 3)))
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (5, 5, 3)
    assert graph.degree.tolist() == [3, 2, 3, 2, 0]


def test_propagation_is_the_normalized_adjacency_made_once():
    graph = Graph("square", square_with_a_diagonal(), Dense(torch.zeros(5, 3)))
    # Nodes 0 and 2 have degree 4 with their self-loops, node 1 has 3.
    dense = graph.propagation.to_dense()
    assert dense[0, 2].item() == pytest.approx(1 / 4)
    assert dense[0, 1].item() == pytest.approx(1 / 12**0.5)
    assert dense[4].tolist() == [0, 0, 0, 0, 1]
    assert graph.propagation is graph.propagation


def test_nodes_go_by_number_or_by_name():
    adjacency, x = square_with_a_diagonal(), Dense(torch.zeros(5, 3))
    assert Graph("square", adjacency, x).name_of(3) == "3"
    assert Graph("square", adjacency, x, node_names=list("abcde")).name_of(3) == "d"


@pytest.mark.parametrize(
    ("shape", "num_rows", "names", "message"),
    [
        ((5, 5), 4, None, r"graph 'square': adjacency is \(5, 5\) and features are \(4, 3\)"),
        ((5, 6), 5, None, r"adjacency is \(5, 6\)"),
        ((5, 5), 5, ["a", "b"], "2 names for 5 nodes"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    shape: tuple[int, int], num_rows: int, names: list[str] | None, message: str
):
    none = torch.tensor([], dtype=torch.long)
    adjacency = Csr.from_entries(none, none, torch.tensor([]), shape)
    with pytest.raises(InputError, match=message):
        Graph("square", adjacency, Dense(torch.zeros(num_rows, 3)), node_names=names)


def test_a_dataset_knows_its_classes_even_those_without_a_node():
    graph = Graph("square", square_with_a_diagonal(), Dense(torch.zeros(5, 3)))
    dataset = Dataset(graph, torch.tensor([0, 0, 1, 1, 0]), ("a", "b", "c"), test=torch.tensor([4]))
    assert dataset.num_classes == 3


def test_a_dataset_is_moved_whole():
    x = Centered(square_with_a_diagonal(), torch.zeros(5))
    graph = Graph("square", square_with_a_diagonal(), x, node_names=tuple("abcde"))
    y = torch.tensor([0, 0, 1, 1, 0])
    dataset = Dataset(graph, y, ("a", "b"), test=y[3:], public_train=y[:2]).to("meta")
    moved = dataset.graph
    matrices = (moved.adjacency, moved.x.base)
    parts = [part for matrix in matrices for part in (matrix.indptr, matrix.indices, matrix.values)]
    parts += [moved.x.center, dataset.y, dataset.test, dataset.public_train]
    assert {part.device.type for part in parts} == {moved.device.type} == {"meta"}
    assert (moved.num_nodes, moved.num_edges, moved.name_of(2)) == (5, 5, "c")
    assert graph.device.type == "cpu"


def test_labels_are_added_to_a_copy():
    first = Labels().add(7, 1)
    second = first.add(3, 0)
    assert (first.nodes, first.classes, len(first)) == ((7,), (1,), 1)
    assert (second.nodes, second.classes, len(second)) == ((7, 3), (1, 0), 2)


def test_labels_count_every_class():
    labels = Labels(nodes=(4, 2, 9), classes=(2, 0, 2))
    assert labels.counts(4).tolist() == [1, 0, 2, 0]
    assert Labels().counts(2).tolist() == [0, 0]
    assert Labels().counts(0).tolist() == []


@pytest.mark.parametrize("value", [Labels(), Split(*torch.zeros(3, 1)), Dense(torch.zeros(1, 1))])
def test_values_cannot_be_changed(value: object):
    name = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, None)
