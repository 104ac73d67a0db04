"""The aggregates, held against every row of the paper's tables of results."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.score.effective_length import (
    ALL_TASKS,
    CATEGORIES,
    average,
    effective_length,
    effective_length_name,
    mean_over_tasks,
    rank,
    weighted_average,
    written,
)
from ruler_dataset import RulerError
from tests.eval.score.paper_tables import NOT_WRITTEN_AS_MORE, ROUNDED_OTHERWISE, TABLES, published

LENGTHS = [4096 * 2**i for i in range(6)]
ROWS = [
    pytest.param(table, threshold, columns, id=f"table {table}: {columns[0]}")
    for table in TABLES
    for threshold, rows in published(table)
    for columns in rows
]


def scores(columns):
    return dict(zip(LENGTHS, map(float, columns[3].split()), strict=True))


def tokens(name):
    return int(name[:-1]) * {"K": 1024, "M": 1024**2}[name[-1]]


def test_all_rows_of_table_3_are_here():
    (threshold, rows), *_ = published(3)
    assert (threshold, len(rows)) == (85.6, 17)
    assert sum(len(rows) for table in TABLES for _, rows in published(table)) == 17 + 7 + 4 * 24


@pytest.mark.parametrize(("table", "threshold", "columns"), ROWS)
def test_averages_agree_with_the_paper_to_a_tenth(table, threshold, columns):
    model, by_length = columns[0], scores(columns)
    computed = {
        "avg": average(by_length),
        "inc": weighted_average(by_length, "inc"),
        "dec": weighted_average(by_length, "dec"),
    }
    for name, column in (("avg", 4), ("inc", 5), ("dec", 6)):
        printed = float(columns[column].split()[0])
        assert abs(computed[name] - printed) <= 0.1
        exact = ROUNDED_OTHERWISE.get((table, model, name))
        if exact is None:
            assert abs(computed[name] - printed) <= 0.05 + 1e-9
        else:
            assert computed[name] == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize(("table", "threshold", "columns"), ROWS)
def test_effective_lengths_are_the_papers(table, threshold, columns):
    model, claimed, printed = columns[:3]
    name = effective_length_name(scores(columns), threshold, tokens(claimed))
    if (table, model) in NOT_WRITTEN_AS_MORE:
        assert (name, printed) == (">128K", "128K")
    else:
        assert name == printed


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("weighting", "column"), [("inc", 5), ("dec", 6)])
def test_ranks_are_the_papers(table, weighting, column):
    for _, rows in published(table):
        found = rank({columns[0]: scores(columns) for columns in rows}, weighting)
        assert found == {columns[0]: int(columns[column].split()[1]) for columns in rows}


def test_thresholds_are_llama_2_7bs_scores_at_4k():
    found = {3: [ALL_TASKS.chat], 12: [ALL_TASKS.base]}
    found |= {13 + i: [c.chat, c.base] for i, c in enumerate(CATEGORIES)}
    assert found == {table: [limit for limit, _ in published(table)] for table in TABLES}
    assert sorted(task for c in CATEGORIES for task in c.tasks) == sorted(ALL_TASKS.tasks)


def test_effective_length_is_the_longest_that_passes_even_after_a_dip():
    by_length = {4096: 92.5, 32768: 56.0, 65536: 69.2, 131072: 0.0}
    assert effective_length(by_length, 58.8) == 65536
    assert effective_length(by_length, 95) is None
    assert effective_length({4096: 85.6}, 85.6) == 4096


def test_lengths_may_be_names():
    by_name = {"128k": 10.0, "4k": 90.0}
    assert weighted_average(by_name, "inc") == pytest.approx((90 + 2 * 10) / 3)
    assert effective_length(by_name, 50) == 4096
    assert effective_length_name({"1m": 99.0}, 50) == "1M"
    assert (written(128_000), written(131_072), written(4097)) == ("128K", "128K", "4097")


def test_equal_scores_share_the_better_rank():
    assert rank({"a": 1.0, "b": 2.0, "c": 2.0, "d": 0.5}) == {"b": 1, "c": 1, "a": 3, "d": 4}


def test_nothing_to_average_is_nan_and_an_unknown_weighting_a_sentence():
    assert math.isnan(mean_over_tasks({}))
    assert math.isnan(weighted_average({}, "inc"))
    assert effective_length_name({}, 85.6) == "-"
    assert mean_over_tasks({"vt": 50, "cwe": 100}) == 75
    with pytest.raises(RulerError, match="inc or dec"):
        weighted_average({4096: 1.0}, "up")


@given(st.dictionaries(st.integers(1000, 10**6), st.floats(0, 100), min_size=1, max_size=8))
def test_weighted_averages_lie_within_the_scores_and_meet_in_the_mean(by_length):
    up, down = weighted_average(by_length, "inc"), weighted_average(by_length, "dec")
    low, high = min(by_length.values()), max(by_length.values())
    assert low - 1e-9 <= min(up, down) <= max(up, down) <= high + 1e-9
    assert (up + down) / 2 == pytest.approx(average(by_length))
