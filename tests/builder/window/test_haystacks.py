"""Haystacks of prose and of lines have exact counts and place needles at their depths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.text.borders import folded
from ruler_builder.text.sentences import essay_starts, sentence_starts
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.haystacks import EssayHaystack, LineHaystack, Needle
from ruler_builder.window.prompt import PromptBuilder

TEXT = """\
The garden lay  behind the house. No one had weeded it since June, when Ada left!

  Was it worth saving? "Perhaps," said Tom. He paid £3.50 for a spade,
a fork and 1234567 nails. Then it rained.
"""
WORDS = TEXT.split()
HEAD, TAIL = "Remember this.\n", "\nWhat was it?"

DEPTHS = st.sampled_from([0.0, 0.03, 0.5, 0.97, 1.0]) | st.floats(0, 1)
NEEDLES = st.lists(DEPTHS, max_size=4).map(
    lambda depths: [Needle(d, f"Needle {i} is here.", i % 2 == 0) for i, d in enumerate(depths)]
)


def essay_haystack(text: str, counter: TokenCounter) -> EssayHaystack:
    """Return the haystack of a text that is not published, split here."""
    text = folded(text)
    return EssayHaystack(text, [*essay_starts(text)], counter)


@pytest.fixture(scope="session")
def prose(tekken: TokenCounter) -> EssayHaystack:
    return essay_haystack(TEXT, tekken)


@pytest.fixture(scope="session")
def lines(tekken: TokenCounter) -> LineHaystack:
    return LineHaystack([f"Line number {i} has {i * 7} cups." for i in range(30)], 30, tekken)


def first_words() -> set[int]:
    """Return the numbers of the words that begin a sentence, by counting spaces."""
    text = " ".join(WORDS) + " "
    starts = [start + (text[start] == " ") for start in sentence_starts(text, "en")]
    return {text[:start].count(" ") for start in starts if start < len(text)}


def prose_by_hand(units: int, needles: list[Needle]) -> str:
    """Build the context of `units` words in the simplest way."""
    begins = sorted(first_words())
    starts = [word for word in range(units) if word % len(WORDS) in begins]
    parts: list[str] = []
    done = 0
    for needle in sorted(needles, key=lambda needle: needle.depth):
        number = int(len(starts) * needle.depth)
        place = starts[number] if number < len(starts) else units
        parts += [WORDS[word % len(WORDS)] for word in range(done, place)] + [needle.text]
        done = place
    return " ".join(parts + [WORDS[word % len(WORDS)] for word in range(done, units)])


def lines_by_hand(all_lines: list[str], needles: list[Needle]) -> str:
    """Build the context of these lines in the simplest way."""
    units = len(all_lines)
    parts: list[str] = []
    done = 0
    for needle in sorted(needles, key=lambda needle: needle.depth):
        place = min(units, int((units + 1) * needle.depth))
        parts += [*all_lines[done:place], needle.text]
        done = place
    return "\n".join(parts + all_lines[done:])


def context(prompt: PromptBuilder) -> str:
    return prompt.text[prompt.context_start : prompt.context_end]


def check_offsets(prompt: PromptBuilder, needles: list[Needle], between: str) -> None:
    """Check that the needles are the evidence, between separators."""
    ordered = sorted(needles, key=lambda needle: needle.depth)
    spans = [(prompt.text[e["start"] : e["end"]], e["answer"]) for e in prompt.evidence]
    assert spans == [(needle.text, needle.answer) for needle in ordered]
    padded = f"{between}{context(prompt)}{between}"
    for e in prompt.evidence:
        start = e["start"] - prompt.context_start + 1
        end = e["end"] - prompt.context_start + 1
        assert padded[start - 1] == padded[end] == between
        assert padded[start - 2] != between or start == 1
    assert prompt.text == f"{HEAD}{context(prompt)}{TAIL}"


# ---- EssayHaystack ----


@given(units=st.integers(0, 3 * len(WORDS) + 2), needles=NEEDLES)
def test_prose_is_words_joined_by_spaces_with_needles_between_sentences(
    prose, tekken, units, needles
):
    prompt = prose.lay(PromptBuilder(tekken).add(HEAD), units, needles, TAIL)
    assert context(prompt) == prose_by_hand(units, needles)
    check_offsets(prompt, needles, " ")
    assert prompt.tokens == tekken.count(prompt.text)


@given(units=st.integers(0, 3 * len(WORDS) + 2), needles=NEEDLES)
@pytest.mark.parametrize("kind", ["whole", "crossing"])
def test_prose_is_counted_exactly_by_tokenizers_with_few_split_points_or_none(
    trained_counter, kind, units, needles
):
    counter = trained_counter(kind)
    prompt = essay_haystack(TEXT, counter).lay(
        PromptBuilder(counter).add(HEAD), units, needles, TAIL
    )
    assert context(prompt) == prose_by_hand(units, needles)
    assert prompt.tokens == counter.count(prompt.text)


def test_a_needle_at_depth_0_begins_the_context_and_at_depth_1_ends_it(prose, tekken):
    needles = [Needle(1.0, "Last.", True), Needle(0.0, "First.", True)]
    prompt = prose.lay(PromptBuilder(tekken).add(HEAD), 5, needles, TAIL)
    assert context(prompt) == "First. The garden lay behind the Last."


def test_prose_repeats_when_it_runs_out(prose, tekken):
    prompt = prose.lay(PromptBuilder(tekken), len(WORDS) + 2, [], TAIL)
    assert context(prompt) == " ".join(WORDS) + " The garden"
    assert [prose.repeats(n) for n in (0, 1, len(WORDS), len(WORDS) + 1, 2 * len(WORDS) + 1)] == [
        0, 0, 0, 1, 2,
    ]  # fmt: skip


@given(units=st.integers(0, 200), change=st.integers(-100, 200))
def test_a_step_of_prose_is_the_words_that_have_these_tokens(prose, tekken, units, change):
    def tokens(count: int) -> int:
        return sum(tekken.counts([f" {WORDS[word % len(WORDS)]}" for word in range(count)]))

    words = prose.step(units, change)
    if tokens(units) + change >= 0:
        assert tokens(words) <= tokens(units) + change < tokens(words + 1)
    else:
        assert words == 0


def test_prose_knows_the_seven_digit_numbers_in_it(tekken):
    prose = essay_haystack("In 1234567 or 123456 or 98765432, and 1,234,567 too.", tekken)
    assert prose.numbers == {"1234567", "9876543", "8765432"}


def test_prose_knows_the_hyphenated_pairs_in_it(tekken):
    prose = essay_haystack("A heavy-duty, Smooth-talking mother-in-law; x-1 and a -- b.", tekken)
    assert prose.hyphenated == {"heavy-duty", "smooth-talking", "mother-in", "in-law"}


# ---- LineHaystack ----


@given(units=st.integers(1, 30), needles=NEEDLES)
def test_lines_and_needles_are_joined_by_newlines(lines, tekken, units, needles):
    prompt = lines.lay(PromptBuilder(tekken).add(HEAD), units, needles, TAIL)
    texts = [f"Line number {i} has {i * 7} cups." for i in range(units)]
    expected = lines_by_hand(texts, needles)
    if expected:
        assert context(prompt) == expected
        check_offsets(prompt, needles, "\n")
    assert prompt.tokens == tekken.count(prompt.text)


@pytest.mark.parametrize(("depth", "place"), [(0.0, 0), (0.24, 0), (0.26, 1), (0.99, 3), (1.0, 3)])
def test_a_needle_can_be_before_every_line_and_after_the_last(lines, tekken, depth, place):
    prompt = lines.lay(PromptBuilder(tekken), 3, [Needle(depth, "Here.", True)], TAIL)
    assert context(prompt).split("\n").index("Here.") == place
    assert context(prompt).count("\n") == 3


@given(units=st.integers(0, 30), change=st.integers(-300, 400))
def test_a_step_of_lines_is_the_lines_that_have_these_tokens(lines, tekken, units, change):
    def tokens(count: int) -> int:
        return sum(tekken.counts([f"Line number {i} has {i * 7} cups.\n" for i in range(count)]))

    count = lines.step(units, change)
    assert 0 <= count <= lines.max_units == 30
    if tokens(units) + change >= 0:
        assert tokens(count) <= tokens(units) + change
        assert count == 30 or tokens(units) + change < tokens(count + 1)
    else:
        assert count == 0


def test_only_as_many_lines_are_read_as_a_window_takes(tekken):
    lines_read: list[int] = []

    def endless() -> Iterator[str]:
        for number in count():
            lines_read.append(number)
            yield f"Line {number} of very many."

    haystack = LineHaystack(endless(), 5000, tekken)
    assert haystack.step(0, 900) > 80
    assert len(lines_read) < 300
    assert haystack.step(0, 10**9) == len(lines_read) == haystack.max_units == 5000
