import collections
import os
import pickle

import numpy as np
import pytest
import scipy.sparse
import torch

from gcbr.datasets.planetoid import CITESEER, CORA, PUBMED
from gcbr.datasets.reddit import CLASSES
from gcbr.datasets.unpickle import loads
from gcbr.engine.matrix import Csr
from gcbr.errors import InputError


class Calls:
    """Pickles as a call of `function(*arguments)`."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def test_a_pickle_that_runs_a_command_is_refused_and_not_run(tmp_path):
    trace = tmp_path / "trace"
    attack = pickle.dumps(Calls(os.system, f"touch {trace}"))
    with pytest.raises(InputError, match=r"^x\.pkl asks for 'posix\.system'.* nothing of it was run"):
        loads(attack, "x.pkl", np.ndarray)
    assert not trace.exists()
    pickle.loads(attack)  # the attack is real
    assert trace.exists()


@pytest.mark.parametrize(
    "function", [eval, exec, getattr, __import__, np.load, np.fromfile, torch.load, pickle.loads, os.unlink]
)
def test_no_other_function_can_be_named(function):
    with pytest.raises(InputError, match="asks for"):
        loads(pickle.dumps(Calls(function, "1")), "x.pkl", object)


def test_an_attack_inside_a_container_is_refused(tmp_path):
    attack = pickle.dumps({"x": [np.zeros(2), (1, Calls(os.mkdir, str(tmp_path / "made")))]})
    with pytest.raises(InputError, match=r"posix\.mkdir"):
        loads(attack, "x.pkl", dict)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float16", "float32", ">i4", ">f8"])
def test_arrays_of_numbers_come_back(dtype, protocol):
    array = np.array([[0, 1, 1], [1, 0, 7]]).astype(dtype)
    for given in (array, np.asfortranarray(array), array[0, :0]):
        back = loads(pickle.dumps(given, protocol), "x.pkl", np.ndarray)
        np.testing.assert_array_equal(back, given)
        assert back.dtype == given.dtype.newbyteorder("=")


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_sparse_matrices_come_back(protocol):
    matrix = scipy.sparse.csr_matrix(np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]]))
    back = loads(pickle.dumps(matrix, protocol), "x.pkl", Csr)
    assert back.to_dense().tolist() == [[0, 2, 0], [0, 0, 0], [3, 0, 4]]


def test_plain_containers_come_back():
    value = {0: [1, 2.5], "a": ("b", None, True), "n": np.float64(0.5), "x": [np.array([1, 2])]}
    back = loads(pickle.dumps(value), "x.pkl", dict)
    assert back["x"][0].tolist() == [1, 2]
    del back["x"], value["x"]
    assert back == value
    counts = collections.defaultdict(list, {3: [1, 2]})
    assert loads(pickle.dumps(counts), "x.pkl", dict) == {3: [1, 2]}


def test_a_python_2_pickle_comes_back():
    # What Python 2 wrote for numpy.array([1, 200], 'int32'): text where Python 3 has bytes.
    pickled = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02i4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
        b"K\x00tb\x89U\x08\x01\x00\x00\x00\xc8\x00\x00\x00tb."
    )
    assert loads(pickled, "x.pkl", np.ndarray).tolist() == [1, 200]


@pytest.mark.parametrize("value", [np.array(["a", "b"]), np.array([{}, None]), np.zeros(1, [("a", "i4")])])
def test_arrays_of_anything_but_numbers_are_refused(value):
    with pytest.raises(InputError, match="is not a plain number"):
        loads(pickle.dumps(value), "x.pkl", np.ndarray)


def test_a_sparse_matrix_pointing_outside_itself_is_refused():
    matrix = scipy.sparse.csr_matrix(np.eye(3))
    matrix.indices[1] = 1000000
    with pytest.raises(InputError, match="a column lies outside 0 to 2"):
        loads(pickle.dumps(matrix), "x.pkl", Csr)
    matrix = scipy.sparse.csr_matrix(np.eye(3))
    matrix.indptr[1] = 1000000
    with pytest.raises(InputError, match="row offsets do not describe 3 rows"):
        loads(pickle.dumps(matrix), "x.pkl", Csr)


def test_a_pickle_cut_anywhere_is_one_clear_error():
    whole = pickle.dumps({"x": scipy.sparse.csr_matrix(np.eye(3)), "y": np.arange(3)})
    for length in range(len(whole)):
        with pytest.raises(InputError, match=r"^x\.pkl "):
            loads(whole[:length], "x.pkl", dict)


def test_a_pickle_with_any_byte_changed_never_crashes():
    whole = pickle.dumps({"x": scipy.sparse.csr_matrix(np.eye(3)), "y": np.arange(3)})
    num_refused = 0
    for place in range(len(whole)):
        for change in (0x01, 0x80, 0xFF):
            try:
                loads(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :], "x.pkl", dict)
            except InputError:
                num_refused += 1
    assert num_refused > len(whole)


def test_text_is_no_pickle():
    with pytest.raises(InputError, match="corrupt or cut short"):
        loads(b"<html>not found</html>", "x.pkl", np.ndarray)


def test_a_value_of_another_type_is_refused():
    with pytest.raises(InputError, match=r"x\.pkl holds a list, expected a ndarray"):
        loads(pickle.dumps([1]), "x.pkl", np.ndarray)


def test_the_published_pickles_can_be_read(data_dir):
    kinds = {
        "x": Csr,
        "tx": Csr,
        "allx": Csr,
        "y": np.ndarray,
        "ty": np.ndarray,
        "ally": np.ndarray,
        "graph": dict,
    }
    for source in (CORA, CITESEER, PUBMED):
        for part, kind in kinds.items():
            path = data_dir / f"{source.folder}/raw/ind.{source.name}.{part}"
            loads(path.read_bytes(), path.name, kind)
    classes = loads((data_dir / CLASSES.path).read_bytes(), CLASSES.name, np.ndarray)
    assert classes[:5].tolist() == [1, 4, 3, 1, 2]
