"""The eight niah tasks: wording, depths and the needles around."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.counted_sources import CountedSources
from tests.builder.tasks.row_reading import (
    haystack,
    keys_in,
    parts,
    task_of,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("niah_single_1", "number"),
        ("niah_single_2", "number"),
        ("niah_single_3", "uuid"),
        ("niah_multikey_1", "number"),
        ("niah_multikey_2", "number"),
        ("niah_multikey_3", "uuid"),
    ],
)
def test_a_question_for_one_value_is_worded_as_the_reference_code_words_it(
    embedded: CountedSources, name: str, kind: str
) -> None:
    row = task_of(embedded, name, "1k").row(0)
    head, context, tail = parts(row)
    (key,) = keys_in(row)
    (value,) = row.outputs
    assert head == (
        f"A special magic {kind} is hidden within the following text. Make sure to memorize it. "
        f"I will quiz you about the {kind} afterwards.\n"
    )
    assert f"One of the special magic {kind}s for {key} is: {value}." in context
    assert row.question == (
        f"What is the special magic {kind} for {key} mentioned in the provided text?"
    )
    assert tail == f"\n{row.question}"
    assert row.answer_prefix == (
        f" The special magic {kind} for {key} mentioned in the provided text is"
    )


@pytest.mark.parametrize("name", ["niah_multivalue", "niah_multiquery"])
def test_a_question_for_several_values_is_worded_as_the_reference_code_words_it(
    embedded: CountedSources, name: str
) -> None:
    row = task_of(embedded, name, "1k").row(0)
    head, context, tail = parts(row)
    keys = keys_in(row)
    a, b, c, d = keys
    query = a if name == "niah_multivalue" else f"{a}, {b}, {c}, and {d}"
    assert head == (
        "Some special magic numbers are hidden within the following text. Make sure to memorize "
        "it. I will quiz you about the numbers afterwards.\n"
    )
    for key, value in zip(keys, row.outputs, strict=True):
        assert f"One of the special magic numbers for {key} is: {value}." in context
    assert row.question == (
        f"What are all the special magic numbers for {query} mentioned in the provided text?"
    )
    assert tail == f"\n{row.question}"
    assert row.answer_prefix == (
        f" The special magic numbers for {query} mentioned in the provided text are"
    )


def test_needles_in_essays_stand_at_the_40_depths(embedded: CountedSources) -> None:
    task = task_of(embedded, "niah_multiquery", "16k")
    depths = [e.depth for index in range(100) for e in task.row(index).evidence]
    assert max(min(abs(depth - k / 39) for k in range(40)) for depth in depths) < 0.013
    assert len({round(depth * 39) for depth in depths}) == 40


@pytest.mark.parametrize("name", ["niah_multikey_2", "niah_multikey_3"])
def test_other_needles_are_drawn_anew_for_each_row(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "4k")
    lines = [set(haystack(task.row(index)).split("\n")) - {""} for index in range(5)]
    assert all(len(found) > 25 for found in lines)
    assert all(one.isdisjoint(other) for i, one in enumerate(lines) for other in lines[:i])
    assert not task.same_beginning


@pytest.mark.parametrize("name", ["niah_multikey_2", "niah_multikey_3"])
def test_a_row_has_the_same_other_needles_under_every_tokenizer(
    embedded: CountedSources,
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
) -> None:
    long = haystack(task_of(embedded, name, "4k").row(3))
    short = haystack(task_of(own_texts(counter_made("whole")), name, "4k").row(3))
    assert len(short) > 1000
    assert long.startswith(short.rstrip("\n"))
