"""One reading of reasoning, for every family of tags that models mark theirs with."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_score.language_rules import LANGUAGES
from ruler_score.ruler_score import score_row
from ruler_score.split_reasoning import opened_reasoning, split_reasoning, token_mark

FAMILIES = {
    **{
        name: (f"<{name}>", f"</{name}>")
        for name in ("think", "thinking", "thought", "reasoning", "seed:think")
    },
    **{name: (f"<{name}>", f"</{name}>") for name in ("reason", "scratchpad", "reflection")},
    "cased": ("<Think>", "</Think>"),
    "longcat": ("<longcat_think>", "</longcat_think>"),
    "minimax": ("<mm:think>", "</mm:think>"),
    "solar": ("<|think:start|>", "<|think:end|>"),
    "plamo": ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    "full width": ("<｜begin▁of▁thinking｜>", "<｜end▁of▁thinking｜>"),
    "slash in bars": ("<|thinking|>", "<|/thinking|>"),
    "camel case": ("<BeginThinking>", "<EndThinking>"),
    "attributes": ('<reasoning effort="high" step=2>', "</reasoning>"),
    "escaped": ("&lt;think&gt;", "&lt;/think&gt;"),
    "monologue": ("<INNER_MONOLOGUE>", "</INNER_MONOLOGUE>"),
    "analysis": ("<analysis>", "</analysis>"),
    "chain of thought": ("<chain_of_thought>", "</chain_of_thought>"),
    "cot": ("<cot>", "</cot>"),
    "self reflection": ("<self-reflection>", "</self-reflection>"),
    "Chinese": ("<思考>", "</思考>"),
    "begin in brackets": ("[BEGIN_THINKING]", "[END_THINKING]"),
    "medgemma": ("<unused94>thought\n", "<unused95>"),
    "kimi k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    "pangu": ("[unused16]", "[unused17]"),
    "cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "kimi": ("◁think▷", "◁/think▷"),
    "openthoughts": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "gemma": ("<|channel>thought", "<channel|>"),
    "THINK": ("[THINK]", "[/THINK]"),
    "channel": (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
}
EACH = pytest.mark.parametrize(("opening", "closing"), FAMILIES.values(), ids=list(FAMILIES))
PIECES = [mark for pair in FAMILIES.values() for mark in pair]


@EACH
@pytest.mark.parametrize(
    ("text", "reasoning", "answer", "state"),
    [
        ("{o}so 17{c}42", "so 17", "42", "ended"),
        ("\n{o}\nso 17\n{c}\n\n42\n", "so 17", "42", "ended"),
        ("{o}{c}42", "", "42", "ended"),
        ("{o}so 17{c}", "so 17", "", "ended"),
        ("so 17{c}42", "so 17", "42", "ended"),  # the prompt opened it
        ("{o}so 17", "so 17", "", "truncated"),
        ("42{o}so 17", "so 17", "42", "truncated"),
        ("{o}a{c}b{o}c{c}42", "a\nc", "b\n42", "ended"),
        ("a{c}b{o}c{c}42", "a\nc", "b\n42", "ended"),
        ("{o}a{c}42{o}c", "a\nc", "42", "truncated"),
        ("{o}a{o}b{c}42", "a{o}b", "42", "ended"),
        ("{o}a{o}b{c}c{c}42", "a{o}b\nc", "42", "ended"),
        ("{o}a<b [1] </b>{c}42 < 43 [2]", "a<b [1] </b>", "42 < 43 [2]", "ended"),
    ],
)
def test_reasoning_is_taken_out_whole(opening, closing, text, reasoning, answer, state):
    filled, expected = (part.replace("{o}", opening) for part in (text, reasoning))
    parts = split_reasoning(filled.replace("{c}", closing))
    assert parts == (expected.replace("{c}", closing), answer, state)


@EACH
def test_reasoning_that_the_prompt_opened(opening, closing):
    opened = opened_reasoning(f"<|im_start|>assistant\n{opening}\n")
    assert opened == opening.rstrip()
    assert split_reasoning(f"so 17{closing}42", opened) == ("so 17", "42", "ended")
    assert split_reasoning(f"{opening}so 17{closing}42", opened).answer == "42"
    assert split_reasoning("so 17, or 42", opened) == ("so 17, or 42", "", "truncated")
    assert opened_reasoning(f"{opening}\n\n{closing}\n\n") == ""


@EACH
def test_the_scorer_reads_the_same_answer(opening, closing):
    words = " word" * 500
    for text, score in (
        (f"{opening}1111111{words}{closing}1234567", 1),
        (f"{opening}{words} 1234567", 0),
        (f"{opening}{words} 1234567{closing}1111111", 0),
    ):
        assert score_row(text, ["1234567"], "niah_single", "en").score == score
        answer = split_reasoning(text).answer
        assert score_row(answer, ["1234567"], "niah_single", "en").score == score


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "",
        " kept ",
        "a < b [1]",
        "<b>1</b>",
        "analysis of it",
        "42<|end|>",
        "thinking: no",
        "I think, thinking of the reasoning [reason], that it is 42",
        "Here are my reasoning steps: 1 + 41. It is 42",
        "[REASONING] 1 + 41\n[ANSWER] 42",
        "[thinking](https://example.org/thought) 42",
        "<https://example.org/thinking> 42",
        "<deepthought@example.org> 42",
        "<think of a number> 42",
        "<think_off>42",  # switches, which enclose nothing
        "<|no_think|>42",
        "x < think and y > 42",
        "a <- reason -> b",
        "<tool_call>{}</tool_call>42",
        "<cotton>42</cotton>",
    ],
)
def test_a_text_without_reasoning_stays_as_it_is(text):
    assert split_reasoning(text) == (None, text, "none")


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<thinking>a</think>42", "a", "42"),
        ("<thinking>a<think>b</think>c</thinking>42", "a<think>b</think>c", "42"),
        ("<think>a</think>b[THINK]c[/THINK]42", "a\nc", "b\n42"),
        ("<SCRATCHPAD>a</scratchpad>42", "a", "42"),
    ],
)
def test_families_may_be_mixed(text, reasoning, answer):
    assert split_reasoning(text) == (reasoning, answer, "ended")


@pytest.mark.parametrize(
    ("text", "answer", "state"),
    [
        ("<|channel|>final<|message|>42<|return|>", "42", "ended"),
        ("<|start|>assistant<|channel|>analysis<|message|>a<|end|>", "", "truncated"),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary"
            " to=f <|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>final"
            "<|message|>42<|return|>",
            "42",
            "ended",
        ),
        ("analysisWe look for it.assistantfinal42", "42", "ended"),  # special tokens removed
        ("analysisWe look.assistantcommentaryHm.assistantfinal42", "42", "ended"),
    ],
)
def test_channels_end_with_the_final_one(text, answer, state):
    parts = split_reasoning(text)
    assert (parts.answer, parts.state) == (answer, state)


@pytest.mark.parametrize("code", LANGUAGES)
def test_an_answer_in_a_languages_tags_is_never_cut(code):
    for tag in LANGUAGES[code].tags:
        text = f"I have been thinking. <{tag}>1234567, 7654321</{tag}>"
        assert split_reasoning(text) == (None, text, "none")
        assert split_reasoning(f"<mm:think>1</mm:think>\n{text}").answer == text


def test_the_marks_among_a_tokenizers_tokens():
    assert token_mark("<longcat_think>") == token_mark("<|START_THINKING|>") == "opens"
    assert token_mark("</mm:think>") == token_mark("<|end_of_thought|>") == "closes"
    for token in ("<|im_end|>", "<|channel|>", "<think_off>", "think", "<s>"):
        assert token_mark(token) is None


@given(
    st.lists(
        st.sampled_from(
            [*PIECES, "<|start|>", "<|end|>", "<", ">", "/", "a", "1234567", " ", "\n"]
        ),
        max_size=12,
    )
)
def test_an_answer_holds_no_reasoning(parts):
    answer = split_reasoning("".join(parts)).answer
    assert split_reasoning(answer) == (None, answer, "none")


@pytest.mark.parametrize(
    "text",
    [
        "<think>",
        "<think></thinking>",
        "<think>a</think>",
        "<|channel|>analysis",
        "<think ",
        "<think_think_think_think_think_think_think_think",
        '<think a="b" ',
        "[THINK_",
    ],
)
def test_reading_takes_time_linear_in_the_text(text):
    def seconds(count: int) -> float:
        started = time.process_time()
        split_reasoning(text * count)
        return time.process_time() - started

    assert seconds(100_000) < 20 * max(seconds(10_000), 0.05)
