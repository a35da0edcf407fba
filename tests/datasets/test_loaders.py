import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
import torch

from gcbr.datasets import DATASETS, load_dataset, npz, reddit
from gcbr.datasets.raw import RawFolder
from gcbr.datasets.sparse import undirected
from gcbr.engine.matrix import Csr
from gcbr.errors import InputError

# name: nodes, undirected edges without loops, features, isolated nodes, nodes of each class
COUNTS = {
    "cora": (2708, 5278, 1433, 0, [351, 217, 418, 818, 426, 298, 180]),
    "citeseer": (3327, 4552, 3703, 48, [264, 590, 668, 701, 596, 508]),
    "pubmed": (19717, 44324, 500, 0, [4103, 7739, 7875]),
    "co-cs": (
        18333,
        81894,
        6805,
        0,
        [708, 462, 2050, 429, 1394, 2193, 371, 924, 775, 118, 1444, 2033, 420, 4136, 876],
    ),
    "co-phy": (34493, 247962, 8415, 0, [5750, 5045, 17426, 2753, 3519]),
    "photo": (7650, 119081, 745, 115, [369, 1686, 703, 915, 882, 823, 1941, 331]),
    "reddit-structure": (4584, 19460, 300, 0, [486, 494, 541, 509, 364, 473, 377, 425, 453, 462]),
}
RHO = {
    "cora": 0.22,
    "citeseer": 0.38,
    "pubmed": 0.52,
    "co-cs": 0.03,
    "co-phy": 0.16,
    "photo": 0.17,
    "reddit-structure": 0.67,
}
# The nodes of each class in the fixed test set
TEST_COUNTS = {
    "cora": [130, 91, 144, 319, 149, 103, 64],
    "citeseer": [77, 182, 181, 231, 169, 160],
    "pubmed": [180, 413, 407],
    "co-cs": [18, 23, 106, 15, 78, 129, 14, 72, 41, 2, 92, 114, 12, 229, 55],
    "co-phy": [203, 110, 544, 86, 57],
    "photo": [53, 208, 91, 129, 108, 103, 267, 41],
}
# One test node as PyTorch Geometric 2.8 builds it: id, class, first columns of its features, first neighbors
NODES = {
    "cora": (1708, 3, [7, 41, 65, 192, 203, 225, 230, 233], [467, 873, 1358, 1857, 2313, 2314]),
    "citeseer": (2312, 4, [18, 95, 166, 177, 196, 563, 600, 619], [28, 1654, 1967, 2401]),
    "pubmed": (18717, 2, [7, 18, 19, 20, 37, 44, 49, 53], [1619, 2249, 2870, 5336, 5911, 7223, 7929, 10039]),
    "co-cs": (
        17333,
        13,
        [64, 148, 267, 504, 690, 949, 976, 978],
        [613, 1506, 1744, 2708, 3128, 9598, 10862, 13473],
    ),
    "co-phy": (33493, 2, [413, 1519, 1532, 1748], [3143, 3527, 8157, 8703, 8910, 9859, 10764, 12751]),
    "photo": (6650, 2, [0, 4, 6, 8, 10, 12, 13, 17], [7, 247, 337, 399, 441, 890, 935, 991]),
}
# Stored features and their sum
FEATURES = {
    "cora": (49216, 49216),
    "citeseer": (105165, 105165),
    "pubmed": (988031, 38716.295),
    "co-cs": (1092079, 1741991),
    "co-phy": (1137311, 1930034),
    "photo": (1979909, 1979909),
}


@pytest.fixture(scope="module")
def load(data_dir):
    """A published dataset with raw features, read once for all tests."""
    loaded = {}

    def load(name):
        if name not in loaded:
            loaded[name] = DATASETS[name].load(RawFolder(data_dir))
        return loaded[name]

    return load


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_the_published_ones(name, load):
    dataset = load(name)
    graph = dataset.graph
    num_nodes, num_edges, num_features, num_isolated, class_counts = COUNTS[name]
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (num_nodes, num_edges, num_features)
    assert int((graph.degree == 0).sum()) == num_isolated
    counts = dataset.y.bincount(minlength=dataset.num_classes)
    assert counts.tolist() == class_counts
    assert round(float(counts.min() / counts.max()), 2) == RHO[name]
    assert graph.name == name


@pytest.mark.parametrize("name", COUNTS)
def test_graphs_are_simple_and_undirected(name, load):
    adjacency = load(name).graph.adjacency
    rows, columns = adjacency.row_of_entry, adjacency.indices.long()
    assert (rows != columns).all()
    assert (adjacency.values == 1).all()
    there = rows * adjacency.num_columns + columns
    back = columns * adjacency.num_columns + rows
    assert torch.equal(there, back.sort().values)
    assert (there.diff() > 0).all()


@pytest.mark.parametrize("name", TEST_COUNTS)
def test_the_test_set_holds_1000_fixed_nodes(name, load):
    dataset = load(name)
    assert dataset.y[dataset.test].bincount().tolist() == TEST_COUNTS[name]
    assert (dataset.test.diff() > 0).all()
    # CiteSeer's ids skip the 15 nodes that have no class.
    first = 2312 if name == "citeseer" else dataset.graph.num_nodes - 1000
    assert (int(dataset.test[0]), int(dataset.test[-1])) == (first, dataset.graph.num_nodes - 1)


@pytest.mark.parametrize("name", NODES)
def test_a_test_node_has_its_own_features_class_and_neighbors(name, load):
    dataset = load(name)
    node, cls, columns, neighbors = NODES[name]
    x, adjacency = dataset.graph.x, dataset.graph.adjacency
    assert int(dataset.y[node]) == cls
    assert sorted(x.rows(torch.tensor([node])).indices.tolist())[: len(columns)] == columns
    assert adjacency.rows(torch.tensor([node])).indices.tolist()[: len(neighbors)] == neighbors


@pytest.mark.parametrize("name", FEATURES)
def test_features_are_those_of_the_files(name, load):
    x = load(name).graph.x
    assert x.num_stored == FEATURES[name][0]
    assert float(x.values.double().sum()) == pytest.approx(FEATURES[name][1], abs=1e-3)


@pytest.mark.parametrize(("name", "per_class"), [("cora", 20), ("citeseer", 20), ("pubmed", 20)])
def test_the_public_training_set_has_20_nodes_of_each_class(name, per_class, load):
    dataset = load(name)
    assert dataset.y[dataset.public_train].bincount().tolist() == [per_class] * dataset.num_classes
    assert dataset.public_train.tolist() == list(range(per_class * dataset.num_classes))
    assert load("photo").public_train is None


def test_the_citeseer_nodes_without_a_paper_are_empty_and_of_class_0(load):
    dataset = load("citeseer")
    is_tested = torch.zeros(3327, dtype=torch.bool)
    is_tested[dataset.test] = True
    missing = 2312 + (~is_tested[2312:]).nonzero().flatten()
    assert len(missing) == 15
    assert dataset.y[missing].tolist() == [0] * 15
    assert dataset.graph.degree[missing].tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1]
    assert dataset.graph.x.row_lengths[missing].tolist() == [0] * 15


@pytest.mark.parametrize(
    ("name", "cls", "class_name"),
    [
        ("cora", 3, "Neural Networks"),  # 818 papers
        ("cora", 6, "Rule Learning"),  # 180
        ("citeseer", 3, "DB"),  # 701
        ("citeseer", 0, "AI"),  # 249 and the 15 without a class
        ("pubmed", 0, "Diabetes Mellitus, Experimental"),  # 4103
        ("reddit-structure", 9, "class 9"),
    ],
)
def test_classes_have_names(name, cls, class_name, load):
    dataset = load(name)
    assert dataset.class_names[cls] == class_name
    assert len(set(dataset.class_names)) == dataset.num_classes == len(COUNTS[name][4])


@pytest.mark.parametrize("source", [npz.CO_CS, npz.CO_PHY, npz.PHOTO], ids=lambda source: source.name)
def test_class_names_are_those_inside_the_file(source, data_dir):
    content = RawFolder(data_dir).read(source.file)  # its sum is checked: unpickling the names is safe
    with np.load(io.BytesIO(content), allow_pickle=True) as arrays:
        assert source.class_names == tuple(arrays["class_names"])


def tiny_npz(**changes):
    """Four nodes: 0-1 given twice, 1-2 one way, a loop at 3; features 0/5/0 and so on."""
    arrays = {
        "adj_data": np.ones(4, np.float32),
        "adj_indices": np.array([1, 0, 2, 3]),
        "adj_indptr": np.array([0, 1, 3, 3, 4]),
        "adj_shape": np.array([4, 4]),
        "attr_data": np.array([5, 1, 2], np.float32),
        "attr_indices": np.array([1, 0, 2]),
        "attr_indptr": np.array([0, 1, 2, 2, 3]),
        "attr_shape": np.array([4, 3]),
        "labels": np.array([0, 1, 4, 2]),
        "node_names": np.array([{}, [], None, 0], dtype=object),
    }
    buffer = io.BytesIO()
    np.savez(buffer, **(arrays | changes))
    return buffer.getvalue()


def test_an_npz_graph_is_made_symmetric_without_loops():
    dataset = npz.CO_PHY.parse(tiny_npz())
    assert dataset.graph.adjacency.to_dense().tolist() == [
        [0, 1, 0, 0],
        [1, 0, 1, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
    ]
    assert dataset.graph.x.to_dense().tolist() == [[0, 5, 0], [1, 0, 0], [0, 0, 0], [0, 0, 2]]
    assert dataset.y.tolist() == [0, 1, 4, 2]
    assert dataset.test.tolist() == [3]  # 2/5 of 4 nodes


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not an archive", "corrupt or cut short"),
        (tiny_npz()[:-200], "corrupt or cut short"),
        (tiny_npz(labels=np.array([0, 1, 2, 5])), "labels run from 0 to 5"),
        (tiny_npz(labels=np.array([{}, 1, 2, 3], dtype=object)), "allow_pickle=False"),
        (tiny_npz(attr_indices=np.array([1, 0, 3])), "a column lies outside 0 to 2"),
        (tiny_npz(attr_shape=np.array([5, 3])), "row offsets do not describe 5 rows"),
        (tiny_npz(adj_data=np.ones(3)), "3 values for 4 places"),
    ],
    ids=["text", "cut", "class", "pickle", "column", "shape", "values"],
)
def test_a_corrupt_npz_file_is_one_clear_error(content, reason):
    with pytest.raises(InputError, match=rf"^ms_academic_phy\.npz .*{reason}"):
        npz.CO_PHY.parse(content)


EDGES = b"5\n0 1\n1 2\n2 1\n3 3\n4 0\n"
CLASSES = pickle.dumps(np.array([0, 0, 1, 1, 2]), protocol=3)
X = np.arange(10.0).reshape(5, 2)


@pytest.mark.parametrize(
    "features", [X, X.astype(np.float32), scipy.sparse.csr_matrix(X)], ids=["f8", "f4", "csr"]
)
def test_a_graph_in_the_format_of_gpa_is_read(features):
    dataset = reddit.parse(EDGES, CLASSES, pickle.dumps(features, protocol=3))
    expected = [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    assert dataset.graph.adjacency.to_dense().tolist() == expected
    assert dataset.graph.x.to_dense().tolist() == X.tolist()
    assert dataset.y.tolist() == [0, 0, 1, 1, 2]
    assert dataset.class_names == ("class 0", "class 1", "class 2")
    assert dataset.test.tolist() == [3, 4]
    assert dataset.graph.name == "reddit"


@pytest.mark.parametrize(
    ("edges", "classes", "features", "reason"),
    [
        (b"", CLASSES, X, "reddit.edgelist is not an edge list"),
        (b"5\n0 1\n2\n", CLASSES, X, "reddit.edgelist is not an edge list"),
        (b"5\n0 x\n", CLASSES, X, "reddit.edgelist is not an edge list"),
        (b"5\n0 5\n", CLASSES, X, "an edge names node 5; 5 nodes are numbered 0 to 4"),
        (b"5\n0 -1\n", CLASSES, X, "an edge names node -1"),
        (EDGES, pickle.dumps(np.array([0, 1])), X, "reddit.y.pkl holds"),
        (EDGES, pickle.dumps(np.array([0, 1, 2, 3, -1])), X, "reddit.y.pkl holds"),
        (EDGES, CLASSES[:-20], X, "reddit.y.pkl is corrupt"),
        (EDGES, CLASSES, X[:4], "reddit.x.pkl has 4 rows, expected one for each of 5 nodes"),
        (EDGES, CLASSES, X[0], "reddit.x.pkl holds no matrix"),
    ],
)
def test_broken_files_of_that_format_are_one_clear_error(edges, classes, features, reason):
    with pytest.raises(InputError, match=reason):
        reddit.parse(edges, classes, pickle.dumps(features))


def test_reddit_without_features_says_which_file_to_put_where(data_dir, tmp_path):
    for file in (reddit.EDGES, reddit.CLASSES):
        path = tmp_path / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((data_dir / file.path).read_bytes())
    with pytest.raises(InputError) as caught:
        load_dataset("reddit", data_dir=tmp_path)
    assert f"put it at {tmp_path / 'Reddit/raw/reddit.x.pkl'}" in str(caught.value)
    assert "reddit-structure" in str(caught.value)
    features = np.random.default_rng(0).standard_normal((4584, 300)).astype(np.float32)
    (tmp_path / "Reddit/raw/reddit.x.pkl").write_bytes(pickle.dumps(features))
    dataset = load_dataset("reddit", data_dir=tmp_path, features="paper")
    assert (dataset.graph.num_edges, dataset.graph.num_features) == (19460, 300)
    assert torch.equal(dataset.graph.x.values, torch.from_numpy(features))


@pytest.mark.parametrize("name", ["reddit", "reddit-structure"])
def test_reddit_without_any_file_names_them_and_the_folder(name, tmp_path):
    with pytest.raises(InputError) as caught:
        load_dataset(name, data_dir=tmp_path)
    assert "reddit.edgelist and reddit.y.pkl" in str(caught.value)
    assert f"put them into {tmp_path / 'Reddit/raw'}" in str(caught.value)


def test_structure_columns_are_those_of_the_largest_singular_values():
    # Two triangles: A_hat is 1/3 everywhere inside each, with singular values 1, 1, 0, 0, 0, 0.
    ends = torch.tensor([[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]])
    columns = reddit.structure_columns(undirected(ends[:, 0], ends[:, 1], 6), 2)
    gram = columns @ columns.T
    for node in range(6):
        expected = [1 / 3] * 3 + [0] * 3 if node < 3 else [0] * 3 + [1 / 3] * 3
        assert gram[node].tolist() == pytest.approx(expected, abs=1e-6)
    # Any rotation of the two columns is as good; the fixed start always finds the same one.
    assert torch.equal(reddit.structure_columns(undirected(ends[:, 0], ends[:, 1], 6), 2), columns)


def test_structure_columns_have_a_fixed_order_and_sign(load):
    x = load("reddit-structure").graph.x.values
    norms = x.norm(dim=0)
    assert float(norms[0]) == pytest.approx(1.0, abs=1e-4)  # a connected graph: the largest is 1
    assert (norms.diff() <= 1e-4).all()
    assert float(norms[-1]) == pytest.approx(0.76, abs=0.01)
    assert (x.gather(0, x.abs().argmax(0, keepdim=True)) > 0).all()


def test_edges_are_kept_once_and_both_ways():
    adjacency = undirected(torch.tensor([0, 1, 0, 2, 2]), torch.tensor([1, 0, 1, 2, 0]), 4)
    assert adjacency.to_dense().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert undirected(torch.tensor([]), torch.tensor([]), 2).to_dense().tolist() == [[0, 0], [0, 0]]


def test_the_table_lists_every_name_in_order():
    assert list(DATASETS) == [
        "cora",
        "citeseer",
        "pubmed",
        "co-cs",
        "co-phy",
        "photo",
        "reddit",
        "reddit-structure",
        "digits",
        "synthetic",
    ]
    assert all(entry.title and entry.description for entry in DATASETS.values())
    assert [len(entry.files) for entry in DATASETS.values()] == [8, 8, 8, 1, 1, 1, 3, 2, 0, 0]


@pytest.mark.parametrize(
    "name", ["cora", "citeseer", "pubmed", "co-cs", "co-phy", "photo", "reddit-structure"]
)
def test_every_file_listed_is_published_with_its_sum(name, data_dir):
    published = dict(line.split()[::-1] for line in (data_dir / "SHA256SUMS").read_text().splitlines())
    for file in DATASETS[name].files:
        assert file.sha256 == published[file.path]


def test_an_unknown_name_gets_the_nearest_and_the_list():
    with pytest.raises(InputError) as caught:
        load_dataset("Citesear")
    assert str(caught.value) == (
        "unknown dataset 'Citesear'; did you mean citeseer? choose from cora, citeseer, pubmed, co-cs, "
        "co-phy, photo, reddit, reddit-structure, digits, synthetic"
    )
    with pytest.raises(InputError, match="unknown dataset 'xyzzy'; choose from cora"):
        load_dataset("xyzzy")


def test_only_synthetic_takes_options():
    with pytest.raises(InputError, match="'digits' takes no options, but 'seed=1' was given"):
        load_dataset("digits:seed=1")


def test_datasets_come_scaled_by_the_rule_asked_for(data_dir):
    default = load_dataset("cora", data_dir=data_dir).graph.x
    assert isinstance(default, Csr)
    assert default.rows(torch.tensor([1708])).values.square().sum() == pytest.approx(64.0)  # norm 8
    paper = load_dataset("cora", data_dir=data_dir, features="paper").graph.x
    assert isinstance(paper, Csr)
    assert paper.values.unique().tolist() == [1.0]


def test_an_impossible_rule_is_refused_before_any_file_is_touched(tmp_path):
    with pytest.raises(InputError, match="'photo' has no feature rule 'paper'"):
        load_dataset("photo", data_dir=tmp_path, features="paper")
    assert list(tmp_path.iterdir()) == []


def test_importing_datasets_loads_nothing_heavy():
    script = "import sys, gcbr.datasets; print({'scipy', 'sklearn', 'torch_geometric'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
