"""cwe: its common words, and the words beyond 128k."""

from __future__ import annotations

import pytest

from tests.builder.tasks.row_reading import numbered, parts, task_of

LISTED = (
    "Below is a numbered list of words. In these words, some appear more often than others. "
    "Memorize the ones that appear most often.\n"
)


MOST_COMMON = "What are the 10 most common words in the above list?"


TOP = " Answer: The top 10 words that appear most often in the list are:"


def test_no_common_word_is_in_the_text_around_the_list(embedded):
    """Otherwise a model that repeats its prompt would name it."""
    task = task_of(embedded, "cwe", "4k")
    around = f"{LISTED}{MOST_COMMON}{TOP}".casefold()
    common = {word.casefold() for index in range(500) for word in task.references(index)}
    assert len(common) > 2000
    assert not [word for word in common if word in around]


@pytest.mark.nightly
def test_beyond_128k_common_words_adds_the_most_frequent_other_words(embedded):
    from ruler_builder.text import corpora

    vocabulary = {word.casefold() for word in corpora.vocabulary()}
    task = task_of(embedded, "cwe", "256k")
    row = task.row(0).columns
    words = {word.casefold() for word in numbered(parts(row)[1])}
    assert len(words & vocabulary) > 8000
    assert words - vocabulary
    assert words - vocabulary <= set(corpora.extension()[: 2**18 // 3])
