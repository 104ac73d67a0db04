"""Evidence by betting: what the proof in betting.py rests on."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruler_eval.analysis.sequential.betting import LEAST, SHARES, Bets, anytime_bounds

LIMITS = st.floats(-0.99, 0.99)
DIFFERENCES = st.lists(st.floats(-1, 1), min_size=1, max_size=30).map(np.array)


def evidence(limit: float, *waves: np.ndarray, of: int | None = None) -> tuple[float, float]:
    bets = Bets(limit, of)
    for wave in waves:
        bets.add(wave)
    return bets.evidence()


@given(LIMITS, st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_rows_that_drop_by_the_limit_are_a_fair_bet_at_most(
    limit: float, spread: float, shares: list[float]
) -> None:
    """Of one wave, of tasks whose means differ and average the limit, each 1 or −1 by chance."""
    means = limit + (1 - abs(limit)) * spread * (np.array(shares) - np.mean(shares))
    for side in (1, -1):
        factors = 1 + SHARES[:, None] / (1 - side * limit) * side * (limit - means)
        assert (factors.prod(1) <= 1 + 1e-9).all()


@given(LIMITS, DIFFERENCES)
def test_no_row_loses_everything(limit: float, differences: np.ndarray) -> None:
    assert min(evidence(limit, differences)) > 0
    assert min(evidence(limit, differences, differences, of=2 * len(differences))) > 0


@given(LIMITS, DIFFERENCES, DIFFERENCES)
def test_waves_add_up(limit: float, one: np.ndarray, other: np.ndarray) -> None:
    both = evidence(limit, np.concatenate([other, one]))
    assert evidence(limit, one, other) == pytest.approx(both)


@given(LIMITS, DIFFERENCES)
def test_the_other_side_is_the_mirror_image(limit: float, differences: np.ndarray) -> None:
    smaller, larger = evidence(limit, differences)
    assert evidence(-limit, -differences) == pytest.approx((larger, smaller))


@settings(max_examples=30)  # the first imports scipy
@given(st.lists(st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.4]), min_size=30, max_size=90))
def test_the_anytime_interval_holds_the_limits_without_a_verdict(values: list[float]) -> None:
    waves = np.split(np.array(values), [10, 20])
    for of in (None, 2 * len(values)):
        low, high = anytime_bounds(waves, of)
        assert low < np.mean(values) < high
        for limit in (-0.6, -0.2, -0.05, 0.0, 0.02, 0.3, 0.7):
            smaller, larger = evidence(limit, *waves, of=of)
            assert (smaller >= LEAST, larger >= LEAST) == (limit > high, limit < low)


@given(st.lists(st.integers(-1, 1), min_size=4, max_size=6), st.integers(1, 2))
def test_rows_drawn_from_all_that_drop_by_the_limit_are_a_fair_bet_at_most(
    rows: list[int], wave: int
) -> None:
    """Over every order of the rows of one task, whatever they are."""
    limit = float(np.mean(rows))
    if abs(limit) == 1:
        return
    orders = np.array([*permutations(rows)], dtype=float)
    bets = Bets(limit, len(rows))
    for begin in range(0, len(rows) - wave, wave):
        bets.add(orders[:, begin : begin + wave])
        for side in bets.evidence():
            assert side.mean() <= 1 + 1e-6


def test_what_is_left_of_all_rows_counts() -> None:
    """Half of the rows without a drop: the others would have to drop by twice the limit."""
    waves = [np.zeros(10)] * 5
    far, near = evidence(0.05, *waves, of=10_000)[0], evidence(0.05, *waves, of=100)[0]
    assert near > 1.5 * far
    assert far == pytest.approx(evidence(0.05, *waves)[0], rel=0.05)


def test_without_a_row_there_is_no_evidence() -> None:
    assert Bets(0.02).evidence() == pytest.approx((1, 1))


def test_evidence_of_very_many_rows_is_a_number() -> None:
    assert evidence(-0.5, np.ones(10**5)) == (pytest.approx(0), pytest.approx(np.exp(690)))
