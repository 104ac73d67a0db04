"""What a server sent: a completion, something broken, or an error that may pass."""

from __future__ import annotations

import asyncio
import difflib
import email.utils
import math
import random
import ssl
import time
from collections.abc import Collection
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.parsing import json_value
from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.prompts import Prompt

TRANSIENT = (408, 409, 425, 429)
"""Client errors that may pass; 5xx always may."""
MAX_WAIT = 600.0
"""Seconds between two tries, at most, whatever Retry-After says."""
MOST = 64 << 20
"""Bytes of a body, unpacked."""
MOST_READ = 1 << 20
"""Characters of an error that are searched for keys."""
MOST_SHOWN = 500
"""Characters of an answer or an address that are shown."""

MOST_COMPARED, MOST_NAMED = 2000, 5
"""Names of models that are looked at, and that are shown, where one is not there."""


class Refused(Exception):
    """An answer that is not read: of more than MOST bytes, or from where nothing was to be sent."""


class Malformed(Exception):
    """A 200 that is no completion."""


def read_json(text: str) -> Any:
    """The value that a body holds. Raises Malformed, also for one of too many values or levels."""
    try:
        return json_value(text)
    except ValueError as error:
        raise Malformed(f"the answer is no JSON that is read ({error}): {text}") from error


def inside(value: Any, *names: str) -> Any:
    """What an object of JSON holds under these names, each within the one before; None without."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def integer(value: Any, least: int = 0) -> int | None:
    """A count that a server gave, or None for what can be none."""
    return value if type(value) is int and least <= value < 1 << 53 else None


def served_models(page: Any) -> dict[str, dict[str, Any]]:
    """What /v1/models says of each model, by its name; nothing where it says nothing of use."""
    listed = inside(page, "data")
    models = listed if isinstance(listed, list) else []
    return {name: model for model in models if isinstance(name := inside(model, "id"), str)}


def told(served: Collection[str], asked: str) -> str:
    """The names of models that are most like the one that was asked for, and how many more."""
    known = [name for name in served if len(name) <= MOST_SHOWN][:MOST_COMPARED]
    near = difflib.get_close_matches(asked, known, n=MOST_NAMED, cutoff=0.0)
    more = f" and {len(served) - len(near):,} others" if len(served) > len(near) else ""
    return hide_keys(", ".join(near), MOST_SHOWN) + more


def window_in(model: Any) -> int | None:
    """The window of a model by its entry of /v1/models: vLLM's field, or llama.cpp's."""
    window = integer(inside(model, "max_model_len"), least=1)
    return window or integer(inside(model, "meta", "n_ctx"), least=1)


def read_completion(prompt: Prompt, reply: Any) -> Completion:
    """Read the JSON of a chat or raw completion; Malformed if it is neither.

    Its texts are as they came: `record_of` (row_state.py) makes them safe to keep.
    """
    choices = inside(reply, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise Malformed(f"no choices in the answer: {reply}")
    message = choice.get("message")
    text = choice.get("text") if message is None else inside(message, "content")
    reasoning = inside(message, "reasoning_content") or inside(message, "reasoning")
    parts = text if isinstance(text, list) else []  # Mistral's: of thinking, and of text
    if text == [] or any(inside(part, "type") in ("text", "thinking") for part in parts):
        thought, text = _texts(parts, "thinking"), _texts(parts, "text")
        reasoning = reasoning or thought or None
    if not isinstance(text, str) and not (isinstance(message, dict) and text is None):
        raise Malformed(f"no text in the answer: {reply}")
    usage = reply.get("usage")
    return Completion(
        prompt,
        text or "",
        choice.get("finish_reason"),
        prompt_tokens=integer(inside(usage, "prompt_tokens")),
        completion_tokens=integer(inside(usage, "completion_tokens")),
        cached_tokens=integer(inside(usage, "prompt_tokens_details", "cached_tokens")),
        reasoning=reasoning if isinstance(reasoning, str) else None,
        reasoning_tokens=integer(inside(usage, "completion_tokens_details", "reasoning_tokens"))
        or None,
    )


def _texts(parts: list[Any], kind: str) -> str:
    """The text of all parts of a kind; those of thinking hold parts of text themselves."""
    found = [inside(part, kind) for part in parts if inside(part, "type") == kind]
    texts = [_texts(one, "text") if isinstance(one, list) else one for one in found]
    return "".join(one for one in texts if isinstance(one, str))


def error_text(error: Any) -> str | None:
    """The text of an error in any of the forms that servers give it; None for no error."""
    if error is None:
        return None
    inner = error.get("error", error) if isinstance(error, dict) else error
    text = inner.get("message") if isinstance(inner, dict) else inner
    return " ".join(str(text or inner or error).split()) or "an error without a message"


def is_transient(error: BaseException) -> bool:
    """Whether another try can help: 429, 5xx, timeouts, lost connections, broken answers."""
    import openai

    if isinstance(error, Refused):
        return False
    if isinstance(error, openai.APIStatusError):
        return error.status_code in TRANSIENT or error.status_code >= 500
    broken = (openai.APIConnectionError, Malformed, asyncio.TimeoutError, TimeoutError)
    return isinstance(error, broken)


def wait_seconds(error: BaseException | None, tries: int, timeout: float) -> float:
    """What Retry-After says (seconds or a date), else 1, 2, 4, … seconds with jitter.

    It is never more than `timeout`, the seconds that a request itself may take.
    """
    headers = getattr(getattr(error, "response", None), "headers", {})
    seconds = _retry_after(headers.get("retry-after") or "")
    if seconds is None:
        seconds = min(60.0, 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)
    return min(max(seconds, 0.0), timeout, MAX_WAIT)


def _retry_after(text: str) -> float | None:
    """Seconds from now; None where it says nothing that can be waited for."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = email.utils.parsedate_tz(text)
            seconds = email.utils.mktime_tz(date) - time.time() if date else math.nan
        except (ValueError, OverflowError, TypeError, IndexError):  # the year 99999999
            return None
    return None if math.isnan(seconds) else seconds


def kind_of(error: BaseException) -> str:
    """What two failures that are alike have in common."""
    status = getattr(error, "status_code", None)
    return f"HTTP {status}" if status else type(error).__name__


def describe(error: BaseException) -> str:
    """An error in one line of MOST_SHOWN characters, made safe to keep and to show.

    Of a longer one than MOST_READ characters only the first are looked at.
    """
    status = getattr(error, "status_code", None)
    text = hide_keys(" ".join(str(error)[:MOST_READ].split()), MOST_SHOWN) or "no answer in time"
    return f"HTTP {status}: {text}" if status else f"{type(error).__name__}: {text}"


def unusable(error: BaseException, where: str) -> RulerError | None:
    """Why the server at an address cannot be used, as a sentence with its remedy.

    None for an error of one path, which not every server has.
    """
    import openai

    if getattr(error, "status_code", None) in (401, 403):
        return RulerError(f"The server at {where} refuses the key: set OPENAI_API_KEY.")
    if isinstance(error, Refused):
        return RulerError(f"The server at {where} cannot be used: {error}. Correct --base-url.")
    tls = _tls_error(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return RulerError(
            f"The server at {where} has a certificate that is not trusted "
            f"({tls.verify_message}): name its authority's file in SSL_CERT_FILE."
        )
    if tls is not None:
        return RulerError(
            f"The server at {where} speaks no TLS that is understood here "
            f"({tls.reason}): is its address http://…? Correct --base-url."
        )
    if isinstance(error, asyncio.TimeoutError):  # of a whole answer, not of a connection
        return RulerError(
            f"The server at {where} does not end its answer: wait until it has started, "
            "or correct --base-url."
        )
    if isinstance(error, openai.APIConnectionError):
        return RulerError(
            f"No server answers at {where}: start one (vllm serve MODEL), or mend --base-url."
        )
    return None


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """The error of TLS that an error comes from, if it comes from one."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error
