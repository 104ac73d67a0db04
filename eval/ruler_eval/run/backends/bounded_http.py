"""An HTTP client that reads no answer without end and follows no redirect to another server.

More than MOST bytes, unpacked, are an error. The types of requests and responses are those of the
HTTP library that the openai package uses.
"""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import Any

import openai

from ruler_eval.run.backends.secrets import safe
from ruler_eval.run.backends.server.event_stream import EventStream
from ruler_eval.run.backends.server_replies import MOST, MOST_SHOWN, Malformed, Refused

_library: Any = import_module(openai.DefaultAsyncHttpxClient.__bases__[0].__module__.split(".")[0])
MOST_MOVES = 5
"""Redirects of a request within its server."""
_ANY_ZLIB = zlib.MAX_WBITS | 32  # with the head of gzip or of zlib


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """The client of many requests at a time.

    Each of them has a client of one connection, which a later one takes over: with every request a
    pool looks at each connection that it has.
    """

    def __init__(self) -> None:
        self._trusted = _library.create_ssl_context()  # takes 40 ms
        super().__init__(verify=self._trusted, headers={"Accept-Encoding": "identity"})
        self._free: list[Any] = []

    async def send(self, request: Any, *, stream: bool = False, **how: Any) -> Any:
        """Send a request and read its answer. Raises Refused and Malformed."""
        how["follow_redirects"] = False
        client = self._free.pop() if self._free else _library.AsyncClient(verify=self._trusted)
        try:
            for _ in range(MOST_MOVES):
                response = await client.send(request, stream=True, **how)
                try:
                    if response.next_request is None:
                        return _whole(response, await _body(response))
                    _check_move(request.url, response.next_request.url)
                finally:
                    await response.aclose()
                request = response.next_request
        finally:
            self._free.append(client)
        raise Refused(f"the server sends this on more than {MOST_MOVES} times")

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._free:
            await client.aclose()
        await super().aclose()


def _check_move(here: Any, there: Any) -> None:
    """Refuse a redirect to another server, before a prompt goes there."""
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
        where = f"{there.scheme}://{there.netloc.decode()}{there.path}"
        raise Refused(f"the server sends this on to {safe(where, MOST_SHOWN)}, another server")


async def _body(response: Any) -> bytes:
    """The body, unpacked here: the HTTP library unpacks whatever it is sent, to any size."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "deflate"):
        raise Refused(f"the answer is packed ({safe(packing, 40)})")
    unpacking = None if packing == "identity" else zlib.decompressobj(_ANY_ZLIB)
    in_pieces = response.headers.get("content-type", "").startswith("text/event-stream")
    body, stream = bytearray(), EventStream()
    async for part in response.aiter_raw():
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
    return stream.whole() if in_pieces else bytes(body)


def _whole(response: Any, body: bytes) -> Any:
    """The response as if it had been sent whole and unpacked, with the one header that is read.

    A `charset` of the server's choice could name a packing too.
    """
    read = {name: text for name, text in response.headers.items() if name == "retry-after"}
    return type(response)(
        response.status_code,
        headers=read,
        content=body,
        request=response.request,
        extensions=response.extensions,
    )
