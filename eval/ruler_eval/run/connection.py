"""HTTP requests to one base URL, whatever comes back.

    connection = Connection("https://api.mistral.ai/v1", key, timeout=3600)
    connection.ask("models")                                   # Reply(status=200, body={…})
    await connection.send("chat/completions", b'{"model": …}', stream=False)

A base URL may be written as consoles show it: with an endpoint at its end, or with a query such as
`?api-version=…`. What a reply means is decided in classify.py.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from email.utils import parsedate_to_datetime
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

import httpx

from ruler_common.errors import RulerError
from ruler_eval.run.classify import Reply
from ruler_eval.run.reply_json import StreamedReply
from ruler_eval.run.reply_rules import BROKEN, TIMEOUT, UNREACHABLE

CONNECT_SECONDS = 30.0
"""Seconds to wait for a connection."""
ASK_SECONDS = 60.0
"""Seconds to wait for replies about the server itself."""
LAST_SECONDS = 1.0
"""Seconds to wait for the end of a stream after its last piece."""
ENDPOINT = re.compile(r"/(chat/completions|completions|models|responses|embeddings)/?$")
"""What consoles show at the end of a base URL."""
EVENTS = re.compile(rb"(?:\xef\xbb\xbf)?\s*(data|event|id|retry)?:")
"""How a stream of events begins; JSON never does."""
ENVIRONMENT = (
    "the environment variables for proxies, certificates and headers (HTTP_PROXY, HTTPS_PROXY, "
    "ALL_PROXY, SSL_CERT_FILE, OPENAI_CUSTOM_HEADERS)"
)


class Connection:
    """Sends requests to one base URL: completions in an event loop, questions about it anywhere."""

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        """Create the clients. Raises RulerError if environment variables prevent it."""
        self.base_url = base_url
        parts = urlsplit(ENDPOINT.sub("", base_url.partition("?")[0]))
        self.host = parts.hostname or ""
        self.url = parts.geturl().rstrip("/")
        """The base URL without its query, which may hold a key; messages name it."""
        self._query = urlsplit(base_url).query
        self._timeout = timeout
        headers = request_headers(key, self.host)
        connect = min(CONNECT_SECONDS, timeout / 2)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        try:
            self._ask = httpx.Client(
                headers=headers, timeout=httpx.Timeout(ASK_SECONDS, connect=connect)
            )
            self._send = httpx.AsyncClient(
                headers=headers, limits=limits, timeout=httpx.Timeout(None, connect=connect)
            )
        except Exception as error:  # an unsupported proxy, a missing certificate file, …
            raise RulerError(
                f"No request can be made ({type(error).__name__}): correct {ENVIRONMENT}."
            ) from None

    def outside_v1(self, path: str) -> str:
        """Return the address of a path beside /v1, where servers describe themselves."""
        return f"{self.url.removesuffix('/v1')}/{path}"

    def _address(self, path: str) -> str:
        """Return the whole address of a path under the base URL, or of an address."""
        address = path if "://" in path else f"{self.url}/{path}"
        if not self._query:
            return address
        return f"{address}{'&' if '?' in address else '?'}{self._query}"

    def ask(self, path: str, content: bytes | None = None) -> Reply:
        """Return the reply to GET, or to POST if there is content; from any thread."""
        try:
            method = "GET" if content is None else "POST"
            response = self._ask.request(method, self._address(path), content=content)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            return self._without_reply(error, ASK_SECONDS)
        return _reply_of(response)

    async def send(
        self, path: str, content: bytes, stream: bool, seconds: float | None = None
    ) -> Reply:
        """Return the reply to a prompt within some seconds, by default --timeout.

        In a stream each piece may take as long.
        """
        seconds = self._timeout if seconds is None else seconds
        try:
            if stream:
                return await self._streamed(self._address(path), content, seconds)
            request = self._send.post(self._address(path), content=content)
            return _reply_of(await asyncio.wait_for(request, seconds))
        except (httpx.HTTPError, httpx.InvalidURL, asyncio.TimeoutError) as error:
            return self._without_reply(error, seconds)

    async def _streamed(self, address: str, content: bytes, seconds: float) -> Reply:
        """Return a streamed answer in the form of a whole one."""
        timeout = httpx.Timeout(seconds, connect=self._send.timeout.connect)
        async with self._send.stream("POST", address, content=content, timeout=timeout) as response:
            kind = response.headers.get("content-type", "").lower()
            if response.status_code != 200 or "event-stream" not in kind:
                await response.aread()
                return _reply_of(response)
            answer = StreamedReply()
            last_piece = time.monotonic()
            async with aclosing(_lines(response)) as lines:
                async for line in lines:
                    size = answer.size
                    _add_line(answer, line)
                    if answer.size > size:
                        last_piece = time.monotonic()
                    elif time.monotonic() - last_piece > seconds:
                        # comments and pings keep the connection open, and are not of the answer
                        raise asyncio.TimeoutError
                    if answer.has_ended:
                        # a stream that is left early leaves its readers behind
                        with suppress(httpx.HTTPError, asyncio.TimeoutError):
                            await asyncio.wait_for(_read_to_end(lines), LAST_SECONDS)
                        break
            return Reply(status=200, body=answer.whole())

    def _without_reply(self, error: Exception, seconds: float) -> Reply:
        """Return how a request ended that got no reply.

        Raises RulerError if no request can be made at all.
        """
        if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout | asyncio.TimeoutError):
            return Reply(status=TIMEOUT, body=f"no answer within {seconds:g} seconds (--timeout)")
        if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol) or not (
            isinstance(error, httpx.HTTPError)
        ):
            raise RulerError(
                f"No request can be made to {self.url} ({type(error).__name__}): correct "
                f"--base-url, or {ENVIRONMENT}."
            ) from None
        unreachable = httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError
        status = UNREACHABLE if isinstance(error, unreachable) else BROKEN
        return Reply(status=status, body=f"{type(error).__name__} {error}".strip())

    async def close(self) -> None:
        """Close the connections."""
        self._ask.close()
        await self._send.aclose()


def request_headers(key: str, host: str) -> dict[str, str]:
    """Return the headers of every request. The key is not written anywhere else.

    OPENAI_CUSTOM_HEADERS has a line `Name: value` for each further header.
    """
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "User-Agent": f"ruler-release/{metadata.version('ruler-release')}",
    }
    if host.endswith(".azure.com"):
        headers["api-key"] = key
    for variable, name in (
        ("OPENAI_ORG_ID", "OpenAI-Organization"),
        ("OPENAI_PROJECT_ID", "OpenAI-Project"),
    ):
        if value := os.environ.get(variable):
            headers[name] = value
    for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines():
        name, _, value = line.partition(":")
        if name.strip():
            headers[name.strip()] = value.strip()
    return headers


async def _lines(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a stream. Only line feeds end a line: a text may have other separators."""
    rest = b""
    async for data in response.aiter_bytes():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest


async def _read_to_end(lines: AsyncGenerator[bytes, None]) -> None:
    async for _ in lines:
        pass


def _add_line(answer: StreamedReply, line: bytes) -> None:
    """Add a line of a stream to an answer, if it has data."""
    line = line.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
    if not line.startswith(b"data:"):
        return
    data = line.removeprefix(b"data:").strip()
    if data == b"[DONE]":
        answer.has_ended = True
    else:
        answer.add(json_or_text(data.decode("utf-8", "replace")))


def _assembled(content: bytes) -> Any:
    """Return a stream that came as a whole, as some gateways send it, in the form of an answer."""
    answer = StreamedReply()
    for line in content.split(b"\n"):
        _add_line(answer, line)
    return answer.whole()


def _reply_of(response: httpx.Response) -> Reply:
    if response.status_code == 200 and EVENTS.match(response.content):
        body = _assembled(response.content)
    else:
        body = json_or_text(response.content.decode("utf-8-sig", "replace"))
    if response.is_redirect:
        body = f"it redirects to {response.headers.get('location')}"
    return Reply(
        status=response.status_code,
        body=body,
        retry_after=seconds_in(response.headers.get("retry-after", "")),
    )


def json_or_text(text: str) -> Any:
    """Return the JSON value of a body, or the text if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def seconds_in(header: str) -> float | None:
    """Return the seconds of a Retry-After header, which may be a date; None if it is invalid."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
