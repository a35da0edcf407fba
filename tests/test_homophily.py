import pytest
import torch

from gcbr.datasets import SyntheticConfig, synthetic
from gcbr.graph import Graph, Labels
from gcbr.homophily import LOW, MIN_EDGES, Homophily, homophily


def test_only_edges_between_labeled_nodes_count(barbell: Graph):
    # 0-1, 0-2 and 1-2 are inside class 0, 2-3 joins the two: three of four edges.
    found = homophily(barbell, Labels((0, 1, 2, 3), (0, 0, 0, 1)))
    assert (found.edges, found.alike) == (4, 0.75)
    # Seven of eight ends of edges are of class 0: by chance (49 + 1) / 64 of the edges would be alike.
    assert found.adjusted == pytest.approx((48 - 50) / (64 - 50))


def test_the_two_ends_of_the_scale(barbell: Graph, star: Graph):
    sides = homophily(barbell, Labels((0, 1, 4, 5), (0, 0, 1, 1)))
    assert sides == Homophily(edges=2, alike=1.0, adjusted=1.0)
    opposites = homophily(star, Labels((0, 1, 2), (0, 1, 1)))
    assert opposites == Homophily(edges=2, alike=0.0, adjusted=-1.0)


def test_few_labels_say_nothing(barbell: Graph):
    assert homophily(barbell, Labels()) == Homophily(0, 0.0, 0.0)
    assert not homophily(barbell, Labels((0, 5), (0, 1))).is_low
    assert homophily(barbell, Labels((0, 1), (0, 0))) == Homophily(
        1, 1.0, 1.0
    )  # one class: nothing to tell apart
    assert not Homophily(MIN_EDGES - 1, 0.0, LOW - 0.1).is_low
    assert Homophily(MIN_EDGES, 0.0, LOW - 0.1).is_low


@pytest.mark.parametrize(("share", "is_low"), [(0.25, True), (0.8, False)])
def test_a_graph_whose_labels_ignore_its_edges_is_seen(share: float, is_low: bool):
    dataset = synthetic(SyntheticConfig(nodes=800, homophily=share, degree=12), seed=1, name="synthetic")
    nodes = torch.randperm(800, generator=torch.Generator().manual_seed(0))[:120]
    labels = Labels(tuple(nodes.tolist()), tuple(dataset.y[nodes].tolist()))
    assert homophily(dataset.graph, labels).is_low == is_low
