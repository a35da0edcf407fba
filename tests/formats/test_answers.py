"""Tables of labels and of nodes: what is wrong in one is answered with its file and line."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from gcbr.errors import InputError
from gcbr.formats.answers import read_labels, read_nodes, write_columns
from gcbr.graph import Graph


@pytest.fixture
def people(barbell: Graph) -> Graph:
    return replace(barbell, name="people", node_names=("ann", "bob", "cy", "di", "ed", "flo"))


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_labels_keep_the_order_of_the_files(people: Graph, tmp_path: Path):
    first = write(tmp_path, "first.csv", "node,label\nflo,x\nann,y\n")
    second = write(tmp_path, "second.tsv", "ID\tnote\tClass\ncy\t?\tx\n")
    labels = read_labels([first, second], people)
    assert list(labels.items()) == [(5, "x"), (0, "y"), (2, "x")]


def test_a_row_without_a_label_says_nothing_yet(people: Graph, tmp_path: Path):
    path = write(tmp_path, "todo.csv", 'node,label,why\nflo,,"less sure; 3 of 4"\nann, y ,\n')
    assert read_labels([path], people) == {0: "y"}


def test_nodes_without_names_go_by_number(barbell: Graph, tmp_path: Path):
    path = write(tmp_path, "labels.csv", "id,y\n5,1\n0,0\n")
    assert read_labels([path], barbell) == {5: "1", 0: "0"}


def test_the_labels_of_a_run_can_be_read_back(people: Graph, tmp_path: Path):
    """There a node's number stands under `node` and its name under `name`."""
    path = write(tmp_path, "labels.csv", "step,node,name,class,seed\n1,5,flo,x,0\n2,0,ann,y,0\n")
    assert read_labels([path], people) == {5: "x", 0: "y"}


def test_parquet_is_read_too(people: Graph, tmp_path: Path):
    pl.DataFrame({"node": ["ed"], "label": ["x"]}).write_parquet(tmp_path / "labels.parquet")
    assert read_labels([tmp_path / "labels.parquet"], people) == {4: "x"}


def test_nodes_are_read_from_their_column(people: Graph, tmp_path: Path):
    path = write(tmp_path, "some.csv", "node,anything\ndi,1\nbob,2\n")
    assert read_nodes(path, people).tolist() == [3, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("node,label\nann,x\ngus,y\n", "labels.csv, line 3: 'gus' is no node of people; .* such as 'ann'"),
        (
            "node,label\nann,x\nbob,y\n\nann,x\n",
            "labels.csv, line 5: node 'ann' .* labels.csv, line 2 already",
        ),
        ("node,label\n,x\n", "labels.csv, line 2: 'node' is empty"),
        (
            "person,label\nann,x\n",
            "labels.csv: no column is the name of a node; expected one called id or node",
        ),
        (
            "node,kind\nann,x\n",
            "labels.csv: no column is the label of a node; expected .* label or class or y",
        ),
        ("node,label,class\nann,x,y\n", "labels.csv: columns label and class may both be the label"),
        ("node,label\nann,0.5\n", "labels.csv, line 2: column 'label' is 0.5, a numeric target"),
        ("node,label\nann,x\nbob,y\ncy,x;y\n", "'x;y', several labels for a node"),
        ("", "labels.csv is empty"),
        ("node,label\nann,x,z\n", "labels.csv, line 2: 3 fields; expected 2"),
    ],
)
def test_mistakes_are_answered_with_file_and_line(people: Graph, tmp_path: Path, text: str, words: str):
    path = write(tmp_path, "labels.csv", text)
    with pytest.raises(InputError, match=words):
        read_labels([path], people)


def test_one_node_in_two_files_is_named_with_both_places(people: Graph, tmp_path: Path):
    paths = [write(tmp_path, name, "node,label\nbob,x\n") for name in ("a.csv", "b.csv")]
    with pytest.raises(InputError, match=r"b.csv, line 2: node 'bob' has its label in a.csv, line 2 already"):
        read_labels(paths, people)


def test_files_that_are_no_tables_are_refused(people: Graph, tmp_path: Path):
    with pytest.raises(InputError, match=r"no file '.*none\.csv'"):
        read_labels([tmp_path / "none.csv"], people)
    with pytest.raises(InputError, match=r"'labels.xlsx' is no table; expected a name ending in .csv, .tsv"):
        read_nodes(tmp_path / "labels.xlsx", people)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_what_is_written_can_be_filled_in_and_read(people: Graph, tmp_path: Path, suffix: str):
    path = tmp_path / f"next.{suffix}"
    write_columns(path, {"node": ["ed", "cy"], "label": ["", "a,b"], "why": ["tab\t here", 'quote " there']})
    assert read_labels([path], people) == {2: "a,b"}
    assert read_nodes(path, people).tolist() == [4, 2]


def test_a_table_that_cannot_be_written_is_a_mistake(tmp_path: Path):
    write(tmp_path, "file", "")
    with pytest.raises(InputError, match="cannot be written"):
        write_columns(tmp_path / "file" / "next.csv", {"node": ["a"]})
