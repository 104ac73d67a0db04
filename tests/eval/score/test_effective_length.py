"""The aggregates of a results.json reproduce every row of the paper's tables of results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_common.errors import RulerError
from ruler_common.names import length_name, parse_length
from ruler_eval.score.aggregates import (
    ALL_TASKS,
    CATEGORIES,
    Category,
    SummaryOptions,
    area_weights,
    effective_length,
    group,
    length_loss,
    parse_baseline,
    relative_effective_length,
    weights,
)
from ruler_eval.score.results import RowsByConfig
from tests.eval.score.paper_tables import NOT_WRITTEN_AS_MORE, ROUNDED_OTHERWISE, TABLES, published
from tests.eval.scoring_helpers import right
from tests.in_process import ruler

LENGTHS = [4096 * 2**i for i in range(6)]
CATEGORY_OF = {3: ALL_TASKS, 12: ALL_TASKS} | {13 + i: c for i, c in enumerate(CATEGORIES)}
ROWS = [
    pytest.param(table, threshold, row, id=f"table {table}: {row.model}")
    for table in TABLES
    for threshold, rows in published(table)
    for row in rows
]


def scores(row):
    return dict(zip(LENGTHS, row.scores.values(), strict=True))


def tokens(name):
    return int(name[:-1]) * {"K": 1024, "M": 1024**2}[name[-1]]


def summarized(category, by_length, baseline="chat", claimed=None):
    """What `ruler score` writes for a category whose tasks all have these scores."""
    cells = {
        f"{task}_{length}": {
            "task": task,
            "length": length_name(length),
            "max_length": length,
            "language": "en",
            "instruction_language": "en",
            "score": score,
            "strict": score,
        }
        for length, score in by_length.items()
        for task in category.tasks
    }
    rows = {name: dict.fromkeys((0, 1), cell["score"] / 100) for name, cell in cells.items()}
    options = SummaryOptions(baseline=baseline, claimed=claimed)
    return group(cells, RowsByConfig(rows, {}), category, options)


@pytest.mark.parametrize(("table", "threshold", "row"), ROWS)
def test_averages_agree_with_the_paper_to_a_tenth(table, threshold, row):
    summary = summarized(CATEGORY_OF[table], scores(row))
    computed = {
        "avg": summary["average"]["score"],
        "inc": summary["weighted_inc"]["score"],
        "dec": summary["weighted_dec"]["score"],
    }
    for name, printed in (("avg", row.average), ("inc", row.inc), ("dec", row.dec)):
        assert abs(computed[name] - printed) <= 0.1
        exact = ROUNDED_OTHERWISE.get((table, row.model, name))
        if exact is None:
            assert abs(computed[name] - printed) <= 0.05 + 1e-9
        else:
            assert computed[name] == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize(("table", "threshold", "row"), ROWS)
def test_effective_lengths_are_the_papers(table, threshold, row):
    base = threshold == CATEGORY_OF[table].base
    summary = summarized(
        CATEGORY_OF[table], scores(row), "base" if base else "chat", tokens(row.claimed)
    )
    name = summary["effective_length_name"]
    assert summary["threshold"] == threshold
    if (table, row.model) in NOT_WRITTEN_AS_MORE:
        assert (name, row.effective) == (">128K", "128K")
    else:
        assert name == row.effective


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("weighting", ["inc", "dec"])
def test_ranks_by_the_weighted_averages_are_the_papers(table, weighting):
    for _, rows in published(table):
        averages = {
            row.model: summarized(CATEGORY_OF[table], scores(row))[f"weighted_{weighting}"]
            for row in rows
        }
        ordered = sorted(averages, key=lambda model: -averages[model]["score"])
        printed = {row.model: getattr(row, f"{weighting}_rank") for row in rows}
        assert ordered == sorted(printed, key=printed.get)


def test_thresholds_are_llama_2_7bs_scores_at_4k():
    result = {3: [ALL_TASKS.chat], 12: [ALL_TASKS.base]}
    result |= {13 + i: [c.chat, c.base] for i, c in enumerate(CATEGORIES)}
    assert result == {table: [limit for limit, _ in published(table)] for table in TABLES}
    assert sorted(task for c in CATEGORIES for task in c.tasks) == sorted(ALL_TASKS.tasks)


def test_effective_length_is_the_longest_that_passes_even_after_a_dip():
    by_length = {4096: 92.5, 32768: 56.0, 65536: 69.2, 131072: 0.0}
    assert effective_length(by_length, 58.8) == 65536
    assert effective_length(by_length, 95) is None
    assert effective_length({4096: 85.6}, 85.6) == 4096


def test_nothing_to_average_has_no_score_and_an_unknown_weighting_is_a_sentence():
    summary = summarized(ALL_TASKS, {})
    assert summary["average"] == {"score": None, "interval": None}
    assert (summary["effective_length"], summary["effective_length_name"]) == (None, "-")
    with pytest.raises(RulerError, match="inc or dec"):
        weights(3, "up")


@given(st.dictionaries(st.sampled_from(LENGTHS), st.floats(0, 100), min_size=1))
def test_weighted_averages_lie_within_the_scores_and_meet_in_the_mean(by_length):
    summary = summarized(CATEGORIES[1], by_length)
    up, down = summary["weighted_inc"]["score"], summary["weighted_dec"]["score"]
    low, high = min(by_length.values()), max(by_length.values())
    assert low - 1e-9 <= min(up, down) <= max(up, down) <= high + 1e-9
    assert (up + down) / 2 == pytest.approx(summary["average"]["score"])


def test_the_relative_effective_length_is_relative_to_the_score_at_the_shortest_length():
    by_length = {4096: 60.0, 8192: 52.0, 16384: 51.0, 32768: 50.9}
    assert relative_effective_length(by_length) == 16384
    assert relative_effective_length({}) is None
    summary = summarized(ALL_TASKS, by_length)
    assert (summary["relative_effective_length"], summary["effective_length"]) == (16384, None)


def test_the_effective_length_is_between_those_by_the_ends_of_the_interval():
    assert summarized(ALL_TASKS, {})["effective_length_interval"] is None
    assert summarized(ALL_TASKS, {4096: 50.0})["effective_length_interval"] == [None, None]
    summary = summarized(ALL_TASKS, {4096: 99.0, 8192: 90.0, 16384: 10.0})
    low, high = summary["effective_length_interval"]
    assert (low, summary["effective_length"], high) == (4096, 8192, 8192)


@given(
    st.dictionaries(st.sampled_from(LENGTHS), st.sampled_from([0.0, 60, 86, 90, 100]), min_size=1)
)
def test_the_effective_length_is_never_outside_its_interval(by_length):
    summary = summarized(ALL_TASKS, by_length)
    low, high = summary["effective_length_interval"]
    assert (low or 0) <= (summary["effective_length"] or 0) <= (high or 0)


def test_the_area_is_that_of_the_trapezoids_over_doubled_lengths():
    summary = summarized(ALL_TASKS, {4096: 100.0, 8192: 80.0, 16384: 0.0})
    assert summary["area"]["score"] == pytest.approx((90 + 40) / 2)
    assert area_weights([4096, 16384, 32768]) == [1, 1.5, 0.5]
    level = summarized(ALL_TASKS, dict.fromkeys(LENGTHS, 70.0))
    assert level["area"]["score"] == pytest.approx(70)
    assert summarized(ALL_TASKS, {8192: 60.0})["area"]["score"] == pytest.approx(60)


@pytest.mark.parametrize("threshold", ["nan", "150", "good"])
def test_a_threshold_that_is_not_a_score_is_refused(write_run, threshold):
    _, error, code = ruler("score", write_run(right, configs=["vt_4k"]), "--threshold", threshold)
    assert (code, error.count("\n")) == (2, 1)
    assert f"--threshold '{threshold}' is not chat, base or a score" in error
    assert parse_baseline("90") == 90


def test_a_threshold_that_is_a_share_is_refused():
    with pytest.raises(RulerError, match=r"a score from 0 to 100, not 0\.85: did you mean 85\?"):
        parse_baseline("0.85")


def test_the_loss_from_one_length_to_another_pairs_rows_by_index():
    """Rows 0 to 9 are right at 4k; row 0 is lost at 8k, rows 0 and 1 at 32k."""
    scores = {"4k": [1.0] * 10, "8k": [0.0] + [1.0] * 9, "32k": [0.0] * 2 + [1.0] * 8}
    cells, rows = {}, {}
    for length, values in scores.items():
        for task, sign in (("vt", 1), ("cwe", 0)):
            cells[f"{task}_{length}"] = {
                "task": task,
                "length": length,
                "max_length": parse_length(length),
                "language": "en",
                "instruction_language": "en",
                "score": 100 * sum(values) / 10 if sign else 100.0,
                "strict": 0.0,
            }
            rows[f"{task}_{length}"] = dict(enumerate(values if sign else [1.0] * 10))
    by_config = RowsByConfig(rows, {})
    result = group(cells, by_config, Category("both", ("vt", "cwe")), SummaryOptions())
    pairs = [(loss["shorter"], loss["longer"]) for loss in result["losses"]]
    assert pairs == [("4k", "8k"), ("4k", "32k")]
    assert [loss["difference"] for loss in result["losses"]] == pytest.approx([-5, -10])
    assert [(loss["rows"], loss["tasks"]) for loss in result["losses"]] == [(20, 2), (20, 2)]
    low, high = result["losses"][1]["interval"]
    assert low < -10 < high
    step = length_loss(cells, by_config, "8k", "32k")
    assert step["difference"] == pytest.approx(-5)
    assert length_loss(cells, by_config, "8k", "64k") is None


def test_pairing_by_index_is_narrower_if_rows_agree_and_never_much_wider():
    rng = np.random.default_rng(0)
    cells = {
        f"vt_{length}": {
            "task": "vt",
            "length": length,
            "language": "en",
            "instruction_language": "en",
        }
        for length in ("4k", "8k")
    }
    hard = rng.random(500) < 0.3
    for agree, widest in ((True, 0.75), (False, 1.1)):
        longer = hard if agree else rng.random(500) < 0.3
        short, long = 1.0 * ~hard, 1.0 * ~(longer | (rng.random(500) < 0.05))
        rows = {"vt_4k": dict(enumerate(short)), "vt_8k": dict(enumerate(long))}
        low, high = length_loss(cells, RowsByConfig(rows, {}), "4k", "8k")["interval"]
        apart = 2 * 196 * (short.var() / 500 + long.var() / 500) ** 0.5
        assert high - low < widest * apart
