"""Whether two deployments are the same: error rates, bounds, and rows that part."""

from __future__ import annotations

from typing import Any

import pytest

from bench.same_model import rows_until_different, simulate
from ruler_eval.doctor.answers import Answer
from ruler_eval.doctor.comparison_sentences import headline
from ruler_eval.doctor.same_model import (
    ALPHA,
    evidence_of_difference,
    judge_tally,
    odd_one,
    odd_one_p,
    tally_rows,
    upper_bound,
)


def test_the_odd_one_of_three_answers_is_found():
    assert odd_one("x", "x", "x") is None
    assert odd_one("x", "x", "y") == "b"
    assert odd_one("x", "y", "x") == "a"
    assert odd_one("x", "y", "y") == "a"
    assert odd_one("x", "y", "z") is None


def test_the_evidence_is_fair_under_the_null():
    """Its expected value is 1 after any number of rows, so Ville's inequality holds."""
    from scipy.stats import binom

    for rows in (1, 5, 20):
        mean = sum(
            binom.pmf(odd, rows, 1 / 3) * evidence_of_difference(odd, rows - odd)
            for odd in range(rows + 1)
        )
        assert mean == pytest.approx(1.0)


def test_four_rows_without_an_exception_are_enough_at_the_end():
    assert odd_one_p(4, 0) == pytest.approx(1 / 81)
    assert odd_one_p(4, 0) / 0.8 <= ALPHA < odd_one_p(3, 0) / 0.8


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_equal_deployments_are_rarely_called_different(noise):
    outcomes = [simulate(seed, noise, 0.0, stored=False)[0] for seed in range(60)]
    assert outcomes.count("different") <= 3


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_difference_in_every_twentieth_row_is_found(noise):
    outcomes = [simulate(seed, noise, 0.05, stored=False)[0] for seed in range(30)]
    assert outcomes.count("different") >= 27


def sides_of(a: str, again: str, b: str, rows: int = 40, **fields: Any) -> dict[str, Any]:
    keys = [("vt_4k", index) for index in range(rows)]
    return {
        name: {key: Answer(score=1.0, text=text, **fields) for key in keys}
        for name, text in (("a", a), ("a_again", again), ("b", b))
    }


def test_equal_answers_have_an_upper_bound():
    sides = sides_of("x", "x", "x", rows=100)
    comparison = judge_tally(tally_rows(sides, list(sides["a"]), stored=True), complete=True)
    assert comparison.outcome == "same"
    assert comparison.bound == pytest.approx(1 - 0.05 ** (1 / 100))
    assert upper_bound(0, 20) > 0.1  # too few rows to say anything


def test_differences_that_the_server_itself_does_not_have_are_not_called_noise():
    """Three of 30 rows may be chance, but more rows would tell; nothing of the server varies."""
    sides = sides_of("x", "x", "x", rows=30)
    for key in list(sides["b"])[:3]:
        sides["b"][key] = Answer(score=1.0, text="y")
    comparison = judge_tally(tally_rows(sides, list(sides["a"])), complete=True)
    assert comparison.outcome == "few"
    text = headline(comparison)
    assert text.startswith("The answers differ in 3 of 30 rows where the server repeats its own")
    assert "Use more rows (--rows N)." in text
    assert "what makes answers vary" not in text


def test_the_place_where_answers_part_is_shown():
    sides = sides_of("The number is 12345.", "The number is 12345.", "The number is 12999.")
    tally = tally_rows(sides, list(sides["a"]), stored=True)
    first = tally.partings[0]
    assert (first.at, tally.only_b, tally.odd_b) == (16, 40, 40)
    assert "345." in first.a
    assert "999." in first.b


def test_rows_that_fail_or_read_other_prompts_are_counted():
    sides = sides_of("x", "x", "x", prompt_tokens=100)
    key = next(iter(sides["b"]))
    sides["b"][key] = Answer(score=0.0, failure="HTTP 500")
    for other in list(sides["b"])[1:]:
        sides["b"][other] = Answer(score=1.0, text="x", prompt_tokens=60)
    tally = tally_rows(sides, list(sides["a"]), stored=True)
    assert (tally.rows, tally.failed_b, tally.failed_a) == (39, 1, 0)
    assert (tally.tokens_differ, tally.tokens) == (39, (100, 60))


@pytest.mark.parametrize(
    ("missing", "without"),
    [
        (Answer(score=0.0, failure="HTTP 500"), ("b",)),
        (Answer(score=0.0, fits=False, unfit_reason="too long"), ("b",)),
        (Answer(score=0.0, fits=False, unfit_reason="too long"), ("a", "a_again", "b")),
        (
            Answer(score=0.0, fits=False, unfit_reason="shortened", shortened=True),
            ("a", "a_again", "b"),
        ),
    ],
)
@pytest.mark.parametrize(("rows", "lost"), [(300, 160), (300, 60), (60, 15), (600, 70)])
def test_equal_answers_reassure_nobody_if_many_rows_have_none(missing, without, rows, lost):
    sides = sides_of("x", "x", "x", rows=rows)
    for name in without:
        for key in list(sides[name])[:lost]:
            sides[name][key] = missing
    comparison = judge_tally(tally_rows(sides, list(sides["a"]), stored=False), complete=True)
    assert comparison.outcome == "few"
    text = headline(comparison)
    assert text.startswith(f"{lost} of {rows} rows cannot be compared")
    assert "No difference seen" not in text
    only_b_missing = without == ("b",)
    assert (f"{lost} rows have an answer on one side only" in text) == only_b_missing
    assert comparison.bound > lost / rows


def test_a_few_rows_without_an_answer_count_as_different():
    sides = sides_of("x", "x", "x", rows=300)
    for key in list(sides["b"])[:6]:
        sides["b"][key] = Answer(score=0.0, failure="HTTP 500")
    comparison = judge_tally(tally_rows(sides, list(sides["a"]), stored=False), complete=True)
    assert comparison.outcome == "same"
    assert comparison.bound == pytest.approx(upper_bound(6, 300))
    assert headline(comparison).startswith(
        "6 of 300 rows cannot be compared and count as different (6 rows have an answer on one "
        "side only). No difference seen in the 294 others:"
    )


def test_published_answers_can_be_replayed():
    keys = [("cwe", index) for index in range(50)]
    a = dict.fromkeys(keys, "x")
    b = {key: "y" if key[1] % 5 == 0 else "x" for key in keys}
    rows = rows_until_different(keys, a, b)
    assert 20 < rows <= 50
    assert rows_until_different(keys, a, a) == 0
