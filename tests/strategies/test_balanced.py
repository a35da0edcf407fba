from typing import Self

import pytest
import torch

from gcbr.engine.gcn import Prediction
from gcbr.graph import Dataset, Graph, Labels
from gcbr.learner import ActiveLearner, simulate
from gcbr.simulation import run_simulation
from gcbr.strategies import find_strategy
from gcbr.strategies.anrmab import ANRMAB
from gcbr.strategies.balanced import balanced, in_class_furthest_behind
from gcbr.strategies.by_score import Degree
from gcbr.strategies.random import Random
from gcbr.view import Observer, View

# Nodes 0 and 1 are predicted in class 0, 2 and 3 in class 1, 4 and 5 in class 2.
ROWS = [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2 + [[0.1, 0.1, 0.8]] * 2


def offered(view: View) -> list[int]:
    return in_class_furthest_behind(view).candidates.tolist()


def test_the_class_with_the_fewest_labels_is_next(barbell: Graph, make_view):
    assert offered(make_view(barbell, ROWS, labels={0: 0, 2: 1})) == [4, 5]
    assert offered(make_view(barbell, ROWS, labels={0: 0, 2: 0, 4: 1, 5: 2, 1: 1})) == [
        3
    ]  # counts 2, 2 and 1


def test_classes_level_with_each_other_are_open_together(barbell: Graph, make_view):
    assert offered(make_view(barbell, ROWS)) == [0, 1, 2, 3, 4, 5]
    assert offered(make_view(barbell, ROWS, labels={0: 0})) == [2, 3, 4, 5]


def test_a_pending_node_counts_by_its_probabilities(barbell: Graph, make_view):
    # counts .8, .1 and .1, then .9, .9 and .2
    assert offered(make_view(barbell, ROWS, pending=(0,))) == [2, 3, 4, 5]
    assert offered(make_view(barbell, ROWS, pending=(0, 2))) == [4, 5]


def test_a_class_nobody_is_predicted_in_is_passed_over(barbell: Graph, make_view):
    # counts 2, 1 and 0 and nobody in class 2: a share is 4/3, so class 1 is the furthest behind
    rows = [[0.8, 0.1, 0.1]] * 3 + [[0.1, 0.8, 0.1]] * 3
    assert offered(make_view(barbell, rows, labels={0: 0, 1: 0, 3: 1})) == [4, 5]


def test_with_nobody_predicted_in_a_class_behind_all_are_open(barbell: Graph, make_view):
    # counts 2, 2 and 0, a share of 5/3: the classes predicted have theirs
    rows = [[0.8, 0.1, 0.1]] * 3 + [[0.1, 0.8, 0.1]] * 3
    assert offered(make_view(barbell, rows, labels={0: 0, 1: 0, 3: 1, 4: 1})) == [2, 5]


def test_the_strategy_inside_chooses_among_what_is_left(barbell: Graph, make_view):
    # 3 has the most neighbors of all that are left, and 2 of those in class 1
    rows = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    view = make_view(barbell, rows, labels={0: 0})
    assert Degree(barbell, 6, torch.Generator()).select(make_view(barbell, rows, candidates=[1, 3, 4])) == 3
    assert balanced(Degree)(barbell, 6, torch.Generator()).select(view) == 2


def test_a_strategy_that_learns_from_answers_still_does(barbell: Graph, make_view):
    strategy = balanced(ANRMAB)(barbell, 6, torch.Generator())
    assert isinstance(strategy, Observer)
    assert not isinstance(balanced(Random)(barbell, 6, torch.Generator()), Observer)


class Recorder:
    """Chooses the first candidate, and keeps the candidates of every answer."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self.shown: list[list[int]] = []

    def select(self, view: View) -> int:
        return int(view.candidates[0])

    def observe(self, view: View, node: int, cls: int) -> None:
        self.shown.append(view.candidates.tolist())


def test_an_answer_is_shown_as_it_was_offered(barbell: Graph, make_view):
    inner = Recorder(barbell, 6, torch.Generator())
    strategy = balanced(lambda graph, budget, rng: inner)(barbell, 6, torch.Generator())
    assert isinstance(strategy, Observer)
    view = make_view(barbell, ROWS, labels={0: 0, 2: 1})
    strategy.observe(view, 4, 2)
    strategy.observe(view, 1, 0)  # told unasked: it was not among those offered
    assert inner.shown == [[4, 5], [1, 3, 4, 5]]


@pytest.mark.parametrize("name", ["balanced(random)", "balanced( random )", "balanced(balanced(random))"])
def test_it_can_be_named_around_any_strategy_and_itself(name: str, barbell: Graph):
    learner = ActiveLearner(barbell, name, budget=6, classes=("left", "right"))
    labels = simulate(learner, lambda node: "left" if node < 3 else "right", 6)
    assert sorted(labels.nodes) == list(range(6))


def test_around_itself_it_changes_nothing(skewed: Dataset):
    once, twice = (
        run_simulation(skewed, name, budget=12, factory=find_strategy(name)).nodes
        for name in ("balanced(entropy)", "balanced(balanced(entropy))")
    )
    assert once == twice


class NeverWrong:
    """A classifier that knows the answers."""

    num_classes = 3

    def __init__(self, dataset: Dataset) -> None:
        self._answers = torch.nn.functional.one_hot(dataset.y).float()

    def update(self, labels: Labels, epochs: int = 1) -> None:
        pass

    def grow(self, num_classes: int) -> None:
        pass

    def clone(self) -> Self:
        return self

    def predict(self) -> Prediction:
        return Prediction(self._answers, self._answers)


@pytest.mark.parametrize("batch", [1, 23])
@pytest.mark.parametrize("inner", ["random", "degree", "featprop"])
def test_true_predictions_make_equal_classes(skewed: Dataset, inner: str, batch: int):
    # 138, 45 and 17 nodes; 24 labels
    learner = ActiveLearner(
        skewed.graph,
        f"balanced({inner})",
        budget=24,
        classes=skewed.class_names,
        classifier=lambda graph, num_classes, rng: NeverWrong(skewed),
    )
    asked = learner.ask()  # nothing is known before the first answer, and so nothing predicted
    while asked:
        for node in asked:
            learner.tell(node, skewed.class_names[skewed.y[node]])
        asked = learner.ask(batch) if len(learner.labels) < 24 else []
    assert learner.counts.tolist() == [8, 8, 8]
