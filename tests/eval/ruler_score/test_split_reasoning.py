"""One reading of reasoning, for every family of tags that models mark theirs with."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_score.language_table import LANGUAGES
from ruler_score.reasoning_marks import token_mark
from ruler_score.ruler_score import score_row
from ruler_score.split_reasoning import opened_reasoning, split_reasoning

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
    "joined words": ("<|startthink|>", "<|endthink|>"),
    "joined with of": ("<|beginofthought|>", "<|endofthought|>"),
    "spaces in the closing tag": ("<think>", "</ think >"),
    "attributes": ('<reasoning effort="high" step=2>', "</reasoning>"),
    "escaped": ("&lt;think&gt;", "&lt;/think&gt;"),
    "monologue": ("<INNER_MONOLOGUE>", "</INNER_MONOLOGUE>"),
    "analysis": ("<analysis>", "</analysis>"),
    "chain of thought": ("<chain_of_thought>", "</chain_of_thought>"),
    "cot": ("<cot>", "</cot>"),
    "cased cot": ("<CoT>", "</CoT>"),
    "self reflection": ("<self-reflection>", "</self-reflection>"),
    "Chinese": ("<思考>", "</思考>"),
    "suffix": ("<think:6124c78e>", "</think:6124c78e>"),
    "bar in the name": ("<ifm|think_fast>", "</ifm|think_fast>"),
    "comment": ("<!-- REASONING_START -->", "<!-- REASONING_END -->"),
    "comment with a slash": ("<!-- thinking -->", "<!-- /thinking -->"),
    "begin in brackets": ("[BEGIN_THINKING]", "[END_THINKING]"),
    "medgemma": ("<unused94>thought\n", "<unused95>"),
    "gemini": ("<ctrl94>thought\n", "<ctrl95>"),
    "kimi k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    "pangu": ("[unused16]", "[unused17]"),
    "cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "kimi": ("◁think▷", "◁/think▷"),
    "openthoughts": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "unsloth": ("<start_working_out>", "<end_working_out>"),
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
        "<analyst>Ann Reasoner</analyst>",
        "<treason>42</treason>",
        "<trend>42</trend > a < /b > 42",
        "<answer><number>42</number><reason/></answer>",
        '<answer type="reasoning">42</answer>',
        '<img class="thinking-icon"> 42',
        '<a href="https://example.org/reasoning">42</a>',
        "<details><summary>All numbers</summary>42</details>",
        "<details><summary>Answer after reasoning</summary>42</details>",
        "<!-- I think so --> 42",
        "42 [reasoning] and {thoughts} and 【思考】",
        "Thinking...\nIt is 42",
        "<|assistant|>42",
        "The tag `<think>` opens reasoning, `</think>` closes it: 42",
        "Use `<think>draft</think>`, or ``<thinking>``. 42",
        'I write "<think>" and "</think>", “<think>” or (\'</think>\') for it. 42',
        "「<think>」と「</think>」 42",
        "```java\nList<Thought> x;\n```\nIt is 42",
        "~~~\n<think>\n~~~\nIt is 42",
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
        ("<|think|>a<|end|><|begin|>assistant<|content|>42<|end|>", "42", "ended"),  # Solar Open
        ("<|begin|>assistant<|think|>a<|end|><|begin|>assistant<|content|>42", "42", "ended"),
        ("a<|end|><|begin|>assistant<|content|>42", "42", "ended"),
        ("<|think|>a", "", "truncated"),
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


SUMMARY = "<summary>Thought for 2 seconds</summary>"


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        (f'<details type="reasoning" done="true" duration="2">\n{SUMMARY}\n', "</details>"),
        ('<details type="reasoning" done="false">\n', "\n</details>"),
        ("<details type='reasoning' open>", "</DETAILS>"),
        (f"<details>\n{SUMMARY}\n", "</details>"),
        ("<details open>\n<summary><b>💭 Thinking Process</b></summary>", "</details>"),
        ("<details class=x><summary>思考过程</summary>", "</details>"),
        ('<div class="reasoning-block open">', "</div>"),
        ('<block type="thinking">', "</block>"),
        ("```thinking\n", "\n```\n"),
        ("<|content_thinking|>", "<|end_message|><|message_model|><|content_text|>"),
        ("to=self<|message|>", "<|eom|>to=user<|message|>"),
        ("<|start|>assistant to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>"),
        ("<|im_start|>think\n", "<|im_start|>answer\n"),
        ("<|thinking|>", "<|assistant|>"),
        ("Here is my thought process:", "Here is my response:"),
        ("analysisWe", "assistantfinal"),
    ],
)
def test_a_mark_that_only_its_opening_names_never_leaves_reasoning_in_the_answer(opening, closing):
    assert split_reasoning(f"{opening}so 17{closing}42")[1:] == ("42", "ended")
    assert split_reasoning(f"{opening}so 17")[1:] == ("", "truncated")
    assert split_reasoning(f"{opening}<b>17</b> <details>17</details>{closing}42").answer == "42"
    ended = split_reasoning(f"42{closing}")
    assert "42" in ended.answer
    assert ended.state == "none"


def test_an_element_ends_at_its_own_closing_tag():
    inner = "<div>a <div>b</div></div>"
    text = f"41 <div class='thinking'>{inner}17</div>42<div>43</div>"
    assert split_reasoning(text) == (f"{inner}17", "41 \n42<div>43</div>", "ended")
    assert split_reasoning(f"<div class=thinking>{inner}17").state == "truncated"


@pytest.mark.parametrize("brackets", ["[]", "{}", "【】"])
def test_a_name_in_brackets_is_a_mark_with_its_counterpart(brackets):
    opening, closing = (
        f"{brackets[0]}reasoning{brackets[1]}",
        f"{brackets[0]}/reasoning{brackets[1]}",
    )
    assert split_reasoning(f"{opening}so 17{closing}42") == ("so 17", "42", "ended")
    assert split_reasoning(f"42\n{opening}so 17{closing}").answer == "42"
    assert split_reasoning(f"{opening} 42").state == "none"


def test_what_ollama_prints_before_an_answer_is_reasoning():
    text = "Thinking...\nso 17\n...done thinking.\n\n42"
    assert split_reasoning(text) == ("so 17", "42", "ended")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('<think>it is "17"</think>"42"', '"42"'),
        ("<think>it is `17`</think>`42`", "`42`"),
        ("it is '17.'</think>'42'", "'42'"),
        ("<think>```python\nx = 17\n</think>```\n42\n```", "```\n42\n```"),
        ("```xml\n<reasoning>17</reasoning>\n42\n```", "```xml\n42\n```"),
        ("<think>no `</think>` yet: 17</think>42", "42"),
    ],
)
def test_quotes_and_code_around_a_mark_leave_it_a_mark(text, answer):
    parts = split_reasoning(text)
    assert (parts.answer, parts.state) == (answer, "ended")


ANSWERS = st.lists(
    st.one_of(
        st.integers().map(str),
        st.text("abc <>/[]{}\"'=&;:.,!?-_()|#*思◁▷", max_size=12),
        st.sampled_from(["answer", "number", "list", "b", "analyst", "item", "cotton"]).map(
            lambda name: f"<{name}>1234567</{name}>"
        ),
        st.builds(
            str.format,
            st.sampled_from([' "{}" ', "“{}”", " `{}` ", "「{}」"]),
            st.sampled_from([piece for piece in PIECES if not re.search(r"\n|<\|end\|>", piece)]),
        ),
        st.sampled_from(["xml", "java", "python", ""]).map(
            lambda name: f"\n```{name}\nList<Thought> x = <div class=thinking>;\n```\n"
        ),
        st.sampled_from(["<details><summary>Numbers</summary>1</details>", "if a < think: b > 1"]),
    ),
    max_size=8,
).map(" ".join)


@given(ANSWERS)
def test_an_answer_without_reasoning_is_never_cut(text):
    assert split_reasoning(text) == (None, text, "none")


@given(st.sampled_from(list(FAMILIES.values())), ANSWERS, ANSWERS)
def test_an_answer_after_reasoning_stays_whole_and_truncated_reasoning_leaves_none(
    marks, reasoning, text
):
    opening, closing = marks
    parts = split_reasoning(f"{opening}\n{reasoning}\n{closing}\n{text}")
    assert (parts.answer, parts.state) == (text.strip(), "ended")
    assert split_reasoning(f"{opening}\n{reasoning}").answer == ""


@pytest.mark.parametrize("code", LANGUAGES)
def test_an_answer_in_a_languages_tags_is_never_cut(code):
    for tag in LANGUAGES[code].tags:
        text = f"I have been thinking. <{tag}>1234567, 7654321</{tag}>"
        assert split_reasoning(text) == (None, text, "none")
        assert split_reasoning(f"<mm:think>1</mm:think>\n{text}").answer == text


def test_the_marks_among_a_tokenizers_tokens():
    assert token_mark("<longcat_think>") == token_mark("<|START_THINKING|>") == "opens"
    assert token_mark("</mm:think>") == token_mark("<|end_of_thought|>") == "closes"
    for token in (
        "<|assistant|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|channel|>",
        "<think_off>",
        "think",
        "<s>",
    ):
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
        "<div class=thinking>",
        "<details><summary>thinking",
        "```\n<div class=think>\n```\n",
        "`<think>",
        "<a b b b b b b b b b b b b ",
    ],
)
def test_reading_takes_time_linear_in_the_text(text):
    def seconds(count: int) -> float:
        started = time.process_time()
        split_reasoning(text * count)
        return time.process_time() - started

    assert seconds(30_000) < 20 * max(seconds(3_000), 0.02)
