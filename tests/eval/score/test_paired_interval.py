"""The interval of paired differences: its coverage, counted over every outcome there can be."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ruler_eval.score.intervals import Stratum, paired_interval, paired_mean


def rows_of(better, worse, rows):
    return np.array([1.0] * better + [-1.0] * worse + [0.0] * (rows - better - worse))


def coverage(better, worse, rows):
    """Of the interval where so large shares of the rows differ, each way; exact, in percent."""
    from scipy.stats import multinomial  # takes a second, in every process that collects the tests

    shares = [better, worse, max(0.0, 1 - better - worse)]
    covered = [
        counts
        for counts, (low, high) in intervals(rows).items()
        if low - 1e-9 <= better - worse <= high + 1e-9
    ]
    return 100 * multinomial.pmf(covered, rows, shares).sum()


@cache
def intervals(rows):
    """The interval of every outcome: how many rows are better, worse and equal."""
    return {
        (up, down, rows - up - down): paired_interval(
            paired_mean([Stratum.from_rows(rows_of(up, down, rows))])
        )
        for up in range(rows + 1)
        for down in range(rows + 1 - up)
    }


@pytest.mark.parametrize("rows", [10, 20, 30])
@pytest.mark.parametrize("shares", [(0.05, 0), (0.2, 0.05), (0.3, 0.3), (0.5, 0.1), (0.8, 0.05)])
def test_right_and_wrong_rows_are_covered_from_ten_rows_on(rows, shares):
    assert coverage(*shares, rows) > 94.5


@pytest.mark.parametrize("rows", [10, 20])
def test_rows_that_all_differ_one_way_may_have_been_the_other_way(rows):
    """Some rows that were not seen may be −1 where all that were are 1."""
    assert coverage(0.9, 0.1, rows) > 92
    low, high = paired_interval(paired_mean([Stratum.from_rows(rows_of(rows, 0, rows))]))
    assert (low, high) == (pytest.approx(1 - 2 * (1 - 0.025 ** (1 / rows))), 1)


@pytest.mark.parametrize("rows", [20, 25, 30])
@pytest.mark.parametrize("shares", [(0.3, 0.1), (0.3, 0.3), (0.4, 0.4), (0.5, 0.1)])
def test_the_interval_is_not_too_wide_if_many_of_20_to_30_rows_differ(rows, shares):
    assert 94.5 < coverage(*shares, rows) < 96.5


def test_an_interval_contains_its_difference_and_is_within_minus_1_and_1():
    for rows in (1, 2, 10, 500):
        for better in {0, 1, rows // 2, rows}:
            low, high = paired_interval(paired_mean([Stratum.from_rows(rows_of(better, 0, rows))]))
            assert -1 <= low <= better / rows <= high <= 1
            assert high > low


def test_equal_rows_have_the_interval_of_that_many_equal_rows():
    low, high = paired_interval(paired_mean([Stratum.from_rows(np.zeros(50))]))
    assert (low, high) == (-high, pytest.approx(1 - 0.025 ** (1 / 50)))
