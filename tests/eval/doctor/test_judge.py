"""The judgement: what is called a fault of the engine, how often by chance, and what is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ruler_eval.doctor.conditions import CACHED, COLD, CONDITIONS, LOADED, REPEATS, next_border
from ruler_eval.doctor.findings import (
    ALPHA,
    Answer,
    Finding,
    Row,
    anytime_p,
    exact_p,
    judge_depth,
    judge_pairs,
    judge_tokens,
    smallest_loss,
)
from ruler_eval.doctor.judge import judge, may_stop

CACHE = CONDITIONS["cache"]


def rows_of(count: int, tokens: int = 1000) -> list[Row]:
    return [
        Row(key=("c", index), length="1k", row_tokens=tokens, depth=index / count)
        for index in range(count)
    ]


def pairs_of(a: Sequence[float], b: Sequence[float]) -> list[tuple[Row, Answer, Answer]]:
    both = zip(rows_of(len(a)), a, b, strict=True)
    return [(row, Answer(score=left), Answer(score=right)) for row, left, right in both]


def test_the_p_value_holds_at_all_looks_together() -> None:
    rng = np.random.default_rng(0)
    small = 0
    for _ in range(400):
        a, b = rng.integers(0, 2, (2, 120)).astype(float)
        looks = [
            judge_pairs(CACHE, pairs_of(a[:rows], b[:rows]), complete=rows == 120).p
            for rows in (30, 60, 90, 120)
        ]
        small += min(looks) <= ALPHA
    assert small / 400 <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / 400) ** 0.5


def test_both_directions_are_tested_but_b_is_suspected() -> None:
    worse, better = [0.0] * 12 + [1.0] * 100, [1.0] * 112
    b_worse = judge_pairs(CACHE, pairs_of(better, worse), complete=True)
    a_worse = judge_pairs(CACHE, pairs_of(worse, better), complete=True)
    assert (b_worse.only_a, b_worse.only_b) == (a_worse.only_b, a_worse.only_a) == (12, 0)
    assert b_worse.p < a_worse.p < ALPHA
    assert b_worse.exact_p == a_worse.exact_p == pytest.approx(2 * exact_p(0, 12))


def test_a_wager_needs_values() -> None:
    assert anytime_p([], 0.0) == (1.0, 1.0)
    larger, smaller = anytime_p([1.0] * 20, 0.0)
    assert larger < 0.001 < smaller


def test_the_smallest_loss_is_seen_in_four_of_five_examinations() -> None:
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


def answers_of(rows: Sequence[Row], **scores: Sequence[float]) -> dict[str, dict]:
    return {
        name: {
            row.key: Answer(score=score, prompt_tokens=row.row_tokens, cached_tokens=0)
            for row, score in zip(rows, values, strict=True)
        }
        for name, values in scores.items()
    }


def test_a_cache_that_is_not_hit_is_not_checked() -> None:
    rows = rows_of(60)
    same = {side.name: [1.0] * 60 for side in (COLD, CACHED, LOADED, *REPEATS)}
    verdict = judge(rows, answers_of(rows, **same), ["cache", "load"], complete=True, max_loss=40)
    found = {finding.name: finding for finding in verdict.findings}
    assert found["cache"].state == "unchecked"
    assert "reports no cache hits" in found["cache"].sentence
    assert found["load"].state == "same"
    assert verdict.outcome == "sound"


def test_a_model_that_answers_nothing_tells_nothing() -> None:
    rows = rows_of(60)
    wrong = {side.name: [0.0] * 60 for side in (COLD, CACHED, LOADED, *REPEATS)}
    verdict = judge(rows, answers_of(rows, **wrong), ["load"], complete=True, max_loss=40)
    assert (verdict.outcome, verdict.exit_code) == ("unknown", 3)
    assert "too few to see a loss" in verdict.headline


def test_a_loss_that_too_few_rows_could_hide_is_not_called_sound() -> None:
    rows = rows_of(20)
    right = {side.name: [1.0] * 20 for side in (COLD, CACHED, LOADED, *REPEATS)}
    verdict = judge(rows, answers_of(rows, **right), ["load"], complete=True, max_loss=10)
    assert (verdict.outcome, verdict.exit_code) == ("unknown", 3)
    assert "ask more rows" in verdict.headline


def test_a_cliff_of_depth_is_found_and_a_slope_is_not() -> None:
    rows = rows_of(200)
    cliff = [float(row.depth is not None and row.depth > 0.15) for row in rows]
    found = judge_depth(rows, answers_of(rows, cold=cliff), complete=True)
    assert found.p < 1e-10
    assert "is lost: 0 of 30 rows right" in found.sentence
    rng = np.random.default_rng(2)
    middle = [float(rng.random() < 0.4 + 0.6 * abs(2 * (row.depth or 0) - 1)) for row in rows]
    assert judge_depth(rows, answers_of(rows, cold=middle), complete=True).p == 1.0


@pytest.mark.parametrize(
    ("extra", "has_bos", "state", "words"),
    [
        (0, True, "same", "as many tokens as were sent"),
        (1, True, "engine", "a second BOS"),
        (1, False, "same", "other tokens than the tokenizer here"),
        (7, True, "same", "other tokens than the tokenizer here"),
    ],
)
def test_tokens_are_compared(extra: int, has_bos: bool, state: str, words: str) -> None:
    rows = rows_of(20)
    text = {
        row.key: Answer(score=1, prompt_tokens=1000 + extra, counted_tokens=1000) for row in rows
    }
    found = judge_tokens(rows, {"text": text}, has_bos)
    assert found.state == state
    assert words in found.sentence


def test_prompts_that_all_end_at_one_size_were_shortened() -> None:
    rows = [Row(key=("c", i), length="4k", row_tokens=3000 + i, depth=None) for i in range(40)]
    cold = {row.key: Answer(score=0, prompt_tokens=2050) for row in rows}
    found = judge_tokens(rows, {"cold": cold}, has_bos=False)
    assert found.state == "engine"
    assert "all read as 2,050 tokens" in found.sentence


def test_a_condition_waits_for_the_one_that_explains_it() -> None:
    def finding(name: str, state: str, only_a: int = 0) -> Finding:
        return Finding(name=name, title="", state=state, sentence="", only_a=only_a, holm_p=0.01)

    rows = rows_of(40)
    right = {side.name: [1.0] * 40 for side in (COLD, LOADED, *REPEATS)}
    base = judge(rows, answers_of(rows, **right), ["load"], complete=False, max_loss=10)

    def verdict(*findings: Finding):
        from dataclasses import replace

        return replace(base, outcome="engine", findings=findings)

    load, likely = finding("load", "engine", 12), finding("neighbours", "same", 9)
    assert not may_stop(verdict(load, likely), rows_when_decided=10)
    assert may_stop(verdict(load, finding("neighbours", "same")), rows_when_decided=10)
    assert not may_stop(verdict(load, finding("neighbours", "same")), rows_when_decided=30)
    assert may_stop(verdict(finding("cache", "engine")), rows_when_decided=40)


@pytest.mark.parametrize(
    ("tokens", "border"), [(10, 1024), (1008, 1024), (1009, 2048), (3900, 4096), (32500, 32768)]
)
def test_the_next_border_leaves_room_to_end_below_it(tokens: int, border: int) -> None:
    assert next_border(tokens) == border
