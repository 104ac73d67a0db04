"""The record of a row: its answer and its reasoning, or why it has none.

A row ends in one of four states: stop, length, does_not_fit or error. What a server's reply means
is decided in classify.py.
"""

from __future__ import annotations

from typing import Any

from ruler_eval.run import reasoning
from ruler_eval.run.backend import Completion
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import FinishReason, Record, Usage
from ruler_eval.run.secrets import hide_keys
from ruler_score.split_reasoning import opened_reasoning, split_reasoning

MAX_ERROR_CHARACTERS = 1000
"""Characters of an error that are stored in a record."""


def over_context_window(prompt: Prompt, context_window: int | None) -> Record | None:
    """Return the record of a row that is not sent because it does not fit with its answer.

    None for a row that fits. If the context window or the number of tokens is unknown, the row
    is sent.
    """
    prompt_tokens = prompt.counted_tokens
    if prompt_tokens is None or context_window is None:
        return None
    if prompt_tokens + prompt.max_tokens <= context_window:
        return None
    generated = f"{prompt.max_new_tokens:,} for the answer"
    if prompt.reasoning_tokens:
        generated += f" + {prompt.reasoning_tokens:,} for the reasoning"
    needed = f"{prompt_tokens:,} prompt tokens + {generated}"
    why = f"{needed} are over the context window of {context_window:,}"
    record = _record(prompt, "does_not_fit", usage=_usage(prompt_tokens), error=why)
    record["failure"] = "too_long"
    return record


def record_of(completion: Completion, tokenizer: Any = None) -> Record:
    """Return the record of a completion: its reasoning, its answer, and the row's state."""
    prompt = completion.prompt
    usage = None
    if completion.prompt_tokens is not None and completion.completion_tokens is not None:
        usage = _usage(
            completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens
        )
    if completion.error is not None:
        fits = completion.failure not in ("too_long", "truncated")
        record = _record(
            prompt, "error" if fits else "does_not_fit", usage=usage, error=completion.error
        )
        record["failure"] = completion.failure
    else:
        state: FinishReason = completion.finish_reason
        before, answer, ended = split(completion, state)
        if usage is not None and (before or completion.reasoning_tokens):
            usage["thinking_tokens"] = _reasoning_tokens(
                completion, before or "", answer, tokenizer
            )
        if prompt.reasoning_tokens and tokenizer is not None:
            answer, truncated = reasoning.truncate(tokenizer, answer, prompt.max_new_tokens)
            state = "length" if truncated else state
        record = _record(prompt, state, answer, before, usage, thinking_ended=ended)
        if completion.at_limit and state == "stop":
            record["at_limit"] = True
    counted, read = prompt.counted_tokens, completion.prompt_tokens
    if counted is not None and read is not None and counted != read:
        record["counted_tokens"] = counted
    if completion.in_flight is not None and completion.tries is not None:
        record["in_flight"], record["tries"] = completion.in_flight, completion.tries
    if completion.seconds is not None:
        record["seconds"] = round(completion.seconds, 3)
    return record


def split(completion: Completion, state: FinishReason) -> tuple[str | None, str, bool | None]:
    """Return the reasoning, the answer, and whether the reasoning ended (None: no reasoning).

    The text is searched for reasoning even if a server's parser has already separated some.
    """
    prompt = completion.prompt
    opened = ""
    if completion.reasoning is None and prompt.text is not None and prompt.messages:
        opened = opened_reasoning(prompt.text)
    parts = split_reasoning(_encodable(completion.text), opened)
    if parts.state == "none" and _is_unmarked(completion, state):
        return parts.answer, "", False
    if completion.reasoning is None:
        ended = None if parts.state == "none" else parts.state == "ended"
        return parts.reasoning, parts.answer, ended
    before = _encodable(completion.reasoning)
    used_all = state == "length" or completion.at_limit
    if used_all and parts.answer.strip() == before.strip():
        return before, "", False  # reasoning that did not end, which a gateway copied to the answer
    if parts.reasoning:
        before = f"{before}\n{parts.reasoning}" if before else parts.reasoning
    answered = bool(parts.answer.strip()) or not used_all
    return before, parts.answer, answered and parts.state != "truncated"


def _is_unmarked(completion: Completion, state: str) -> bool:
    """Return whether a text without marks is reasoning that did not end.

    A server's template may open the reasoning in the prompt, which we do not see. A text that was
    asked to reason, has no closing mark and ends at the token limit can then be reasoning alone,
    and is never scored as the answer, whatever the server calls its end. If the server has
    separated or counted the reasoning, the text is the answer.
    """
    prompt, generated = completion.prompt, completion.completion_tokens
    if prompt.reasoning_tokens == 0:
        return False
    if completion.reasoning is not None or completion.reasoning_tokens:
        return False
    # a server may count a token less
    is_full = generated is not None and generated >= prompt.max_tokens - 1
    return state == "length" or is_full


def _encodable(text: str) -> str:
    """Return a text with `?` for half a surrogate pair, which tokenizers and UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _reasoning_tokens(completion: Completion, before: str, answer: str, tokenizer: Any) -> int:
    if completion.reasoning_tokens is not None:
        return completion.reasoning_tokens
    generated = completion.completion_tokens or 0
    if tokenizer is not None:
        return min(reasoning.count_tokens(tokenizer, before), generated)
    share = len(before) / max(1, len(before) + len(answer))  # not counted: by characters
    return round(generated * share)


def _usage(prompt: int, completion: int = 0, cached: int | None = None) -> Usage:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "thinking_tokens": 0,
        "cached_tokens": cached,
    }


def _record(
    prompt: Prompt,
    state: FinishReason,
    prediction: str = "",
    thinking: str | None = None,
    usage: Usage | None = None,
    error: str | None = None,
    thinking_ended: bool | None = None,
) -> Record:
    """Return a record. The prediction is stored exactly; only in an error keys are hidden."""
    return {
        "config": prompt.config,
        "index": prompt.index,
        "prediction": prediction,
        "thinking": thinking,
        "finish_reason": state,
        "usage": usage,
        "error": None if error is None else hide_keys(error, MAX_ERROR_CHARACTERS),
        "thinking_ended": thinking_ended,
    }
