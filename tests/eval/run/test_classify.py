"""What replies mean: a table of what real servers, gateways and batch files say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.prediction import finish_reason_of
from ruler_eval.run.classify import Answer, Failure, Reply, Request, classify
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.reply_json import (
    REASONING_NAMES,
    StreamedReply,
    error_codes,
    error_in,
    error_text,
    status_in,
)
from ruler_eval.run.reply_rules import RULES, end_of, rule_for

PROMPT = Prompt(
    config="vt_4k",
    index=0,
    messages=(),
    text="",
    token_ids=None,
    max_new_tokens=30,
    row_tokens=4000,
)
REQUEST = Request(prompt=PROMPT, fields=["top_p"])
TABLE = Path(__file__).with_name("server_replies.tsv")


def table() -> list[tuple[str, int | str, Any]]:
    """Return kind, status and body of each line."""
    lines = []
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        kind, status, _, body = line.split("\t")
        if body.startswith(("{", "[")):
            body = json.loads(body)
        lines.append((kind, int(status) if status.isdecimal() else status, body))
    return lines


@pytest.mark.parametrize(("kind", "status", "body"), table())
def test_a_reply_means_what_its_line_says(kind, status, body):
    failure = classify(Reply(status=status, body=body), REQUEST)
    assert isinstance(failure, Failure)
    assert failure.kind == kind, failure
    assert failure.sentence
    assert "\n" not in failure.sentence


def test_every_rule_is_the_meaning_of_a_reply():
    unused = set(RULES)
    for _, status, body in table():
        error = error_in(body) if status == 200 else body
        if error is not None:
            code = status_in(error, status) if status == 200 else status
            unused.discard(rule_for(code, f"{error_codes(error)} {error_text(error)}"))
    assert unused == set()


def test_a_crowded_server_is_asked_again_with_fewer_requests():
    """llama.cpp's slots share one cache: a row that fits alone does not fit beside others."""
    reply = Reply(status=500, body={"error": {"message": "Context size has been exceeded."}})
    crowded = classify(reply, replace(REQUEST, is_alone=False))
    alone = classify(reply, REQUEST)
    assert isinstance(crowded, Failure)
    assert isinstance(alone, Failure)
    assert (crowded.kind, crowded.crowded) == ("wait", True)
    assert (alone.kind, alone.crowded) == ("too_long", False)


def test_a_message_that_quotes_the_prompt_is_not_read_as_one_about_it():
    row = {"messages": "maximum context length, rate limit, insufficient_quota " * 9}
    body = {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs", "input": row}]}
    failure = classify(Reply(status=422, body=body), replace(REQUEST, fields=["seed"]))
    assert failure == Failure(
        kind="refused",
        sentence="HTTP 422: body.seed: Extra inputs",
        remedy="leave the field out with --omit seed",
        final=True,
    )


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("Use 'max_completion_tokens' instead of 'max_tokens'.", "--provider openai"),
        ("max_tokens is too large: 9000.", "lower --thinking"),
        ("temperature does not support 0.0 with this model.", "--omit temperature"),
        ("Unknown field: top_k", "--omit top_k"),
        ("'stream_options' is not allowed", "--stream"),
        ("unexpected continue_final_message", "--mode chat"),
        ("best_of: extra", "--engine-arg"),
        ("parameter.enable_thinking must be set to false for non-streaming calls", "--stream"),
        ("This model only support stream mode, please enable the stream parameter", "--stream"),
        ("Streaming is required for operations that take longer", "--stream"),
        ("This model does not support assistant message prefill.", "--mode chat"),
        ("Expected last role User or Tool for serving but got assistant", "--mode chat"),
        ("System role not supported", "--system"),
        ("Conversation roles must alternate user/assistant/user/assistant", "--system"),
        ("The model `base` does not support Chat Completions API", "--mode completion"),
        ("you must provide a chat template", "--mode completion"),
        ("prompt: Input should be a valid string", "--tokenizer"),
        ("Reasoning is mandatory for this endpoint and cannot be disabled.", "--thinking"),
        ("Thinking budget 0 is invalid. This model only works in thinking mode.", "--thinking"),
        ("This model does not support thinking", "leave --thinking out"),
        ("temperature may only be 1 when thinking is enabled", "--omit temperature"),
        ("bad request", "docs/servers.md"),
    ],
)
def test_a_refused_field_names_the_flag_that_helps(message, remedy):
    fields = ["max_tokens", "temperature", "top_k", "best_of", "stream_options"]
    fields += ["continue_final_message"]
    failure = classify(Reply(status=400, body={"error": message}), replace(REQUEST, fields=fields))
    assert isinstance(failure, Failure)
    assert failure.kind == "refused"
    assert remedy in failure.remedy


@pytest.mark.parametrize(
    "message",
    [
        "top_p: Input should be less than or equal to 1",
        "temperature: Input should be greater than 0",
        "max_tokens is too large: 9000. This model supports at most 4096 completion tokens",
        "max_tokens must be less than or equal to 4096",
        "`seed` exceeds the largest integer",
        "`stop` sequences are limited to four",
        "Requested max_tokens exceeds the model output limit",
        "The request has 9000 output tokens, but the limit is 4096",
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_value_is_no_row_that_is_too_long(message, status):
    failure = classify(Reply(status=status, body={"error": {"message": message}}), REQUEST)
    assert isinstance(failure, Failure)
    assert failure.kind == "refused"


def test_the_providers_reason_is_in_the_sentence():
    raw = json.dumps({"error": {"message": "Param incorrect", "code": "400"}})
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
    failure = classify(Reply(status=400, body={"error": error}), REQUEST)
    assert isinstance(failure, Failure)
    assert failure.sentence == "HTTP 400: Provider returned error: Param incorrect"


@pytest.mark.parametrize(
    ("body", "words"),
    [({"Message": "Bad input", "Code": "x"}, "Bad input"), ({"fault": {"why": 7}}, '{"why": 7}')],
)
def test_an_error_in_any_form_is_shown(body, words):
    failure = classify(Reply(status=400, body=body), REQUEST)
    assert isinstance(failure, Failure)
    assert words in failure.sentence


# ---- finish reasons ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "reasons"),
    [
        ("stop", ["stop", "eos", "eos_token", "EOS_TOKEN", "stop_sequence", "end_turn", "STOP"]),
        ("stop", ["FinishReason.STOP", "FINISH_REASON_STOP", "COMPLETE", "completed", "stop_str"]),
        ("length", ["length", "max_tokens", "MAX_TOKENS", "max_length", "FinishReason.MAX_TOKENS"]),
        ("length", ["max_new_tokens", "max_output_tokens", "token_limit", "repetition"]),
        ("stop", ["endoftext", "EOSToken", "stopped_eos", "EndOfSequence", "stopword", "eosFound"]),
        ("stop", ["normal", "natural", "</s>", "eog", "SUCCEEDED", "<|im_end|>", "stop_tokens"]),
        ("length", ["maxPredictedTokensReached", "truncated", "cut_off"]),
        ("too_long", ["contextLengthReached", "input_too_long"]),
        ("retry", ["userStopped", "canceled", "generation failed"]),
        ("refused", ["guardrail_intervened", "content_filtered", "IMAGE_SAFETY", "ERROR_TOXIC"]),
        ("too_long", ["model_length", "model_context_window_exceeded"]),
        ("refused", ["content_filter", "SAFETY", "RECITATION", "refusal", "sensitive"]),
        ("retry", ["error", "network_error", "abort", "tool_calls", "function_call", "time_limit"]),
        ("refused", ["blocked", "moderation", "flagged", "policy_violation"]),
        ("retry", ["NOT_FINISHED", "not_complete", "incomplete_generation_stop"]),
        ("unknown", ["FINISH_REASON_UNSPECIFIED", "gibberish"]),
        (None, [None, "", " ", "null", "None"]),
    ],
)
def test_a_finish_reason_means_the_same_in_every_spelling(end, reasons):
    assert {reason: end_of(reason) for reason in reasons} == dict.fromkeys(reasons, end)


def test_scoring_and_running_read_finish_reasons_alike():
    reasons = {"eos_token": "stop", "MAX_TOKENS": "length", "model_length": "does_not_fit"}
    assert {reason: finish_reason_of(reason) for reason in reasons} == reasons
    for reason in ("stop", "length", "does_not_fit", "error", "content_filter", "odd"):
        assert finish_reason_of(reason) == reason
    assert {finish_reason_of(reason) for reason in ("", "null", "None", None)} == {None}


def completion(finish_reason: Any = "stop", text: Any = "42", **usage: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"content": text}}
    return {"choices": [choice], "usage": usage or None}


def outcome(body: Any, counted: int | None = None, limit: int | None = None) -> Any:
    prompt = replace(PROMPT, counted_tokens=counted)
    return classify(Reply(status=200, body=body), Request(prompt=prompt, context_window=limit))


@pytest.mark.parametrize("reason", ["eos_token", "end_turn", "STOP", "", None])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_complete_answer_ends_however_its_end_is_called(reason, streamed):
    body: Any = completion(reason)
    if streamed:
        stream = StreamedReply()
        stream.add({"choices": [{"index": 0, "delta": {"content": "4"}, "finish_reason": ""}]})
        stream.add({"choices": [{"index": 0, "delta": {"content": "2"}, "finish_reason": reason}]})
        stream.add({"id": "x", "usage": {"prompt_tokens": 3990, "completion_tokens": 3}})
        stream.has_ended = True
        body = stream.whole()
    answer = outcome(body)
    assert isinstance(answer, Answer)
    assert (answer.text, answer.finish_reason) == ("42", "stop")
    assert answer.completion_tokens == (3 if streamed else None)


@pytest.mark.parametrize(
    ("body", "counted", "limit", "end"),
    [
        (completion(prompt_tokens=4000, completion_tokens=9), 4000, 8192, "stop"),
        (completion("length", prompt_tokens=4000, completion_tokens=30), 4000, 8192, "length"),
        # some servers count a token less, and gateways with another tokenizer
        (completion("length", prompt_tokens=4000, completion_tokens=29), 4000, 8192, "length"),
        (completion("length", prompt_tokens=4000, completion_tokens=24), 4000, 8192, "length"),
        # the window was full, without a word (vLLM's /v1/completions)
        (completion("length", prompt_tokens=4000, completion_tokens=12), 4000, None, "too_long"),
        (completion("length", prompt_tokens=4000, completion_tokens=24), 4000, None, "too_long"),
        (completion("length", prompt_tokens=4000, completion_tokens=12), 4000, 8192, "too_long"),
        (completion("length", prompt_tokens=4070, completion_tokens=26), 4070, 4096, "too_long"),
        # … and called a stop
        (completion(prompt_tokens=4080, completion_tokens=16), 4080, 4096, "too_long"),
        # the beginning of the prompt was dropped
        (completion(prompt_tokens=2048, completion_tokens=9), 4000, None, "truncated"),
        (completion(prompt_tokens=1024, completion_tokens=9), None, None, "truncated"),
        # another tokenizer than the file's
        (completion(prompt_tokens=3100, completion_tokens=9), None, None, "stop"),
        # nothing was generated (LMDeploy, for a prompt over its session length)
        (completion("length", "", prompt_tokens=4000, completion_tokens=0), 4000, None, "too_long"),
        (completion("length", "a", prompt_tokens=4000, completion_tokens=0), 4000, None, "length"),
        (
            completion("length", prompt_tokens=4000.0, completion_tokens=12.0),
            None,
            None,
            "too_long",
        ),
        # a server that reports no counts, or that it truncated
        (completion("length", "", prompt_tokens=0, completion_tokens=0), 4000, None, "length"),
        ({**completion(), "context_truncated": True}, None, None, "truncated"),
        # no usage at all
        (completion("length"), None, None, "length"),
        (completion(None, prompt_tokens=4000, completion_tokens=30), 4000, 8192, "length"),
        (completion(None), None, None, "stop"),
        (completion("content_filter"), None, None, "refused"),
        (completion("gibberish"), None, None, "retry"),
    ],
)
def test_the_end_of_an_answer_and_its_token_counts(body, counted, limit, end):
    result = outcome(body, counted, limit)
    assert (result.finish_reason if isinstance(result, Answer) else result.kind) == end


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": 3960}},
        {"prompt_tokens": 2500, "cache_read_input_tokens": 1500},
        {
            "input_tokens": 40,
            "output_tokens": 9,
            "cache_read_input_tokens": 3000,
            "cache_creation_input_tokens": 960,
        },
        {
            "prompt_tokens": 2100,
            "completion_tokens": 9,
            "total_tokens": 4009,
            "prompt_tokens_details": {"cached_tokens": 1900},
        },
        {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 3997},
        {"prompt_tokens": 3, "prompt_tokens_details": {"cache_write_tokens": 3997}},
        {"inputTokens": 3, "outputTokens": 9, "cacheWriteInputTokens": 3997},
        {"prompt_tokens": 40, "cached_prompt_tokens": 3960},
        {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 4009},
        {"promptTokens": 4000, "completionTokens": 9},
    ],
)
def test_cached_tokens_that_are_reported_apart_are_a_part_of_the_prompt(usage):
    answer = outcome(completion(**usage), counted=4000)
    assert isinstance(answer, Answer)
    assert answer.prompt_tokens == 4000


@pytest.mark.parametrize("total", [None, 4009, 4309])
@pytest.mark.parametrize("counted", [None, 3990, 4000, 4040])
@pytest.mark.parametrize("cached", [16, 51, 64, 200, 3990])
def test_cached_tokens_that_are_a_part_of_the_prompt_are_not_counted_twice(cached, counted, total):
    """llama.cpp finds the template's first tokens in its cache: 51 of 3,900."""
    usage = {"prompt_tokens": 4000, "prompt_tokens_details": {"cached_tokens": cached}}
    if total:  # 300 tokens of reasoning are counted apart in the second
        usage |= {"total_tokens": total, "completion_tokens": 9}
    if total == 4309:
        usage["completion_tokens_details"] = {"reasoning_tokens": 300}
    answer = outcome(completion(**usage), counted=counted)
    assert isinstance(answer, Answer)
    assert answer.prompt_tokens == 4000


def test_a_shortened_prompt_with_cached_tokens_is_still_shortened():
    usage = {"prompt_tokens": 1500, "prompt_tokens_details": {"cached_tokens": 900}}
    assert outcome(completion(**usage), counted=4000).kind == "truncated"


@pytest.mark.parametrize(("generated", "at_limit"), [(28, False), (29, True), (30, True)])
def test_an_answer_that_used_all_its_tokens_says_so_even_if_it_is_called_complete(
    generated, at_limit
):
    answer = outcome(completion("stop", prompt_tokens=4000, completion_tokens=generated), 4000)
    assert (answer.finish_reason, answer.at_limit) == ("stop", at_limit)
    answer = outcome(completion("length", prompt_tokens=4000, completion_tokens=30), 4000)
    assert (answer.finish_reason, answer.at_limit) == ("length", False)


def test_the_first_choice_is_the_one_with_the_number_0():
    body = completion()
    (choice,) = body["choices"]
    body["choices"] = [{**choice, "index": 1, "message": {"content": "no"}}, {**choice, "index": 0}]
    answer = outcome(body, 4000)
    assert isinstance(answer, Answer)
    assert answer.text != "no"


def test_an_answer_that_holds_the_whole_prompt_is_no_answer():
    """Every reference is in it, so that a wrong answer would score as a right one."""
    text = "A number is hidden in this text: 1234567. " * 9
    turns = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": text})
    for prompt in (replace(PROMPT, text=text), replace(PROMPT, messages=turns)):
        body = completion(text=f" {text}7654321")
        outcome = classify(Reply(status=200, body=body), Request(prompt=prompt))
        assert isinstance(outcome, Failure)
        assert outcome.kind == "fatal"
        assert "echo" in outcome.remedy
        body = completion(text="1234567")
        assert isinstance(classify(Reply(status=200, body=body), Request(prompt=prompt)), Answer)


@pytest.mark.parametrize(
    ("row_tokens", "generated", "is_answer"),
    [(90, 100, True), (90, 9, False), (90, None, True), (4000, None, False), (4000, 4100, False)],
)
def test_a_model_may_repeat_a_prompt_that_it_has_the_tokens_to_write(
    row_tokens, generated, is_answer
):
    """Without a haystack a prompt is short, and one such answer must not end the run."""
    text = "A number is hidden in this text: 1234567. " * 9
    prompt = replace(PROMPT, text=text, row_tokens=row_tokens, max_new_tokens=128)
    body = completion(text=f"{text}7654321", completion_tokens=generated)
    outcome = classify(Reply(status=200, body=body), Request(prompt=prompt))
    assert isinstance(outcome, Answer) == is_answer


@pytest.mark.parametrize("part", [slice(None), slice(4000, None), slice(9000, None)])
def test_a_part_of_the_prompt_in_an_answer_is_found_with_other_white_space_too(part):
    """More text than its tokens can hold, and from the prompt: the model has not written it."""
    text = "\n".join(f"Line {number}: the number  is {number * 7919}." for number in range(400))
    prompt = replace(PROMPT, text=text, row_tokens=4000, max_new_tokens=128)
    request = Request(prompt=prompt)
    body = completion(text=" ".join(text[part].split()) + " It is 7654321.")
    outcome = classify(Reply(status=200, body=body), request)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, "echo" in outcome.remedy) == ("fatal", True)
    body = completion(text=text[5000:5500])  # a model may go on with the text
    assert isinstance(classify(Reply(status=200, body=body), request), Answer)


def test_the_end_of_a_prompt_of_token_ids_may_be_repeated_but_not_the_whole_prompt():
    text = "".join(f"Line {number}: the number is {number * 7919}. " for number in range(400))
    end = text[-200:].strip()
    prompt = replace(PROMPT, text=end, token_ids=[1] * 4000, max_new_tokens=128)
    for answer, is_answer in ((f"{end} It is 42.", True), (f"{text} It is 42.", False)):
        outcome = classify(Reply(status=200, body=completion(text=answer)), Request(prompt=prompt))
        assert isinstance(outcome, Answer) == is_answer


def test_a_page_for_browsers_says_what_it_is():
    page = "<!doctype html><title>Just a moment...</title>"
    for status in (200, 403, 503):
        assert "meant for programs" in classify(Reply(status=status, body=page), REQUEST).remedy


# ---- the forms of a completion -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        ("42", "42", None),
        (None, "", None),
        ([], "", None),
        ([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}], "42", None),
        ([{"type": "output_text", "text": "42", "annotations": []}], "42", None),
        ([{"type": "whatever", "content": "42"}], "42", None),
        (["4", "2"], "42", None),
        ([{"type": "reference", "ids": [1]}, {"type": "text", "text": "42"}], "42", None),
        ([{"type": "image_url", "image_url": {"url": "x"}}], "", None),
        ([{"type": "text", "text": {"value": "42", "annotations": []}}], "42", None),
        ({"type": "text", "text": "42"}, "42", None),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "well"}]}, "42"],
            "42",
            "well",
        ),
        ([{"type": "reasoning", "text": "well"}, {"type": "text", "text": "42"}], "42", "well"),
        ([{"text": "well", "thought": True}, {"text": "42"}], "42", "well"),
        ([{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "42"}], "42", None),
        (
            [{"type": "reasoning", "reasoning": "well"}, {"type": "text", "text": "42"}],
            "42",
            "well",
        ),
    ],
)
def test_the_content_of_a_message_is_a_text_or_parts_of_any_type(content, text, reasoning):
    answer = outcome(completion(text=content))
    assert (answer.text, answer.reasoning) == (text, reasoning)


@pytest.mark.parametrize("content", [[{"type": "text", "text": 42}], {"answer": "42"}, False, 42])
def test_a_content_that_cannot_be_read_is_no_empty_answer(content):
    assert outcome(completion(text=content)).kind == "retry"


@pytest.mark.parametrize(
    "usage",
    [
        # xAI: the total and the details have them
        {"completion_tokens": 2, "total_tokens": 4030, "reasoning": 28},
        # without a total
        {"completion_tokens": 2, "reasoning": 28},
        # Gemini: only the total has them
        {"completion_tokens": 2, "total_tokens": 4030},
        {"completion_tokens": 0, "total_tokens": 4030},
    ],
)
def test_reasoning_that_is_counted_apart_used_up_the_tokens_of_the_answer(usage):
    """A server that has answered with all its tokens has not shortened the answer."""
    details = {"reasoning_tokens": usage.get("reasoning", 0)}
    body = completion("length", prompt_tokens=4000, completion_tokens_details=details, **usage)
    answer = outcome(body, counted=4000, limit=8192)
    assert isinstance(answer, Answer)
    assert (answer.finish_reason, answer.completion_tokens) == ("length", 30)


def test_a_total_that_adds_up_otherwise_changes_no_count():
    usage = {"prompt_tokens": 4000, "completion_tokens": 9}
    assert outcome(completion(**usage, total_tokens=4009)).completion_tokens == 9
    assert outcome(completion(**usage, total_tokens=9000)).completion_tokens == 9


def test_separated_reasoning_is_read_from_every_field():
    for name in REASONING_NAMES:
        value: Any = [{"type": "reasoning.text", "text": "hm"}] if "details" in name else "hm"
        value = {"content": "hm"} if name == "thinking" else value
        body = completion(text=None)
        body["choices"][0]["message"][name] = value
        answer = outcome(body)
        assert (answer.text, answer.reasoning) == ("", "hm")


MESSAGE = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "well"}, {"type": "text", "text": "42"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 4000, "output_tokens": 9},
}
"""What Anthropic's own API answers."""


@pytest.mark.parametrize(
    "body",
    [
        MESSAGE,
        {"code": 200, "message": "success", "data": completion()},
        {"result": completion()},
        {"output": {"choices": completion()["choices"]}, "usage": {"input_tokens": 4000}},
        {"error": {"code": 0, "message": "ok"}, **completion()},
        {"error": {"code": None, "message": ""}, **completion()},
        {"choices": [{"content": "42", "finish_reason": "stop"}]},
        {"choices": {"message": {"content": "42"}, "finish_reason": "stop"}},
        {"choices": [{"text": "42", "message": {"content": None}, "finish_reason": "stop"}]},
        {"error": "none", **completion()},
        [completion()],
        [{"generated_text": "42"}],
    ],
)
def test_an_answer_in_the_form_of_another_api_is_read(body):
    answer = outcome(body)
    assert isinstance(answer, Answer)
    assert (answer.text, answer.finish_reason) == ("42", "stop")


GEMINI = {"content": {"parts": [{"text": "well", "thought": True}, {"text": "42"}]}}
RESPONSE = {
    "object": "response",
    "status": "completed",
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "well"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "42"}]},
    ],
    "usage": {
        "input_tokens": 4000,
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 5},
    },
}


@pytest.mark.parametrize(
    "body",
    [
        MESSAGE,
        RESPONSE,
        {
            "candidates": [{**GEMINI, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": 4000,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 5,
                "totalTokenCount": 4009,
            },
        },
        {
            "output": {
                "message": {
                    "content": [
                        {"reasoningContent": {"reasoningText": {"text": "well"}}},
                        {"text": "42"},
                    ]
                }
            },
            "stopReason": "end_turn",
            "usage": {"inputTokens": 4000, "outputTokens": 9, "totalTokens": 4009},
        },
        {
            "message": {"content": "42", "thinking": "well"},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 4000,
            "eval_count": 9,
        },
        {
            "message": {
                "content": [
                    {"type": "thinking", "thinking": "well"},
                    {"type": "text", "text": "42"},
                ]
            },
            "finish_reason": "COMPLETE",
            "usage": {
                "billed_units": {"input_tokens": 3000},
                "tokens": {"input_tokens": 4000, "output_tokens": 9},
            },
        },
    ],
    ids=["Anthropic", "Responses", "Gemini", "Bedrock", "Ollama", "Cohere"],
)
def test_another_apis_answer_has_its_reasoning_and_its_counts(body):
    answer = outcome(body, counted=4000)
    assert isinstance(answer, Answer)
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("42", "well", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (4000, 9)


@pytest.mark.parametrize(
    ("body", "end"),
    [
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "length"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "refused"),
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "refused"),
        ({**RESPONSE, "incomplete_details": {"reason": "max_output_tokens"}}, "too_long"),
        ({**RESPONSE, "status": "failed", "error": {"message": "internal"}}, "retry"),
        (
            {"message": {"content": "4"}, "done_reason": "stop", "prompt_eval_count": 2048},
            "truncated",
        ),
        ({**completion(), "usageMetadata": {"promptTokenCount": 4000}}, "stop"),
        (completion(prompt_tokens="2048", completion_tokens="9"), "truncated"),
        (
            {**completion(), "base_resp": {"status_code": 1027, "status_msg": "new_sensitive"}},
            "refused",
        ),
        ({**completion(), "base_resp": {"status_code": 0, "status_msg": ""}}, "stop"),
        ({**completion(), "usage": []}, "stop"),
    ],
)
def test_the_end_of_another_apis_answer(body, end):
    result = outcome(body, counted=4000)
    assert (result.finish_reason if isinstance(result, Answer) else result.kind) == end


@pytest.mark.parametrize(
    ("choice", "end"),
    [
        ({"finish_reason": "stop", "native_finish_reason": "MAX_TOKENS"}, "length"),
        ({"finish_reason": "stop", "native_finish_reason": "refusal"}, "refused"),
        ({"finish_reason": "stop", "native_finish_reason": "completed"}, "stop"),
        ({"finish_reason": None, "finish_details": {"type": "max_tokens"}}, "length"),
        ({"finish_reason": None, "stop_reason": "max_tokens"}, "length"),
        ({"finish_reason": None, "stop_reason": 128009}, "stop"),
    ],
)
def test_the_end_of_an_answer_is_read_wherever_it_stands(choice, end):
    body = {"choices": [{"message": {"content": "42"}, **choice}]}
    for result in (outcome(body), streamed(body) if choice["finish_reason"] else outcome(body)):
        assert (result.finish_reason if isinstance(result, Answer) else result.kind) == end


def test_an_error_beside_an_answer_is_an_error():
    assert outcome({"error": {"code": 429, "message": "busy"}, **completion()}).kind == "wait"


def test_a_choice_without_a_message_is_an_empty_answer_that_ended():
    body = {"choices": [{"index": 0, "finish_reason": "length"}]}
    answer = outcome(body)
    assert (answer.text, answer.finish_reason) == ("", "length")
    assert outcome({"choices": [{"index": 0, "finish_reason": "SAFETY"}]}).kind == "refused"


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"choices": [5]},
        {"choices": [{}]},
        {"choices": [{"message": "x"}]},
        {"choices": [{"message": {"role": "assistant", "content": ""}}]},
        {"choices": [{"text": "", "finish_reason": None}]},
        "nonsense",
    ],
)
def test_anything_else_is_not_a_completion_and_is_asked_for_again(body):
    assert outcome(body).kind == "retry"


@pytest.mark.parametrize("count", [True, -1, float("nan"), "nine"])
def test_an_invalid_count_is_unknown(count):
    answer = outcome(completion(prompt_tokens=count, completion_tokens=count))
    assert (answer.prompt_tokens, answer.completion_tokens) == (None, None)


# ---- streams -------------------------------------------------------------------------------------


def streamed(*pieces: Any) -> Any:
    stream = StreamedReply()
    for piece in pieces:
        stream.add(piece)
    return outcome(stream.whole())


def piece(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": finish_reason, **fields}], "usage": None}


USAGE = {"prompt_tokens": 3900, "completion_tokens": 9}


@pytest.mark.parametrize("last", [{"choices": []}, {"choices": None}, {}])
def test_a_streamed_answer_equals_a_whole_one(last):
    answer = streamed(
        piece(delta={"role": "assistant", "content": ""}),
        piece(delta={"reasoning_content": "we"}),
        piece(delta={"reasoning": "ll"}),
        piece(delta={"content": "an "}),
        {"choices": [{"delta": {"content": "another"}, "index": 1}]},
        piece("stop", delta={"content": [{"type": "text", "text": "answer"}]}),
        {**last, "usage": USAGE},
    )
    body = completion(text="an answer", **USAGE)
    body["choices"][0]["message"]["reasoning"] = "well"
    assert answer == outcome(body)


@pytest.mark.parametrize("last", [None, "The answer is 1234567."])
def test_a_stream_whose_pieces_repeat_all_before_them_is_read_once(last):
    texts = ["The", "The answer", "The answer is 1234", "The answer is 1234567."]
    pieces = [piece(delta={"reasoning_content": text, "content": text}) for text in texts]
    answer = streamed(*pieces, piece("stop", delta={"content": last}))
    assert (answer.text, answer.reasoning) == (texts[-1], texts[-1])


@pytest.mark.parametrize("texts", [["1", "1", "1"], ["1", "12"], ["a", "ab", "abc", "d"]])
def test_an_answer_that_repeats_itself_stays_as_it_is(texts):
    answer = streamed(*(piece(delta={"content": text}) for text in texts), piece("stop", delta={}))
    assert answer.text == "".join(texts)


CALL = {"function": {"name": "answer", "arguments": '{"number": 42}'}}


@pytest.mark.parametrize("reason", ["stop", "tool_calls", None])
@pytest.mark.parametrize("fields", [{"tool_calls": [CALL]}, {"function_call": CALL["function"]}])
def test_a_call_of_a_tool_is_no_empty_answer(reason, fields):
    body = completion(reason, text=None)
    body["choices"][0]["message"] |= fields
    assert outcome(body).kind == "retry"
    assert streamed(piece(delta=fields), piece(reason or "stop", delta={})).kind == "retry"


def test_a_stream_that_repeats_the_whole_answer_at_its_end_is_read_once():
    last = {"index": 0, "finish_reason": "stop", "message": {"content": "an answer"}}
    pieces = [piece(delta={"content": "an "}), piece(delta={"content": "answer"})]
    assert streamed(*pieces, {"choices": [last]}).text == "an answer"
    pieces = [piece(message={"content": "an "}), piece("stop", message={"content": "answer"})]
    assert streamed(*pieces).text == "an answer"


def test_the_counts_of_a_stream_may_be_in_groqs_field():
    last = {**piece("length", delta={}), "x_groq": {"usage": {**USAGE, "completion_tokens": 12}}}
    assert streamed(piece(delta={"content": "4"}), last).kind == "too_long"


def test_the_last_counts_of_a_stream_may_be_zero():
    pieces = [{**piece(delta={"content": "4"}), "usage": {"prompt_tokens": 1024}}]
    pieces += [{**piece("stop", delta={}), "usage": {"prompt_tokens": 0, "completion_tokens": 0}}]
    assert streamed(*pieces).kind == "truncated"


ANTHROPICS_EVENTS = [
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 4000}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
    {"type": "ping"},
    {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "well"}},
    {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "x"}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "4"}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "2"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]


@pytest.mark.parametrize(
    "pieces",
    [
        ANTHROPICS_EVENTS,
        [
            {"candidates": [{"content": {"parts": [{"text": "well", "thought": True}]}}]},
            {"candidates": [{"content": {"parts": [{"text": "4"}]}}]},
            {
                "candidates": [{"content": {"parts": [{"text": "2"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 4000, "candidatesTokenCount": 9},
            },
        ],
        [
            {"type": "response.created", "response": {"object": "response", "output": []}},
            {"type": "response.output_text.delta", "delta": "42"},
            {"type": "response.completed", "response": RESPONSE},
        ],
    ],
    ids=["Anthropic", "Gemini", "Responses"],
)
def test_the_stream_of_another_api_is_read(pieces):
    answer = streamed(*pieces)
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("42", "well", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (4000, 9)


def test_an_error_in_the_stream_of_another_api_is_an_error():
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert streamed(*ANTHROPICS_EVENTS[:6], overloaded).kind == "wait"
    assert streamed(*ANTHROPICS_EVENTS[:7]).kind == "retry"
    error = {"code": "rate_limit_exceeded", "message": "Rate limit"}
    failed = {"object": "response", "status": "failed", "output": [], "error": error}
    assert streamed({"type": "response.failed", "response": failed}).kind == "wait"


def test_a_streamed_refusal_is_an_answer():
    assert streamed(piece(delta={"refusal": "No."}), piece("stop", delta={})).text == "No."


def test_a_streamed_raw_completion_is_read():
    assert streamed(piece(text="4"), piece(text="2"), piece("length", text="")).text == "42"
    assert streamed(completion()).text == "42"


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ([], "retry"),
        ([piece(text="4")], "retry"),
        ([{"choices": [5]}], "retry"),
        ([piece("stop", delta={"content": 5})], "retry"),
        ([piece(text="4"), {"code": 429, "msg": "busy"}], "wait"),
        ([piece(text="4"), {"error": {"message": "Overloaded", "code": 529}}], "wait"),
        ([piece(text="4"), {"error": "context length exceeded"}], "too_long"),
    ],
)
def test_a_stream_that_breaks_off_or_reports_an_error_is_no_answer(pieces, kind):
    assert streamed(*pieces).kind == kind


@pytest.mark.parametrize("pieces", [[], [{"id": "x"}], [piece(text="4"), "Internal Server Error"]])
def test_a_stream_that_ends_without_an_answer_is_no_empty_or_half_answer(pieces):
    stream = StreamedReply()
    for part in pieces:
        stream.add(part)
    stream.has_ended = True
    assert outcome(stream.whole()).kind == "retry"
