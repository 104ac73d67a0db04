"""`fit` finds the largest number of units that fits, with few drafts."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.window.prompt import Fitted, fit
from ruler_common.errors import RulerError


class Draft(NamedTuple):
    units: int
    tokens: int


class Window:
    """The sizes of 0, 1, 2, … units, and the drafts that were made."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.drafted: list[int] = []

    def draft(self, units: int) -> Draft:
        self.drafted.append(units)
        return Draft(units, self.sizes[units])

    def step(self, units: int, tokens: int) -> int:
        return bisect_right(self.sizes, self.sizes[units] + tokens) - 1


def by_hand(sizes: list[int], budget: int, min_units: int) -> int:
    return max(n for n in range(min_units, len(sizes)) if sizes[n] <= budget)


# Increasing sizes with flat parts and jumps
SIZES = st.lists(st.integers(0, 9) | st.integers(50, 90), min_size=2, max_size=60).map(
    lambda costs: list(accumulate(costs))
)
# An exact guess, two rough ones, and two useless ones
STEPS = st.sampled_from(
    [
        lambda window: window.step,
        lambda window: lambda units, tokens: units + tokens // 7,
        lambda window: lambda units, tokens: units + tokens * 3,
        lambda window: lambda units, tokens: 0,
        lambda window: lambda units, tokens: 10**9,
    ]
)


@given(SIZES, STEPS, st.data())
def test_the_largest_number_of_units_that_fits_is_found(sizes, step_of, data):
    window, max_units = Window(sizes), len(sizes) - 1
    min_units = data.draw(st.integers(0, max_units))
    budget = data.draw(st.integers(sizes[min_units], sizes[-1] + 20))
    fitted = fit(window.draft, budget, step_of(window), max_units, min_units)
    assert fitted.units == by_hand(sizes, budget, min_units)
    assert fitted.draft == Draft(fitted.units, sizes[fitted.units])


@given(SIZES, STEPS, st.data())
def test_next_unit_tokens_is_the_cost_of_the_next_unit_if_there_is_one(sizes, step_of, data):
    window = Window(sizes)
    budget = data.draw(st.integers(sizes[0], sizes[-1] + 20))
    fitted = fit(window.draft, budget, step_of(window), len(sizes) - 1)
    units = fitted.units
    if units == len(sizes) - 1:
        assert fitted.next_unit_tokens is None
    else:
        assert fitted.next_unit_tokens == sizes[units + 1] - sizes[units] > budget - sizes[units]


@given(st.integers(1, 40), st.integers(0, 10**6), st.integers(0, 5))
def test_without_a_maximum_any_number_of_units_can_fit(cost, budget, min_units):
    def draft(units: int) -> Draft:
        return Draft(units, units * cost)

    budget = max(budget, min_units * cost)
    fitted = fit(draft, budget, lambda n, tokens: n + tokens // cost, min_units=min_units)
    assert fitted == Fitted(budget // cost, draft(budget // cost), cost)


@given(SIZES, st.data())
def test_a_good_guess_takes_few_drafts_and_repeats_none(sizes, data):
    window = Window(sizes)
    budget = data.draw(st.integers(sizes[0], sizes[-1] + 20))
    fit(window.draft, budget, window.step, len(sizes) - 1)
    assert len(window.drafted) <= 4
    assert len(set(window.drafted)) == len(window.drafted)


def test_a_guess_ten_percent_off_takes_few_drafts_at_a_million_tokens():
    window = Window(list(range(0, 2_000_000, 6)))
    fitted = fit(window.draft, 1_048_448, lambda n, tokens: n + round(tokens / 6.6), 300_000)
    assert fitted.units == 1_048_448 // 6
    assert len(window.drafted) <= 12


@given(SIZES, STEPS, st.data())
def test_a_useless_guess_ends_and_repeats_no_draft(sizes, step_of, data):
    window = Window(sizes)
    budget = data.draw(st.integers(sizes[0], sizes[-1] + 20))
    fit(window.draft, budget, step_of(window), len(sizes) - 1)
    assert len(set(window.drafted)) == len(window.drafted) <= len(sizes)


def test_a_window_too_small_for_the_minimum_is_refused_with_both_numbers():
    window = Window([700, 720, 740])
    with pytest.raises(RulerError, match=r"at least 740 tokens.* has 739 for it: take a longer"):
        fit(window.draft, 739, window.step, 2, min_units=2)
    assert window.drafted == [2]
