import pytest
import torch

from gcbr.graph import Graph
from gcbr.learner import ActiveLearner
from gcbr.strategies.anrmab import ANRMAB
from gcbr.view import Observer

# On the star, as in test_age. Percentiles of nodes 0 and 2: entropy .2 and .7, density .3 and .7,
# centrality .9 and .4. With these two for candidates, softmax(20 * percentile) is sigmoid(10), sigmoid(8) and
# sigmoid(-10) for node 2, that is .9999546, .9996646 and .0000454, and the rest for node 0.
PROBABILITIES = [[1.0, 0.0], [0.96, 0.04], [0.9, 0.1], [0.7, 0.3], [0.0, 1.0]]
CHOICE = {"labels": {4: 1}, "candidates": [0, 2]}


def anrmab(star: Graph, budget: int = 4) -> ANRMAB:
    return ANRMAB(star, budget, torch.Generator())


def test_arms_begin_equal(star: Graph):
    assert anrmab(star).arm_probabilities.tolist() == pytest.approx([1 / 3] * 3)


def test_arm_weights_after_two_answers(star: Graph, make_view):
    # Floor sqrt(ln 3 / 12) = .302571. Node 2 had q = (.9999546 + .9996646 + .0000454) / 3 = .666555, so arms
    # gain .151285 times 1.500183, 1.499748 and .000068; the floor takes the weights 1.254775, 1.254693 and
    # 1.000010 to these probabilities.
    strategy = anrmab(star)
    strategy.observe(make_view(star, PROBABILITIES, **CHOICE), node=2, cls=0)
    assert strategy.arm_probabilities.tolist() == pytest.approx([0.335567, 0.335565, 0.328868], abs=1e-6)
    # Node 0 has q = .335567 * .0000454 + .335565 * .0003354 + .328868 * .9999546 = .328981 now; arms gain
    # .151285 times .000138, .001019 and 3.039555, and the weights are 1.254801, 1.254886 and 1.583838.
    strategy.observe(make_view(star, PROBABILITIES, **CHOICE), node=0, cls=0)
    assert strategy.arm_probabilities.tolist() == pytest.approx([0.330860, 0.330862, 0.338278], abs=1e-6)


def test_an_answer_nobody_foresaw_rewards_no_arm(star: Graph, make_view):
    strategy = anrmab(star)
    strategy.observe(make_view(star, PROBABILITIES, **CHOICE), node=2, cls=1)
    assert strategy.arm_probabilities.tolist() == pytest.approx([1 / 3] * 3)


def test_before_the_first_label_nothing_can_have_been_foreseen(star: Graph, make_view):
    strategy = anrmab(star)
    strategy.observe(make_view(star, PROBABILITIES), node=2, cls=0)
    assert strategy.arm_probabilities.tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("budget", [1, 2, 100])
def test_no_arm_falls_below_the_floor(star: Graph, make_view, budget: int):
    strategy = anrmab(star, budget)
    for _ in range(300):
        strategy.observe(make_view(star, PROBABILITIES, **CHOICE), node=0, cls=0)
    floor = {1: 1 / 3, 2: 1 / 3, 100: 0.060515}[budget]  # sqrt(ln 3 / 300), and never above a third
    assert strategy.arm_probabilities.min() >= floor - 1e-6
    assert strategy.arm_probabilities.sum() == pytest.approx(1)


def test_the_node_is_drawn_from_the_mixture(star: Graph, make_view):
    # two arms of three propose node 2
    strategy = anrmab(star)
    views = [make_view(star, PROBABILITIES, **CHOICE, seed=seed) for seed in range(300)]
    assert [strategy.select(view) for view in views].count(2) / 300 == pytest.approx(2 / 3, abs=0.08)


def test_asking_leaves_the_arms_alone(barbell: Graph):
    strategies: list[ANRMAB] = []

    def make(graph: Graph, budget: int, rng: torch.Generator) -> ANRMAB:
        strategies.append(ANRMAB(graph, budget, rng))
        return strategies[-1]

    learner = ActiveLearner(barbell, make, budget=6, classes=("left", "right"))
    for node in (0, 3, 5):
        learner.tell(node, "left" if node < 3 else "right")
    before = learner.ask(), strategies[-1].arm_probabilities
    learner.ask(3)
    assert learner.ask() == before[0]
    assert torch.equal(strategies[-1].arm_probabilities, before[1])
    assert isinstance(strategies[-1], Observer)
