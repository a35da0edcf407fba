"""Whatever is wrong with a file is answered with its place and what was expected there."""

import time

import networkx as nx
import numpy as np
import polars as pl
import pytest
import torch

from gcbr.errors import InputError
from gcbr.formats import from_networkx, from_pyg, from_scipy, open_graph

EDGES = "source,target,weight\na,b,1\nb,c,2\n"
NODES = "id,size,label\na,1,x\nb,2,y\nc,3,\n"


def refusal(source, **options):
    with pytest.raises(InputError) as caught:
        open_graph(source, **options)
    return str(caught.value)


def assert_words(text, *words):
    for word in words:
        assert word in text, text


@pytest.mark.parametrize(
    ("edges", "nodes", "words"),
    [
        (EDGES + "c,d,1\n", NODES, ["edges.csv, line 4", "target 'd' is no node", "nodes.csv"]),
        (EDGES + "c,,1\n", NODES, ["edges.csv, line 4", "'target' is empty"]),
        (EDGES + "c\n", NODES, ["edges.csv, line 4", "'target' is empty"]),
        (EDGES + "c,a,heavy\n", NODES, ["edges.csv, line 4", "weight is 'heavy'", "finite number"]),
        (EDGES + "c,a,\n", NODES, ["edges.csv, line 4", "weight is empty"]),
        (EDGES + "c,a,-2\n", NODES, ["edges.csv, line 4", "weight is '-2'", "0 or more"]),
        (EDGES + "c,a,nan\n", NODES, ["edges.csv, line 4", "weight is 'nan'"]),
        (EDGES + "c,a,inf\n", NODES, ["edges.csv, line 4", "weight is 'inf'"]),
        (EDGES + "c,a,1e300\n", NODES, ["edges.csv, line 4", "weight is '1e300'"]),
        (EDGES + "\n\nc,a,-1\n", NODES, ["edges.csv, line 6"]),
        (EDGES + "c,a,1,1\n", NODES, ["edges.csv, line 4", "4 fields", "expected 3"]),
        (EDGES + 'c,"a,1\n', NODES, ["edges.csv, line 4", "quote", "never closed"]),
        ("", NODES, ["edges.csv is empty"]),
        ("\n \n", NODES, ["edges.csv is empty"]),
        ("from,weight\na,1\n", NODES, ["edges.csv", "target or dst or to", "from, weight"]),
        ("source,target,source\na,b,c\n", NODES, ["edges.csv, line 1", "two columns", "'source'"]),
        ("source,src,target\na,b,c\n", NODES, ["edges.csv", "source and src"]),
        (EDGES, NODES + "a,4,x\n", ["nodes.csv, line 5", "id 'a'", "nodes.csv, line 2", "unique"]),
        (EDGES, NODES + ",4,x\n", ["nodes.csv, line 5", "'id' is empty"]),
        (EDGES, NODES + "d,nan,x\n", ["nodes.csv, line 5", "'size' is nan", "finite number"]),
        (EDGES, NODES + "d,-inf,x\n", ["nodes.csv, line 5", "'size' is -inf"]),
        (EDGES, "size\n1\n", ["nodes.csv", "id or node", "size"]),
        (EDGES, "id,class,y\na,1,1\nb,1,1\nc,1,1\n", ["class and y", "say which"]),
        (EDGES, "id,y\na,0.5\nb,1\nc,2\n", ["nodes.csv, line 2", "numeric target", "classes"]),
        (EDGES, "id,y\na,p|q\nb,q\nc,p\n", ["'p|q'", "several labels"]),
        (
            EDGES,
            "id,label\na,x\n" + "".join(f"n{i},c{i}\n" for i in range(60)) + "b,b\nc,c\n",
            ["no two alike"],
        ),
        ("source,target\n", "id\n", ["no nodes"]),
    ],
)
def test_tables(tmp_path, edges, nodes, words):
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "nodes.csv").write_text(nodes)
    assert_words(refusal(tmp_path), *words)


def test_a_number_misspelled_among_many_is_named(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    rows = [f"{node},{'12a' if node == 17 else node}\n" for node in range(40)]
    (tmp_path / "nodes.csv").write_text("id,age\n" + "".join(rows))
    assert_words(refusal(tmp_path), "nodes.csv, line 19", "'age' holds numbers", "'12a'")


def test_lines_are_counted_through_quoted_line_breaks(tmp_path):
    (tmp_path / "edges.csv").write_text('source,target,why\na,b,"one\ntwo, ""three"""\nb,c,\nc,zz,\n')
    (tmp_path / "nodes.csv").write_text("id\na\nb\nc\n")
    assert_words(refusal(tmp_path), "edges.csv, line 5", "'zz'")


@pytest.mark.parametrize("encoding", ["latin1", "utf-16"])
def test_the_first_byte_that_is_not_utf8_is_named(tmp_path, encoding):
    (tmp_path / "edges.csv").write_bytes("source,target\na,b\nä,b\n".encode(encoding))
    place = "line 3: byte 18 (0xe4)" if encoding == "latin1" else "line 1: byte 0 (0xff)"
    assert_words(refusal(tmp_path), "edges.csv", place, "UTF-8")


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    (tmp_path / "edges.csv").write_bytes(b"\xef\xbb\xbfsource,target\r\n\xc3\xa4,b\r\n")
    assert open_graph(tmp_path).graph.node_names == ("ä", "b")


@pytest.mark.parametrize(
    ("last", "words"), [("5,-1", "weight is '-1'"), ("5", "'target' is empty"), ("5,6,7,8", "4")]
)
def test_an_error_in_the_last_of_many_lines_is_found(tmp_path, last, words):
    last = last.replace("5,-1", "5,6,-1")
    content = "source,target,weight\n" + "1,2,3\n" * 1_000_000 + last
    (tmp_path / "edges.csv").write_text(content)
    assert_words(refusal(tmp_path / "edges.csv"), "edges.csv, line 1000002", words)


@pytest.mark.slow
def test_an_error_in_the_last_of_ten_million_lines_is_found_in_seconds(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\n" + "1,2,3\n" * 10**7 + "5,6,x\n")
    start = time.process_time()
    assert_words(refusal(tmp_path / "edges.csv"), "edges.csv, line 10000002", "weight is 'x'")
    assert time.process_time() - start < 10


def test_folders_and_names(tmp_path):
    assert_words(refusal(tmp_path / "no"), "no file or folder", "no")
    assert_words(refusal(tmp_path), "no table of edges", "edges.csv", "edges.parquet")
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "edges.tsv").write_text(EDGES)
    assert_words(refusal(tmp_path), "edges.csv and edges.tsv")
    (tmp_path / "graph.xyz").write_text("?")
    assert_words(refusal(tmp_path / "graph.xyz"), "'graph.xyz' is in no known format", "graphml", "csv")
    assert_words(refusal(tmp_path / "edges.csv", nodes=tmp_path / "graph.xyz"), "pair of tables")
    assert_words(refusal(tmp_path / "edges.csv", nodes=tmp_path / "none.csv"), "no file", "none.csv")
    assert_words(refusal(tmp_path / "edges.csv", features="paper"), "'paper'", "default", "raw")
    assert_words(refusal(tmp_path / "edges.csv", labels="kind"), "no column 'kind'", "none")


def test_parquet_is_answered_by_row(tmp_path):
    pl.DataFrame({"source": [1, 2], "target": [2, 3], "weight": [1.0, float("nan")]}).write_parquet(
        tmp_path / "edges.parquet"
    )
    assert_words(refusal(tmp_path), "edges.parquet, row 2", "weight is 'nan'")
    pl.DataFrame({"source": [1.5], "target": [2.0]}).write_parquet(tmp_path / "edges.parquet")
    assert_words(refusal(tmp_path), "edges.parquet", "'source' holds Float64", "whole numbers")
    pl.DataFrame({"source": [1], "target": [2]}).write_parquet(tmp_path / "edges.parquet")
    pl.DataFrame({"id": [1, 2], "y": [["a"], ["a", "b"]]}).write_parquet(tmp_path / "nodes.parquet")
    assert_words(refusal(tmp_path), "'y' holds several labels")
    pl.DataFrame({"id": [1, 2], "v": [[1.0, 2.0], [3.0]]}).write_parquet(tmp_path / "nodes.parquet")
    assert_words(refusal(tmp_path), "nodes.parquet, row 2", "'v' holds a list of 1", "2 numbers")
    (tmp_path / "nodes.parquet").write_bytes(b"PAR1 not at all")
    assert_words(refusal(tmp_path), "nodes.parquet is not a Parquet file")


GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph>\n{}\n</graph></graphml>'
GEXF = '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph><nodes>\n{}</graph></gexf>'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("g.graphml", "", ["g.graphml is empty"]),
        ("g.graphml", "<graphml>\n<graph>", ["g.graphml, line 2", "not valid XML"]),
        (
            "g.graphml",
            GRAPHML.format('<node id="a"/>\n<edge source="a" target="b"/>'),
            ["line 3", "target 'b'"],
        ),
        ("g.graphml", GRAPHML.format('<node id="a"/>\n<node id="a"/>'), ["line 3", "id 'a'", "line 2"]),
        ("g.gexf", "<gexf", ["g.gexf, line 1", "not valid XML"]),
        (
            "g.gexf",
            GEXF.format('<node id="a"/></nodes>\n<edges><edge id="0" source="a" target="b"/></edges>'),
            ["line 3", "target 'b'"],
        ),
        ("g.gml", "graph [ node [ id 0 label 'a' ]", ["g.gml cannot be read as GML"]),
        (
            "g.gml",
            'graph [ node [ id 0 label "a" ] edge [ source 0 target 1 ] ]',
            ["g.gml", "undefined target 1"],
        ),
        ("g.json", "{\n,", ["g.json, line 2, column 1", "not valid JSON"]),
        ("g.json", "[1]", ["g.json is not node-link JSON", "'nodes' and 'links'"]),
        ("g.json", '{"nodes": [{}], "links": []}', ["g.json, nodes[0]", "'id'"]),
        ("g.json", '{"nodes": [{"id": 1}, {"id": 1}], "links": []}', ["nodes[1]", "id '1'"]),
        (
            "g.json",
            '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}',
            ["links[0]", "target '2'"],
        ),
        ("g.json", '{"nodes": [{"id": 1, "size": NaN}], "links": []}', ["node '1'", "'size' is nan"]),
        (
            "g.json",
            '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2, "weight": -1}]}',
            ["edge '1' to '2'", "'-1'", "0 or more"],
        ),
        ("g.mtx", "", ["g.mtx is empty"]),
        (
            "g.mtx",
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 5 1\n",
            ["g.mtx is not a Matrix Market"],
        ),
        ("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 3 1\n", ["2 x 3", "square"]),
        ("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -1\n", ["edge 0 to 1", "-1.0"]),
        ("g.npz", "PK not a zip", ["g.npz is not a graph"]),
        ("g.pt", "not an archive", ["g.pt was not loaded"]),
    ],
)
def test_other_formats(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    assert_words(refusal(tmp_path / name), *words)


def test_a_text_format_in_another_encoding(tmp_path):
    for name in ("g.gml", "g.json"):
        (tmp_path / name).write_bytes(b"\n\xe4")
        assert_words(refusal(tmp_path / name), name, "line 2: byte 1 (0xe4)", "UTF-8")


class Harmful:
    def __reduce__(self):
        return eval, ("1 / 0",)


def test_no_pickle_is_run(tmp_path):
    torch.save({"edge_index": torch.zeros(2, 0).long(), "harm": Harmful()}, tmp_path / "g.pt")
    assert_words(refusal(tmp_path / "g.pt"), "g.pt was not loaded", "nothing else is run")
    np.savez(tmp_path / "g.npz", adj_data=np.array([Harmful()], dtype=object))
    assert_words(refusal(tmp_path / "g.npz"), "g.npz is not a graph")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"edge_index": None}, "'edge_index' of shape [2, edges]"),
        ({"edge_index": torch.tensor([[0], [7]])}, "node 7; nodes are numbered 0 to 1"),
        ({"edge_weight": torch.tensor([-1.0])}, "edge 0 to 1 is -1.0"),
        ({"edge_weight": torch.ones(3)}, "3 weights for 1 edges"),
        ({"x": torch.tensor([[1.0], [torch.inf]])}, "NaN or infinite"),
        ({"x": torch.ones(2)}, "features of shape 2"),
        ({"y": torch.tensor([0.5, 1.0])}, "numeric target"),
        ({"y": torch.ones(2, 3).long()}, "shape 2 x 3; one class for each node"),
        ({"y": torch.ones(1).long()}, "1 labels for 2 nodes"),
        ({"y": torch.tensor([0, 3]), "class_names": ["a", "b"]}, "2 class names"),
        ({"node_names": ["a", "a"]}, "1 distinct names for 2 nodes"),
    ],
)
def test_wrong_pyg_data(changes, words):
    data = {"edge_index": torch.tensor([[0], [1]]), "x": torch.ones(2, 1), **changes}
    with pytest.raises(InputError) as caught:
        from_pyg(data)
    assert_words(str(caught.value), words)


def test_wrong_objects():
    with pytest.raises(InputError, match="expected PyG's Data"):
        from_pyg(3)
    with pytest.raises(InputError, match="square"):
        from_scipy(np.ones((2, 3)))
    with pytest.raises(InputError, match="features of 3 nodes for 2"):
        from_scipy(np.ones((2, 2)), np.ones((3, 1)))
    with pytest.raises(InputError, match="complex"):
        from_scipy(np.ones((2, 2)) * 1j)
    graph = nx.path_graph(2)
    graph.add_node("1")
    with pytest.raises(InputError, match="two nodes are called '1'"):
        from_networkx(graph)
