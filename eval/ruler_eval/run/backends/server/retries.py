"""Errors of requests to a server: what to say of them, which pass, and when a run stops.

A row that fails by itself (5xx, a lost connection, a malformed answer) is tried MAX_TRIES times. A
server that is not available (429, 503, no connection) is waited for, until it has answered nothing
for `--give-up-after` seconds. Everything else is final, a timeout too: the row was sent once.
"""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import openai
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
)

from ruler_common.errors import RulerError
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.backends.server.replies import MAX_SHOWN, Malformed, error_text, read_json

MAX_TRIES = 5
"""Tries of a row that fails by itself."""
FIRST_WAIT, MAX_WAIT = 1.0, 60.0
"""Seconds between two tries without a Retry-After: exponential, with jitter."""
UNAVAILABLE_STATUS = (429, 503)
TEMPORARY_STATUS = (408, 409, 425)
REFUSAL_SECONDS = 10.0
"""A server refuses at once: it is working on a request that has been open for longer."""
NOTICE_SECONDS = 5.0
"""A server that has answered nothing for so long is reported as not available."""

Result = TypeVar("Result")


class GaveUp(Exception):
    """The server was not available for too long; the text says why."""


def is_unavailable(error: BaseException) -> bool:
    """Whether an error is the server's and not the row's: it is worth waiting for the server."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code in UNAVAILABLE_STATUS
    return is_refused(error)


def is_temporary(error: BaseException) -> bool:
    """Whether a row that failed by itself is worth another try."""
    if is_unavailable(error):
        return False
    if isinstance(error, openai.APIStatusError):
        return error.status_code in TEMPORARY_STATUS or error.status_code >= 500
    return isinstance(error, openai.APIError | Malformed)


class RetryPolicy:
    """Retries for all requests of a run; used by one event loop.

    `on_wait` is called with a line when the run begins to wait for the server.
    """

    def __init__(self, give_up_after: float, on_wait: Callable[[str], None]) -> None:
        self._give_up_after = give_up_after
        self._on_wait = on_wait
        self._last_answer = time.monotonic()
        self._reported = False
        self._open_since: dict[object, float] = {}

    def note_answer(self) -> None:
        """Note that the server is available: it answered, or the run has just begun."""
        self._last_answer = time.monotonic()
        self._reported = False

    async def run(self, send: Callable[[], Awaitable[Result]]) -> Result:
        """Return what `send` returns, called again as the policy says. Raises GaveUp."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(is_unavailable),
            wait=self._seconds_to_wait,
            stop=self._has_given_up,
            before_sleep=self._report,
            reraise=True,
        )
        try:
            result: Result = await retrying(self._send_row, send)
        except Exception as error:
            if is_unavailable(error):
                raise GaveUp(describe(error)) from error
            if isinstance(error, openai.APIStatusError | Malformed):
                self.note_answer()
            raise
        self.note_answer()
        return result

    async def _send_row(self, send: Callable[[], Awaitable[Result]]) -> Result:
        """Send a row up to MAX_TRIES times, as long as the server is available."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(is_temporary),
            wait=self._seconds_to_wait,
            stop=stop_after_attempt(MAX_TRIES),
            reraise=True,
        )
        result: Result = await retrying(self._send_once, send)
        return result

    async def _send_once(self, send: Callable[[], Awaitable[Result]]) -> Result:
        request = object()
        self._open_since[request] = time.monotonic()
        try:
            return await send()
        finally:
            del self._open_since[request]

    def _seconds_to_wait(self, state: RetryCallState) -> float:
        """Return what Retry-After says, else exponential seconds with jitter.

        Never more than what remains until the run gives up.
        """
        assert state.outcome is not None
        error = state.outcome.exception()
        assert error is not None
        seconds = seconds_in(retry_after(error))
        if seconds is None:
            seconds = wait_exponential(multiplier=FIRST_WAIT, max=MAX_WAIT)(state)
            seconds += random.uniform(0, FIRST_WAIT)
        remaining = self._last_answer + self._give_up_after - time.monotonic()
        return min(seconds, max(remaining, FIRST_WAIT))

    def _has_given_up(self, _: RetryCallState) -> bool:
        now = time.monotonic()
        oldest = min(self._open_since.values(), default=now)
        if now - oldest > REFUSAL_SECONDS:
            return False
        return now - self._last_answer >= self._give_up_after

    def _report(self, state: RetryCallState) -> None:
        if self._reported or time.monotonic() - self._last_answer < NOTICE_SECONDS:
            return
        assert state.outcome is not None
        error = state.outcome.exception()
        assert error is not None
        self._reported = True
        self._on_wait(
            f"The server is not available ({describe(error)}): waiting up to "
            f"{self._give_up_after:g} seconds (--give-up-after)."
        )


def seconds_in(header: str) -> float | None:
    """Return the seconds from now in a Retry-After header; None if there are none in it."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(header)
            seconds = date.timestamp() - time.time()
        except (ValueError, OverflowError, TypeError, IndexError):
            return None
    return None if math.isnan(seconds) else max(seconds, 0.0)


def describe(error: BaseException) -> str:
    """Return an error as one line of at most MAX_SHOWN characters, without keys.

    What stands before its first colon is the cause: two errors with one cause begin alike.
    """
    if isinstance(error, openai.APIStatusError):
        cause, text = f"HTTP {error.status_code}", _body_text(error)
    elif isinstance(error, asyncio.TimeoutError):
        cause, text = "Timeout", str(error)
    elif isinstance(error, openai.APIConnectionError) and error.__cause__ is not None:
        cause, text = "Connection error", f"{type(error.__cause__).__name__} {error.__cause__}"
    else:
        cause, text = type(error).__name__, str(error)
    return f"{cause}: {hide_keys(' '.join(text.split()), MAX_SHOWN)}".rstrip(": ")


def _body_text(error: openai.APIStatusError) -> str:
    """Return the message in the body of an HTTP error; the body itself if it has another form."""
    text = error.response.text
    try:
        body = read_json(text)
    except Malformed:
        return text
    return error_text(body) or ""


def start_error(error: BaseException, where: str) -> RulerError | None:
    """Return why the server at an address cannot be used, with the remedy.

    None for an error of the path that was asked for, which not every server has.
    """
    if isinstance(error, openai.APIStatusError):
        if error.status_code in (401, 403):
            return RulerError(
                f"The server at {where} refuses the key ({describe(error)}): set OPENAI_API_KEY."
            )
        return None
    if isinstance(error, Malformed | openai.APIResponseValidationError):
        return None
    if isinstance(error, asyncio.TimeoutError):
        return RulerError(
            f"The server at {where} does not finish its reply: wait until it has started, "
            "or correct --base-url."
        )
    tls = _tls_error(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return RulerError(
            f"The server at {where} has a certificate that is not trusted "
            f"({tls.verify_message}): name its authority's file in SSL_CERT_FILE."
        )
    if tls is not None:
        return RulerError(
            f"The server at {where} does not speak TLS that is understood here "
            f"({tls.reason}): is its address http://…? Correct --base-url."
        )
    if is_refused(error):
        return RulerError(
            f"No server answers at {where}: start one (vllm serve MODEL), or correct --base-url."
        )
    return RulerError(
        f"No request can be made to {where} ({type(error.__cause__ or error).__name__}): correct "
        "--base-url, or the proxy, certificate and header variables of the environment "
        "(HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE, OPENAI_CUSTOM_HEADERS)."
    )


def is_refused(error: BaseException) -> bool:
    """Whether no connection to the server could be made."""
    cause = type(error.__cause__).__name__  # of httpx or httpx2, whichever the openai package has
    return isinstance(error, openai.APIConnectionError) and cause.startswith("Connect")


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """Return the TLS error that caused an error, if there is one."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def retry_after(error: BaseException) -> str:
    """Return the header Retry-After of an HTTP error; empty if it has none."""
    if not isinstance(error, openai.APIStatusError):
        return ""
    headers: Mapping[str, str] = error.response.headers
    return headers.get("retry-after", "")
