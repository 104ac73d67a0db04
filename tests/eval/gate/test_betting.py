"""Evidence by betting: what the proof in betting.py rests on."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruler_eval.gate.betting import (
    BET_FRACTIONS,
    THRESHOLD,
    WEIGHTS,
    anytime_bounds,
    evidence,
    independence_of_rows,
)

MARGINS = st.floats(-0.99, 0.99)
DIFFERENCES = st.lists(st.floats(-1, 1), min_size=1, max_size=30).map(np.array)


def last(rows: np.ndarray, margin: float, of: int | None = None) -> tuple[float, float]:
    """The evidence after the last row of one task."""
    smaller, larger = evidence(rows[:, None], margin, of)
    return float(smaller[-1]), float(larger[-1])


@given(MARGINS, st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_rows_that_drop_by_the_margin_are_a_fair_bet_at_most(margin, spread, shares):
    """Of one step, of tasks whose means differ and average the margin, each 1 or −1 by chance."""
    means = margin + (1 - abs(margin)) * spread * (np.array(shares) - np.mean(shares))
    for side in (1, -1):
        factors = 1 + BET_FRACTIONS[:, None] / (1 - side * margin) * side * (margin - means)
        assert (factors.prod(1) <= 1 + 1e-9).all()


@given(MARGINS, DIFFERENCES)
def test_no_row_loses_everything(margin, differences):
    for of in (None, 2 * len(differences)):
        assert all(
            np.isfinite(np.log(side)).all() for side in evidence(differences[:, None], margin, of)
        )


@given(MARGINS, DIFFERENCES)
def test_evidence_is_the_highest_mean_over_bets_of_all_products_so_far(margin, differences):
    for side, seen in zip((1, -1), evidence(differences[:, None], margin), strict=True):
        gains = side * (margin - differences) / (1 - side * margin)
        products = (1 + BET_FRACTIONS[:, None] * gains).cumprod(1)
        assert seen == pytest.approx(
            [(WEIGHTS @ products)[: n + 1].max() for n in range(len(seen))]
        )


@given(MARGINS, DIFFERENCES)
def test_the_other_side_is_the_mirror_image(margin, differences):
    smaller, larger = last(differences, margin)
    assert last(-differences, -margin) == pytest.approx((larger, smaller))


@settings(max_examples=30)  # the first imports scipy
@given(st.lists(st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.4]), min_size=30, max_size=90))
def test_the_anytime_interval_holds_the_margins_without_a_verdict(values):
    rows = np.array(values)
    for of in (None, 2 * len(values)):
        low, high = anytime_bounds(rows[:, None], of)
        assert low < high
        for margin in (-0.6, -0.2, -0.05, 0.0, 0.02, 0.3, 0.7):
            smaller, larger = last(rows, margin, of)
            assert (smaller >= THRESHOLD, larger >= THRESHOLD) == (margin > high, margin < low)


@given(st.lists(st.integers(-1, 1), min_size=4, max_size=6))
def test_rows_whose_mean_drop_is_the_margin_reach_a_verdict_only_by_chance(rows):
    """Ville's inequality, over every order of the rows of one task, whatever they are."""
    margin = float(np.mean(rows))
    if abs(margin) == 1:
        return
    orders = np.array([*permutations(rows)], dtype=float)[:, :-1, None]
    for side in evidence(orders, margin, len(rows)):
        for least in (1.5, 2, 4):
            assert (side[:, -1] >= least).mean() <= 1 / least + 1e-9


def test_what_is_left_of_all_rows_counts():
    """Half of the rows without a drop: the others would have to drop by twice the margin."""
    rows = np.zeros(50)
    far, near = last(rows, 0.05, 10_000)[0], last(rows, 0.05, 100)[0]
    assert near > 1.5 * far
    assert far == pytest.approx(last(rows, 0.05)[0], rel=0.05)


def test_the_interval_for_other_rows_holds_if_whole_documents_are_lost():
    """Of one task with 125 documents of four rows, wherever the test of a margin stops."""
    rng, runs, rows, share = np.random.default_rng(0), 400, 500, 0.1
    documents = np.repeat(rng.random((runs, rows // 4)) < share, 4, axis=1).astype(float)
    drops = rng.permuted(documents, axis=1)[..., None]
    sides = evidence(drops, 0.8 * share, rows)
    decided = np.maximum(*sides)[:, :-1] >= THRESHOLD
    alone, of_documents = [], []
    for run, looks in zip(drops, decided, strict=True):
        if looks.any():
            seen = run[: int(looks.argmax()) + 1]
            shares = independence_of_rows(len(seen), 4, rows)
            alone.append(max(side[-1] for side in evidence(seen, share)))
            both = evidence(seen, share, independence=shares)
            of_documents.append(max(side[-1] for side in both))
    assert np.mean(np.array(alone) >= THRESHOLD) > 0.05
    assert np.sum(np.array(of_documents) >= THRESHOLD) <= 0.025 * runs
