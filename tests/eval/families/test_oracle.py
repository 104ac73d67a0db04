"""The perfect reader finds every reference from `input` alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from ruler_eval.families.table import solve
from tests.eval.run import small_release


def recall(row: dict[str, Any]) -> float:
    """RULER's rule: the share of references that the answer contains."""
    answer = solve(row["input"]).lower()
    return sum(out.lower() in answer for out in row["outputs"]) / len(row["outputs"])


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: small_release.niah_row(rng, 30),
        lambda rng: small_release.niah_row(rng, 30, keys=4),
        lambda rng: small_release.niah_row(rng, 30, values=4),
        lambda rng: small_release.niah_row(rng, 30, keys=4, asked=4),
        lambda rng: small_release.niah_row(rng, 2, keys=40),
        lambda rng: small_release.vt_row(rng, 40),
        lambda rng: small_release.vt_row(rng, 40, chains=3),
        lambda rng: small_release.cwe_row(rng, 60),
        lambda rng: small_release.fwe_row(rng, 400),
    ],
)
def test_the_synthetic_tasks_are_solved(make: Callable[[random.Random], dict[str, Any]]) -> None:
    for seed in range(20):
        assert recall(make(random.Random(seed))) == 1.0


def test_qa_is_guessed_at_from_the_documents() -> None:
    rows = [small_release.qa_row(random.Random(seed), 12) for seed in range(20)]
    assert sum(map(recall, rows)) / len(rows) > 0.8


def test_the_one_shot_example_is_not_the_task() -> None:
    row = small_release.vt_row(random.Random(1), 30)
    shown = row["input"].partition("they are: ")[2].split("\n\n")[0].split()
    assert not set(shown) & set(solve(row["input"]).split())


def test_a_value_that_is_a_uuid_or_a_word_is_found() -> None:
    text = (
        "A special magic uuid is hidden within the following text. Make sure to memorize it. I "
        "will quiz you about the uuid afterwards.\nIt rained. One of the special magic uuids for "
        "apt-fox is: 2f1cf0e2-59a6-44c2-8d2f-0b1f3f5c1a55. It stopped.\nWhat is the special magic "
        "uuid for apt-fox mentioned in the provided text?"
    )
    assert solve(text) == "2f1cf0e2-59a6-44c2-8d2f-0b1f3f5c1a55"
