import pytest
import torch

from gcbr.engine.matrix import Csr, Dense
from gcbr.graph import Graph
from gcbr.strategies.propagated import WIDTH, propagated_features


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_narrow_features_are_propagated_twice_as_they_are():
    # a pair: A_hat is 1/2 everywhere, and so is its square
    adjacency = Csr.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (2, 2))
    graph = Graph("pair", adjacency, Dense(torch.tensor([[2.0, 0.0, 1.0], [4.0, 8.0, 1.0]])))
    assert propagated_features(graph, rng()).flatten().tolist() == pytest.approx([3, 4, 1, 3, 4, 1])


def test_wide_features_keep_their_distances_roughly(barbell: Graph):
    x = torch.randn(6, 2000, generator=rng())
    wide = Graph("wide", barbell.adjacency, Dense(x))
    projected = propagated_features(wide, rng())
    exact = barbell.propagation.matmul(barbell.propagation.matmul(x))
    assert projected.shape == (6, WIDTH)
    between = torch.triu_indices(6, 6, 1)
    ratio = torch.cdist(projected, projected)[*between] / torch.cdist(exact, exact)[*between]
    ratio = ratio[torch.cdist(exact, exact)[*between] > 1e-3]  # 0 and 1 end up the same, and so do 4 and 5
    assert len(ratio) == 13
    assert ratio.min() > 0.75
    assert ratio.max() < 1.25


def test_sparse_and_dense_features_give_the_same(barbell: Graph):
    x = torch.zeros(6, 300)
    x[torch.arange(6), torch.arange(6) * 40] = 1
    rows, columns = x.nonzero(as_tuple=True)
    sparse = Csr.from_entries(rows, columns, torch.ones(6), (6, 300))
    of_sparse, of_dense = (
        propagated_features(Graph("same", barbell.adjacency, form), rng()) for form in (sparse, Dense(x))
    )
    torch.testing.assert_close(of_sparse, of_dense)
