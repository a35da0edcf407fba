import math

import pytest
from benchmarks.choose_policy import BALANCE, MACRO_F1, choice, difference


def scores(*graphs: list[float], balance: float = 0.5) -> list[list[dict[str, float]]]:
    return [[{MACRO_F1: run, BALANCE: balance + 0.001 * run} for run in graph] for graph in graphs]


def test_a_difference_is_paired_over_runs_and_each_graph_weighs_the_same():
    one, other = scores([5.0, 8.0], [2.0, 2.0, 2.0, 6.0]), scores([4.0, 5.0], [1.0, 3.0, 1.0, 3.0])
    found = difference(one, other, MACRO_F1)
    # Graph 1: 1 and 3, mean 2, variance 2. Graph 2: 1, -1, 1 and 3, mean 1, variance 8/3.
    assert found.mean == pytest.approx(1.5)
    assert found.margin == pytest.approx(1.95996 * math.sqrt(2 / 2 + (8 / 3) / 4) / 2, rel=1e-5)


def test_of_policies_equally_good_and_balanced_the_one_of_the_highest_macro_f1_ships():
    candidates = {
        "best": scores([84.0, 86.0], balance=0.4),
        "as good, more balanced": scores([83.0, 86.5], balance=0.8),
        "as good, as balanced, behind": scores([83.0, 86.4], balance=0.8),
        "worse, most balanced": scores([80.0, 82.1], balance=0.9),
    }
    assert choice(candidates) == "as good, more balanced"
    assert choice({"best": candidates["best"], "worse": candidates["worse, most balanced"]}) == "best"
