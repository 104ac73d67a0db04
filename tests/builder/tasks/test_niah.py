"""The eight niah tasks: the depths of needles, and the needles that are haystack."""

from __future__ import annotations

import pytest

from tests.builder.tasks.row_reading import haystack, task_of


def test_needles_in_essays_are_at_the_40_depths(embedded):
    task = task_of(embedded, "niah_multiquery", "16k")
    depths = [e["depth"] for index in range(100) for e in task.row(index).columns["evidence"]]
    assert max(min(abs(depth - k / 39) for k in range(40)) for depth in depths) < 0.013
    assert len({round(depth * 39) for depth in depths}) == 40


@pytest.mark.parametrize("name", ["niah_multikey_2", "niah_multikey_3"])
def test_every_row_has_different_distractor_needles(embedded, name):
    task = task_of(embedded, name, "4k")
    lines = [set(haystack(task.row(index).columns).split("\n")) - {""} for index in range(5)]
    assert all(len(needles) > 25 for needles in lines)
    assert len(set.union(*lines)) == sum(map(len, lines))
    assert not task.same_beginning


@pytest.mark.parametrize("name", ["niah_multikey_2", "niah_multikey_3"])
def test_a_row_has_the_same_distractor_needles_under_every_tokenizer(
    embedded, trained_sources, name
):
    long = haystack(task_of(embedded, name, "4k").row(3).columns)
    short = haystack(task_of(trained_sources("whole"), name, "4k").row(3).columns)
    assert len(short) > 1000
    assert long.startswith(short.rstrip("\n"))
