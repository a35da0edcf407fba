import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gcbr.engine.matrix import Centered, Csr, Dense, Matrix, normalized_adjacency
from gcbr.seeding import generator

# [[0, 2, 0, 1],
#  [0, 0, 0, 0],
#  [3, 0, 4, 0]]
DRAWN = [[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 4.0, 0.0]]
ENTRIES = [(2, 0, 3.0), (0, 3, 1.0), (2, 2, 4.0), (0, 1, 2.0)]


def from_entries(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> Csr:
    rows = torch.tensor([row for row, _, _ in entries], dtype=torch.long)
    columns = torch.tensor([column for _, column, _ in entries], dtype=torch.long)
    values = torch.tensor([value for _, _, value in entries], dtype=torch.float)
    return Csr.from_entries(rows, columns, values, shape)


def with_index_type(matrix: Csr, index: torch.dtype) -> Csr:
    return Csr(matrix.indptr.to(index), matrix.indices.to(index), matrix.values, matrix.num_columns)


@pytest.fixture(params=[torch.int32, torch.int64], ids=["int32", "int64"])
def drawn(request: pytest.FixtureRequest) -> Csr:
    return with_index_type(from_entries(ENTRIES, (3, 4)), request.param)


# Small whole numbers: every sum below is exact, in whatever order it is taken.
whole_numbers = st.integers(-4, 4).map(float)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Csr, Tensor]:
    """A sparse matrix built from entries with repeats, and the same one added up densely."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    place = st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1), whole_numbers)
    entries = draw(st.lists(place, max_size=15))
    dense = torch.zeros(shape)
    for row, column, value in entries:
        dense[row, column] += value
    index = draw(st.sampled_from([torch.int32, torch.int64]))
    return with_index_type(from_entries(entries, shape), index), dense


def whole_tensor(rows: int, columns: int) -> Tensor:
    return torch.randint(-4, 5, (rows, columns), generator=generator(0)).float()


def test_entries_in_any_order_become_sorted_rows():
    matrix = from_entries(ENTRIES, (3, 4))
    assert matrix.indptr.tolist() == [0, 2, 2, 4]
    assert matrix.indices.tolist() == [1, 3, 0, 2]
    assert matrix.values.tolist() == [2, 1, 3, 4]
    assert matrix.indices.dtype == matrix.indptr.dtype == torch.int32
    assert (matrix.shape, matrix.num_stored) == ((3, 4), 4)


def test_entries_at_one_place_are_added_up():
    matrix = from_entries([(0, 1, 2.0), (1, 0, 5.0), (0, 1, 3.0), (0, 1, -1.0)], (2, 2))
    assert matrix.to_dense().tolist() == [[0, 4], [5, 0]]
    assert matrix.num_stored == 2


def test_the_drawn_matrix_multiplies_as_on_paper(drawn: Csr):
    assert drawn.to_dense().tolist() == DRAWN
    width_two = torch.tensor([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, -1.0]])
    assert drawn.matmul(width_two).tolist() == [[8, 1], [0, 0], [15, 0]]
    width_one = torch.tensor([[1.0], [10.0], [100.0]])
    assert drawn.transposed_matmul(width_one).tolist() == [[300], [2], [400], [1]]
    assert drawn.row_lengths.tolist() == [2, 0, 2]
    assert drawn.row_of_entry.tolist() == [0, 0, 2, 2]


def test_the_drawn_matrix_is_transposed_row_by_row(drawn: Csr):
    flipped = drawn.transposed
    assert flipped.indptr.tolist() == [0, 1, 2, 3, 4]
    assert flipped.indices.tolist() == [2, 0, 2, 0]
    assert flipped.values.tolist() == [3, 2, 4, 1]
    assert flipped.shape == (4, 3)


def test_rows_are_taken_in_the_order_asked_for_and_as_often(drawn: Csr):
    taken = drawn.rows(torch.tensor([2, 1, 2, 0]))
    assert taken.to_dense().tolist() == [DRAWN[2], DRAWN[1], DRAWN[2], DRAWN[0]]


def test_columns_are_renumbered_in_the_order_asked_for(drawn: Csr):
    taken = drawn.columns(torch.tensor([3, 0]))
    assert taken.shape == (3, 2)
    assert taken.to_dense().tolist() == [[1, 0], [0, 0], [0, 3]]


def test_index_type_is_kept_by_everything_derived(drawn: Csr):
    index = drawn.indices.dtype
    nodes = torch.tensor([0, 2])
    for derived in (drawn.transposed, drawn.rows(nodes), drawn.columns(nodes)):
        assert derived.indptr.dtype == derived.indices.dtype == index


@pytest.mark.parametrize("shape", [(3, 2), (0, 2), (3, 0)])
def test_a_matrix_of_no_entries_is_zero(shape: tuple[int, int]):
    empty = from_entries([], shape)
    assert empty.shape == shape
    assert torch.equal(empty.to_dense(), torch.zeros(shape))
    dense = torch.ones(shape[1], 4, requires_grad=True)
    assert torch.equal(empty.matmul(dense), torch.zeros(shape[0], 4))
    assert not torch.autograd.grad(empty.matmul(dense).sum(), dense)[0].any()
    assert torch.equal(empty.transposed_matmul(torch.ones(shape[0], 4)), torch.zeros(shape[1], 4))
    assert empty.transposed.shape == (shape[1], shape[0])
    assert empty.rows(torch.arange(shape[0])).shape == shape
    assert empty.columns(torch.arange(shape[1])).shape == shape


def test_taking_no_rows_and_no_columns_leaves_an_empty_matrix(drawn: Csr):
    none = torch.tensor([], dtype=torch.long)
    assert drawn.rows(none).shape == (0, 4)
    assert drawn.columns(none).shape == (3, 0)


@settings(deadline=None, derandomize=True)
@given(matrices(), st.data())
def test_every_operation_agrees_with_the_dense_matrix(pair: tuple[Csr, Tensor], data: st.DataObject):
    matrix, dense = pair
    num_rows, num_columns = dense.shape
    rows = torch.tensor(data.draw(st.lists(st.integers(0, num_rows - 1), max_size=8)), dtype=torch.long)
    columns = torch.tensor(data.draw(st.permutations(range(num_columns))), dtype=torch.long)
    columns = columns[: data.draw(st.integers(0, num_columns))]
    right, left = whole_tensor(num_columns, 3), whole_tensor(num_rows, 3)

    assert torch.equal(matrix.to_dense(), dense)
    assert torch.equal(matrix.matmul(right), dense @ right)
    assert torch.equal(matrix.transposed_matmul(left), dense.T @ left)
    assert torch.equal(matrix.transposed.to_dense(), dense.T)
    assert torch.equal(matrix.transposed.transposed.to_dense(), dense)
    assert torch.equal(matrix.rows(rows).to_dense(), dense[rows])
    assert torch.equal(matrix.columns(columns).to_dense(), dense[:, columns])
    assert torch.equal(
        matrix.rows(rows).columns(columns).matmul(right[columns]), dense[rows][:, columns] @ right[columns]
    )


def test_gradients_pass_through_a_product(drawn: Csr):
    dense = torch.randn(4, 2, generator=generator(0), requires_grad=True)
    weights = torch.randn(3, 2, generator=generator(1))
    (gradient,) = torch.autograd.grad((drawn.matmul(dense) * weights).sum(), dense)
    torch.testing.assert_close(gradient, torch.tensor(DRAWN).T @ weights)


@pytest.mark.parametrize(
    "base", [from_entries(ENTRIES, (3, 4)), Dense(torch.tensor(DRAWN))], ids=["csr", "dense"]
)
def test_a_centered_matrix_equals_the_dense_difference(base: Csr | Dense):
    center = torch.tensor([1.0, -2.0, 0.0, 3.0])
    matrix = Centered(base, center)
    difference = torch.tensor([[-1.0, 4.0, 0.0, -2.0], [-1.0, 2.0, 0.0, -3.0], [2.0, 2.0, 4.0, -3.0]])
    right, left, rows = whole_tensor(4, 3), whole_tensor(3, 2), torch.tensor([2, 2, 1])
    assert torch.equal(matrix.to_dense(), difference)
    assert torch.equal(matrix.matmul(right), difference @ right)
    assert torch.equal(matrix.transposed_matmul(left), difference.T @ left)
    assert torch.equal(matrix.rows(rows).to_dense(), difference[rows])
    assert torch.equal(matrix.rows(rows).matmul(right), difference[rows] @ right)
    assert (matrix.shape, matrix.num_stored) == ((3, 4), base.num_stored)


def test_a_dense_matrix_is_its_values():
    values = torch.tensor(DRAWN)
    matrix = Dense(values)
    right, left, rows = whole_tensor(4, 3), whole_tensor(3, 2), torch.tensor([2, 2, 1])
    assert (matrix.shape, matrix.num_stored) == ((3, 4), 12)
    assert torch.equal(matrix.matmul(right), values @ right)
    assert torch.equal(matrix.transposed_matmul(left), values.T @ left)
    assert torch.equal(matrix.rows(rows).to_dense(), values[rows])


CENTER = torch.tensor([1.0, -2.0, 0.0, 3.0])
FORMS: dict[str, Matrix] = {
    "csr": from_entries(ENTRIES, (3, 4)),
    "dense": Dense(torch.tensor(DRAWN)),
    "centered": Centered(from_entries(ENTRIES, (3, 4)), CENTER),
}


@pytest.mark.parametrize("form", FORMS)
def test_dropout_zeroes_stored_numbers_and_scales_the_others_up(form: str):
    offset = CENTER if form == "centered" else torch.zeros(4)
    kept, zeroed = 0, 0
    for draw in range(50):
        dropped = FORMS[form].with_dropout(0.2, generator(draw)).to_dense() + offset
        survived = dropped != 0
        torch.testing.assert_close(dropped[survived], torch.tensor(DRAWN)[survived] / 0.8)
        kept += int(survived.sum())
        zeroed += int((torch.tensor(DRAWN) != 0).sum() - survived.sum())
    assert kept > 130  # of 200; 160 expected
    assert zeroed > 20


@pytest.mark.parametrize("form", FORMS)
def test_dropout_keeps_the_expectation(form: str):
    rng = generator(0)
    mean = torch.stack([FORMS[form].with_dropout(0.5, rng).to_dense() for _ in range(4000)]).mean(0)
    # The deviation of each mean is at most 4 / sqrt(4000) = 0.063.
    torch.testing.assert_close(mean, FORMS[form].to_dense(), atol=0.25, rtol=0)


def test_dropout_leaves_the_matrix_itself_and_its_transpose_alone():
    matrix = from_entries(ENTRIES, (3, 4))
    before = matrix.transposed.to_dense()
    dropped = matrix.with_dropout(0.5, generator(1))
    assert not torch.equal(dropped.to_dense(), matrix.to_dense())
    assert torch.equal(dropped.transposed.to_dense(), dropped.to_dense().T)
    assert torch.equal(matrix.to_dense(), torch.tensor(DRAWN))
    assert torch.equal(matrix.transposed.to_dense(), before)


def test_normalized_adjacency_of_a_path_of_three():
    path = from_entries([(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0)], (3, 3))
    # With self-loops the degrees are 2, 3, 2.
    across = 1 / math.sqrt(6)
    expected = [[1 / 2, across, 0], [across, 1 / 3, across], [0, across, 1 / 2]]
    assert normalized_adjacency(path).to_dense().tolist() == [pytest.approx(row) for row in expected]


def test_normalized_adjacency_weighs_edges_and_lets_isolated_nodes_keep_themselves():
    weighted = from_entries([(0, 1, 3.0), (1, 0, 3.0)], (3, 3))
    # Degrees are 1 + 3, 3 + 1 and, for the node with no edge, 1.
    expected = [[1 / 4, 3 / 4, 0], [3 / 4, 1 / 4, 0], [0, 0, 1]]
    assert normalized_adjacency(weighted).to_dense().tolist() == [pytest.approx(row) for row in expected]


def test_normalized_adjacency_is_its_own_transpose_down_to_the_bit():
    rng = generator(0)
    ends = torch.randint(40, (2, 120), generator=rng)
    weights = torch.rand(120, generator=rng) + 0.1
    edges = Csr.from_entries(ends[0], ends[1], weights, (40, 40)).to_dense().triu(1)
    symmetric = edges + edges.T
    places = symmetric.nonzero().T
    propagation = normalized_adjacency(Csr.from_entries(*places, symmetric[tuple(places)], (40, 40)))
    assert torch.equal(propagation.to_dense(), propagation.to_dense().T)
