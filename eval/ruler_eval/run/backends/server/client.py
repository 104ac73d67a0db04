"""Requests to one server, with retries, and the messages for their errors.

A row that fails by itself (5xx, a lost connection, a malformed answer) is tried MAX_TRIES times. If
the server is not available (429, 503, no connection), the client waits until it has not answered
for `--give-up-after` seconds. All other errors are final, including a timeout.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential

from ruler_common.errors import RulerError
from ruler_common.text import one_line
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.backends.server.replies import (
    MAX_SHOWN,
    Malformed,
    StreamedReply,
    error_text,
    read_json,
)

CONNECT_SECONDS = 30.0
"""Seconds to wait for a connection."""
START_SECONDS = 60.0
"""Seconds to wait for replies about the server itself."""
MAX_TRIES = 5
"""Tries of a row that fails by itself."""
FIRST_WAIT, MAX_WAIT = 1.0, 60.0
"""Seconds between two tries without a Retry-After: exponential, with jitter."""
UNAVAILABLE_STATUS = (429, 503)
TEMPORARY_STATUS = (408, 409, 425)
REFUSAL_SECONDS = 10.0
"""A server refuses a request at once; if one is open for longer, the server is working on it."""
NOTICE_SECONDS = 5.0
"""Seconds without an answer after which a server is reported as not available."""

Result = TypeVar("Result")


class Client:
    """Sends requests from any thread, through an event loop in a separate thread."""

    def __init__(
        self, base_url: str | None, key: str, timeout: float, give_up_after: float
    ) -> None:
        """Create a client. Raises RulerError if environment variables prevent it."""
        try:
            # no retries here, and a timeout only for connecting
            connect = min(CONNECT_SECONDS, timeout / 2)
            self._openai = openai.AsyncOpenAI(
                api_key=key,
                base_url=base_url,
                max_retries=0,
                timeout=openai.Timeout(None, connect=connect),
            )
        except Exception as error:  # an unsupported proxy, a port that is not a number, …
            raise RulerError(
                f"No request can be made ({type(error).__name__}): correct the environment "
                "variables for proxies and certificates (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, "
                "SSL_CERT_FILE)."
            ) from None
        self.url = str(self._openai.base_url).rstrip("/")
        parts = urlsplit(self.url)
        self.host = parts.hostname or ""
        self.where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        """The server's address without a user name or password."""
        self.on_note: Callable[[str], None] = lambda line: None
        """Called with a line when a run starts to wait for the server."""
        self.open_since: dict[object, float] = {}
        """When each request that is still open was sent."""
        self._timeout, self._give_up_after = timeout, give_up_after
        self._last_answer = time.monotonic()
        self._reported = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start a coroutine in the thread of the event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def send(self, path: str, content: bytes | None = None) -> str:
        """Return the text of a reply to GET, or to POST if there is content.

        The content is JSON as bytes, which take a tenth of the memory of the objects.
        """
        if content is None:
            return await self._openai.get(path, cast_to=str)
        return await self._openai.post(path, cast_to=str, content=content)

    def ask(self, path: str, content: bytes | None = None) -> str:
        """Return the reply of a path; empty if the server does not have the path."""
        try:
            return self.start(asyncio.wait_for(self.send(path, content), START_SECONDS)).result()
        except (openai.APIError, asyncio.TimeoutError):
            return ""

    async def complete(self, path: str, content: bytes, stream: bool) -> Any:
        """Send a prompt once and return the reply. Raises asyncio.TimeoutError after --timeout.

        If the answer is streamed, the timeout applies to each piece.
        """
        seconds = self._timeout
        try:
            if not stream:
                return read_json(await asyncio.wait_for(self.send(path, content), seconds))
            chunks = await asyncio.wait_for(
                self._openai.post(
                    path,
                    cast_to=object,
                    content=content,
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                ),
                seconds,
            )
            async with chunks:
                if "event-stream" not in chunks.response.headers.get("content-type", "").lower():
                    await asyncio.wait_for(chunks.response.aread(), seconds)
                    return read_json(chunks.response.text)
                reply = StreamedReply()
                iterator = chunks.__aiter__()
                while chunk := await asyncio.wait_for(anext(iterator, None), seconds):
                    reply.add(chunk)
                return reply.whole()
        except json.JSONDecodeError as error:
            raise Malformed(f"a piece of the answer is not valid JSON ({error})") from error
        except asyncio.TimeoutError:
            raise asyncio.TimeoutError(
                f"no answer within {seconds:g} seconds (--timeout)"
            ) from None

    async def retry(self, send: Callable[[], Awaitable[Result]]) -> Result:
        """Call `send`, again if its error may be temporary, and return its result.

        Raises RulerError if the server was not available for too long, else the last error.
        """
        failures = 0

        def should_stop(state: RetryCallState) -> bool:
            nonlocal failures
            if is_unavailable(_error_of(state)):
                return self._has_given_up()
            failures += 1
            return failures == MAX_TRIES

        retrying = AsyncRetrying(
            retry=retry_if_exception(may_be_temporary),
            wait=self._seconds_to_wait,
            stop=should_stop,
            before_sleep=self._report,
            reraise=True,
        )
        try:
            result: Result = await retrying(send)
        except Exception as error:
            if is_unavailable(error):
                raise RulerError(
                    f"The server at {self.where} has not answered for "
                    f"{self._give_up_after:g} seconds ({describe(error)}). Answered rows are kept; "
                    "the others are missing and do not count as failed. Run the same command to "
                    "continue."
                ) from error
            if isinstance(error, openai.APIStatusError | Malformed):
                self.note_answer()
            raise
        self.note_answer()
        return result

    def note_answer(self) -> None:
        """Record that the server is available, after an answer or before the first row."""
        self._last_answer = time.monotonic()
        self._reported = False

    def _has_given_up(self) -> bool:
        now = time.monotonic()
        oldest = min(self.open_since.values(), default=now)
        if now - oldest > REFUSAL_SECONDS:
            return False
        return now - self._last_answer >= self._give_up_after

    def _seconds_to_wait(self, state: RetryCallState) -> float:
        """Return the seconds of Retry-After, or exponential backoff with jitter.

        At most the time that remains until the run gives up.
        """
        seconds = retry_after(_error_of(state))
        if seconds is None:
            seconds = wait_exponential(multiplier=FIRST_WAIT, max=MAX_WAIT)(state)
            seconds += random.uniform(0, FIRST_WAIT)
        remaining = self._last_answer + self._give_up_after - time.monotonic()
        return min(seconds, max(remaining, FIRST_WAIT))

    def _report(self, state: RetryCallState) -> None:
        """Report once that the run is waiting for the server."""
        error = _error_of(state)
        has_waited = time.monotonic() - self._last_answer >= NOTICE_SECONDS
        if is_unavailable(error) and has_waited and not self._reported:
            self._reported = True
            self.on_note(
                f"The server is not available ({describe(error)}): waiting up to "
                f"{self._give_up_after:g} seconds (--give-up-after)."
            )

    def close(self) -> None:
        """Cancel requests in flight and close the connections."""

        async def shut_down() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._openai.close()

        self.start(shut_down()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _error_of(state: RetryCallState) -> BaseException:
    """Return the error with which a try ended."""
    assert state.outcome is not None
    error = state.outcome.exception()
    assert error is not None
    return error


def is_unavailable(error: BaseException) -> bool:
    """Whether the server is not available, so that it is worth waiting for it."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code in UNAVAILABLE_STATUS
    return is_refused(error)


def may_be_temporary(error: BaseException) -> bool:
    """Whether a request is worth sending again."""
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        return status in (*UNAVAILABLE_STATUS, *TEMPORARY_STATUS) or status >= 500
    return isinstance(error, openai.APIError | Malformed)


def retry_after(error: BaseException) -> float | None:
    """Return the seconds in the Retry-After header of an HTTP error; None without a valid one."""
    if not isinstance(error, openai.APIStatusError):
        return None
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def describe(error: BaseException) -> str:
    """Return an error as one line of at most MAX_SHOWN characters, without keys.

    The text before the first colon is the cause, by which consecutive failures are compared.
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
    """Return the message in the body of an HTTP error, or the body if it is not JSON."""
    text = error.response.text
    try:
        body = read_json(text)
    except Malformed:
        return text
    return error_text(body) or ""


def start_error(error: BaseException, where: str) -> RulerError | None:
    """Return why the server at an address cannot be used, with the remedy.

    None if only the requested path failed, which not every server has.
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
    if tls is not None:
        return RulerError(
            f"The TLS connection to the server at {where} failed ({one_line(tls)}): if its address "
            "is http://…, correct --base-url; if its certificate is your own, set SSL_CERT_FILE."
        )
    if is_refused(error):
        return RulerError(
            f"No server answers at {where}: start one (vllm serve MODEL), or correct --base-url."
        )
    return RulerError(
        f"No request can be made to {where} ({type(error.__cause__ or error).__name__}): correct "
        "--base-url, or the environment variables for proxies, certificates and headers "
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
