"""Replies are read as completions, or rejected with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from ruler_eval.run.backends.server.replies import (
    Malformed,
    StreamedReply,
    error_text,
    read_completion,
    served_models,
    window_of_model,
)
from ruler_eval.run.prompts import Prompt

PROMPT = Prompt(config="vt_4k", index=0, messages=(), text="", token_ids=None, max_new_tokens=9)
USAGE = {
    "prompt_tokens": 900,
    "completion_tokens": 9,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def chat(content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": USAGE}


def chunk(finish_reason: str | None = None, **piece: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": finish_reason, **piece}], "usage": None}


def streamed(*chunks: Any) -> Any:
    reply = StreamedReply()
    for item in chunks:
        reply.add(item)
    return read_completion(PROMPT, reply.whole())


def test_a_chat_completion_is_read():
    completion = read_completion(PROMPT, chat("an answer", reasoning_content="well"))
    assert (completion.text, completion.reasoning, completion.finish_reason) == (
        "an answer",
        "well",
        "stop",
    )
    assert (completion.prompt_tokens, completion.completion_tokens) == (900, 9)
    assert (completion.cached_tokens, completion.reasoning_tokens) == (8, 2)


def test_a_raw_completion_without_usage_is_read():
    completion = read_completion(PROMPT, {"choices": [{"text": "42", "finish_reason": None}]})
    assert (completion.text, completion.finish_reason, completion.prompt_tokens) == (
        "42",
        None,
        None,
    )


@pytest.mark.parametrize("count", [True, -1, float("nan"), "9"])
def test_an_invalid_count_is_unknown(count):
    reply = {**chat("x"), "usage": {"prompt_tokens": count, "completion_tokens": count}}
    completion = read_completion(PROMPT, reply)
    assert (completion.prompt_tokens, completion.completion_tokens) == (None, None)


@pytest.mark.parametrize(
    "reply",
    [
        [],
        {},
        {"choices": []},
        {"choices": [5]},
        {"choices": [{}]},
        {"choices": [{"text": 5}]},
        {"choices": [{"message": "an answer"}]},
        chat(5),
        chat([{"type": "output_text", "text": "42"}]),
        chat(["4", "2"]),
    ],
)
def test_a_reply_that_is_not_a_completion_is_malformed(reply):
    with pytest.raises(Malformed):
        read_completion(PROMPT, reply)


@pytest.mark.parametrize(
    ("parts", "text", "reasoning"),
    [
        ([], "", None),
        ([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}], "42", None),
        ([{"type": "reference", "ids": [1]}, {"type": "text", "text": "42"}], "42", None),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "well"}]},
                {"type": "text", "text": "42"},
            ],
            "42",
            "well",
        ),
    ],
)
def test_mistrals_parts_are_thinking_and_text(parts, text, reasoning):
    completion = read_completion(PROMPT, chat(parts))
    assert (completion.text, completion.reasoning) == (text, reasoning)


def test_a_streamed_chat_completion_equals_a_whole_one():
    completion = streamed(
        chunk(delta={"role": "assistant", "content": ""}),
        chunk(delta={"reasoning_content": "we"}),
        chunk(delta={"reasoning": "ll"}),
        chunk(delta={"content": "an "}),
        chunk(delta={"content": "another"}, index=1),
        chunk("stop", delta={"content": "answer"}),
        {"choices": [], "usage": USAGE},
    )
    assert completion == read_completion(PROMPT, chat("an answer", reasoning_content="well"))


def test_a_streamed_raw_completion_is_read():
    assert streamed(chunk(text="4"), chunk(text="2"), chunk("length", text="")).text == "42"
    assert streamed(chat("42")).text == "42"


@pytest.mark.parametrize(
    "chunks",
    [[], [chunk(text="4")], [{}], [5], [{"choices": [5]}], [chunk("stop", delta={"content": 5})]],
)
def test_incomplete_or_invalid_chunks_are_malformed(chunks):
    with pytest.raises(Malformed):
        streamed(*chunks)


@pytest.mark.parametrize("page", [None, {"data": 5}, {"data": [5, {}, {"id": 5}]}])
def test_a_malformed_list_of_models_is_empty(page):
    assert served_models(page) == {}


def test_a_context_length_is_read_from_vllms_and_llama_cpps_field():
    assert window_of_model({"max_model_len": 9, "meta": {"n_ctx": 7}}) == 9
    assert window_of_model({"max_model_len": None, "meta": {"n_ctx": 7}}) == 7
    assert [window_of_model(odd) for odd in ({"meta": {"n_ctx": "7"}}, {"meta": None}, None)] == [
        None
    ] * 3


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (None, None),
        ({"error": {"message": "bad\n thing", "code": 400}}, "bad thing"),
        ({"object": "error", "message": "bad", "code": 400}, "bad"),
        ({"error": "bad"}, "bad"),
        ("bad", "bad"),
        ({"detail": [{"msg": "bad"}]}, "{'detail': [{'msg': 'bad'}]}"),
        ({"error": ""}, "{'error': ''}"),
    ],
)
def test_an_error_is_read_in_any_form(error, text):
    assert error_text(error) == text
