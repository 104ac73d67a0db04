"""cwe: wording, order and the words beyond 128k."""

from __future__ import annotations

from collections import Counter

import pytest

from ruler_builder.window.counted_sources import CountedSources
from tests.builder.tasks.row_reading import (
    check,
    numbered,
    parts,
    task_of,
)

LISTED = (
    "Below is a numbered list of words. In these words, some appear more often than others. "
    "Memorize the ones that appear most often.\n"
)


MOST_COMMON = "What are the 10 most common words in the above list?"


TOP = " Answer: The top 10 words that appear most often in the list are:"


def test_no_common_word_stands_in_the_wording_around_the_list(embedded: CountedSources) -> None:
    """A model that echoes its prompt would name it: `answer` was drawn in two rows of 500."""
    task = task_of(embedded, "cwe", "4k")
    around = f"{LISTED}{MOST_COMMON}{TOP}".casefold()
    common = {word.casefold() for index in range(500) for word in task.references(index)}
    assert len(common) > 2000
    assert not [word for word in common if word in around]


@pytest.mark.parametrize(("length", "words", "counts"), [("4k", 40, (10, 3)), ("2k", 20, (3, 1))])
def test_common_words_is_worded_as_the_reference_code_words_it(
    embedded: CountedSources, length: str, words: int, counts: tuple[int, int]
) -> None:
    row = task_of(embedded, "cwe", length).row(0)
    head, context, tail = parts(row)
    example, empty = head.removeprefix(LISTED).split(f"\n{LISTED}")
    listed, answer = example.split(f"\nQuestion: {MOST_COMMON}{TOP} ")
    assert empty == ""
    assert context.startswith("1. ")
    assert row.question == MOST_COMMON
    assert tail == f"\nQuestion: {MOST_COMMON}"
    assert row.answer_prefix == TOP
    tally = Counter(numbered(listed))
    assert len(tally) == words
    common = [word for word in numbered(answer) if tally[word] == counts[0]]
    assert len(common) == 10
    assert answer == " ".join(f"{i}. {word}" for i, word in enumerate(common, 1))
    assert Counter(tally.values()) == {counts[0]: 10, counts[1]: words - 10}
    assert tally.keys().isdisjoint(numbered(context))


@pytest.mark.nightly
def test_beyond_128k_common_words_adds_the_most_frequent_other_words(
    embedded: CountedSources,
) -> None:
    from ruler_builder.text import word_lists

    known = {word.casefold() for word in word_lists.vocabulary()}
    task = task_of(embedded, "cwe", "256k")
    row = task.row(0)
    check(row, task)
    found = {word.casefold() for word in numbered(parts(row)[1])}
    assert len(found & known) > 8000
    assert found - known
    assert found - known <= set(word_lists.extension()[: 2**18 // 3])


def test_common_words_are_shuffled_anew_for_each_row(embedded: CountedSources) -> None:
    task = task_of(embedded, "cwe", "4k")
    places = []
    for index in range(3):
        row = task.row(index)
        common = set(row.outputs)
        places.append([i for i, word in enumerate(numbered(parts(row)[1])) if word in common])
    assert places[0] != places[1] != places[2] != places[0]
