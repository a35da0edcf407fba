"""Reasons, worked out by hand on graphs small enough to draw."""

import json
import math

import pytest
import torch

from gcbr.engine.gcn import Prediction
from gcbr.errors import InputError
from gcbr.explain import TITLES, Explanation, LabeledNeighbor, explain
from gcbr.graph import Dataset, Graph, Labels
from gcbr.learner import ActiveLearner
from gcbr.state import GCBR_PLUS_COLUMNS, GraphFacts
from gcbr.view import View

CLASSES = ("ant", "bee")


def seen(graph: Graph, probabilities: list[list[float]], labels: Labels, budget: int = 4) -> View:
    return View(
        graph=graph,
        labels=labels,
        candidates=torch.arange(graph.num_nodes),
        prediction=Prediction(torch.tensor(probabilities), torch.zeros(graph.num_nodes, 1)),
        counts=labels.counts(2).float(),
        pending=(),
        budget=budget,
        rng=torch.Generator(),
    )


@pytest.fixture
def view(star: Graph) -> View:
    """The middle, 0, is labeled ant and leaf 1 too; of leaf 2 nothing is known, 3 and 4 are guessed."""
    guesses = [[0.9, 0.1], [0.9, 0.1], [0.5, 0.5], [0.25, 0.75], [0.8, 0.2]]
    return seen(star, guesses, Labels((0, 1), (0, 0)))


def why(view: View, node: int) -> Explanation:
    return explain(view, node, CLASSES, GraphFacts(view.graph))


def test_the_columns_are_the_policys_with_their_place_among_all_nodes(view: View):
    columns = {column.name: column for column in why(view, 3).columns}
    assert tuple(columns) == GCBR_PLUS_COLUMNS
    assert all(column.title == TITLES[name] for name, column in columns.items())
    # 0.25 / 2 + 0.75 / 1, since ant has two labels and bee has none.
    assert columns["class_diversity"].value == pytest.approx(0.875)
    assert columns["class_diversity"].percentile == 90  # four of five below, and itself half
    # ant has its share of 4 / 2 labels.
    assert columns["majority_score"].value == pytest.approx(0.25)
    assert columns["majority_score"].percentile == 10
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75)) / math.log(2)
    assert columns["uncertainty"].value == pytest.approx(entropy)
    assert columns["uncertainty"].percentile == 70
    # The four leaves are equally central: one half of each tie counts.
    assert columns["centrality"].percentile == 40
    assert columns["selectivity"].value == 0
    assert columns["selectivity"].percentile == pytest.approx(30)


def test_predicted_classes_come_with_the_likeliest_first(view: View):
    assert why(view, 3).predicted == (("bee", 0.75), ("ant", 0.25))
    assert [cls for cls, _ in why(view, 4).predicted] == ["ant", "bee"]


def test_the_balance_is_that_of_the_counts_with_the_nodes_prediction_added(view: View):
    shown = why(view, 3)
    assert shown.expected_balance_before == 0  # 0 bees over 2 ants
    assert shown.expected_balance_after == pytest.approx(0.75 / 2.25)
    labeled = why(view, 1)
    assert (labeled.expected_balance_before, labeled.expected_balance_after) == (0, 0)


def test_labeled_neighbors_are_named(view: View):
    named = Graph("named", view.graph.adjacency, view.graph.x, node_names=("mid", "a", "b", "c", "d"))
    view = seen(named, view.prediction.probabilities.tolist(), view.labels)
    assert why(view, 3).name == "c"
    assert why(view, 3).neighbors == (LabeledNeighbor(0, "mid", "ant"),)
    assert why(view, 0).neighbors == (LabeledNeighbor(1, "a", "ant"),)


def test_the_sentence_says_what_stands_out(view: View):
    assert why(view, 3).sentence.startswith("Probably bee (75%), a class with no label yet")
    assert why(view, 4).sentence.startswith("Probably ant (80%), a class that has its share of labels")
    # Of leaf 2 all classes are equally likely: no guess, but the least sure prediction of all.
    assert why(view, 2).sentence.startswith("Its prediction is less sure than 90% of all")
    assert why(view, 1).sentence == "Labeled ant already."


def test_the_sentence_counts_the_share_and_the_neighbors(barbell: Graph):
    guesses = [[0.4, 0.6]] * 5 + [[0.45, 0.55]]
    view = seen(barbell, guesses, Labels((0, 1, 2), (0, 0, 1)), budget=6)
    assert why(view, 5).sentence == (
        "Probably bee (55%), a class with 1 of its share of 3 labels; "
        "its prediction is less sure than 91% of all; "
        "differs more from the labeled nodes than 91% of the nodes do; "
        "none of its 2 neighbors is labeled."
    )


def test_with_nothing_labeled_the_place_in_the_graph_is_all_there_is_to_say(barbell: Graph):
    learner = ActiveLearner(barbell, "random", budget=3)
    assert learner.explain(0).sentence == "Nothing is labeled yet; more central than 33% of the nodes."
    assert learner.explain(2).sentence == "More central than 83% of the nodes."
    assert learner.explain(2).predicted == ()


def test_earlier_nodes_of_a_batch_count(skewed: Dataset):
    learner = ActiveLearner(skewed.graph, "gcbr++", budget=30, classes=skewed.class_names)
    labeled = [int((skewed.y == cls).nonzero()[0]) for cls in range(3)]
    for node, label in zip(labeled, skewed.class_names, strict=True):
        learner.tell(node, label)
    first, second = learner.ask(2)
    alone, later = learner.explain(second), learner.explain(second, after=[first])
    assert alone.expected_balance_before == 1  # one label of each class
    assert later.expected_balance_before == 0.5  # and one more that is expected
    assert alone.predicted == later.predicted
    with pytest.raises(InputError, match="already labeled"):
        learner.explain(second, after=labeled[:1])


def test_an_explanation_survives_json(view: View):
    plain = json.loads(json.dumps(why(view, 3).to_json(), allow_nan=False))
    assert plain["node"] == 3
    assert plain["predicted"][0] == {"class": "bee", "probability": 0.75}
    assert plain["neighbors"] == [{"node": 0, "name": "0", "class": "ant"}]
    assert [column["name"] for column in plain["columns"]] == list(GCBR_PLUS_COLUMNS)


@pytest.mark.parametrize("node", [-1, 6])
def test_a_node_that_does_not_exist_is_refused(barbell: Graph, node: int):
    with pytest.raises(InputError, match=f"there is no node {node}"):
        ActiveLearner(barbell, "random", budget=3).explain(node)
