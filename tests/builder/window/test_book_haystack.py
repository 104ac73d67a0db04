"""A book's context has whole sentences and exact counts, with and without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.haystacks import BookHaystack, Needle
from ruler_builder.window.prompt import PromptBuilder
from tests.nightly import mostly_nightly

ENGLISH = [f"The {n}th day was grey, and Mrs. Hale's boat lay still." for n in range(1, 40)]
CHINESE = [
    text
    for n in range(20)
    for text in (f"第{n}天，老人说：“海很平静。”", "风停了！", "他数了3个贝壳", "「不，」她答道。")
]
JAPANESE = ["これは本です。", "「次は？」と彼女が言った。", "２０歳だった", "ここで終わる！"] * 20
TEXTS = {"en": (ENGLISH, " "), "zh": (CHINESE, ""), "ja": (JAPANESE, "")}
NEEDLES = st.lists(st.floats(0, 1), max_size=5).map(
    lambda depths: [
        Needle(d, f"“键{i}”的数字是：{1000000 + i}。", i == 0) for i, d in enumerate(depths)
    ]
)


def lay(
    book: BookHaystack, counter: TokenCounter, units: int, needles: list[Needle]
) -> PromptBuilder:
    return book.lay(
        PromptBuilder(counter).add("Read this.\n\n<text>\n"), units, needles, "\n</text>\n"
    )


def lay_checked(
    counter: TokenCounter, code: str, units: int, needles: list[Needle]
) -> PromptBuilder:
    """Lay out sentences and needles, and check that the context has exactly these."""
    sentences, separator = TEXTS[code]
    prompt = lay(BookHaystack(sentences, separator, counter, 3000), counter, units, needles)
    context = prompt.text[prompt.context_start : prompt.context_end]
    for needle in needles:
        context = context.replace(needle.text, "", 1)
    assert context.replace(separator, "") == "".join((sentences * 9)[:units]).replace(separator, "")
    assert [prompt.text[e["start"] : e["end"]] for e in prompt.evidence] == [
        needle.text for needle in sorted(needles, key=lambda needle: needle.depth)
    ]
    return prompt


@pytest.mark.parametrize("code", TEXTS)
@given(units=st.integers(0, 120), needles=NEEDLES)
def test_a_context_is_counted_exactly_by_the_default_tokenizer(tekken, code, units, needles):
    prompt = lay_checked(tekken, code, units, needles)
    assert prompt.tokens == tekken.count(prompt.text)


@pytest.mark.parametrize("name", mostly_nightly(3, ["cl100k_base", "qwen2.5", "gemma3"]))
@pytest.mark.parametrize("code", TEXTS)
@given(units=st.integers(0, 120), needles=NEEDLES)
def test_a_context_is_counted_exactly_by_others(named_counter, name, code, units, needles):
    counter = named_counter(name)
    prompt = lay_checked(counter, code, units, needles)
    assert prompt.tokens == counter.count(prompt.text)


@pytest.mark.parametrize("code", TEXTS)
def test_a_context_is_counted_exactly_without_split_points(trained_counter, code):
    counter, needles = trained_counter("unigram"), [Needle(0.5, "A needle: 1234567.", True)]
    for units in (0, 1, 7, 60):
        prompt = lay_checked(counter, code, units, needles)
        assert prompt.tokens == counter.count(prompt.text)


def test_a_short_book_repeats_and_counts_its_repeats(tekken):
    book = BookHaystack(ENGLISH, " ", tekken, 3000)
    assert book.repeats(len(ENGLISH)) == 0
    assert book.repeats(len(ENGLISH) + 1) == 1
    assert book.repeats(3 * len(ENGLISH) + 1) == 3


def test_a_long_book_is_read_only_as_far_as_the_window_needs(tekken):
    pages_read = []

    def pages() -> object:
        for n in range(100_000):
            pages_read.append(n)
            yield f"This is sentence {n} of a book that is too long to be read whole."

    book = BookHaystack(pages(), " ", tekken, 4000)
    assert len(pages_read) < 1000
    assert book.repeats(book.max_units) == 0


@pytest.mark.parametrize("code", TEXTS)
def test_a_needle_is_between_the_two_sentences_nearest_to_its_depth(tekken, code):
    sentences, separator = TEXTS[code]
    book = BookHaystack(sentences, separator, tekken, 1000)
    longest = max(map(len, sentences))
    for tenth in range(11):
        prompt = lay(book, tekken, 38, [Needle(tenth / 10, "NEEDLE.", True)])
        (span,) = prompt.evidence
        width = prompt.context_end - prompt.context_start - len("NEEDLE.")
        at = span["start"] - prompt.context_start
        assert abs(at - tenth / 10 * width) <= longest / 2 + 2
        before = prompt.text[prompt.context_start : span["start"]].removesuffix(separator)
        assert separator.join(sentences[:38]).startswith(before)
        assert before == "" or before.endswith(tuple(sentences))


def test_a_book_haystack_knows_the_numbers_in_the_book(tekken):
    book = BookHaystack(
        ["He owed 1234567 crowns.", "She had ７６５４３２１ more."], " ", tekken, 10
    )
    assert book.numbers == {"1234567", "7654321"}
