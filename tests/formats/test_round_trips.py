"""Any graph written in any format and read back is the same graph."""

import tempfile
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix

import gcbr
from gcbr.datasets.features import DEFAULT_NORM
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.formats import GraphFile, convert_graph, from_scipy, open_graph, write_graph
from gcbr.graph import Graph

TARGETS = {
    "csv": ("tables", "csv"),
    "tsv": ("tables", "tsv"),
    "parquet": ("tables", "parquet"),
    **{name: (f"graph.{name}", None) for name in ("graphml", "gml", "gexf", "json", "npz", "pt")},
}

# Names that some format or other takes for something else than text.
TRICKY = [
    "0",
    "1",
    "00",
    "-1",
    "1e5",
    "1.0",
    "nan",
    "NAN",
    "inf",
    "null",
    "None",
    "True",
    "[",
    "_",
    "#a",
    "id",
]
TRICKY += [
    " a",
    "a ",
    "&amp;",
    "&#65;",
    '"',
    "''",
    ",",
    ";",
    "\\n",
    "label",
    "source",
    "_networkx_list_start",
]

# Letters of many scripts, punctuation and spaces; no control characters, which XML cannot hold.
TEXT = st.sampled_from(TRICKY) | st.text(
    st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=8
)
CLASSES = st.sampled_from(["red", "blue", "7", "ä ö", 'so "called"', "a,b", "nan", "None", "&lt;"])
NUMBERS = st.floats(-1e6, 1e6, width=32)
WEIGHTS = st.floats(2**-20, 2**20, width=32)


@st.composite
def graphs(draw):
    """A graph of up to 8 nodes with names, weights, features and labels for some nodes."""
    num_nodes = draw(st.integers(1, 8))
    names = draw(st.none() | st.lists(TEXT, min_size=num_nodes, max_size=num_nodes, unique=True))
    pairs = [(low, high) for high in range(num_nodes) for low in range(high)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    is_weighted = draw(st.booleans())
    weights = [draw(WEIGHTS) if is_weighted else 1.0 for _ in edges]
    num_features = draw(st.integers(1, 3))
    row = st.lists(NUMBERS, min_size=num_features, max_size=num_features)
    x = torch.tensor(draw(st.lists(row, min_size=num_nodes, max_size=num_nodes)))
    labels = draw(st.dictionaries(st.integers(0, num_nodes - 1), CLASSES))
    return Graph("drawn", symmetric(edges, weights, num_nodes), Dense(x), names, "raw"), labels


def symmetric(edges, weights, num_nodes):
    ends = torch.tensor(edges, dtype=torch.long).reshape(-1, 2)
    both = torch.cat([ends, ends.flip(1)])
    values = torch.tensor(weights, dtype=torch.float32).repeat(2)
    return Csr.from_entries(both[:, 0], both[:, 1], values, (num_nodes, num_nodes))


def assert_same(opened: GraphFile, graph: Graph, labels) -> None:
    assert_same_edges(opened.graph, graph)
    assert [opened.graph.name_of(n) for n in range(graph.num_nodes)] == [
        graph.name_of(n) for n in range(graph.num_nodes)
    ]
    assert opened.graph.x.to_dense().tolist() == graph.x.to_dense().tolist()
    assert dict(opened.labels) == labels
    assert opened.has_features


def assert_same_edges(read: Graph, graph: Graph) -> None:
    assert read.num_nodes == graph.num_nodes
    assert read.adjacency.to_dense().tolist() == graph.adjacency.to_dense().tolist()


@pytest.mark.parametrize("format", TARGETS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=graphs())
def test_any_graph_comes_back_as_it_was(format, drawn):
    graph, labels = drawn
    target, table = TARGETS[format]
    with tempfile.TemporaryDirectory() as folder:
        assert write_graph(Path(folder, target), graph, labels, format=table) == ()
        assert_same(open_graph(Path(folder, target), features="raw"), graph, labels)


@settings(max_examples=40, deadline=None)
@given(drawn=graphs())
def test_matrix_market_holds_edges_and_says_what_it_does_not(drawn):
    graph, labels = drawn
    with tempfile.TemporaryDirectory() as folder:
        lost = write_graph(Path(folder, "graph.mtx"), graph, labels)
        assert ("Matrix Market holds no labels: left out" in lost) == bool(labels)
        opened = open_graph(Path(folder, "graph.mtx"))
    assert_same_edges(opened.graph, graph)
    assert not opened.has_features


@pytest.mark.parametrize("first", TARGETS)
def test_converting_from_format_to_format_changes_nothing(first, tmp_path):
    x = torch.tensor([[0.1, 2.0], [0.0, -3.0], [1e-9, 4.0]])
    graph = Graph("three", symmetric([(0, 1), (1, 2)], [0.3, 2.0], 3), Dense(x), ("a", "b", "c"), "raw")
    labels = {0: "red", 2: "blue"}
    source = tmp_path / "first" / TARGETS[first][0]
    write_graph(source, graph, labels, format=TARGETS[first][1])
    for second, (target, table) in TARGETS.items():
        convert_graph(source, tmp_path / second / target, format=table)
        assert_same(open_graph(tmp_path / second / target, features="raw"), graph, labels)


def test_columns_of_text_survive_a_conversion(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,color,class\na,red,x\nb,blue,y\n")
    for target in ("out", "out.graphml", "out.gml", "out.gexf", "out.json"):
        convert_graph(tmp_path, tmp_path / target)
        opened = open_graph(tmp_path / target)
        assert opened.attributes["color"].to_list() == ["red", "blue"]
        assert opened.labels == {0: "x", 1: "y"}


def test_columns_made_from_the_edges_are_not_written(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    convert_graph(tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / "nodes.csv").read_text() == "id\na\nb\n"


def test_sparse_features_come_back_sparse(tmp_path):
    x = Csr.from_entries(torch.arange(9), torch.arange(9), torch.arange(1.0, 10.0), (9, 9))
    graph = Graph("nine", symmetric([(0, 8)], [1.0], 9), x, None, "raw")
    for format, (target, table) in TARGETS.items():
        write_graph(tmp_path / format / target, graph, format=table)
        opened = open_graph(tmp_path / format / target, features="raw").graph
        assert opened.x.to_dense().tolist() == x.to_dense().tolist()
        assert isinstance(opened.x, Csr) or format == "pt"


@settings(max_examples=40, deadline=None)
@given(drawn=graphs())
def test_objects_of_other_libraries_give_the_same_graph(drawn):
    graph, _ = drawn
    adjacency = graph.adjacency
    rows, columns = adjacency.row_of_entry, adjacency.indices.long()
    matrix = coo_array((adjacency.values.numpy(), (rows.numpy(), columns.numpy())), shape=adjacency.shape)
    assert_same_edges(from_scipy(csr_matrix(matrix)), graph)
    network = nx.Graph()
    network.add_nodes_from(range(graph.num_nodes))
    network.add_weighted_edges_from(
        zip(rows.tolist(), columns.tolist(), adjacency.values.tolist(), strict=True)
    )
    assert_same_edges(gcbr.from_networkx(network), graph)
    data = {
        "edge_index": torch.stack([rows, columns]),
        "edge_weight": adjacency.values,
        "x": graph.x.to_dense(),
    }
    read = gcbr.from_pyg(data, features="raw")
    assert_same_edges(read, graph)
    assert read.x.to_dense().tolist() == graph.x.to_dense().tolist()


def test_a_pyg_data_object_is_a_graph():
    from gcbr.formats.matrices import _pyg

    data = _pyg().Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 1, 0]))
    graph = gcbr.from_pyg(data)
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (3, 2, 3)


def test_features_of_scipy_are_taken_sparse_or_dense():
    path = csr_matrix(np.array([[0, 1], [1, 0]]))
    x = np.array([[3.0, 4.0], [0.0, 2.0]])
    for features in (x, csr_matrix(x), torch.tensor(x)):
        assert from_scipy(path, features, features="raw").x.to_dense().flatten().tolist() == [3, 4, 0, 2]
        scaled = from_scipy(path, features)
        assert scaled.feature_rule == "default"
        assert (scaled.x.to_dense() / DEFAULT_NORM).flatten().tolist() == pytest.approx([0.6, 0.8, 0, 1])


@pytest.mark.parametrize(
    ("target", "format", "words"),
    [
        ("edges.csv", None, "two tables; give a folder"),
        ("graph.xyz", "xyz", "the suffix of a file is its format"),
        ("graph.gml", "csv", "cannot be written as csv"),
    ],
)
def test_a_target_in_no_format_is_refused(tmp_path, barbell, target, format, words):
    with pytest.raises(InputError, match=words):
        write_graph(tmp_path / target, barbell, format=format)
    assert not list(tmp_path.iterdir())


def test_a_name_that_a_format_cannot_hold_is_refused(tmp_path):
    graph = Graph("one", symmetric([], [], 1), Dense(torch.ones(1, 1)), ("a\x01b",))
    for name in ("graph.graphml", "graph.gexf"):
        with pytest.raises(InputError, match=r"cannot hold the text 'a\\x01b'"):
            write_graph(tmp_path / name, graph)
    with pytest.raises(InputError, match="format gml cannot hold"):
        write_graph(tmp_path / "graph.gml", replace(graph, node_names=("[]",)))
    assert not list(tmp_path.iterdir())


def test_line_breaks_in_names_survive_in_tables_and_json(tmp_path):
    graph = Graph("two", symmetric([(0, 1)], [1.0], 2), Dense(torch.ones(2, 1)), ('a\n"b', "c\r\n"), "raw")
    for format in ("csv", "tsv", "parquet", "json", "npz", "gml"):
        target, table = TARGETS[format]
        write_graph(tmp_path / format / target, graph, {1: "x\ny"}, format=table)
        assert_same(open_graph(tmp_path / format / target, features="raw"), graph, {1: "x\ny"})
