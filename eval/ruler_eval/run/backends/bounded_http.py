"""An HTTP client that reads no answer without end and follows no redirect to another server.

More than MOST bytes, unpacked, are an error. The HTTP library is the one that the openai package
uses, and so are the errors.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import openai

from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.backends.server.event_stream import EventStream
from ruler_eval.run.backends.server_replies import (
    MOST,
    MOST_SHOWN,
    Malformed,
    Refused,
    error_text,
    inside,
    read_json,
)

_library: Any = import_module(openai.DefaultAsyncHttpxClient.__bases__[0].__module__.split(".")[0])
UNUSABLE = (ImportError, OSError, ValueError, _library.InvalidURL)
"""What a client is not made with: a proxy of another kind, a file without a certificate, …"""
MOST_MOVES = 5
"""Redirects of a request within its server."""
LINGER = 1.0
"""Seconds that a server has to end an answer in pieces after its last one."""
_ANY_ZLIB = zlib.MAX_WBITS | 32  # with the head of gzip or of zlib


class BoundedClient:
    """The client of many requests at a time.

    Each of them has a client of one connection, which a later one takes over: with every request a
    pool looks at each connection that it has. The openai package's own way to send one takes a
    third of a 4k row's CPU, and changes nothing of it.
    """

    def __init__(self, headers: Mapping[str, str], connect: float) -> None:
        """`headers` are those of every request, `connect` the seconds for a connection.

        Raises one of UNUSABLE where a proxy, a certificate or a header of the environment is none.
        """
        self._made = partial(
            openai.DefaultAsyncHttpxClient,
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=openai.Timeout(None, connect=connect),
            verify=_library.create_ssl_context(),  # takes 40 ms
            follow_redirects=False,
        )
        self._free: list[Any] = [self._made()]

    async def ask(self, url: str, content: bytes | None = None) -> str:
        """What an address answers. Raises openai.APIError, Refused and Malformed."""
        client = self._free.pop() if self._free else self._made()
        request = client.build_request("GET" if content is None else "POST", url, content=content)
        try:
            for _ in range(MOST_MOVES):
                response = await client.send(request, stream=True)
                try:
                    if response.next_request is None:
                        return _text(response, await _body(response))
                    _check_move(request.url, response.next_request.url)
                finally:
                    await response.aclose()
                request = response.next_request
        except _library.TimeoutException as error:
            raise openai.APITimeoutError(request) from error
        except _library.TransportError as error:
            raise openai.APIConnectionError(message=str(error), request=request) from error
        finally:
            self._free.append(client)
        raise Refused(f"the server sends this on more than {MOST_MOVES} times")

    async def close(self) -> None:
        """Close all connections."""
        for client in self._free:
            await client.aclose()


def _check_move(here: Any, there: Any) -> None:
    """Refuse a redirect to another server, before a prompt goes there."""
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
        where = f"{there.scheme}://{there.netloc.decode()}{there.path}"
        raise Refused(f"the server sends this on to {hide_keys(where, MOST_SHOWN)}, another server")


async def _body(response: Any) -> bytes:
    """The body, unpacked here: the HTTP library unpacks whatever it is sent, to any size."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "deflate"):
        raise Refused(f"the answer is packed ({hide_keys(packing, 40)})")
    unpacking = None if packing == "identity" else zlib.decompressobj(_ANY_ZLIB)
    in_pieces = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    body, stream = bytearray(), EventStream()
    parts = response.aiter_raw()
    async for part in parts:
        try:
            data = unpacking.decompress(part, MOST + 1 - len(body)) if unpacking else part
        except zlib.error as error:
            raise Malformed(f"the answer is packed wrongly: {error}") from error
        if len(body) + len(data) > MOST:
            raise Refused(f"the answer is longer than {MOST >> 20} MB")
        if in_pieces:
            stream.read(data)
        else:
            body += data
        if stream.over:  # a connection is kept only if its answer was read to the end
            with suppress(asyncio.TimeoutError, _library.TransportError):
                await asyncio.wait_for(_all(parts), LINGER)
            break
    return stream.whole() if in_pieces else bytes(body)


async def _all(parts: AsyncIterator[bytes]) -> None:
    """Read what nobody needs."""
    async for _ in parts:
        pass


def _text(response: Any, body: bytes) -> str:
    """The text of a body. Raises openai.APIStatusError where that says what went wrong."""
    text = body.decode("utf-8", "replace")
    if response.is_success:
        return text
    try:
        found = read_json(text)
    except Malformed:
        found = text
    why = error_text(inside(found, "error") or found)
    raise openai.APIStatusError(why or "", response=response, body=None)
