"""A prompt counts its tokens exactly, and records its context and evidence."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.prompt import PromptBuilder
from ruler_common.rows import Evidence
from tests.nightly import mostly_nightly


class Piece(NamedTuple):
    text: str
    is_counted: bool
    answer: bool | None


TEXTS = st.sampled_from(
    [
        "", "The grass", " is green.", " word", "\n", "\nQuestion: What?", "VAR AB = 12345\n",
        " x>", " </y>", "no", "seam", "  two", " ", "/path", "1234567", ".", "end\n", " é\u0301",
        "界",
    ]
)  # fmt: skip
PIECES = st.lists(
    st.builds(Piece, TEXTS, st.booleans(), st.sampled_from([None, None, True, False])), max_size=12
)


def lay(counter: TokenCounter, pieces: list[Piece]) -> PromptBuilder:
    prompt = PromptBuilder(counter)
    for text, is_counted, answer in pieces:
        if is_counted and answer is None:
            prompt.add(text, counter.count(text))
        elif answer is None:
            prompt.add(text)
        else:
            prompt.mark_evidence(0, len(text), answer).add(text)
    return prompt


@given(pieces=PIECES)
def test_the_tokens_are_those_of_the_whole_text(tekken, pieces):
    prompt = lay(tekken, pieces)
    assert prompt.text == "".join(piece.text for piece in pieces)
    assert prompt.tokens == tekken.count(prompt.text)


@given(pieces=PIECES)
@pytest.mark.parametrize("name", mostly_nightly(2, ["cl100k_base", "gemma3"]))
def test_the_tokens_are_those_of_the_whole_text_under_other_tokenizers(named_counter, name, pieces):
    prompt = lay(named_counter(name), pieces)
    assert prompt.tokens == prompt.counter.count(prompt.text)


@given(pieces=PIECES)
@pytest.mark.parametrize("kind", ["whole", "crossing"])
def test_the_tokens_are_those_of_the_whole_text_with_few_split_points_or_none(
    trained_counter, kind, pieces
):
    prompt = lay(trained_counter(kind), pieces)
    assert prompt.tokens == prompt.counter.count(prompt.text)


@given(pieces=PIECES)
def test_evidence_is_exactly_the_marked_text_in_order(tekken, pieces):
    prompt = lay(tekken, pieces)
    marked = [(piece.text, piece.answer) for piece in pieces if piece.answer is not None]
    spans = [(prompt.text[e["start"] : e["end"]], e["answer"]) for e in prompt.evidence]
    assert [span for span in spans if span[0]] == [span for span in marked if span[0]]


def test_a_part_of_a_long_piece_can_be_evidence(tekken):
    prompt = (
        PromptBuilder(tekken)
        .add("One. ")
        .mark_evidence(5, 10, answer=False)
        .add("Two, three, four.", 6)
    )
    (span,) = prompt.evidence
    assert prompt.text[span["start"] : span["end"]] == "three"
    assert span["answer"] is False


def test_context_offsets_and_depths_are_those_of_the_text(tekken):
    prompt = PromptBuilder(tekken).add("Head.")
    prompt.context_start = prompt.length + 1
    prompt.mark_evidence(1, 5, answer=True).add(" 0123")
    prompt.mark_evidence(0, 4, answer=False).add("4567").add("89\n\n")
    prompt.context_end = prompt.length - 2
    prompt.add("Tail.")
    assert prompt.text[prompt.context_start : prompt.context_end] == "0123456789"
    assert prompt.evidence == [
        Evidence(start=6, end=10, depth=0.0, answer=True),
        Evidence(start=10, end=14, depth=0.4, answer=False),
    ]


def test_at_context_start_is_true_until_text_is_added(tekken):
    prompt = PromptBuilder(tekken).add("Head.")
    prompt.context_start = prompt.length
    assert prompt.at_context_start
    assert not prompt.add(" word").at_context_start


def test_counts_of_pieces_are_used_if_they_meet_at_a_split_point(tekken):
    assert PromptBuilder(tekken).add("The grass", 1000).add(" is", 1).tokens == 1001


def test_counts_of_pieces_are_not_used_if_they_meet_elsewhere(tekken):
    prompt = PromptBuilder(tekken).add("The gra", 1000).add("ss", 1000)
    assert prompt.tokens == tekken.count("The grass")
