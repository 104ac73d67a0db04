"""From an answer to a record: which of the four states a row ended in, and why.

A backend's finish_reason is never taken alone. vLLM's completion endpoint, for one, answers a
prompt whose max_tokens pass the window with fewer tokens and `length`; other servers drop the
beginning of a long prompt. The token counts tell, and such a row `does_not_fit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eval.run import reasoning
from eval.run.backends.backend import Completion
from eval.run.prompts import Prompt
from eval.run.records import Record

TOLERANCE = 64
"""Tokens by which a server's template may differ from ours before its prompt counts as cut."""


@dataclass(frozen=True)
class Expected:
    """What the runner knows before the answer: tokens of the templated prompt, the window."""

    prompt_tokens: int | None = None
    limit: int | None = None


def does_not_fit(prompt: Prompt, prompt_tokens: int, limit: int) -> Record:
    """The record of a row that was not sent, because it cannot fit the window of `limit` tokens."""
    room = f"{prompt.max_new_tokens:,} for the answer"
    if prompt.reasoning_tokens:
        room += f" + {prompt.reasoning_tokens:,} for the thought"
    why = f"{prompt_tokens:,} prompt tokens + {room} are over the limit of {limit:,}"
    return _record(prompt, "does_not_fit", usage=_usage(prompt_tokens), error=why)


def record_of(answer: Completion, expected: Expected, tokenizer: Any = None) -> Record:
    """The record of an answer; thought and answer apart, cut or shortened answers told apart."""
    prompt = answer.prompt
    if answer.error is not None:
        return _record(prompt, "error", error=_clean(answer.error))
    usage = None
    if answer.prompt_tokens is not None and answer.completion_tokens is not None:
        usage = _usage(answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens)
    why = shortened(answer, expected)
    if why is not None:
        return _record(prompt, "does_not_fit", usage=usage, error=why)
    state = answer.finish_reason
    if state is None:
        full = (answer.completion_tokens or 0) >= prompt.max_tokens
        state = "length" if full else "stop"
    if state not in ("stop", "length"):
        return _record(prompt, "error", usage=usage, error=f"finish_reason is '{state}'")

    text = _clean(answer.text)
    thought, ended = answer.reasoning, None
    if thought is None:
        opened = prompt.text is not None and reasoning.opens_thought(prompt.text)
        thought, text, ended = reasoning.split(text, opened and bool(prompt.messages))
    else:
        ended = bool(text.strip()) or state == "stop"
    if usage is not None and thought:
        usage["thinking_tokens"] = _thinking_tokens(answer, thought, text, tokenizer)
    if prompt.reasoning_tokens and tokenizer is not None:
        text, was_cut = reasoning.cut(tokenizer, text, prompt.max_new_tokens)
        state = "length" if was_cut else state
    return _record(
        prompt,
        state,
        prediction=text,
        thinking=None if thought is None else _clean(thought),
        usage=usage,
        thinking_ended=ended,
    )


def shortened(answer: Completion, expected: Expected) -> str | None:
    """Why the token counts show that a server shortened the prompt or the answer, or None."""
    prompt, seen, made = answer.prompt, answer.prompt_tokens, answer.completion_tokens
    if seen is not None:
        if expected.prompt_tokens is not None:
            least = expected.prompt_tokens - max(TOLERANCE, expected.prompt_tokens // 50)
        else:  # no tokenizer packs these texts in less than two fifths of another's tokens
            least = prompt.row_tokens * 2 // 5 - TOLERANCE
        if seen < least:
            whole = expected.prompt_tokens or f"about {prompt.row_tokens}"
            return f"the server cut the prompt: it read {seen} of {whole} tokens"
    if made is not None and made < prompt.max_tokens:
        full = seen is not None and expected.limit is not None and seen + made >= expected.limit
        if answer.finish_reason == "length" or full:
            return (
                f"the server cut the answer at {made} of the {prompt.max_tokens} tokens asked for"
            )
    return None


def _thinking_tokens(answer: Completion, thought: str, text: str, tokenizer: Any) -> int:
    if answer.reasoning_tokens is not None:
        return answer.reasoning_tokens
    if tokenizer is not None:
        return reasoning.count(tokenizer, thought)
    share = len(thought) / max(1, len(thought) + len(text))  # nobody counted: by characters
    return round((answer.completion_tokens or 0) * share)


def _usage(prompt: int, completion: int = 0, cached: int = 0) -> dict[str, int]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "thinking_tokens": 0,
        "cached_tokens": cached,
    }


def _record(
    prompt: Prompt,
    state: str,
    prediction: str = "",
    thinking: str | None = None,
    usage: dict[str, int] | None = None,
    error: str | None = None,
    thinking_ended: bool | None = None,
) -> Record:
    return {
        "config": prompt.config,
        "index": prompt.index,
        "prediction": prediction,
        "thinking": thinking,
        "finish_reason": state,
        "usage": usage,
        "error": error,
        "thinking_ended": thinking_ended,
    }


def _clean(text: str) -> str:
    """Without halves of surrogate pairs, which JSON can carry and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
