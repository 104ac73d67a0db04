"""Intervals: exact for 0/1, right at the ends, narrower for partial credit, rows kept together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_eval.score.intervals import Stratum, design_effect, interval, moments, strata_of


def of(*values):
    return interval([Stratum.from_rows(np.array(values, dtype=float))])


@pytest.mark.parametrize(("right", "rows"), [(0, 50), (1, 50), (25, 50), (499, 500), (500, 500)])
def test_one_cell_of_right_and_wrong_has_the_clopper_pearson_interval(right, rows):
    from scipy.stats import beta  # takes a second, and only this test needs it

    low, high = of(*[1] * right, *[0] * (rows - right))
    assert low == pytest.approx(beta.ppf(0.025, right, rows - right + 1) if right else 0)
    assert high == pytest.approx(beta.ppf(0.975, right + 1, rows - right) if right < rows else 1)


def test_at_0_and_100_the_interval_is_what_so_many_rows_rule_out():
    assert of(*[1] * 500) == (pytest.approx(0.025 ** (1 / 500)), 1)
    assert of(*[0] * 500) == (0, pytest.approx(1 - 0.025 ** (1 / 500)))


def test_partial_credit_of_the_same_mean_is_known_better():
    halves, zeros = of(*[0.5] * 100), of(*[0, 1] * 50)
    assert halves[1] - halves[0] < 0.4 * (zeros[1] - zeros[0])


@given(st.lists(st.sampled_from([0, 0.2, 0.5, 0.9, 1]), min_size=1, max_size=60))
def test_an_interval_contains_its_mean_and_is_within_0_and_1(values):
    low, high = of(*values)
    assert 0 <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= 1
    assert high > low


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_intervals_of_scores_and_of_their_complements_mirror_each_other(values):
    low, high = of(*values)
    mirrored = of(*[1 - value for value in values])
    assert mirrored == (pytest.approx(1 - high, abs=1e-6), pytest.approx(1 - low, abs=1e-6))


def test_a_mean_of_cells_is_stratified_and_unequal_weights_count_for_fewer_rows():
    cells = [Stratum.from_rows(np.ones(100)), Stratum.from_rows(np.zeros(100))]
    low, high = interval(cells)
    assert high - low < 0.05  # which cell a row is in explains everything
    even = interval([Stratum.from_rows(np.ones(100))] * 2)
    assert even[0] == pytest.approx(0.025 ** (1 / 200))
    skewed = interval([Stratum.from_rows(np.ones(100), weight) for weight in (9, 1)])
    assert of(*[1] * 100)[0] < skewed[0] < even[0]


def missed(draw, mean, runs=400):
    """The share of intervals that miss the mean of the strata that `draw` returns."""
    rng = np.random.default_rng(1)
    bounds = [interval(draw(rng)) for _ in range(runs)]
    return np.mean([not low - 1e-12 <= mean <= high + 1e-12 for low, high in bounds])


def rows_of(rng, rows, share):
    return Stratum.from_rows((rng.random(rows) < share).astype(float))


@pytest.mark.parametrize(("rows", "share"), [(3, 0.5), (5, 0.2), (10, 0.9), (15, 0.9)])
def test_a_mean_with_one_small_task_is_covered(rows, share):
    def draw(rng):
        return [*(rows_of(rng, 500, 0.95) for _ in range(12)), rows_of(rng, rows, share)]

    assert missed(draw, (12 * 0.95 + share) / 13) < 0.07


def test_a_mean_of_tasks_with_one_row_each_is_covered():
    assert missed(lambda rng: [rows_of(rng, 1, 0.5) for _ in range(13)], 0.5) < 0.07


def test_tasks_of_about_the_same_size_have_one_pooled_interval():
    low, high = interval([Stratum.from_rows(np.ones(rows)) for rows in (500, 499, 490)])
    assert (low, high) == (pytest.approx(0.025 ** (1 / 1470), abs=1e-4), 1)


def test_no_rows_no_interval():
    assert interval([]) is None
    assert interval([Stratum.from_rows(np.array([]))]) is None


def cells_of(*names):
    return {name: {"task": name.rpartition("_")[0]} for name in names}


def test_rows_with_the_same_index_are_averaged_before_they_are_counted():
    same = {0: 1.0, 1: 0.0}
    values = {"vt_4k": same, "vt_8k": {0: 0.0, 1: 0.0}, "cwe_4k": same}
    result = strata_of(values, cells_of(*values), {"vt_4k": 1, "vt_8k": 3, "cwe_4k": 1})
    assert [list(stratum.values) for stratum in result] == [[0.25, 0], [1, 0]]
    assert [stratum.weight for stratum in result] == [4, 1]
    assert [stratum.clusters for stratum in result] == [None, None]


def test_the_interval_over_cells_with_different_rows_treats_them_as_independent():
    rng = np.random.default_rng(0)
    short, long = rng.random(40), rng.random(10)
    values = {"vt_4k": dict(enumerate(short)), "vt_8k": dict(enumerate(long, 40))}
    result = moments(strata_of(values, cells_of(*values), {"vt_4k": 1, "vt_8k": 3}))
    apart = moments([Stratum.from_rows(short, 1), Stratum.from_rows(long, 3)])
    assert (result.mean, result.rows) == pytest.approx((apart.mean, apart.rows))
    assert result.error2 == pytest.approx(apart.error2, rel=0.1)  # of 50 rows less 1, or less 2


def test_a_row_missing_at_one_length_does_not_make_the_lengths_independent():
    """Rows that agree over six lengths are 200 and not 1,200, whichever of them are left out."""
    rng = np.random.default_rng(0)
    base = (rng.random(200) < 0.6).astype(float)
    rows = {f"vt_{i}": {int(j): base[j] for j in range(200) if j != i} for i in range(6)}
    result = moments(strata_of(rows, cells_of(*rows)))
    assert result.mean == pytest.approx(
        np.mean([np.mean([*item.values()]) for item in rows.values()])
    )
    whole = of(*base)
    assert interval(strata_of(rows, cells_of(*rows))) == pytest.approx(whole, abs=0.005)
    assert result.rows == pytest.approx(200, rel=0.01)


def test_equal_rows_add_no_spread_even_if_some_are_missing():
    rows = {"vt_4k": dict.fromkeys(range(20), 1.0), "vt_8k": dict.fromkeys(range(5), 0.5)}
    result = moments(strata_of(rows, cells_of(*rows)))
    assert (result.mean, result.error2) == (0.75, 0)
    assert result.rows == pytest.approx(1 / (15 / 40**2 + 5 * (1 / 40 + 1 / 10) ** 2))


def test_rows_of_one_document_count_for_fewer():
    """Rows in pairs that always agree are known as well as half as many."""
    rng = np.random.default_rng(0)
    half = (rng.random(200) < 0.7).astype(float)
    both, pairs = np.repeat(half, 2), np.repeat(np.arange(200), 2)
    assert design_effect(both, pairs) == pytest.approx(2, rel=0.02)
    assert interval([Stratum.from_rows(both, clusters=pairs)]) == pytest.approx(
        of(*half), abs=0.005
    )
    assert interval([Stratum.from_rows(both, clusters=np.arange(400))]) == of(*both)
    assert design_effect(np.ones(6), np.array([0, 0, 0, 1, 1, 1])) > 6  # two clusters tell little


def test_clusters_never_make_rows_count_for_more():
    alternate, pairs = np.array([0.0, 1.0] * 200), np.repeat(np.arange(200), 2)
    assert design_effect(alternate, pairs) == pytest.approx(1, rel=0.01)


def test_the_documents_of_a_task_follow_its_rows_through_the_lengths():
    rows = {2: 1.0, 0: 1.0, 1: 0.0}
    cells = cells_of("qa_1_4k", "qa_1_8k", "vt_4k")
    documents = {name: {0: "a", 1: "a", 2: "b"} for name in ("qa_1_4k", "qa_1_8k")}
    result = strata_of(dict.fromkeys(cells, rows), cells, None, documents)
    qa, vt = result
    assert (list(qa.clusters), vt.clusters) == (["b", "a", "a"], None)
