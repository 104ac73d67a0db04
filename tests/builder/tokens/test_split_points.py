"""No tokenizer joins tokens across the places where texts are split to be counted."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from ruler_builder.tokens import counting
from ruler_builder.tokens.counting import SplitPoints, TokenCounter
from ruler_builder.window.prompt import PromptBuilder
from tests.builder.tokens.test_tokenizers import NAMED

# fmt: off
PARTS = st.sampled_from([
    "The", "grass", "is", "green.", "don't", "I'LL", "we'", "'s", "ALLCAPS", "camelCase", "x",
    " ", "  ", "   ", "\n", "\n\n", "\r\n", "\r", "\t", "\u00a0", "\u200b", "\u2028", "\x85",
    "\x1c", "/", "//", "a/b", ".", "...", "!?", "-", "—", "“", "(", "=", "_", "\u2581", "> </",
    "<b>", "#", "1", "42", "1234567", "3.14", "²", "Ⅷ", "٣", "é", "e\u0301", "\u0301", "ñ", "ſ",
    "ß", "İ", "ǅ", "界", "日本語", "한국어", "العربية", "हिन्दी", "ก็", "🙂", "👩‍👧", "\ufffd",
    "です", "。", "！", "」", "”", "々", "ー", "\u3099", "か\u3099", "。「", "3。",
    "\U000e0041", "<s>", "</s>", "<unk>", "<bos>", "<|endoftext|>", "<|im_end|>", "[INST]",
])
# fmt: on
TEXTS = st.lists(PARTS | st.text(max_size=4), max_size=14).map("".join)


def places(text: str, split_points: SplitPoints) -> list[int]:
    return [i for i in range(1, len(text)) if split_points.between(text[:i], text[i:])]


def crossed_split_points(counter: TokenCounter, text: str) -> list[str]:
    """Return the split points of a text that tokens cross, one by one and all together."""
    if not counter.split_points.hold_in(text):
        return []
    split_at = places(text, counter.split_points)
    tokens = counter.count(text)
    crossed = [
        f"{text[:place]}|{text[place:]}"
        for place in split_at
        if sum(counter.counts([text[:place], text[place:]])) != tokens
    ]
    edges = [0, *split_at, len(text)]
    parts = [text[a:b] for a, b in pairwise(edges) if a < b]
    return crossed if sum(counter.counts(parts)) == tokens else [*crossed, "|".join(parts)]


@pytest.mark.parametrize("name", ["tekken", *NAMED])
@example("don't  stop.\n\n/usr é\u0301 12345\nVAR A = 1 界 界\n界")
@given(text=TEXTS)
def test_no_named_tokenizer_joins_tokens_across_a_split_point(named_counter, name, text):
    assert named_counter(name).split_points.proved
    assert crossed_split_points(named_counter(name), text) == []


def test_tekken_has_split_points_at_stops_and_spaces(tekken):
    assert tekken.split_points == SplitPoints(True, stops=True, spaces=True)


def test_split_points_are_before_single_spaces_after_newlines_and_at_the_end_of_a_line():
    text = "a b. c  d\n/e\nf!\ng\n\nh1\n é \n"
    around = [f"{text[:i][-1]}|{text[i:][:2]}" for i in places(text, SplitPoints(True))]
    assert around == [
        "a| b",
        ".| c",
        "d|\n/",
        "e|\nf",
        "\n|f!",
        "\n|g\n",
        "g|\n\n",
        "\n|h1",
        "1|\n ",
    ]


def test_stops_add_split_points_before_chinese_and_japanese_stops():
    text = "これは本です。「次」です！3。か\u3099。end。"
    around = [text[i - 1 : i + 1] for i in places(text, SplitPoints(True, stops=True))]
    assert around == ["す。", "次」", "す！"]
    assert places(text, SplitPoints(True)) == []


def test_every_word_of_an_essay_is_at_a_split_point(embedded_text):
    folded = " ".join(embedded_text.split()[:400])
    assert len(places(folded, SplitPoints(True))) == 399


# ---- Gemma: BPE over the whole text ------------------------------------------------------------


@pytest.mark.nightly
def test_gemmas_only_token_across_a_space_is_found(named_counter):
    assert named_counter("gemma3").split_points == SplitPoints(True, ("> </",))


@pytest.mark.nightly
def test_a_text_with_a_crossing_string_is_counted_whole(named_counter):
    gemma = named_counter("gemma3")
    pieces = ["One", " word", " x>", " </y", " and", " more.\n", "Next"]
    prompt = PromptBuilder(gemma)
    for piece in pieces:
        prompt.add(piece, gemma.count(piece))
    assert not gemma.split_points.hold_in(prompt.text)
    assert prompt.tokens == gemma.count(prompt.text)
    assert prompt.tokens == sum(gemma.counts(pieces)) - 1


@pytest.mark.parametrize("kind", ["gpt2", "unigram", "whole", "sentencepiece"])
def test_split_points_are_read_without_the_merges(trained_tokenizer, kind):
    written = Tokenizer.from_file(str(trained_tokenizer(kind) / "tokenizer.json")).to_str()
    assert '"merges"' not in counting.without_merges(written)
    spaced = json.dumps(json.loads(written))  # a space after each comma: nothing is cut out
    assert counting.without_merges(spaced) == spaced
    assert counting.split_points_of_json(written) == counting.split_points_of_json(spaced)


# ---- Trained tokenizers of other kinds ----------------------------------------------------------


@pytest.mark.parametrize("kind", ["unigram", "wordpiece", "gpt2", "crossing", "fusing"])
def test_a_tokenizer_of_an_unproved_form_has_no_split_points(trained_counter, kind):
    counter = trained_counter(kind)
    assert not counter.split_points.proved
    assert not counter.split_points.between("grass", " is")
    assert not counter.split_points.hold_in("The grass is green.")


def test_a_whole_text_bpe_has_split_points_except_in_crossing_strings(trained_counter):
    counter = trained_counter("whole")
    assert counter.split_points == SplitPoints(True, ("e the",))
    assert counter.count("e the") == 1 < sum(counter.counts(["e", " the"]))
    prompt = PromptBuilder(counter).add("The sake", counter.count("The sake"))
    prompt.add(" the end", 99)
    assert prompt.tokens == counter.count("The sake the end")


@given(text=TEXTS)
def test_a_whole_text_bpe_never_joins_tokens_across_its_split_points(trained_counter, text):
    assert crossed_split_points(trained_counter("whole"), text) == []


@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
@pytest.mark.parametrize("kind", ["unigram", "wordpiece", "gpt2", "crossing", "fusing", "whole"])
def test_a_prompt_is_counted_exactly_with_any_tokenizer(trained_counter, kind, texts):
    counter = trained_counter(kind)
    prompt = PromptBuilder(counter)
    for text in texts:
        prompt.add(text, counter.count(text))
    assert prompt.tokens == counter.count("".join(texts))


def changed(path: Path, **changes: object) -> str:
    return json.dumps(json.loads(path.read_text()) | changes)


ADDED = {
    "id": 5000,
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": False,
}


@pytest.mark.parametrize(
    "change",
    [
        {"added_tokens": [ADDED | {"content": "New York"}]},
        {"added_tokens": [ADDED | {"content": "a\nb"}]},
        {"added_tokens": [ADDED | {"content": "<x>", "lstrip": True}]},
        {"added_tokens": [ADDED | {"content": "<x>", "rstrip": True}]},
        {"normalizer": None},
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "Whitespace"}},
    ],
)
def test_a_tokenizer_that_could_join_tokens_has_no_split_points(trained_tokenizer, change):
    path = trained_tokenizer("whole") / "tokenizer.json"
    assert counting.split_points_of_json(changed(path)).proved
    assert counting.split_points_of_json(changed(path, **change)) == counting.NO_SPLIT_POINTS


def test_an_unknown_split_pattern_has_no_split_points():
    assert counting.split_points_of_pattern(counting.PATTERNS["tekken"]).proved
    assert counting.split_points_of_pattern(r"\w+ \w+|\s+|.") == counting.NO_SPLIT_POINTS


@pytest.mark.parametrize(
    ("step", "key", "value"),
    [
        (0, "pattern", {"Regex": r"\w+ \w+|\s+|."}),
        (0, "behavior", "MergedWithPrevious"),
        (0, "invert", True),
        (1, "use_regex", True),
        (1, "add_prefix_space", True),
    ],
)
def test_a_pre_tokenizer_unlike_the_proved_form_has_no_split_points(mirror, step, key, value):
    text = (mirror / "tokenizers/hf/qwen2_5/tokenizer.json").read_text()
    parts = {**json.loads(text), "model": {"type": "BPE"}}
    assert counting.split_points_of_json(json.dumps(parts)).proved
    parts["pre_tokenizer"]["pretokenizers"][step][key] = value
    assert counting.split_points_of_json(json.dumps(parts)) == counting.NO_SPLIT_POINTS
