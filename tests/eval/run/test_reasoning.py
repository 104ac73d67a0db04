"""A record has reasoning and answer apart, and each has its own token limit."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run import reasoning
from ruler_eval.run.backend import Completion
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.reasoning import Reasoning
from ruler_eval.run.row_state import record_of
from ruler_score.ruler_score import score_row


def asked(**changes: Any) -> Prompt:
    user = ({"role": "user", "content": "?"},)
    plain = {"text": None, "token_ids": None, "max_new_tokens": 30, "reasoning_tokens": 100}
    plain["counted_tokens"] = 10
    return Prompt(**{"config": "vt_4k", "index": 0, "messages": user, **plain, **changes})


def test_the_budget_is_read_from_a_flag():
    assert Reasoning.parse("off") == Reasoning(False, 0)
    assert Reasoning.parse("on") == Reasoning(True, reasoning.ON_BUDGET)
    assert Reasoning.parse("512") == Reasoning(True, 512, limited=True)
    for wrong in ("0", "-1", "yes", ""):
        with pytest.raises(RulerError, match="--thinking"):
            Reasoning.parse(wrong)


def test_truncated_reasoning_leaves_no_answer():
    record = record_of(
        Completion(
            asked(), "<think>so many words", "length", prompt_tokens=10, completion_tokens=130
        ),
    )
    assert record["prediction"] == ""
    assert record["thinking"] == "so many words"
    assert record["finish_reason"] == "length"
    assert record["thinking_ended"] is False
    assert record["usage"]["thinking_tokens"] == 130


def test_the_reasoning_of_a_servers_parser_is_used():
    answer = Completion(
        asked(),
        "42",
        "stop",
        prompt_tokens=10,
        completion_tokens=20,
        reasoning="hm",
        reasoning_tokens=15,
    )
    record = record_of(answer)
    assert (record["thinking"], record["prediction"]) == ("hm", "42")
    assert record["usage"]["thinking_tokens"] == 15
    assert record["thinking_ended"] is True
    cut = record_of(
        Completion(asked(), "", "length", prompt_tokens=10, completion_tokens=130, reasoning="hm"),
    )
    assert cut["thinking_ended"] is False


class MarkedTokens:
    """A tokenizer that knows the marks of reasoning, and nothing else."""

    def __init__(self) -> None:
        marks = {7: "<think>", 8: "</think>", 9: "[/THINK]"}
        self.added_tokens_decoder = {i: SimpleNamespace(content=m) for i, m in marks.items()}


def test_the_tokens_of_reasoning_are_those_before_its_end_token():
    tokenizer = MarkedTokens()
    assert reasoning.reasoning_length(tokenizer, [7, 1, 2, 8, 3, 8]) == 3
    assert reasoning.reasoning_length(tokenizer, [1, 9]) == 1
    assert reasoning.reasoning_length(tokenizer, [7, 1, 2]) is None


def test_reasoning_whose_opening_only_the_server_saw_is_never_the_answer():
    text = "The number could be 1234567. Let me look again. " * 20
    record = record_of(Completion(asked(), text, "length", prompt_tokens=10, completion_tokens=130))
    assert (record["prediction"], record["thinking"]) == ("", text)
    assert (record["finish_reason"], record["thinking_ended"]) == ("length", False)


@pytest.mark.parametrize(
    "changes",
    [
        {"finish_reason": "stop", "completion_tokens": 40},  # it did not need to reason
        {"reasoning_tokens": 90},  # the provider keeps the reasoning to itself
        {"reasoning": "hm"},  # the server's parser has separated it
        {"prompt": asked(reasoning_tokens=0), "completion_tokens": 30},
    ],
)
def test_other_texts_without_marks_are_answers(changes):
    counts = {"prompt_tokens": 10, "completion_tokens": 130, "finish_reason": "length"}
    completion = Completion(**{"prompt": asked(), "text": "It is 1234567.", **counts, **changes})
    assert record_of(completion)["prediction"] == "It is 1234567."


def test_short_reasoning_does_not_lengthen_the_answer(tiny_tokenizer):
    text = "<think>hm</think>" + "One of the special magic numbers. " * 20
    record = record_of(
        Completion(asked(), text, "stop", prompt_tokens=10, completion_tokens=120),
        tiny_tokenizer,
    )
    assert 0 < reasoning.count_tokens(tiny_tokenizer, record["prediction"]) <= 30
    assert text.removeprefix("<think>hm</think>").startswith(record["prediction"])
    assert record["finish_reason"] == "length"
    assert record["usage"]["thinking_tokens"] == reasoning.count_tokens(tiny_tokenizer, "hm")


def test_half_a_surrogate_pair_can_be_counted_and_truncated(tiny_tokenizer):
    text = "\ud800hm</think>\ud800" + "42 " * 100
    completion = Completion(asked(), text, "stop", prompt_tokens=10, completion_tokens=120)
    record = record_of(completion, tiny_tokenizer)
    assert record["thinking"] == "?hm"
    assert record["prediction"].startswith("?42 42")


def test_a_template_that_opens_the_reasoning_is_noticed():
    prompt = asked(text="<|assistant|><think>\n")
    record = record_of(
        Completion(prompt, "hm</think>42", "stop", prompt_tokens=10, completion_tokens=12)
    )
    assert (record["thinking"], record["prediction"]) == ("hm", "42")


def test_tags_that_are_special_tokens_survive_decoding(tiny_tokenizer):
    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["[THINK]", "[/THINK]"]})
    ids = tokenizer("[THINK]hm[/THINK]42</s>", add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "hm42"
    assert reasoning.decode(tokenizer, ids) == "[THINK]hm[/THINK]42"


@pytest.mark.parametrize("tag", ["think", "thought", "seed:think", "mm:think", "longcat_think"])
def test_long_reasoning_of_any_tag_leaves_the_answer_whole(tiny_tokenizer, tag):
    text = f"<{tag}>{'word ' * 500}</{tag}>\nIt is 1234567."
    prompt = asked(reasoning_tokens=5000)
    record = record_of(
        Completion(prompt, text, "stop", prompt_tokens=10, completion_tokens=900),
        tiny_tokenizer,
    )
    assert (record["prediction"], record["thinking_ended"]) == ("It is 1234567.", True)
    assert record["finish_reason"] == "stop"
    assert score_row(record["prediction"], ["1234567"], "niah_single", "en").score == 1


def test_reasoning_that_a_servers_parser_missed_is_removed():
    completion = Completion(
        asked(), "<think>b</think>42", "stop", prompt_tokens=10, completion_tokens=20, reasoning="a"
    )
    record = record_of(completion)
    assert (record["thinking"], record["prediction"]) == ("a\nb", "42")


def test_the_channels_of_gpt_oss_are_decoded(tiny_tokenizer):
    tokenizer = copy.deepcopy(tiny_tokenizer)
    marks = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>"]
    text = (
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>42"
        "<|return|>"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|end|>"]})
    ids = tokenizer("42<|end|>", add_special_tokens=False)["input_ids"]
    assert reasoning.decode(tokenizer, ids) == "42"  # the end of a turn to other models
    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    record = record_of(Completion(asked(), reasoning.decode(tokenizer, ids), "stop"))
    assert (record["thinking"], record["prediction"]) == ("hm", "42")
