from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.sentences import sentence_starts

LAWS = settings(max_examples=100, deadline=None)
SENTENCES = st.lists(
    st.sampled_from(
        [
            "The grass is green.",
            "Is it?",
            'She said "no."',
            "An unbalanced “quotation here.",
            "Dr. Smith (of St. Ives) paid $3.50 on Jan. 5.",
            "¿Qué? 日本語のテキスト。",
            "e.g. this... and that!",
            "…" * 30,
            "word " * 400,
        ]
    )
    | st.text(max_size=30),
    max_size=60,
).map(lambda parts: " ".join(" ".join(parts).split()))
"""White space is folded, as Prose folds it: sentencex 1.0.32 panics on a bare U+0085."""


def sentences(text: str) -> list[str]:
    starts = sentence_starts(text, "en")
    return [text[a:b] for a, b in pairwise([*starts, len(text)])]


@LAWS
@given(SENTENCES)
def test_starts_ascend_from_zero_are_unique_and_in_range(text: str) -> None:
    starts = sentence_starts(text, "en")
    assert starts[0] == 0
    assert all(a < b for a, b in pairwise(starts))
    assert starts[-1] < max(1, len(text))


@LAWS
@given(SENTENCES)
def test_the_sentences_joined_give_the_text_back(text: str) -> None:
    assert "".join(sentences(text)) == text


def test_sentences_are_told_apart() -> None:
    found = sentences("The grass is green. Is the sky blue? Dr. Smith says so! Here we go.")
    assert [part.strip() for part in found] == [
        "The grass is green.",
        "Is the sky blue?",
        "Dr. Smith says so!",
        "Here we go.",
    ]


@pytest.mark.parametrize("quote", ['"', "“", "‘", "(", "«"])
def test_a_quotation_that_never_ends_does_not_swallow_a_long_text(quote: str) -> None:
    line = "The grass is green and the sky above it is blue. "
    text = line + quote + line * 400
    found = sentences(text)
    assert len(found) > 395
    assert max(map(len, found)) < 150


@pytest.mark.parametrize(("opening", "closing"), [('"', '"'), ("“", "”"), ("(", ")")])
def test_a_quotation_that_fills_the_window_is_split(opening: str, closing: str) -> None:
    line = "The grass is green and the sky above it is blue. "
    quoted = f"{opening}{line * 30}{'x' * 27}{closing}"  # 1499 characters
    found = sentences(f"{quoted} {line * 40}")
    assert len(found) >= 70
    assert max(map(len, found)) < 150


def test_a_text_longer_than_the_window_splits_as_short_texts_do() -> None:
    line = "The grass is green. The sky is blue. "
    assert {part.strip() for part in sentences(line * 500)} == set(
        line.strip().replace(". ", ".|").split("|")
    )


def test_a_text_without_an_end_is_one_sentence() -> None:
    assert sentence_starts("word " * 1000, "en") == [0]


def test_the_embedded_essays_split_into_sentences_of_ordinary_length(embedded_text: str) -> None:
    found = sentences(" ".join(embedded_text.split()))
    assert 10 < len(embedded_text.split()) / len(found) < 30
    assert max(map(len, found)) < 700
