"""What the verdict calls a fault of the engine, how often by chance, and what it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ruler_eval.doctor.answers import AllAnswers, Answer, Row
from ruler_eval.doctor.condition import COLD, Finding
from ruler_eval.doctor.conditions import (
    CACHE,
    CACHED,
    DEPTH,
    LOADED,
    REPEATS,
    TOKENS,
    next_boundary,
)
from ruler_eval.doctor.paired_test import ALPHA, exact_p, pair_p, smallest_loss
from ruler_eval.doctor.verdict import Verdict, judge, may_stop

PLANNED = ("cache", "load", "depth", "repeat")
CACHED_SIDES = ("cached", "repeat_3", "repeat_4", "repeat_5")
Answers = dict[str, dict[tuple[str, int], Answer]]


def rows_of(count: int, tokens: int = 1000) -> list[Row]:
    return [
        Row(key=("c", index), length="1k", row_tokens=tokens, depth=index / count)
        for index in range(count)
    ]


def test_the_p_value_is_valid_over_all_looks():
    rng = np.random.default_rng(0)
    small = 0
    for _ in range(400):
        signs = list(np.diff(rng.integers(0, 2, (2, 120)).astype(float), axis=0)[0])
        small += min(pair_p(signs[:n], complete=n == 120) for n in (30, 60, 90, 120)) <= ALPHA
    assert small / 400 <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / 400) ** 0.5


@pytest.mark.parametrize(
    ("only_a", "only_b", "state"),
    [(5, 0, "engine"), (4, 0, "same"), (8, 1, "engine"), (7, 1, "same")],  # p: .049 .098 .031 .055
)
def test_a_condition_is_at_fault_if_its_p_is_at_most_5_percent(only_a, only_b, state):
    rows = rows_of(30)
    cold = [0.0] * only_b + [1.0] * (30 - only_b)
    loaded = [1.0] * (30 - only_a) + [0.0] * only_a
    answers = all_answers(rows, answers_of(rows, cold=cold, loaded=loaded))
    finding = finding_of(judge(answers, ("load",), {}, max_loss=100), "load")
    assert (finding.only_a, finding.only_b, finding.state) == (only_a, only_b, state)


def test_both_directions_are_tested_but_b_has_most_of_the_error():
    rows = rows_of(112)
    worse, better = [0.0] * 12 + [1.0] * 100, [1.0] * 112
    b_worse = CACHE.judge(all_answers(rows, answers_of(rows, cold=better, cached=worse), hits=9))
    a_worse = CACHE.judge(all_answers(rows, answers_of(rows, cold=worse, cached=better), hits=9))
    assert (b_worse.only_a, b_worse.only_b) == (a_worse.only_b, a_worse.only_a) == (12, 0)
    assert b_worse.p < a_worse.p < ALPHA
    assert b_worse.exact_p == a_worse.exact_p == pytest.approx(2 * exact_p(0, 12))


def test_the_smallest_loss_is_detected_in_four_of_five_examinations():
    rows, noise, tests = 200, 0.02, 6
    loss = smallest_loss(rows, round(rows * noise), tests) / 100
    rng = np.random.default_rng(1)
    only_a = rng.binomial(rows, noise / 2 + loss, 4000)
    only_b = rng.binomial(rows, noise / 2, 4000)
    seen = [
        exact_p(few, many) <= ALPHA * 0.8 * 0.8 / tests
        for few, many in zip(only_b, only_a, strict=True)
    ]
    assert 0.75 < np.mean(seen) < 0.86
    assert smallest_loss(4, 0, tests) == 100.0  # no loss of 4 rows is significant


def answers_of(rows: Sequence[Row], **scores: Sequence[float]) -> Answers:
    """Answers whose prompts have the row's own tokens; what the cache did is not known."""
    return {
        name: {
            row.key: Answer(score=score, prompt_tokens=row.row_tokens)
            for row, score in zip(rows, values, strict=True)
        }
        for name, values in scores.items()
    }


def changed(answers: Answers, side: str, count: int, **fields: Any) -> None:
    """Change the first answers of a side."""
    for key in list(answers[side])[:count]:
        answers[side][key] = replace(answers[side][key], **fields)


def all_answers(
    rows: Sequence[Row], answers: Answers, complete: bool = True, hits: float | None = None
) -> AllAnswers:
    return AllAnswers(rows=rows, by_side=answers, complete=complete, tests=4, cache_hits=hits)


def all_sides(rows: Sequence[Row], score: float = 1.0) -> Answers:
    """The same score for every answer of `--quick`, with hits of the cache."""
    sides = {side.name: [score] * len(rows) for side in (COLD, CACHED, LOADED, *REPEATS)}
    answers = answers_of(rows, **sides)
    for side in CACHED_SIDES:
        changed(answers, side, len(rows), cached_tokens=900)
    changed(answers, "cold", len(rows), cached_tokens=0)
    return answers


def verdict_of(
    rows: Sequence[Row], answers: Answers, max_loss: float = 40, hits: float | None = None
) -> Verdict:
    return judge(all_answers(rows, answers, hits=hits), PLANNED, {"text": "not asked"}, max_loss)


def finding_of(verdict: Verdict, name: str) -> Finding:
    (finding,) = [finding for finding in verdict.findings if finding.name == name]
    return finding


def test_a_sound_engine_is_sound():
    rows = rows_of(60)
    verdict = verdict_of(rows, all_sides(rows))
    assert (verdict.outcome, verdict.exit_code, verdict.rows) == ("sound", 0, 60)
    assert finding_of(verdict, "cache").state == "same"
    assert finding_of(verdict, "text").sentence == "Not checked: not asked."
    record = verdict.to_json()["conditions"][0]
    assert {"name", "title", "state", "sentence", "docs", "holm_p", "smallest_loss"} <= set(record)


@pytest.mark.parametrize(
    ("cold", "cached", "hits", "words"),
    [
        (0, 0, 500.0, "reports no cache hits"),
        (None, None, 0.0, "/metrics show no cache hits"),
        (None, None, None, "does not report whether its cache was hit"),
        (900, 900, None, "hit the cache too"),
    ],
)
def test_a_cache_whose_hits_are_not_confirmed_is_not_checked(cold, cached, hits, words):
    rows = rows_of(60)
    answers = all_sides(rows)
    changed(answers, "cold", 60, cached_tokens=cold)
    for side in CACHED_SIDES:
        changed(answers, side, 60, cached_tokens=cached)
    verdict = verdict_of(rows, answers, hits=hits)
    assert finding_of(verdict, "cache").state == "unchecked"
    assert words in finding_of(verdict, "cache").sentence
    assert finding_of(verdict, "load").state == "same"
    assert verdict.outcome == "sound"
    assert verdict.headline.endswith("Not checked: cache.")


def test_hits_are_confirmed_by_the_metrics_or_by_the_answers():
    rows = rows_of(60)
    answers = all_sides(rows)
    assert finding_of(verdict_of(rows, answers, hits=0.0), "cache").state == "same"
    for side in ("cold", *CACHED_SIDES):
        changed(answers, side, 60, cached_tokens=None)
    assert finding_of(verdict_of(rows, answers, hits=1000.0), "cache").state == "same"


def test_answers_that_change_are_a_fault_even_if_no_hit_is_confirmed():
    rows = rows_of(60)
    answers = answers_of(rows, cold=[1.0] * 60, cached=[0.0] * 20 + [1.0] * 40)
    verdict = verdict_of(rows, answers)
    assert verdict.outcome == "engine"
    assert "Answers get worse on cache hits: 20 of 60 rows" in verdict.headline


def test_a_model_without_right_answers_gives_no_verdict():
    rows = rows_of(60)
    verdict = verdict_of(rows, all_sides(rows, score=0.0))
    assert (verdict.outcome, verdict.exit_code) == ("unknown", 3)
    assert "too few to detect a loss" in verdict.headline


@pytest.mark.parametrize("count", [1, 20])
def test_too_few_rows_are_not_called_sound(count):
    rows = rows_of(count)
    verdict = verdict_of(rows, all_sides(rows), max_loss=10)
    assert (verdict.outcome, verdict.exit_code) == ("unknown", 3)
    assert "test more rows" in verdict.headline


def test_if_every_request_failed_the_error_is_the_verdict():
    rows = rows_of(5)
    answers = all_sides(rows, score=0.0)
    for side in answers:
        changed(answers, side, 5, failure="HTTP 500: out of memory", prompt_tokens=None)
    verdict = verdict_of(rows, answers)
    assert (verdict.outcome, verdict.exit_code) == ("unknown", 3)
    assert "Every request failed (HTTP 500: out of memory)" in verdict.headline


def test_failed_requests_do_not_count_as_wrong_answers():
    """Twelve requests that failed under load say nothing about the answers under load."""
    rows = rows_of(60)
    answers = all_sides(rows)
    changed(answers, "loaded", 12, score=0.0, failure="HTTP 502: restarting")
    verdict = verdict_of(rows, answers)
    load = finding_of(verdict, "load")
    assert (load.state, load.rows, load.only_a) == ("same", 48, 0)
    assert "12 rows failed and do not count (HTTP 502: restarting)." in load.note
    assert load.smallest_loss is not None
    assert load.smallest_loss > 20  # any of the twelve could be a loss
    sound = finding_of(verdict, "cache")
    assert sound.smallest_loss is not None
    strict = verdict_of(rows, answers, max_loss=sound.smallest_loss + 1)
    assert strict.outcome == "unknown"
    assert "Some requests failed" in strict.headline


def test_rows_that_do_not_fit_count_nowhere():
    rows = rows_of(60)
    answers = all_sides(rows)
    for side in answers:
        changed(answers, side, 30, score=0.0, fits=False)
    verdict = verdict_of(rows, answers)
    assert verdict.score == 100.0
    assert [finding_of(verdict, name).rows for name in ("cache", "load", "repeat")] == [30, 30, 30]
    for side in answers:
        changed(answers, side, 60, score=0.0, fits=False)
    verdict = verdict_of(rows, answers)
    assert (verdict.outcome, verdict.score) == ("unknown", 0.0)
    assert "do not fit the model's context length" in finding_of(verdict, "load").sentence


def test_a_cliff_of_depth_is_found_and_a_slope_is_not():
    rows = rows_of(200)
    cliff = [float(row.depth is not None and row.depth > 0.15) for row in rows]
    finding = DEPTH.judge(all_answers(rows, answers_of(rows, cold=cliff)))
    assert finding.p < 1e-10
    assert "is lost: 0 of 30 rows right" in finding.fault
    rng = np.random.default_rng(2)
    middle = [float(rng.random() < 0.4 + 0.6 * abs(2 * (row.depth or 0) - 1)) for row in rows]
    assert DEPTH.judge(all_answers(rows, answers_of(rows, cold=middle))).p == 1.0


@pytest.mark.parametrize(
    ("side", "extra", "has_bos", "count", "state", "words"),
    [
        ("text", 0, True, 20, "same", "as many tokens as were sent"),
        ("text", 1, True, 20, "engine", "a second BOS"),
        ("text", 1, False, 20, "same", "counts tokens differently"),
        ("text", 7, True, 20, "same", "counts tokens differently"),
        ("text", 1, True, 3, "same", "counts tokens differently"),  # too few rows
        (
            "server_template",
            1,
            True,
            20,
            "same",
            "counts tokens differently",
        ),  # or a template with one more
    ],
)
def test_tokens_are_compared(side, extra, has_bos, count, state, words):
    rows = rows_of(count)
    answers = answers_of(rows, **{side: [1.0] * count})
    changed(answers, side, count, prompt_tokens=1000 + extra, counted_tokens=1000)
    finding = TOKENS.judge(replace(all_answers(rows, answers), has_bos=has_bos))
    assert finding.state == state
    assert words in finding.sentence


def test_prompts_that_all_end_at_one_size_were_shortened():
    rows = [Row(key=("c", i), length="4k", row_tokens=3000 + i, depth=None) for i in range(40)]
    answers = answers_of(rows, cold=[0.0] * 40)
    changed(answers, "cold", 40, prompt_tokens=2050)
    finding = TOKENS.judge(all_answers(rows, answers))
    assert finding.state == "engine"
    assert "all read as 2,050 tokens" in finding.sentence


def test_a_condition_waits_for_the_one_that_explains_it():
    def finding(name: str, state: Any, only_a: int = 0) -> Finding:
        return Finding(name=name, title="", state=state, sentence="", only_a=only_a, holm_p=0.01)

    def verdict(*findings: Finding) -> Verdict:
        return Verdict(
            outcome="engine", exit_code=1, headline="", rows=40, score=90, findings=findings
        )

    load, likely = finding("load", "engine", 12), finding("neighbours", "same", 9)
    assert not may_stop(verdict(load, likely), rows_when_decided=10)
    assert may_stop(verdict(load, finding("neighbours", "same")), rows_when_decided=10)
    assert not may_stop(verdict(load, finding("neighbours", "same")), rows_when_decided=30)
    assert may_stop(verdict(finding("cache", "engine")), rows_when_decided=40)
    assert not may_stop(verdict(finding("repeat", "engine")), rows_when_decided=40)


@pytest.mark.parametrize(
    ("tokens", "border"), [(10, 1024), (1008, 1024), (1009, 2048), (3900, 4096), (32500, 32768)]
)
def test_the_next_boundary_is_far_enough_to_end_below_it(tokens, border):
    assert next_boundary(tokens) == border
