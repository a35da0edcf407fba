import pytest
import torch
from torch import Tensor

from gcbr.strategies.kmeans import kmeans, nearest_center


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def squared_error(points: Tensor, centers: Tensor) -> float:
    return float((points - centers[nearest_center(points, centers)]).square().sum())


@pytest.mark.parametrize("seed", range(10))
def test_two_clusters_are_found_from_any_start(seed: int):
    points = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0], [9.0, 10.0]])
    centers = kmeans(points, 2, rng(seed))
    assert sorted(centers.tolist()) == [pytest.approx([1 / 3, 1 / 3]), pytest.approx([9, 9.5])]


@pytest.mark.parametrize("seed", range(5))
def test_as_many_centers_as_distinct_rows_at_most(seed: int):
    points = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0]])
    assert sorted(kmeans(points, 3, rng(seed)).tolist()) == [[1, 2], [3, 4]]
    assert kmeans(torch.full((5, 3), 0.2), 4, rng(seed)).shape == (1, 3)


def test_more_centers_than_rows_are_not_made():
    points = torch.arange(3.0).unsqueeze(1)
    assert sorted(kmeans(points, 7, rng()).flatten().tolist()) == pytest.approx([0, 1, 2])


def test_small_differences_far_from_the_origin_are_seen():
    # as predictions differ after the first step
    points = torch.tensor([[0.5, 0.5], [0.50002, 0.49998], [0.5001, 0.4999], [0.50012, 0.49988]])
    centers = kmeans(points, 2, rng())
    assert sorted(nearest_center(points - points.mean(0), centers - points.mean(0)).tolist()) == [0, 0, 1, 1]


def test_as_good_as_the_usual_library():
    from sklearn.cluster import KMeans

    points = torch.randn(600, 10, generator=rng()).cumsum(1)
    ours = [squared_error(points, kmeans(points, 20, rng(seed))) for seed in range(5)]
    theirs = [KMeans(20, n_init=1, random_state=seed).fit(points.numpy()).inertia_ for seed in range(5)]
    assert sum(ours) < 1.05 * sum(theirs)


def test_the_same_seed_gives_the_same_centers():
    points = torch.randn(100, 4, generator=rng())
    assert torch.equal(kmeans(points, 5, rng(3)), kmeans(points, 5, rng(3)))
    assert not torch.equal(kmeans(points, 5, rng(3)), kmeans(points, 5, rng(4)))


def test_working_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    points = torch.randn(50, 3, generator=rng())
    whole = nearest_center(points, points[:5])
    monkeypatch.setattr("gcbr.strategies.kmeans._BLOCK", 7)
    assert torch.equal(nearest_center(points, points[:5]), whole)
