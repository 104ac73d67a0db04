"""Thought and answer are taken apart, and each has its own room."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.run import reasoning
from eval.run.backends.backend import Completion
from eval.run.prompts import Prompt
from eval.run.reasoning import Reasoning, split
from eval.run.row_state import Expected, record_of
from ruler_dataset import RulerError


def asked(**changes: Any) -> Prompt:
    user = ({"role": "user", "content": "?"},)
    plain = {"text": None, "token_ids": None, "max_new_tokens": 30, "reasoning_tokens": 100}
    return Prompt(**{"config": "vt_4k", "index": 0, "messages": user, **plain, **changes})


@pytest.mark.parametrize(
    ("text", "opened", "expected"),
    [
        ("42", False, (None, "42", None)),
        ("<think>\nhm\n</think>\n\n42", False, ("hm", "42", True)),
        ("hm\n</think>\n\n42", True, ("hm", "42", True)),  # the template opened the thought
        ("hm</think>42", False, ("hm", "42", True)),
        ("<think>\n\n</think>\n\n42", False, ("", "42", True)),
        ("<think>\nhm", False, ("hm", "", False)),
        ("hm hm", True, ("hm hm", "", False)),
        ("[THINK]hm[/THINK]42", False, ("hm", "42", True)),
    ],
)
def test_split_takes_thought_and_answer_apart(
    text: str, opened: bool, expected: tuple[str | None, str, bool | None]
) -> None:
    assert split(text, opened) == expected


@given(st.text(alphabet="ab <>\n"), st.text(alphabet="ab\n"))
def test_no_part_of_a_thought_reaches_the_answer(thought: str, answer: str) -> None:
    assert split(f"<think>{thought}</think>{answer}")[1] == answer.strip("\n")


def test_the_budget_is_read_from_a_flag() -> None:
    assert Reasoning.parse("off") == Reasoning(False, 0)
    assert Reasoning.parse("on") == Reasoning(True, reasoning.ON_BUDGET)
    assert Reasoning.parse("512") == Reasoning(True, 512)
    for wrong in ("0", "-1", "yes", ""):
        with pytest.raises(RulerError, match="--thinking"):
            Reasoning.parse(wrong)


def test_the_room_for_a_thought_comes_on_top_of_the_answers() -> None:
    assert asked().max_tokens == 130


def test_a_thought_that_was_cut_leaves_no_answer_and_says_so() -> None:
    record = record_of(
        Completion(asked(), "<think>so many words", "length", 10, 130), Expected(10, 4096)
    )
    assert record["prediction"] == ""
    assert record["thinking"] == "so many words"
    assert record["finish_reason"] == "length"
    assert record["thinking_ended"] is False
    assert record["usage"]["thinking_tokens"] == 130


def test_a_servers_reasoning_parser_is_believed() -> None:
    answer = Completion(asked(), "42", "stop", 10, 20, reasoning="hm", reasoning_tokens=15)
    record = record_of(answer, Expected(10, 4096))
    assert (record["thinking"], record["prediction"]) == ("hm", "42")
    assert record["usage"]["thinking_tokens"] == 15
    assert record["thinking_ended"] is True
    cut = record_of(Completion(asked(), "", "length", 10, 130, reasoning="hm"), Expected(10, 4096))
    assert cut["thinking_ended"] is False


def test_a_short_thought_does_not_lengthen_the_answer(tiny_tokenizer: Any) -> None:
    text = "<think>hm</think>" + "One of the special magic numbers. " * 20
    record = record_of(
        Completion(asked(), text, "stop", 10, 120), Expected(10, 4096), tiny_tokenizer
    )
    assert 0 < reasoning.count(tiny_tokenizer, record["prediction"]) <= 30
    assert text.removeprefix("<think>hm</think>").startswith(record["prediction"])
    assert record["finish_reason"] == "length"
    assert record["usage"]["thinking_tokens"] == reasoning.count(tiny_tokenizer, "hm")


def test_a_model_that_thinks_unasked_is_seen(tiny_tokenizer: Any) -> None:
    prompt = asked(reasoning_tokens=0)
    record = record_of(Completion(prompt, "<think>Okay, the", "length", 10, 30), Expected(10), None)
    assert record["thinking_ended"] is False
    assert record["prediction"] == ""


def test_a_template_that_opens_the_thought_is_seen() -> None:
    prompt = asked(text="<|assistant|><think>\n")
    record = record_of(Completion(prompt, "hm</think>42", "stop", 10, 12), Expected(10))
    assert (record["thinking"], record["prediction"]) == ("hm", "42")


def test_tags_that_are_special_tokens_survive_decoding(tiny_tokenizer: Any) -> None:
    import copy

    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["[THINK]", "[/THINK]"]})
    ids = tokenizer("[THINK]hm[/THINK]42</s>", add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "hm42"
    assert reasoning.decode(tokenizer, ids) == "[THINK]hm[/THINK]42"
