import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, recall_score

from gcbr import metrics

# Class 0: found twice of three, one false alarm. Class 1: found once of two, one false alarm.
# Class 2: its one node is missed. Class 3: absent, but predicted once. Class 4: neither.
TRUTH = torch.tensor([0, 0, 0, 1, 1, 2])
PREDICTED = torch.tensor([0, 0, 1, 1, 3, 0])


def test_f1_of_each_class_worked_by_hand():
    # 2 TP / (2 TP + FP + FN): 4 / (4 + 1 + 1), 2 / (2 + 1 + 1), 0 / (0 + 0 + 1), 0 / (0 + 1 + 0), none
    assert metrics.f1_per_class(TRUTH, PREDICTED, 5).tolist() == pytest.approx([2 / 3, 1 / 2, 0, 0, 0])


def test_absent_classes_count_in_the_macro_average():
    assert metrics.macro_f1(TRUTH, PREDICTED, 5).item() == pytest.approx((2 / 3 + 1 / 2) / 5)
    assert metrics.macro_f1(TRUTH, PREDICTED, 7).item() == pytest.approx((2 / 3 + 1 / 2) / 7)


def test_micro_f1_is_the_share_predicted_right():
    assert metrics.micro_f1(TRUTH, PREDICTED).item() == pytest.approx(3 / 6)


def test_accuracy_of_an_absent_class_is_not_a_number():
    accuracy = metrics.accuracy_per_class(TRUTH, PREDICTED, 5).tolist()
    assert accuracy[:3] == pytest.approx([2 / 3, 1 / 2, 0])
    assert math.isnan(accuracy[3])
    assert math.isnan(accuracy[4])


def test_class_counts_include_classes_that_do_not_occur():
    assert metrics.class_counts(TRUTH, 5).tolist() == [3, 2, 1, 0, 0]
    assert metrics.class_counts(torch.tensor([], dtype=torch.long), 2).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("counts", "ratio"), [([20, 5, 10], 0.25), ([3, 3], 1.0), ([7, 0, 2], 0.0), ([0, 0], 0.0), ([4], 1.0)]
)
def test_imbalance_ratio_is_the_smallest_count_over_the_largest(counts: list[int], ratio: float):
    assert metrics.imbalance_ratio(torch.tensor(counts)).item() == ratio


def test_every_metric_takes_leading_dimensions():
    worse = torch.tensor([1, 1, 1, 0, 0, 0])
    both = torch.stack([PREDICTED, worse])
    for truth in (TRUTH, torch.stack([TRUTH, TRUTH])):  # one truth for all, or one each
        assert metrics.macro_f1(truth, both, 5).tolist() == pytest.approx([7 / 30, 0])
        assert metrics.micro_f1(truth, both).tolist() == pytest.approx([0.5, 0])
        assert metrics.f1_per_class(truth, both, 5).shape == (2, 5)
        assert metrics.accuracy_per_class(truth, both, 5)[:, :3].tolist() == [
            pytest.approx([2 / 3, 1 / 2, 0]),
            [0, 0, 0],
        ]
    assert metrics.class_counts(both, 4).tolist() == [[3, 2, 0, 1], [3, 3, 0, 0]]
    assert metrics.imbalance_ratio(torch.tensor([[2, 4], [0, 1]])).tolist() == [0.5, 0.0]


@settings(deadline=None, derandomize=True)
@given(st.data(), st.integers(1, 6))
def test_agreement_with_scikit_learn(data: st.DataObject, num_classes: int):
    pairs = st.tuples(st.integers(0, num_classes - 1), st.integers(0, num_classes - 1))
    truth, predicted = np.array(data.draw(st.lists(pairs, min_size=1, max_size=30))).T
    ours = torch.from_numpy(truth), torch.from_numpy(predicted)
    every = {"labels": range(num_classes), "zero_division": 0}
    per_class = f1_score(truth, predicted, average=None, **every)
    assert metrics.f1_per_class(*ours, num_classes).tolist() == pytest.approx(per_class.tolist())
    macro, micro = (f1_score(truth, predicted, average=kind, **every) for kind in ("macro", "micro"))
    assert metrics.macro_f1(*ours, num_classes).item() == pytest.approx(macro)
    assert metrics.micro_f1(*ours).item() == pytest.approx(micro)
    recall = recall_score(truth, predicted, average=None, labels=range(num_classes), zero_division=np.nan)
    got = metrics.accuracy_per_class(*ours, num_classes).tolist()
    assert got == pytest.approx(recall.tolist(), nan_ok=True)
