import math

import pytest
import torch

from gcbr.datasets.features import apply_rule, rows_of_norm, rows_summing_to_one
from gcbr.engine.matrix import Centered, Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Graph

X = torch.tensor([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])


def sparse(dense):
    rows, columns = dense.nonzero(as_tuple=True)
    return Csr.from_entries(rows, columns, dense[rows, columns], tuple(dense.shape))


def graph(x):
    num_nodes = x.shape[0]
    nothing = torch.empty(0, dtype=torch.long)
    adjacency = Csr.from_entries(nothing, nothing, torch.empty(0), (num_nodes, num_nodes))
    return Graph("three", adjacency, x, tuple(f"paper-{node}" for node in range(num_nodes)))


@pytest.fixture(params=[sparse, Dense], ids=["sparse", "dense"])
def form(request):
    """Both ways a matrix is stored; every rule must treat them alike."""
    return request.param


def values(matrix):
    return matrix.to_dense().flatten().tolist()


def test_rows_of_a_norm(form):
    scaled = rows_of_norm(form(X), 5)
    assert isinstance(scaled, type(form(X)))
    side = 5 * math.sqrt(0.5)
    assert values(scaled) == pytest.approx([3, 4, 0, 0, 0, 0, 0, side, side])


def test_rows_summing_to_one(form):
    scaled = rows_summing_to_one(form(X))
    assert isinstance(scaled, type(form(X)))
    assert values(scaled) == pytest.approx([3 / 7, 4 / 7, 0, 0, 0, 0, 0, 0.5, 0.5])


def test_huge_and_tiny_numbers_survive(form):
    x = torch.tensor([[3e30, 4e30], [3e-30, 4e-30]])
    assert values(rows_of_norm(form(x), 1)) == pytest.approx([0.6, 0.8, 0.6, 0.8])


def test_the_default_rule_is_norm_8_for_every_graph(form):
    for name in ("cora", "photo", "my own graph"):
        scaled = apply_rule(name, graph(form(X)), "default")
        assert values(scaled.x)[:3] == pytest.approx([4.8, 6.4, 0])
        assert (scaled.name, scaled.name_of(2)) == ("three", "paper-2")


@pytest.mark.parametrize("name", ["cora", "reddit"])
def test_the_paper_leaves_cora_and_reddit_raw(name, form):
    assert values(apply_rule(name, graph(form(X)), "paper").x) == X.flatten().tolist()


def test_the_paper_divides_co_cs_by_row_sums(form):
    scaled = apply_rule("co-cs", graph(form(X)), "paper").x
    assert values(scaled) == pytest.approx([3 / 7, 4 / 7, 0, 0, 0, 0, 0, 0.5, 0.5])


@pytest.mark.parametrize("name", ["citeseer", "pubmed"])
def test_the_paper_centers_the_columns_after_dividing(name, form):
    scaled = apply_rule(name, graph(form(X)), "paper").x
    assert isinstance(scaled, Centered)
    assert scaled.num_stored == form(X).num_stored  # centering stores nothing more
    # Column means of the divided rows: 3/7, 4/7 + 1/2 and 1/2, a third of each.
    means = [1 / 7, 5 / 14, 1 / 6]
    expected = [3 / 7, 4 / 7, 0, 0, 0, 0, 0, 1 / 2, 1 / 2]
    assert values(scaled) == pytest.approx([expected[i] - means[i % 3] for i in range(9)], abs=1e-6)


def test_the_paper_cuts_co_phy_before_dividing(form):
    x = torch.zeros(2, 2002)
    x[0, 0], x[0, 1999], x[0, 2000] = 1.0, 3.0, 4.0
    x[1, 2001] = 5.0
    scaled = apply_rule("co-phy", graph(form(x)), "paper").x
    assert scaled.shape == (2, 2000)
    dense = scaled.to_dense()
    # Two words are left of three, however often they occur; row 1 is empty; then each column less its mean.
    assert dense[:, [0, 1, 1999]].tolist() == [[0.25, 0.0, 0.25], [-0.25, 0.0, -0.25]]


@pytest.mark.parametrize("name", ["photo", "digits", "synthetic", "reddit-structure", "my own graph"])
def test_other_graphs_have_no_paper_rule(name):
    with pytest.raises(InputError) as caught:
        apply_rule(name, graph(Dense(X)), "paper")
    assert str(caught.value) == (
        f"'{name}' has no feature rule 'paper': the paper used "
        "cora, citeseer, pubmed, reddit, co-cs, co-phy; use the rule 'default'"
    )


def test_an_unknown_rule_is_refused():
    with pytest.raises(InputError, match="unknown feature rule 'papers'; choose from default, paper"):
        apply_rule("cora", graph(Dense(X)), "papers")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_named_by_node_and_column(bad, form):
    x = X.clone()
    x[2, 1] = bad
    with pytest.raises(InputError, match=f"feature 1 of node paper-2 is {bad:g}; features must be finite"):
        apply_rule("cora", graph(form(x)), "paper")


def test_scaled_features_are_not_scaled_again():
    centered = apply_rule("pubmed", graph(Dense(X)), "paper")
    with pytest.raises(InputError, match="its features are scaled already"):
        apply_rule("pubmed", centered, "default")


def test_the_graph_given_keeps_its_features(form):
    given = graph(form(X))
    apply_rule("cora", given, "default")
    assert values(given.x) == X.flatten().tolist()
