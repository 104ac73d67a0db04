"""What a model sees in each mode, for the chat templates of four model families."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.prompts import DIRECT, Prompter, load_tokenizer
from ruler_eval.run.reasoning import Reasoning
from ruler_eval.run.row_state import over_context_window
from tests.nightly import mostly_nightly

INPUT = "A special magic number is hidden.\n…\nWhat is the special magic number for apt-fox?"
NIAH = {
    "index": 3,
    "input": INPUT,
    "answer_prefix": " The special magic number for apt-fox mentioned in the provided text is",
    "max_new_tokens": 128,
    "length": 200,
}
VT = {**NIAH, "answer_prefix": " Answer: 5 variables are assigned the value 12345, they are: "}
ONERULER = {**NIAH, "answer_prefix": ""}
SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
HEADS = {  # everything around the user's turn, as each family's documentation shows it
    "qwen2_5": (
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n",
        "<|im_end|>\n<|im_start|>assistant\n",
    ),
    "llama3_instruct": (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "mistral_nemo": ("<s>[INST]", "[/INST]"),
    "gemma3": ("<bos><start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n"),
}
BOS = {"qwen2_5": 0, "llama3_instruct": 1, "mistral_nemo": 1, "gemma3": 1}
families = pytest.mark.parametrize(
    "family", mostly_nightly(2, ["qwen2_5", "mistral_nemo", "llama3_instruct", "gemma3"])
)
pytestmark = pytest.mark.filterwarnings("ignore")
Load = Callable[[str], Any]


@pytest.mark.mirror
@families
@pytest.mark.parametrize("row", mostly_nightly(2, [NIAH, VT]))
def test_prefill_is_the_template_followed_by_the_prefix(family, row, mirror_tokenizer):
    before, after = HEADS[family]
    prompt = Prompter("prefill", mirror_tokenizer(family))("vt_4k", row)
    assert prompt.text == before + INPUT + after + row["answer_prefix"][1:]
    assert [m["role"] for m in prompt.messages] == ["user", "assistant"]


@pytest.mark.mirror
@families
def test_chat_is_the_template_with_an_open_turn_and_no_prefix(family, mirror_tokenizer):
    before, after = HEADS[family]
    prompt = Prompter("chat", mirror_tokenizer(family))("vt_4k", NIAH)
    assert prompt.text == before + INPUT + after
    assert prompt.messages == ({"role": "user", "content": INPUT},)


@pytest.mark.mirror
@families
def test_direct_adds_the_line_of_table_6_and_the_prefix_to_the_users_turn(family, mirror_tokenizer):
    before, after = HEADS[family]
    prompt = Prompter("chat", mirror_tokenizer(family), direct=True)("vt_4k", NIAH)
    assert prompt.text == before + INPUT + DIRECT + NIAH["answer_prefix"] + after


@pytest.mark.mirror
@families
def test_completion_is_input_and_prefix_raw(family, mirror_tokenizer):
    prompt = Prompter("completion", mirror_tokenizer(family))("vt_4k", VT)
    assert prompt.text == INPUT + VT["answer_prefix"]
    assert prompt.messages == ()


@pytest.mark.mirror
@families
@pytest.mark.parametrize("mode", ["prefill", "chat", "completion"])
def test_a_prompt_has_at_most_one_bos(family, mode, mirror_tokenizer):
    tokenizer = mirror_tokenizer(family)
    prompt = Prompter(mode, tokenizer)("vt_4k", NIAH)
    assert prompt.token_ids is not None
    bos = tokenizer.bos_token_id
    assert prompt.token_ids.count(bos) == BOS[family]
    if BOS[family]:
        assert prompt.token_ids[0] == bos


@pytest.mark.mirror
@families
def test_the_tokens_are_those_of_the_models_own_tokenizer_file(family, mirror_tokenizer):
    from tokenizers import Tokenizer

    tokenizer = mirror_tokenizer(family)
    raw = Tokenizer.from_file(str(Path(tokenizer.name_or_path) / "tokenizer.json"))
    row = {
        **VT,
        "input": "I'll  say:\n\n\t“naïve” 1234567 f81d4fae-7dec… 汉字 🙂 don't\r\n " + INPUT,
    }
    for mode in ("prefill", "chat", "completion"):
        prompt = Prompter(mode, tokenizer)("vt_4k", row)
        assert prompt.text is not None
        expected = raw.encode(prompt.text, add_special_tokens=mode == "completion").ids
        assert prompt.token_ids == expected


@pytest.mark.mirror
@families
def test_a_row_without_a_prefix_is_a_plain_chat_in_prefill_mode(family, mirror_tokenizer):
    tokenizer = mirror_tokenizer(family)
    prefilled = Prompter("prefill", tokenizer)("niah_single_8k_en", ONERULER)
    assert prefilled == Prompter("chat", tokenizer)("niah_single_8k_en", ONERULER)


def test_llama_31_templates_do_not_write_the_day_of_the_run(tiny_tokenizer):
    tokenizer = copy.copy(tiny_tokenizer)
    tokenizer.chat_template = (
        "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}"
        "{% endif %}Today Date: {{ date_string }}\n{{ messages[0]['content'] }}"
    )
    assert Prompter("chat", tokenizer).text(NIAH) == f"Today Date: 26 Jul 2024\n{INPUT}"


def test_a_template_is_told_whether_the_model_reasons(tiny_tokenizer):
    tokenizer = copy.copy(tiny_tokenizer)
    tokenizer.chat_template = (
        "{{ messages[0]['content'] }}{% if enable_thinking %}<think>\n{% endif %}"
    )
    assert Prompter("chat", tokenizer).text(NIAH) == INPUT
    thinking = Prompter("chat", tokenizer, reasoning=Reasoning(True, 100))
    assert thinking.text(NIAH) == INPUT + "<think>\n"
    assert thinking("vt_4k", NIAH).max_tokens == 228


@pytest.mark.parametrize(
    ("mode", "direct", "thinking", "remedy"),
    [
        ("prefill", False, Reasoning(True, 10), "--mode chat"),
        ("completion", False, Reasoning(True, 10), "--mode chat"),
        ("prefill", True, Reasoning(), "--mode chat"),
    ],
)
def test_options_that_exclude_each_other_are_refused(mode, direct, thinking, remedy):
    with pytest.raises(RulerError, match=remedy):
        Prompter(mode, None, direct, thinking)


def test_a_base_model_needs_completion_mode(tiny_tokenizer):
    tokenizer = copy.copy(tiny_tokenizer)
    tokenizer.chat_template = None
    with pytest.raises(RulerError, match="--mode completion"):
        Prompter("prefill", tokenizer)


def test_a_template_that_cannot_be_continued_is_refused(tiny_tokenizer):
    tokenizer = copy.copy(tiny_tokenizer)
    tokenizer.chat_template = "{{ messages[0]['content'] }}"
    with pytest.raises(RulerError, match="--mode chat"):
        Prompter("prefill", tokenizer)("vt_4k", NIAH)


def test_a_prompt_fits_up_to_the_last_token():
    prompt = Prompter("chat", reasoning=Reasoning(True, 100))("vt_4k", NIAH)
    for counted, limit, fits in (
        (1000, 1228, True),
        (1001, 1228, False),
        (None, 1228, True),
        (10**9, None, True),
    ):
        assert (over_context_window(replace(prompt, counted_tokens=counted), limit) is None) == fits


def test_a_missing_tokenizer_folder_is_one_sentence():
    with pytest.raises(RulerError, match="no tokenizer folder"):
        load_tokenizer("./not-here")
