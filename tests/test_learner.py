import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from torch import Tensor

from gcbr.classifier import Classifier, GCNClassifier
from gcbr.datasets import load_dataset
from gcbr.engine.gcn import GCNConfig, Prediction
from gcbr.engine.matrix import Csr, Dense
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph, Labels
from gcbr.learner import ActiveLearner, Progress, simulate
from gcbr.stopping import WINDOW
from gcbr.strategies import STRATEGIES
from gcbr.view import View


def small_gcn(graph: Graph, num_classes: int, rng: torch.Generator) -> Classifier:
    return GCNClassifier(graph, num_classes, rng, GCNConfig(hidden=8))


def islands(num_nodes: int, edges: list[tuple[int, int]], num_features: int = 5) -> Graph:
    """A graph of few edges: most of its nodes stand alone."""
    ends = torch.tensor(edges).T
    both = torch.cat([ends, ends.flip(0)], dim=1)
    adjacency = Csr.from_entries(both[0], both[1], torch.ones(2 * len(edges)), (num_nodes, num_nodes))
    x = torch.rand(num_nodes, num_features, generator=torch.Generator().manual_seed(0))
    return Graph("islands", adjacency, Dense(x))


class First:
    """The lowest candidate, and a record of all it was given."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self.given = (graph, budget, rng)
        self.views: list[View] = []

    def select(self, view: View) -> int:
        self.views.append(view)
        return int(view.candidates[0])


class Diary:
    """Chooses by everything it is shown and remembers every answer, so that any difference shows."""

    def __init__(self, graph: Graph, budget: int, rng: torch.Generator) -> None:
        self.preference = torch.rand(graph.num_nodes, generator=rng)
        self.entries: list[tuple[object, ...]] = []

    def select(self, view: View) -> int:
        sure = view.prediction.probabilities.max(1).values
        luck = torch.rand(len(sure), generator=view.rng)
        turns = (torch.arange(len(sure)) + len(self.entries)) % 3
        scores = self.preference + luck + 0.2 * turns + sure * view.counts.max()
        return int(view.candidates[scores[view.candidates].argmax()])

    def observe(self, view: View, node: int, cls: int) -> None:
        shown = (view.labels, view.candidates.tolist(), view.counts.tolist(), view.pending, view.budget)
        drawn = torch.rand(1, generator=view.rng).item()
        self.entries.append((node, cls, *shown, view.prediction.probabilities.tolist(), drawn))


class Recorded:
    """A strategy factory that keeps hold of the strategy in use; a learner may build several."""

    def __init__(self, kind: type[First] | type[Diary]) -> None:
        self._kind = kind
        self.current: First | Diary

    def __call__(self, graph: Graph, budget: int, rng: torch.Generator) -> First | Diary:
        self.current = self._kind(graph, budget, rng)
        return self.current


# --- Asking ---------------------------------------------------------------------------------------------


def test_asking_changes_nothing(barbell: Graph):
    learner = ActiveLearner(barbell, Diary, budget=6, classifier=small_gcn)
    for answer in ("a", "b", "a"):
        asked = learner.ask(3)
        assert learner.ask(3) == asked
        learner.prediction()
        learner.predict(5)
        assert learner.ask(1) == asked[:1]
        assert learner.ask(3) == asked
        learner.tell(asked[0], answer)


def test_one_seed_decides_everything(skewed: Dataset):
    def labeled(seed: int) -> tuple[Labels, Tensor, Tensor]:
        learner = ActiveLearner(skewed.graph, "random", budget=12, seed=seed)
        labels = simulate(learner, lambda node: skewed.class_names[skewed.y[node]], 12)
        return labels, learner.prediction().probabilities, learner.predict(10)

    first, second, other = labeled(0), labeled(0), labeled(1)
    assert first[0] == second[0]
    assert torch.equal(first[1], second[1])
    assert torch.equal(first[2], second[2])
    assert first[0] != other[0]


def test_predictions_between_answers_change_no_bit_of_what_is_learned():
    # Dense products of a few rows and of many round differently: here almost every node stands alone.
    graph = islands(300, [(0, 1), (3, 4)], num_features=40)
    answers = {2: "a", 0: "b", 250: "c", 3: "a"}
    eager, lazy = (ActiveLearner(graph, "random", budget=10, classes="abc") for _ in range(2))
    for node, answer in answers.items():
        eager.tell(node, answer)
        eager.ask()
        lazy.tell(node, answer)
    assert torch.equal(eager.prediction().probabilities, lazy.prediction().probabilities)
    assert torch.equal(eager.predict(5), lazy.predict(5))


def test_the_first_view_knows_nothing(barbell: Graph):
    strategy = Recorded(First)
    candidates = torch.tensor([5, 1, 2, 1, 4])
    learner = ActiveLearner(barbell, strategy, budget=4, classes=("a", "b"), candidates=candidates)
    assert learner.ask() == [1]
    (view,) = strategy.current.views
    assert view.graph is barbell
    assert view.labels == Labels()
    assert view.candidates.tolist() == [1, 2, 4, 5]
    assert view.prediction.probabilities.tolist() == [[0.5, 0.5]] * 6
    assert view.counts.tolist() == [0, 0]
    assert (view.pending, view.budget, view.num_classes) == ((), 4, 2)


def test_each_node_of_a_batch_counts_as_labeled_with_its_prediction(barbell: Graph):
    strategy = Recorded(First)
    learner = ActiveLearner(barbell, strategy, budget=6, classes="ab", classifier=lambda *_: UniformGuess(2))
    learner.tell(0, "a")
    assert learner.ask(3) == [1, 2, 3]
    views = strategy.current.views
    assert [view.pending for view in views] == [(), (1,), (1, 2)]
    assert [view.candidates.tolist() for view in views] == [[1, 2, 3, 4, 5], [2, 3, 4, 5], [3, 4, 5]]
    assert [view.counts.tolist() for view in views] == [[1, 0], [1.5, 0.5], [2, 1]]
    assert all(view.labels == Labels((0,), (0,)) for view in views)
    # Each has a generator of its own: what one choice draws is nothing to the next.
    drawn = [torch.rand(1, generator=view.rng).item() for view in reversed(views)]
    assert learner.ask(3) == [1, 2, 3]
    assert [torch.rand(1, generator=view.rng).item() for view in views[3:]] == drawn[::-1]
    assert len(set(drawn)) == 3


def test_a_batch_has_distinct_nodes(skewed: Dataset):
    learner = ActiveLearner(skewed.graph, "random", budget=100)
    batch = learner.ask(100)
    assert len(set(batch)) == 100
    assert batch[:10] == learner.ask(10)


def test_a_node_of_a_batch_counts_as_labeled_with_its_likeliest_class(barbell: Graph):
    class Sure(UniformGuess):
        def predict(self) -> Prediction:
            guess = torch.tensor([[0.2, 0.7, 0.1]] * 3 + [[0.4, 0.2, 0.4]] * 3)
            return Prediction(guess, torch.zeros(6, 1))

    strategy = Recorded(First)
    learner = ActiveLearner(barbell, strategy, budget=6, classes="abc", classifier=lambda *_: Sure(3))
    learner.tell(0, "a")
    assert learner.ask(4) == [1, 2, 3, 4]
    views = strategy.current.views
    # Nodes 1 and 2 as b; node 3 half as a and half as c, which are equally likely.
    assert [view.counts.tolist() for view in views] == [[1, 0, 0], [1, 1, 0], [1, 2, 0], [1.5, 2, 0.5]]
    assert views[3].prediction.probabilities[[1, 3]].tolist() == [[0, 1, 0], [0.5, 0, 0.5]]
    assert torch.equal(views[3].prediction.probabilities[[0, 4]], views[0].prediction.probabilities[[0, 4]])
    assert learner.prediction().probabilities[1].tolist() == pytest.approx([0.2, 0.7, 0.1])


class Wayward:
    """A strategy that gives whatever it was made with."""

    def __init__(self, choice: object) -> None:
        self.choice = choice

    def select(self, view: View) -> int:
        return self.choice  # type: ignore[return-value]


@pytest.mark.parametrize("choice", [5, -1, 6, 0, None, 1.0, "1", torch.tensor([1, 2])])
def test_a_choice_that_is_no_candidate_is_refused_by_the_name_of_its_strategy(barbell: Graph, choice: object):
    learner = ActiveLearner(
        barbell, lambda *_: Wayward(choice), budget=3, candidates=torch.tensor([0, 1, 2, 3])
    )
    learner.tell(0, "a")
    with pytest.raises(InputError, match=r"strategy Wayward chose .*, which is no candidate; its select"):
        learner.ask()


def test_a_choice_may_be_a_number_of_torch_or_numpy(barbell: Graph):
    for choice in (torch.tensor(1), torch.tensor([1]), np.int64(1)):
        asked = ActiveLearner(barbell, lambda *_, choice=choice: Wayward(choice), budget=3).ask()
        assert asked == [1]
        assert type(asked[0]) is int


class UniformGuess:
    """A classifier that never learns anything."""

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes

    def update(self, labels: Labels, epochs: int = 1) -> None:
        pass

    def predict(self) -> Prediction:
        return Prediction(torch.full((6, self.num_classes), 1 / self.num_classes), torch.zeros(6, 1))

    def grow(self, num_classes: int) -> None:
        self.num_classes = num_classes

    def clone(self) -> "UniformGuess":
        return UniformGuess(self.num_classes)


# --- Telling --------------------------------------------------------------------------------------------


def test_classes_are_met_on_the_way(barbell: Graph):
    learner = ActiveLearner(barbell, "random", budget=6, classifier=small_gcn)
    assert learner.class_names == ()
    assert learner.counts.tolist() == []
    assert learner.prediction().probabilities.tolist() == [[1.0]] * 6
    learner.tell(0, "left")
    assert learner.class_names == ("left",)
    assert learner.prediction().probabilities.tolist() == [[1.0]] * 6
    assert learner.predict().tolist() == [[1.0]] * 6
    learner.tell(5, "right")
    learner.tell(1, "left")
    assert learner.prediction().probabilities.shape == (6, 2)
    learner.tell(2, "middle")
    assert learner.class_names == ("left", "right", "middle")
    assert learner.counts.tolist() == [2, 1, 1]
    assert learner.labels == Labels((0, 5, 1, 2), (0, 1, 0, 2))
    assert learner.predict().shape == (6, 3)


def test_declared_classes_come_first_and_count_from_the_start(barbell: Graph):
    learner = ActiveLearner(barbell, "random", budget=6, classes=("b", "a"))
    learner.tell(0, "c")
    assert learner.class_names == ("b", "a", "c")
    assert learner.counts.tolist() == [0, 0, 1]
    assert learner.prediction().probabilities.shape == (6, 3)


def test_learns_the_two_sides_of_a_barbell(barbell: Graph):
    learner = ActiveLearner(barbell, "random", budget=2)
    learner.tell(0, "left")
    learner.tell(5, "right")
    assert learner.predict().argmax(1).tolist() == [0, 0, 0, 1, 1, 1]


def test_nodes_may_be_numbers_of_torch_and_numpy(barbell: Graph):
    learner = ActiveLearner(barbell, "random", budget=6)
    for node in learner.candidates[:2]:
        learner.tell(node, "a")
    learner.skip(np.int64(3))
    learner.correct(torch.tensor(1), "b")
    with pytest.raises(InputError, match="node 1 is already labeled"):
        learner.tell(1, "b")
    learner.withdraw(torch.tensor(3))
    assert learner.labels.nodes == (0, 1)
    assert all(type(node) is int for node in learner.labels.nodes)
    assert learner.candidates.tolist() == [2, 3, 4, 5]


def test_a_skipped_node_is_never_asked_and_may_still_be_told(barbell: Graph):
    learner = ActiveLearner(barbell, "random", budget=6)
    for node in (0, 2, 3, 4, 5):
        learner.skip(node)
    assert learner.ask() == [1]
    learner.tell(2, "a")
    assert learner.labels.nodes == (2,)
    learner.withdraw(2)
    assert learner.candidates.tolist() == [1, 2]


def test_simulate_tells_what_it_asked(star: Graph):
    heard: list[int] = []
    learner = ActiveLearner(star, First, budget=3, candidates=torch.tensor([1, 2, 4]))
    labels = simulate(learner, lambda node: "even" if node % 2 == 0 else "odd", 3, heard.append)
    assert labels == Labels((1, 2, 4), (0, 1, 1))
    assert learner.class_names == ("odd", "even")
    assert heard == [1, 2, 3]


def test_labels_at_hand_are_told_first_whatever_they_come_in(barbell: Graph):
    at_hand = {5: "right", 0: "left"}
    told = ActiveLearner(barbell, "random", budget=6)
    for node, label in at_hand.items():
        told.tell(node, label)
    for labels in (at_hand, list(at_hand.items()), iter(at_hand.items())):
        learner = ActiveLearner(barbell, "random", budget=6, labels=labels)
        assert learner.labels == told.labels == Labels((5, 0), (0, 1))
        assert torch.equal(learner.prediction().probabilities, told.prediction().probabilities)
        assert learner.ask(4) == told.ask(4)
    with pytest.raises(InputError, match="node 5 is already labeled"):
        ActiveLearner(barbell, "random", budget=6, labels=[(5, "a"), (5, "a")])


@pytest.mark.parametrize("name", STRATEGIES)
def test_labels_of_nodes_that_cannot_be_asked_are_learned_from(skewed: Dataset, name: str):
    outside, candidates = torch.arange(0, 200, 20), torch.arange(1, 200, 20)
    at_hand = {int(node): skewed.class_names[skewed.y[node]] for node in outside}
    learner = ActiveLearner(skewed.graph, name, budget=20, candidates=candidates, labels=at_hand)
    assert learner.progress().left == 10
    asked = learner.ask(10)
    assert sorted(asked) == candidates.tolist()
    learner.tell(asked[0], "c0")
    learner.withdraw(0)
    assert 0 not in learner.candidates
    assert learner.labels.nodes == (*range(20, 200, 20), asked[0])


def test_labels_at_hand_count_in_the_budget(barbell: Graph):
    candidates = torch.tensor([0, 1])
    with pytest.raises(InputError, match="the budget is 5, but only 4 nodes can be asked or are labeled"):
        ActiveLearner(barbell, "random", budget=5, candidates=candidates, labels={4: "a", 5: "b"})
    learner = ActiveLearner(barbell, "random", budget=3, candidates=candidates, labels={4: "a", 5: "b"})
    assert len(learner.ask()) == 1
    with pytest.raises(InputError, match="asked for 2 nodes; 1 can still be asked"):
        learner.ask(2)


def test_progress_counts_everything_once(barbell: Graph):
    candidates = torch.tensor([0, 1, 2, 3])
    learner = ActiveLearner(barbell, "random", budget=4, classes="ab", candidates=candidates)
    assert learner.progress() == Progress(
        counts={"a": 0, "b": 0}, rho=0.0, given=0, skipped=0, budget=4, left=4, target=2.0
    )
    for node, label in ((0, "a"), (1, "b"), (5, "a")):
        learner.tell(node, label)
    learner.skip(2)
    assert learner.progress() == Progress(
        counts={"a": 2, "b": 1}, rho=0.5, given=3, skipped=1, budget=4, left=1, target=2.0
    )
    learner.tell(2, "c")  # a skipped node whose answer came after all, and a new class
    progress = learner.progress()
    assert (progress.given, progress.skipped, progress.left) == (4, 0, 0)
    assert (progress.counts, progress.rho) == ({"a": 2, "b": 1, "c": 1}, 0.5)
    assert progress.target == pytest.approx(4 / 3)


def test_with_no_class_known_there_is_no_balance(barbell: Graph):
    progress = ActiveLearner(barbell, "random", budget=4).progress()
    assert (progress.counts, progress.rho, progress.target) == ({}, 0.0, 4.0)


def test_looking_on_changes_nothing(skewed: Dataset):
    def labeled(look: bool) -> tuple[list[int], Tensor]:
        learner = ActiveLearner(skewed.graph, "anrmab", budget=40, seed=3)
        for _ in range(8):
            batch = learner.ask(3)
            if look:
                learner.explain(batch[1], after=batch[:1])
                learner.progress()
                learner.stop_hint()
            for node in batch:
                learner.tell(node, skewed.class_names[skewed.y[node]])
        return learner.ask(5), learner.predict(5)

    (seen, looked_at), (unseen, alone) = labeled(True), labeled(False)
    assert seen == unseen
    assert torch.equal(looked_at, alone)


def test_the_stop_hint_is_the_same_however_the_answers_came(skewed: Dataset):
    """Answers told at once are not all looked at; the last ones are, and only these count."""
    answers = {node: skewed.class_names[skewed.y[node]] for node in range(0, 200, 3)}
    at_once = ActiveLearner(skewed.graph, "random", budget=100, labels=answers)
    one_by_one = ActiveLearner(skewed.graph, "random", budget=100)
    for node, label in answers.items():
        one_by_one.tell(node, label)
        one_by_one.stop_hint()
    assert at_once.stop_hint() == one_by_one.stop_hint()
    assert len(at_once.stop_hint().stability) == WINDOW
    in_parts = ActiveLearner(skewed.graph, "random", budget=100, labels=list(answers.items())[:30])
    in_parts.stop_hint()
    for node, label in list(answers.items())[30:]:
        in_parts.tell(node, label)
    assert in_parts.stop_hint() == at_once.stop_hint()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("late", [1, 3])
def test_a_class_that_turns_up_after_twenty_answers_is_picked_up_and_balanced(late: int, seed: int):
    """Until then the person passes on its nodes, not knowing what they are."""
    dataset = load_dataset("synthetic:nodes=600,classes=4,skew=3,features=32")
    learner = ActiveLearner(dataset.graph, budget=80, seed=seed)
    passed = []
    while len(learner.labels) < 20:
        (node,) = learner.ask()
        if dataset.y[node] == late:
            learner.skip(node)
            passed.append(node)
        else:
            learner.tell(node, dataset.class_names[dataset.y[node]])
    assert len(learner.class_names) == 3
    for node in passed:
        learner.withdraw(node)
    while learner.progress().left:
        for node in learner.ask(4):
            learner.tell(node, dataset.class_names[dataset.y[node]])
    progress = learner.progress()
    assert learner.class_names[3] == dataset.class_names[late]
    assert progress.counts[dataset.class_names[late]] >= 17  # of a share of 20
    assert progress.rho >= 0.8


# --- Mistakes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 0}, "the budget is 0; it must be at least 1"),
        ({"budget": -3}, "the budget is -3"),
        ({"budget": 7}, "the budget is 7, but only 6 nodes can be asked"),
        ({"budget": 3, "candidates": torch.tensor([1, 1, 2])}, "the budget is 3, but only 2 nodes"),
        ({"budget": 1, "candidates": torch.tensor([])}, "the budget is 1, but only 0 nodes"),
        ({"budget": 1, "candidates": torch.tensor([0, 6])}, "from 0 to 6; nodes go from 0 to 5"),
        ({"budget": 1, "candidates": torch.tensor([-1, 2])}, "candidates go from -1 to 2"),
        ({"budget": 1, "classes": ("a", "b", "a")}, "classes are declared twice: a, b, a"),
        ({"budget": 1, "seed": -1}, "the seed is -1"),
        ({"budget": 1, "strategy": "randon"}, "unknown strategy 'randon'; .*did you mean 'random'"),
    ],
)
def test_settings_that_cannot_work_are_refused(barbell: Graph, settings: dict[str, object], message: str):
    with pytest.raises(InputError, match=message):
        ActiveLearner(barbell, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("node", [-1, 6, 100])
@pytest.mark.parametrize("verb", ["tell", "skip", "correct", "withdraw"])
def test_nodes_that_do_not_exist_are_refused(barbell: Graph, verb: str, node: int):
    learner = ActiveLearner(barbell, "random", budget=6)
    answer = ("a",) if verb in ("tell", "correct") else ()
    with pytest.raises(InputError, match=f"there is no node {node}; nodes go from 0 to 5"):
        getattr(learner, verb)(node, *answer)


def test_answers_that_do_not_fit_are_refused_by_name_and_change_nothing(barbell: Graph):
    named = Graph("named", barbell.adjacency, barbell.x, node_names=("ann", "bob", "cy", "di", "ed", "flo"))
    learner = ActiveLearner(named, "random", budget=3, candidates=torch.tensor([0, 1, 2, 3]))
    learner.tell(0, "a")
    with pytest.raises(InputError, match="node ed is not among the candidates"):
        learner.skip(4)
    with pytest.raises(InputError, match="node ann is already labeled; correct it instead"):
        learner.tell(0, "b")
    with pytest.raises(InputError, match="node ann is already labeled"):
        learner.skip(0)
    with pytest.raises(InputError, match="node bob has no answer"):
        learner.correct(1, "a")
    with pytest.raises(InputError, match="node bob has no answer"):
        learner.withdraw(1)
    for name in ("", " ", 7, None):
        with pytest.raises(InputError, match=f"the class {name!r} is no name"):
            learner.tell(1, name)
        with pytest.raises(InputError, match=f"the class {name!r} is no name"):
            learner.correct(0, name)
    assert learner.labels == Labels((0,), (0,))
    assert learner.candidates.tolist() == [1, 2, 3]


def test_no_more_is_asked_than_the_budget_and_the_candidates_allow(barbell: Graph):
    learner = ActiveLearner(barbell, "random", budget=3)
    with pytest.raises(InputError, match="asked for 0 nodes; 3 can still be asked"):
        learner.ask(0)
    with pytest.raises(InputError, match="asked for 4 nodes; 3 can still be asked within the budget"):
        learner.ask(4)
    for node in (0, 1, 2):
        learner.skip(node)
    learner.tell(3, "a")
    assert len(learner.ask(2)) == 2
    learner.skip(4)
    with pytest.raises(InputError, match="asked for 2 nodes; 1 can still be asked"):
        learner.ask(2)
    learner.tell(5, "a")
    learner.tell(0, "b")
    learner.tell(1, "b")  # one beyond the budget, because its answer happens to be known
    with pytest.raises(InputError, match="asked for 1 nodes; 0 can still be asked"):
        learner.ask()


# --- Observers ------------------------------------------------------------------------------------------


def test_an_observer_sees_each_answer_once_in_order_with_the_view_before_it(barbell: Graph):
    strategy = Recorded(Diary)
    learner = ActiveLearner(barbell, strategy, budget=6, classifier=small_gcn)
    learner.skip(4)
    learner.tell(2, "a")
    learner.ask(2)
    learner.tell(0, "b")
    learner.tell(5, "a")
    learner.ask()
    learner.ask()
    entries = strategy.current.entries
    assert [entry[:2] for entry in entries] == [(2, 0), (0, 1), (5, 0)]
    assert [entry[2].nodes for entry in entries] == [(), (2,), (2, 0)]
    # Whether node 4 was skipped is no part of any answer.
    assert [entry[3] for entry in entries] == [[0, 1, 2, 3, 4, 5], [0, 1, 3, 4, 5], [1, 3, 4, 5]]


def test_an_observer_is_never_shown_an_untaught_guess(barbell: Graph):
    strategy = Recorded(Diary)
    learner = ActiveLearner(barbell, strategy, budget=6, classifier=small_gcn)
    for node, answer in ((0, "a"), (1, "a"), (5, "b"), (4, "b")):
        learner.tell(node, answer)
    assert learner.class_names == ("a", "b")
    shown = [entry[7] for entry in strategy.current.entries]
    assert shown[0] == shown[1] == [[1.0]] * 6
    assert shown[2] == [[0.5, 0.5]] * 6  # the answer that makes a second class known
    assert shown[3] != shown[2]


# --- Histories ------------------------------------------------------------------------------------------

ISLANDS = islands(9, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (6, 7)])
CANDIDATES = torch.tensor([0, 1, 2, 3, 4, 5, 6])  # 7 and 8 may be told, and are never asked


class Histories(RuleBasedStateMachine):
    """Whatever is asked, told, skipped, corrected and withdrawn: only the answers that survive matter."""

    @initialize(classes=st.sampled_from(["", "x", "xy"]), seed=st.integers(0, 2))
    def start(self, classes: str, seed: int) -> None:
        self.settings = {"budget": 7, "seed": seed, "classes": classes, "candidates": CANDIDATES}
        self.learner, self.strategy = self.fresh()
        self.answers: dict[int, str] = {}
        self.first_answers: list[int] = []  # every node ever answered, in order
        self.skipped: set[int] = set()

    def fresh(self) -> tuple[ActiveLearner, Recorded]:
        strategy = Recorded(Diary)
        return ActiveLearner(ISLANDS, strategy, classifier=small_gcn, **self.settings), strategy

    @property
    def open(self) -> list[int]:
        return [node for node in range(ISLANDS.num_nodes) if node not in self.answers]

    @property
    def askable(self) -> list[int]:
        return [node for node in CANDIDATES.tolist() if node not in self.answers]

    @precondition(lambda self: self.open)
    @rule(data=st.data(), label=st.sampled_from("xyz"))
    def tell(self, data: st.DataObject, label: str) -> None:
        node = data.draw(st.sampled_from(self.open))
        self.learner.tell(node, label)
        self.answers[node] = label
        self.skipped.discard(node)
        if node not in self.first_answers:
            self.first_answers.append(node)

    @precondition(lambda self: set(self.first_answers) - set(self.answers))
    @rule(data=st.data(), label=st.sampled_from("xyz"))
    def tell_again(self, data: st.DataObject, label: str) -> None:
        node = data.draw(st.sampled_from(sorted(set(self.first_answers) - set(self.answers))))
        self.learner.prediction()
        self.learner.tell(node, label)
        self.answers[node] = label
        self.skipped.discard(node)

    @precondition(lambda self: self.askable)
    @rule(data=st.data())
    def skip(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(self.askable))
        self.learner.skip(node)
        self.skipped.add(node)

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), label=st.sampled_from("xyz"))
    def correct(self, data: st.DataObject, label: str) -> None:
        node = data.draw(st.sampled_from(sorted(self.answers)))
        self.learner.correct(node, label)
        self.answers[node] = label

    @precondition(lambda self: self.answers or self.skipped)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(sorted([*self.answers, *self.skipped])))
        self.learner.withdraw(node)
        self.answers.pop(node, None)
        self.skipped.discard(node)

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.learner.save(Path(folder) / "saved")
            self.strategy = Recorded(Diary)
            self.learner = ActiveLearner.load(
                Path(folder) / "saved", ISLANDS, strategy=self.strategy, classifier=small_gcn
            )

    @rule(look=st.sampled_from(["prediction", "predict", "ask", "stop_hint", "progress"]))
    def look(self, look: str) -> None:
        if look != "ask" or self.num_left > 0:
            getattr(self.learner, look)()

    @property
    def num_left(self) -> int:
        askable = [node for node in self.askable if node not in self.skipped]
        return max(0, min(len(askable), 7 - len(self.answers)))

    @rule(eager=st.booleans())
    def compare(self, eager: bool) -> None:
        fresh, strategy = self.fresh()
        for node in self.first_answers:
            if node in self.answers:
                fresh.tell(node, self.answers[node])
                if eager:
                    fresh.prediction()
        for node in self.skipped:
            fresh.skip(node)
        assert self.state(self.learner) == self.state(fresh)
        assert self.strategy.current.entries == strategy.current.entries

    def state(self, learner: ActiveLearner) -> dict[str, object]:
        prediction = learner.prediction()
        return {
            "labels": learner.labels,
            "class_names": learner.class_names,
            "counts": learner.counts.tolist(),
            "candidates": learner.candidates.tolist(),
            "prediction": [prediction.probabilities.tolist(), prediction.embeddings.tolist()],
            "progress": learner.progress(),
            "stop_hint": learner.stop_hint(),
            "explanation": learner.explain(3),
            "next": learner.ask(min(3, self.num_left)) if self.num_left > 0 else [],
            "final": learner.predict(3).tolist(),
        }

    def teardown(self) -> None:
        if hasattr(self, "learner"):
            self.compare(eager=False)


TestHistories = Histories.TestCase
TestHistories.settings = settings(deadline=None, derandomize=True, max_examples=60, stateful_step_count=25)


def test_a_withdrawn_answer_told_again_takes_its_old_place(barbell: Graph):
    learner = ActiveLearner(barbell, "random", budget=6)
    for node, answer in ((3, "a"), (1, "b"), (5, "c")):
        learner.tell(node, answer)
    learner.withdraw(3)
    assert learner.class_names == ("b", "c")
    assert learner.labels == Labels((1, 5), (0, 1))
    learner.tell(3, "c")
    assert learner.class_names == ("c", "b")
    assert learner.labels == Labels((3, 1, 5), (0, 1, 0))


# --- Answers out of reach -------------------------------------------------------------------------------


def reachable(*roots: object) -> Iterator[object]:
    """Everything that can be reached through attributes, items and closures; not through module globals."""
    seen: set[int] = set()
    queue = list(roots)
    while queue:
        item = queue.pop()
        if id(item) in seen or isinstance(item, type | ModuleType):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, FunctionType):
            queue += [item.__closure__, item.__defaults__, item.__kwdefaults__]
        else:
            queue += gc.get_referents(item)


def holds_answers(item: object, dataset: Dataset) -> bool:
    if isinstance(item, Tensor):
        same_memory = item.untyped_storage().data_ptr() == dataset.y.untyped_storage().data_ptr()
        return same_memory or (item.shape == dataset.y.shape and bool((item == dataset.y).all()))
    return isinstance(item, Dataset) or (isinstance(item, list | tuple) and list(item) == dataset.y.tolist())


def test_a_strategy_never_reaches_an_answer_nobody_gave(skewed: Dataset):
    strategy = Recorded(First)
    learner = ActiveLearner(skewed.graph, strategy, budget=5)
    simulate(learner, lambda node: skewed.class_names[skewed.y[node]], 5)
    spy = strategy.current
    assert len(spy.views) == 5
    found = list(reachable(spy.given, spy.views))
    assert any(item is skewed.graph.x for item in found)
    assert not any(holds_answers(item, skewed) for item in found)


@pytest.mark.parametrize("hide", [lambda d: lambda: d, lambda d: {"y": [d.y[3:]]}, lambda d: [d.y.tolist()]])
def test_the_search_finds_answers_that_are_in_reach(skewed: Dataset, hide):
    assert any(holds_answers(item, skewed) for item in reachable(hide(skewed)))
