"""Real wrong answers, each read by a person: how often the rules give the kind that was read.

tests/eval/data/wrong_answers.tsv holds the readings. The published files hold no context: kinds of
qa that documents alone tell are measured by tests/bench/bench_error_kinds.py, which is given them.
"""

from __future__ import annotations

from collections import Counter

from ruler_eval.analysis.errors.error_kinds import KINDS, error_of
from tests.eval import real_predictions as real
from tests.eval.read_answers import (
    NEEDS_CONTEXT,
    OWN,
    Answers,
    Reading,
    example_answers,
    published_answers,
    readings,
)

LEAST = 0.97


def sorted_otherwise(chosen: list[Reading], answers: Answers) -> list[tuple[object, ...]]:
    """The readings to whose answers the rules give another kind."""
    found = []
    for reading in chosen:
        answer, row = answers[reading.place]
        error = error_of(row, answer, reading.place[1])
        if error is None or error.kind != reading.kind:
            found.append((*reading, error))
    return found


def test_over_a_thousand_answers_of_every_task_were_read():
    read_so = readings()
    assert len(read_so) >= 1000
    assert len({reading.place for reading in read_so}) == len(read_so)
    tasks = Counter(reading.place[1] for reading in read_so)
    assert len(tasks) == 13
    assert min(tasks.values()) >= 14
    assert {reading.kind for reading in read_so} <= KINDS.keys()


def test_the_rules_give_the_kind_that_was_read():
    chosen = [
        reading
        for reading in readings()
        if reading.place[0] != OWN
        and not (reading.place[1].startswith("qa") and reading.kind in NEEDS_CONTEXT)
    ]
    assert len(chosen) > 700
    other = sorted_otherwise(chosen, published_answers(real.folder()))
    assert len(other) <= (1 - LEAST) * len(chosen), other


def test_the_rules_give_the_kind_that_was_read_in_a_run_with_its_rows():
    chosen = [reading for reading in readings() if reading.place[0] == OWN]
    assert len(chosen) > 150
    other = sorted_otherwise(chosen, example_answers())
    assert len(other) <= 0.06 * len(chosen), other
