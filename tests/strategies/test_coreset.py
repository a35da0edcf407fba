import torch

from gcbr.graph import Graph
from gcbr.strategies.coreset import CoreSet

EMBEDDINGS = torch.tensor([[0.0], [1.0], [2.0], [3.0], [4.0], [10.0]])


def test_the_first_three_picks_as_answers_come(barbell: Graph, make_view):
    # The mean is 3.33: node 3. Farthest from 3 is 5, at 7; then 0, at 3 (node 4 at 1).
    strategy = CoreSet(barbell, 6, torch.Generator())
    labels: dict[int, int] = {}
    for _ in range(3):
        labels[strategy.select(make_view(barbell, embeddings=EMBEDDINGS, labels=labels))] = 0
    assert list(labels) == [3, 5, 0]


def test_the_first_three_picks_in_one_batch(barbell: Graph, make_view):
    strategy = CoreSet(barbell, 6, torch.Generator())
    pending: tuple[int, ...] = ()
    for _ in range(3):
        pending += (strategy.select(make_view(barbell, embeddings=EMBEDDINGS, pending=pending)),)
    assert pending == (3, 5, 0)


def test_only_candidates_are_compared(barbell: Graph, make_view):
    strategy = CoreSet(barbell, 6, torch.Generator())
    first = make_view(barbell, embeddings=EMBEDDINGS, candidates=[0, 1, 4])
    assert strategy.select(first) == 4
    second = make_view(barbell, embeddings=EMBEDDINGS, candidates=[0, 1, 4], labels={2: 0})
    assert strategy.select(second) in (0, 4)


def test_distance_is_euclidean(barbell: Graph, make_view):
    corner = torch.zeros(6, 2)
    corner[1], corner[2] = torch.tensor([3.0, 3.0]), torch.tensor([4.0, 0.0])  # at 4.24 and 4
    view = make_view(barbell, embeddings=corner, labels={0: 0})
    assert CoreSet(barbell, 6, torch.Generator()).select(view) == 1
