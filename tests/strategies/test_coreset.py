"""Embeddings on a line, 0 1 2 3 4 9, of mean length 3.167: tempered, 0 .240 .387 .486 .558 .740."""

import pytest
import torch

from gcbr.graph import Graph
from gcbr.strategies.coreset import CoreSet, tempered

EMBEDDINGS = torch.tensor([[0.0], [1.0], [2.0], [3.0], [4.0], [9.0]])


def test_a_long_embedding_is_shortened():
    expected = [0, 1 / 4.166667, 2 / 5.166667, 3 / 6.166667, 4 / 7.166667, 9 / 12.166667]
    assert tempered(EMBEDDINGS).flatten().tolist() == pytest.approx(expected)
    assert tempered(torch.zeros(2, 3)).tolist() == [[0] * 3] * 2
    assert tempered(torch.tensor([[3.0, 4.0], [0.0, 15.0]])).flatten().tolist() == pytest.approx(
        [0.2, 4 / 15, 0, 0.6]
    )


def test_the_first_three_picks_as_answers_come(barbell: Graph, make_view):
    # The mean is .402: node 2. Farthest from it is 0, at .387 (5 at .353); then 5 (4 at .171 is next).
    strategy = CoreSet(barbell, 6, torch.Generator())
    labels: dict[int, int] = {}
    for _ in range(3):
        labels[strategy.select(make_view(barbell, embeddings=EMBEDDINGS, labels=labels))] = 0
    assert list(labels) == [2, 0, 5]


def test_the_first_three_picks_in_one_batch(barbell: Graph, make_view):
    strategy = CoreSet(barbell, 6, torch.Generator())
    pending: tuple[int, ...] = ()
    for _ in range(3):
        pending += (strategy.select(make_view(barbell, embeddings=EMBEDDINGS, pending=pending)),)
    assert pending == (2, 0, 5)


def test_only_candidates_are_compared(barbell: Graph, make_view):
    strategy = CoreSet(barbell, 6, torch.Generator())
    first = make_view(barbell, embeddings=EMBEDDINGS, candidates=[0, 1, 4])
    assert strategy.select(first) == 4
    second = make_view(barbell, embeddings=EMBEDDINGS, candidates=[1, 3, 4], labels={2: 0})
    assert strategy.select(second) == 4


def test_distance_is_euclidean(barbell: Graph, make_view):
    corner = torch.zeros(6, 2)
    corner[1], corner[2] = torch.tensor([3.0, 3.0]), torch.tensor([4.0, 0.0])  # at 4.24 and 4
    view = make_view(barbell, embeddings=corner, labels={0: 0})
    assert CoreSet(barbell, 6, torch.Generator()).select(view) == 1
