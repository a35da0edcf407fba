"""Intervals and tests worked out by hand."""

from __future__ import annotations

import math

import pytest

from gcbr.statistics import estimate, p_value


def test_one_run_has_a_mean_and_no_interval():
    assert estimate([3.0]) == (3.0, None)
    assert p_value([3.0]) is None


def test_an_interval_is_the_t_distributions():
    # Deviation 1 over three runs; two degrees of freedom leave 2.5% beyond 4.302653.
    assert estimate([1.0, 2.0, 3.0]) == pytest.approx((2.0, 4.302653 / math.sqrt(3)))


def test_the_p_value_is_the_t_distributions():
    # Mean 2, standard error 1 / sqrt(3): t = 2 sqrt(3). With two degrees of freedom P(T > t) has the
    # closed form 1/2 - t / (2 sqrt(2 + t^2)), and t^2 = 12.
    assert p_value([1.0, 2.0, 3.0]) == pytest.approx(1 - math.sqrt(12 / 14))
    assert p_value([-1.0, -2.0, -3.0]) == pytest.approx(1 - math.sqrt(12 / 14))


def test_differences_that_never_vary_are_certain():
    assert p_value([2.0, 2.0]) == 0.0
    assert p_value([0.0, 0.0]) == 1.0
