"""What every strategy of the table must do, whatever its idea. A new entry is picked up by itself."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from gcbr.classifier import Classifier, GCNClassifier
from gcbr.engine.gcn import GCNConfig
from gcbr.engine.matrix import Csr, Dense, Matrix
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.learner import ActiveLearner, simulate
from gcbr.strategies import STRATEGIES, find_strategy
from gcbr.view import Observer, Strategy, View

pytestmark = pytest.mark.parametrize("name", STRATEGIES)


def small_gcn(graph: Graph, num_classes: int, rng: torch.Generator) -> Classifier:
    return GCNClassifier(graph, num_classes, rng, GCNConfig(hidden=8))


def drawn(edges: list[tuple[int, int]], x: Matrix, weights: Tensor | None = None) -> Graph:
    num_nodes = x.shape[0]
    ends = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    values = torch.ones(len(edges)) if weights is None else weights
    both = torch.cat([ends, ends.flip(0)], dim=1)
    adjacency = Csr.from_entries(both[0], both[1], values.repeat(2), (num_nodes, num_nodes))
    return Graph("drawn", adjacency, x)


def sparse_ones(rows: list[list[int]], num_columns: int) -> Csr:
    places = [(row, column) for row, columns in enumerate(rows) for column in columns]
    row, column = torch.tensor(places).T
    return Csr.from_entries(row, column, torch.ones(len(places)), (len(rows), num_columns))


TRIANGLES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]
GRAPHS: dict[str, Graph] = {
    "barbell": drawn(TRIANGLES, Dense(torch.eye(6))),
    # Nodes 6, 7 and 8 have no edge, and node 8 no feature either.
    "isolated nodes": drawn(TRIANGLES, sparse_ones([[0], [0, 1], [1], [2], [2, 3], [3], [0], [3], []], 4)),
    "weighted edges": drawn(
        TRIANGLES, Dense(torch.eye(6)), torch.tensor([0.1, 5.0, 1.0, 0.5, 2.0, 3.0, 0.2])
    ),
    "nodes all alike": drawn([(n, (n + 1) % 7) for n in range(7)], Dense(torch.ones(7, 2))),
    "a pair": drawn([(0, 1)], Dense(torch.eye(2))),
}


def side(node: int) -> str:
    return "left" if node < 3 else "right"


def learner_for(name: str, graph: Graph, budget: int, **settings: object) -> ActiveLearner:
    return ActiveLearner(graph, name, budget=budget, **({"classifier": small_gcn} | settings))  # type: ignore[arg-type]


def tensors_in(value: object) -> Iterator[Tensor]:
    """Every tensor of a view: those of its graph, of its features and of its prediction."""
    if isinstance(value, Tensor):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from tensors_in(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from tensors_in(item)


class Watched:
    """A strategy whose every call is checked: a candidate is chosen, and nothing it was shown is changed."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.num_calls = 0
        if isinstance(strategy, Observer):
            self.observe = self._observe

    def select(self, view: View) -> int:
        node = self._unchanged(view, lambda: self._strategy.select(view))
        assert type(node) is int
        assert node in view.candidates.tolist()
        assert node not in view.pending
        return node

    def _observe(self, view: View, node: int, cls: int) -> None:
        self._unchanged(view, lambda: self._strategy.observe(view, node, cls))  # type: ignore[attr-defined]

    def _unchanged(self, view: View, call: Callable[[], object]) -> object:
        self.num_calls += 1
        before = [tensor.clone() for tensor in tensors_in(view)]
        result = call()
        assert len(before) >= 6
        assert all(torch.equal(*pair) for pair in zip(before, tensors_in(view), strict=True))
        return result


@pytest.mark.parametrize("graph", GRAPHS)
def test_asks_every_candidate_exactly_once(name: str, graph: str):
    num_nodes = GRAPHS[graph].num_nodes
    learner = learner_for(name, GRAPHS[graph], num_nodes)
    assert sorted(simulate(learner, side, num_nodes).nodes) == list(range(num_nodes))


def test_asks_only_candidates(name: str):
    candidates = torch.tensor([0, 2, 4, 5])
    learner = learner_for(name, GRAPHS["barbell"], 4, candidates=candidates)
    assert sorted(simulate(learner, side, 4).nodes) == candidates.tolist()


def test_never_asks_a_skipped_node(name: str):
    learner = learner_for(name, GRAPHS["isolated nodes"], 6)
    for node in learner.ask(3):
        learner.skip(node)
    left = learner.candidates.tolist()
    assert len(left) == 6
    assert sorted(simulate(learner, side, 6).nodes) == left


@pytest.mark.parametrize("graph", GRAPHS)
def test_same_seed_same_questions(name: str, graph: str):
    first, second = (simulate(learner_for(name, GRAPHS[graph], 2, seed=3), side, 2) for _ in range(2))
    assert first == second


def test_same_seed_same_questions_on_a_larger_graph(name: str, skewed: Dataset):
    def labels():
        learner = learner_for(name, skewed.graph, 15, classes=skewed.class_names, seed=1)
        return simulate(learner, lambda node: skewed.class_names[skewed.y[node]], 15)

    assert labels() == labels()


@pytest.mark.parametrize("graph", GRAPHS)
def test_changes_nothing_it_is_shown(name: str, graph: str):
    watched: list[Watched] = []

    def factory(graph: Graph, budget: int, rng: torch.Generator) -> Strategy:
        before = [tensor.clone() for tensor in tensors_in(graph)]
        watched.append(Watched(STRATEGIES[name].factory(graph, budget, rng)))
        assert all(torch.equal(*pair) for pair in zip(before, tensors_in(graph), strict=True))
        return watched[-1]

    num_nodes = GRAPHS[graph].num_nodes
    learner = ActiveLearner(GRAPHS[graph], factory, budget=num_nodes, classifier=small_gcn)
    learner.ask(2)
    simulate(learner, side, num_nodes)
    assert watched[0].num_calls >= num_nodes + 2


def test_never_touches_the_global_generators(name: str, skewed: Dataset):
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    learner = learner_for(name, skewed.graph, 8, classes=skewed.class_names)
    simulate(learner, lambda node: skewed.class_names[skewed.y[node]], 6)
    learner.ask(2)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    assert random.getstate() == before[2]


def test_does_not_depend_on_the_global_generators(name: str, skewed: Dataset):
    asked = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        learner = learner_for(name, skewed.graph, 6, classes=skewed.class_names)
        asked.append(simulate(learner, lambda node: skewed.class_names[skewed.y[node]], 6))
    assert asked[0] == asked[1]


def test_asked_again_it_answers_the_same(name: str):
    learner = learner_for(name, GRAPHS["isolated nodes"], 9)
    for _ in range(3):
        asked = learner.ask(3)
        assert learner.ask(3) == asked
        assert learner.ask() == asked[:1]
        learner.tell(asked[0], side(asked[0]))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_works_in_batches(name: str, size: int):
    learner = learner_for(name, GRAPHS["isolated nodes"], 9)
    asked: list[int] = []
    while len(asked) < 9:
        batch = learner.ask(min(size, 9 - len(asked)))
        for node in reversed(batch):  # a person answers in any order
            learner.tell(node, side(node))
        asked += batch
    assert sorted(asked) == list(range(9))


@pytest.mark.parametrize("size", [6, 4])
def test_a_whole_pool_can_be_one_batch(name: str, size: int):
    learner = learner_for(name, GRAPHS["barbell"], 6, classes=("left", "right"))
    assert len(set(learner.ask(size))) == size


@pytest.mark.parametrize(
    "classes",
    [(), ("left",), ("left", "right"), ("left", "right", "never met"), ("never met", "nor this one")],
    ids=["none declared", "one of two", "both", "one nobody has labeled", "two nobody has labeled"],
)
@pytest.mark.parametrize("graph", ["barbell", "isolated nodes"])
def test_works_whatever_classes_are_known(name: str, graph: str, classes: tuple[str, ...]):
    learner = learner_for(name, GRAPHS[graph], 6, classes=classes)
    simulate(learner, side, 5)
    assert len(learner.ask()) == 1


def test_works_while_a_single_class_is_known(name: str):
    learner = learner_for(name, GRAPHS["barbell"], 6)
    assert sorted(simulate(learner, lambda node: "the only one", 6).nodes) == list(range(6))


def test_works_when_a_class_appears_on_the_way(name: str):
    learner = learner_for(name, GRAPHS["isolated nodes"], 9, classes=("left", "right"))
    simulate(learner, side, 4)
    (node,) = learner.ask()
    learner.tell(node, "new")
    simulate(learner, side, 4)
    assert sorted(learner.labels.nodes) == list(range(9))


def test_works_with_answers_to_nodes_it_did_not_ask_for(name: str):
    learner = learner_for(name, GRAPHS["isolated nodes"], 9)
    for node in (8, 0, 4):
        learner.tell(node, side(node))
    simulate(learner, side, 3)
    learner.tell(int(learner.candidates[-1]), "right")
    assert len(set(learner.ask(2))) == 2


def test_only_the_answers_that_survive_matter(name: str):
    changed, fresh = (learner_for(name, GRAPHS["isolated nodes"], 9) for _ in range(2))
    for node, answer in ((3, "left"), (6, "odd"), (1, "left"), (5, "right")):
        changed.tell(node, answer)
        changed.ask(2)
    changed.correct(3, "right")
    changed.withdraw(6)
    for node, answer in ((3, "right"), (1, "left"), (5, "right")):
        fresh.tell(node, answer)
    assert changed.ask(4) == fresh.ask(4)


def test_chooses_the_same_under_any_budget_unless_it_says_that_it_looks_at_it(name: str, skewed: Dataset):
    few, many = (
        simulate(learner_for(name, skewed.graph, budget), lambda node: str(int(skewed.y[node])), 12).nodes
        for budget in (12, 60)
    )
    # Twelve labels of three classes fill their shares of a budget of twelve, and none of sixty.
    assert few == many or STRATEGIES[name].looks_at_budget


def test_is_found_by_its_name_and_says_in_one_line_what_it_does(name: str):
    entry = STRATEGIES[name]
    assert find_strategy(name) is entry.factory
    assert entry.summary
    assert "\n" not in entry.summary + entry.paper
    with pytest.raises(InputError, match=rf"'{re.escape(name)}x'; choose from .*did you mean"):
        find_strategy(f"{name}x")
