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
    """Sizes of n = 0, 1, 2, … units, and how often a draft was asked for."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.drafted: list[int] = []

    def draft(self, units: int) -> Draft:
        self.drafted.append(units)
        return Draft(units, self.sizes[units])

    def step(self, units: int, tokens: int) -> int:
        return bisect_right(self.sizes, self.sizes[units] + tokens) - 1


def by_hand(sizes: list[int], room: int, least: int) -> int:
    return max(n for n in range(least, len(sizes)) if sizes[n] <= room)


SIZES = st.lists(st.integers(0, 9) | st.integers(50, 90), min_size=2, max_size=60).map(
    lambda costs: list(accumulate(costs))
)
"""Monotone sizes with flat places and jumps."""
STEPS = st.sampled_from(
    [
        lambda window: window.step,
        lambda window: lambda units, tokens: units + tokens // 7,
        lambda window: lambda units, tokens: units + tokens * 3,
        lambda window: lambda units, tokens: 0,
        lambda window: lambda units, tokens: 10**9,
    ]
)
"""An exact guess, rough ones, and two useless ones."""


@given(SIZES, STEPS, st.data())
def test_the_largest_number_of_units_that_fits_is_found(sizes, step_of, data):
    window, most = Window(sizes), len(sizes) - 1
    least = data.draw(st.integers(0, most))
    room = data.draw(st.integers(sizes[least], sizes[-1] + 20))
    fitted = fit(window.draft, room, step_of(window), most, least)
    assert fitted.units == by_hand(sizes, room, least)
    assert fitted.draft == Draft(fitted.units, sizes[fitted.units])


@given(SIZES, STEPS, st.data())
def test_unit_is_the_cost_of_the_next_unit_or_none_when_all_are_in(sizes, step_of, data):
    window = Window(sizes)
    room = data.draw(st.integers(sizes[0], sizes[-1] + 20))
    fitted = fit(window.draft, room, step_of(window), len(sizes) - 1)
    units, unit = fitted.units, fitted.next_unit_tokens
    if units == len(sizes) - 1:
        assert unit is None
    else:
        assert unit == sizes[units + 1] - sizes[units] > room - sizes[units]


@given(st.integers(1, 40), st.integers(0, 10**6), st.integers(0, 5))
def test_without_a_most_the_units_have_no_end(cost, room, least):
    def draft(units: int) -> Draft:
        return Draft(units, units * cost)

    room = max(room, least * cost)
    fitted = fit(draft, room, lambda n, tokens: n + tokens // cost, min_units=least)
    assert fitted == Fitted(room // cost, draft(room // cost), cost)


@given(SIZES, st.data())
def test_a_good_guess_takes_few_drafts_and_none_twice(sizes, data):
    window = Window(sizes)
    room = data.draw(st.integers(sizes[0], sizes[-1] + 20))
    fit(window.draft, room, window.step, len(sizes) - 1)
    assert len(window.drafted) <= 4
    assert len(set(window.drafted)) == len(window.drafted)


def test_a_guess_ten_percent_off_takes_few_drafts_at_a_million_tokens():
    window = Window(list(range(0, 2_000_000, 6)))
    fitted = fit(window.draft, 1_048_448, lambda n, tokens: n + round(tokens / 6.6), 300_000)
    assert fitted.units == 1_048_448 // 6
    assert len(window.drafted) <= 12


@given(SIZES, STEPS, st.data())
def test_a_useless_guess_still_ends_with_no_draft_made_twice(sizes, step_of, data):
    window = Window(sizes)
    room = data.draw(st.integers(sizes[0], sizes[-1] + 20))
    fit(window.draft, room, step_of(window), len(sizes) - 1)
    assert len(set(window.drafted)) == len(window.drafted) <= len(sizes)


def test_a_window_too_small_for_the_least_is_refused_with_both_numbers():
    window = Window([700, 720, 740])
    with pytest.raises(RulerError, match=r"at least 740 tokens.* has 739 for it: take a longer"):
        fit(window.draft, 739, window.step, 2, min_units=2)
    assert window.drafted == [2]
