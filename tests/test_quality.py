"""The estimate of quality from labels alone, held against the truth it stands for."""

import pytest
import torch

from gcbr.classification import classify
from gcbr.classifier import Classifier
from gcbr.datasets import load_dataset
from gcbr.engine.gcn import Prediction
from gcbr.errors import InputError
from gcbr.graph import Dataset, Graph, Labels
from gcbr.quality import Interval, cross_validate, too_few


class Oracle:
    """Predicts what it was made with, among the classes it was taught; any other is taken for the first."""

    def __init__(self, predicted: torch.Tensor, num_classes: int) -> None:
        self.predicted, self.num_classes = predicted, num_classes
        self.taught: list[Labels] = []

    def update(self, labels: Labels, epochs: int = 1) -> None:
        self.taught.append(labels)

    def predict(self) -> Prediction:
        taught = self.taught[-1].counts(self.num_classes) > 0
        predicted = self.predicted.where(taught[self.predicted], int(taught.nonzero()[0]))
        one_hot = torch.nn.functional.one_hot(predicted, self.num_classes).float()
        return Prediction(one_hot, one_hot)

    def grow(self, num_classes: int) -> None: ...

    def clone(self) -> "Oracle":
        return self


def labels_of(y: torch.Tensor) -> Labels:
    return Labels(tuple(range(len(y))), tuple(y.tolist()))


def test_every_label_is_predicted_by_a_classifier_that_never_saw_it(skewed: Dataset):
    y = torch.tensor([0] * 20 + [1] * 10)
    oracles: list[Oracle] = []

    def make(graph: Graph, num_classes: int, rng: torch.Generator) -> Classifier:
        oracles.append(Oracle(torch.zeros(200, dtype=torch.long), num_classes))
        return oracles[-1]

    quality = cross_validate(skewed.graph, labels_of(y), 2, epochs=3, classifier=make)
    kept = [oracle.taught[0] for oracle in oracles]
    assert [len(labels) for labels in kept] == [24] * 5
    assert all(labels.counts(2).tolist() == [16, 8] for labels in kept)  # two thirds of class 0 in each
    held = [set(range(30)) - set(labels.nodes) for labels in kept]
    assert set.union(*held) == set(range(30))
    # All are called class 0: 20 of 30 right; F1 of class 0 is 40 / (40 + 10), that of class 1 is 0.
    assert quality.micro_f1.value == pytest.approx(2 / 3)
    assert quality.macro_f1.value == pytest.approx(0.4)
    # Wilson's interval of 20 in 30.
    assert quality.micro_f1[1:] == pytest.approx((0.488, 0.808), abs=0.001)
    assert (quality.labels, quality.folds) == (30, 5)


def test_the_interval_is_that_of_a_binomial_share(skewed: Dataset):
    y = torch.tensor([0, 1] * 50)
    guess = torch.cat([y, torch.zeros(100, dtype=torch.long)])
    guess[:20] = 1 - guess[:20]  # a fifth of each class is wrong

    quality = cross_validate(skewed.graph, labels_of(y), 2, epochs=1, classifier=lambda *_: Oracle(guess, 2))
    # Wilson's of 80 in 100; the bootstrap's is near 0.8 give or take 1.96 * sqrt(0.8 * 0.2 / 100) = 0.078.
    assert quality.micro_f1 == pytest.approx(Interval(0.8, 0.711, 0.867), abs=0.001)
    assert quality.macro_f1 == pytest.approx(Interval(0.8, 0.722, 0.878), abs=0.02)


def test_small_classes_leave_fewer_folds_and_a_single_label_is_never_right(skewed: Dataset):
    y = torch.arange(11).repeat_interleave(2)[:21]  # ten classes of two and one of one
    truth = torch.cat([y, torch.zeros(179, dtype=torch.long)])
    quality = cross_validate(
        skewed.graph, labels_of(y), 11, epochs=1, classifier=lambda *_: Oracle(truth, 11)
    )
    assert quality.folds == 2
    assert quality.micro_f1.value == pytest.approx(20 / 21)


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ([0, 1] * 9, "18 labels are too few for an estimate of quality; it takes 20"),
        ([0] * 20 + [1], "needs two classes with two labels each"),
        ([0] * 19 + [1] * 2, None),
    ],
)
def test_too_few_labels_are_said(classes: list[int], words: str | None):
    assert (too_few(labels_of(torch.tensor(classes)), 2) or "").endswith(words or "")
    assert (too_few(labels_of(torch.tensor(classes)), 2) is None) == (words is None)


def test_the_estimate_holds_where_labels_were_drawn():
    """The truth lies in the interval on most draws: 95% are promised of an unbiased estimate."""
    dataset = load_dataset("synthetic:nodes=600,classes=3,skew=2,homophily=0.6,signal=0.5")
    hits = 0
    for seed in range(6):
        drawn = torch.randperm(600, generator=torch.Generator().manual_seed(seed))
        answers = {int(node): dataset.class_names[dataset.y[node]] for node in drawn[:80]}
        found = classify(dataset.graph, answers, epochs=50, seed=seed)
        numbers = torch.tensor([dataset.class_names.index(name) for name in found.classes])
        truth = float((numbers == dataset.y)[drawn[80:]].float().mean())
        assert found.quality is not None
        hits += found.quality.micro_f1.low <= truth <= found.quality.micro_f1.high
    assert hits >= 4


def test_the_same_seed_gives_the_same_everything(skewed: Dataset):
    answers = {node: skewed.class_names[skewed.y[node]] for node in range(0, 200, 5)}
    first, second = (classify(skewed.graph, answers, epochs=10, seed=3) for _ in range(2))
    assert torch.equal(first.probabilities, second.probabilities)
    assert first.quality == second.quality


def test_classes_are_those_of_the_labels(barbell: Graph):
    found = classify(barbell, {5: "right", 0: "left"})
    assert found.class_names == ("right", "left")
    assert found.classes == ["left"] * 3 + ["right"] * 3
    assert found.confidence == found.probabilities.max(1).values.tolist()
    assert found.quality is None
    assert found.why_unknown is not None
    assert found.why_unknown.startswith("2 labels are too few")


@pytest.mark.parametrize(("answers", "there"), [({}, "no class"), ({0: "a", 1: "a"}, "one class, 'a'")])
def test_one_class_is_nothing_to_learn(barbell: Graph, answers: dict[int, str], there: str):
    with pytest.raises(
        InputError, match=f"the labels name {there}; a classifier needs labels of at least two"
    ):
        classify(barbell, answers)
