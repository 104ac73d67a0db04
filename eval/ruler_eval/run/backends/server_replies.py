"""What a server sent: a completion, something broken, or an error that may pass."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import ssl
import time
from typing import Any

from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.backends.secrets import hide
from ruler_eval.run.prompts import Prompt

TRANSIENT = (408, 409, 425, 429)
"""Client errors that may pass; 5xx always may."""
MAX_WAIT = 600.0
"""Seconds between two tries, at most, whatever Retry-After says."""
MOST = 64 << 20
"""Bytes of a body, unpacked."""


class TooLong(Exception):
    """A body of more than MOST bytes."""


class Malformed(Exception):
    """A 200 that is no completion."""


def read_completion(prompt: Prompt, reply: Any) -> Completion:
    """Read a chat or raw completion; Malformed if it is neither."""
    choices = getattr(reply, "choices", None)
    if not choices:
        raise Malformed(f"no choices in the answer: {str(reply)!r}")
    message = getattr(choices[0], "message", None)
    reasoning = None
    if message is None:
        text = getattr(choices[0], "text", None)
    else:
        extra = message.model_extra or {}
        text = message.content
        reasoning = extra.get("reasoning_content") or extra.get("reasoning")
    if not isinstance(text, str) and not (message is not None and text is None):
        raise Malformed(f"no text in the answer: {str(reply)!r}")
    usage = getattr(reply, "usage", None)
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    counted = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None)
    return Completion(
        prompt,
        hide(text or ""),
        choices[0].finish_reason,
        prompt_tokens=_integer(getattr(usage, "prompt_tokens", None)),
        completion_tokens=_integer(getattr(usage, "completion_tokens", None)),
        cached_tokens=_integer(cached) or 0,
        reasoning=hide(reasoning) if isinstance(reasoning, str) else None,
        reasoning_tokens=_integer(counted) or None,
    )


def _integer(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def is_transient(error: BaseException) -> bool:
    """Whether another try can help: 429, 5xx, timeouts, lost connections, broken answers."""
    import openai

    if isinstance(error.__cause__, TooLong):
        return False
    if isinstance(error, openai.APIStatusError):
        return error.status_code in TRANSIENT or error.status_code >= 500
    broken = (openai.APIConnectionError, openai.APIResponseValidationError, Malformed)
    return isinstance(error, (*broken, asyncio.TimeoutError, TimeoutError, json.JSONDecodeError))


def wait_seconds(error: BaseException | None, tries: int) -> float:
    """What Retry-After says (seconds or a date), else 1, 2, 4, … seconds with jitter."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    after = headers.get("retry-after") if headers else None
    if after:
        try:
            seconds = float(after)
        except ValueError:
            date = email.utils.parsedate_tz(after)
            seconds = email.utils.mktime_tz(date) - time.time() if date else 1.0
        return min(max(seconds, 0.0), MAX_WAIT)
    return min(60.0, 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)


def describe(error: BaseException) -> str:
    """An error in one line, without keys."""
    status = getattr(error, "status_code", None)
    cause = error.__cause__ if isinstance(error.__cause__, TooLong) else error
    text = hide(" ".join(str(cause).split()))[:500] or "no answer in time"
    return f"HTTP {status}: {text}" if status else f"{type(error).__name__}: {text}"


def untrusted_certificate(error: BaseException | None) -> str | None:
    """Why a server's certificate was not trusted, if that is what an error comes from."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None
