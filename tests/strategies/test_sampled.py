"""A sample of the candidates: drawn anew for each choice, each scored as it would be among all."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gcbr import student as student_module
from gcbr.cli.app import main
from gcbr.datasets import load_dataset
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph
from gcbr.learner import ActiveLearner
from gcbr.policy import Policy
from gcbr.seeding import generator, seeded
from gcbr.state import GCBR_PLUS_COLUMNS, state_columns
from gcbr.strategies.anrmab import ANRMAB
from gcbr.strategies.by_score import Degree
from gcbr.strategies.learned import Learned, situation
from gcbr.strategies.sampled import sampled
from gcbr.view import Observer, View

from .conftest import MakeView


class Watching:
    """Chooses the first candidate, and remembers which it was offered."""

    def __init__(self) -> None:
        self.offered: list[list[int]] = []

    def select(self, view: View) -> int:
        self.offered.append(view.candidates.tolist())
        return int(view.candidates[0])


def test_is_offered_so_many_candidates_in_order(skewed: Dataset, make_view: MakeView):
    watching = Watching()
    strategy = sampled(lambda *_: watching, 7)(skewed.graph, 10, generator(0))
    for seed in (0, 0, 1):
        node = strategy.select(make_view(skewed.graph, candidates=range(50, 150), seed=seed))
        assert node == watching.offered[-1][0]
    first, again, other = watching.offered
    assert first == again != other
    assert len(set(first)) == 7
    assert first == sorted(first)
    assert set(first) <= set(range(50, 150))


def test_every_candidate_is_drawn_as_often_as_the_others(barbell: Graph, make_view: MakeView):
    watching = Watching()
    strategy = sampled(lambda *_: watching, 2)(barbell, 5, generator(0))
    for seed in range(600):
        strategy.select(make_view(barbell, seed=seed))
    counts = torch.tensor(watching.offered).flatten().bincount(minlength=6)
    assert counts.min() > 200 - 5 * 11.5  # 600 x 2/6 = 200 each, with a deviation of 11.5
    assert counts.max() < 200 + 5 * 11.5


def test_with_fewer_candidates_than_wanted_all_are_offered(star: Graph, make_view: MakeView):
    strategy = sampled(Degree, 100)(star, 5, generator(0))
    assert strategy.select(make_view(star)) == 0  # the middle, with four neighbors


def test_a_strategy_that_learns_from_answers_goes_on_doing_so(skewed: Dataset):
    assert isinstance(sampled(ANRMAB, 10)(skewed.graph, 10, generator(0)), Observer)
    assert not isinstance(sampled(Degree, 10)(skewed.graph, 10, generator(0)), Observer)


@pytest.mark.parametrize("scale", ["", "relative_"])
def test_scores_around_a_few_candidates_are_those_among_all(scale: str, skewed: Dataset, make_view: MakeView):
    """What two propagations reach is enough, with labeled and pending nodes near and far."""
    scaled = ("centrality", "class_diversity")
    columns = [scale + name if name in scaled else name for name in GCBR_PLUS_COLUMNS]
    with seeded(generator(3)):
        policy = Policy(len(columns))
    probabilities = torch.rand(200, 3, generator=generator(1)).softmax(1)
    view = make_view(
        skewed.graph,
        probabilities.tolist(),
        labels={3: 0, 60: 1, 150: 2, 7: 0},
        pending=(9, 120),
        candidates=[4, 61, 199],
    )
    strategy = Learned(skewed.graph, policy, columns)
    assert strategy._is_local
    with torch.no_grad():
        states = state_columns(situation(strategy._facts, view), columns)
        among_all = policy.scores(skewed.graph.propagation, states)[0][view.candidates]
        nearby = strategy._scores_nearby(view)
    torch.testing.assert_close(nearby, among_all, rtol=0, atol=1e-6)
    assert float(among_all.std()) > 1e-3


def test_the_same_node_is_chosen_near_by_and_among_all(make_view: MakeView):
    """On a graph of 3,000 nodes three candidates are few enough to look around them alone."""
    graph = load_dataset("synthetic:nodes=3000,degree=4").graph
    with seeded(generator(3)):
        policy = Policy(len(GCBR_PLUS_COLUMNS))
    strategy = Learned(graph, policy, GCBR_PLUS_COLUMNS)
    probabilities = torch.rand(3000, 3, generator=generator(1)).softmax(1)
    for seed in range(5):
        candidates = torch.randperm(3000, generator=generator(seed))[:3].sort().values
        view = make_view(graph, probabilities.tolist(), labels={3: 0, 60: 1}, candidates=candidates.tolist())
        states = state_columns(situation(strategy._facts, view), GCBR_PLUS_COLUMNS)
        scores = policy.scores(graph.propagation, states)[0].detach()[candidates]
        assert strategy.select(view) == int(candidates[scores.argmax()])
        with_all = replace(view, candidates=torch.arange(100, 3000))
        assert strategy.select(with_all) != strategy.select(view)


def asked(learner: ActiveLearner, dataset: Dataset, number: int) -> list[int]:
    nodes = []
    for _ in range(number):
        (node,) = learner.ask()
        assert learner.ask() == [node]  # asking again draws the same sample
        learner.tell(node, dataset.class_names[dataset.y[node]])
        nodes.append(node)
    return nodes


def test_a_learner_with_a_sample_goes_on_from_disk_with_it(skewed: Dataset, tmp_path: Path):
    settings = {"budget": 20, "seed": 1, "classes": skewed.class_names}
    learner = ActiveLearner(skewed.graph, "gcbr++", sample=5, **settings)
    asked(learner, skewed, 6)
    learner.save(tmp_path / "learner")
    restored = ActiveLearner.load(tmp_path / "learner", skewed.graph)
    rest = asked(learner, skewed, 6)
    assert rest == asked(restored, skewed, 6)
    assert len(set(learner.ask(4))) == 4
    exact = ActiveLearner(skewed.graph, "gcbr++", **settings)
    assert asked(exact, skewed, 12)[6:] != rest


def test_a_sample_of_nothing_is_refused(barbell: Graph):
    with pytest.raises(InputError, match="the sample is 0; it must be at least 1"):
        ActiveLearner(barbell, "random", budget=2, sample=0)


def test_on_a_large_graph_some_nodes_tell_what_an_answer_changed(
    skewed: Dataset, monkeypatch: pytest.MonkeyPatch
):
    hints = []
    for watch_all in (200, 50):
        monkeypatch.setattr(student_module, "_WATCH_ALL", watch_all)
        learner = ActiveLearner(skewed.graph, "gcbr++", budget=40, classes=skewed.class_names)
        asked(learner, skewed, 25)
        hints.append(learner.stop_hint())
    every, some = hints
    assert some.evidence["foreseen"] == every.evidence["foreseen"]
    # 4,000 draws of 200 nodes: the deviation of a share is below 0.8%.
    assert some.stability == pytest.approx(every.stability, abs=0.04)
    assert some.stability != every.stability


def test_the_program_says_that_it_chose_among_a_sample(capsys: pytest.CaptureFixture[str]):
    command = ["suggest", "digits", "-n", "2", "--json"]
    assert main([*command, "--interactive"]) == 0
    quick = capsys.readouterr()
    assert "chosen among a random sample of 500 candidates" in quick.err
    assert main(command) == 0
    every = capsys.readouterr()
    assert "sample" not in every.err
    assert quick.out.count('"name"') == every.out.count('"name"') >= 2
