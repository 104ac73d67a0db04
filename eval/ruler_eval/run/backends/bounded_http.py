"""An HTTP client that reads no answer without end: more than MOST bytes, unpacked, are an error.

The types of requests and responses are those of the HTTP library that the openai package uses.
"""

from __future__ import annotations

from typing import Any

import openai

from ruler_eval.run.backends.server_replies import MOST, TooLong

_UNPACKED = ("content-encoding", "content-length", "transfer-encoding")


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """The client of many requests at a time."""

    async def send(self, request: Any, *, stream: bool = False, **how: Any) -> Any:
        """Send a request and read its answer. Raises TooLong."""
        response = await super().send(request, stream=True, **how)
        if stream:
            return response
        body = bytearray()
        try:
            async for part in response.aiter_bytes():
                if len(body) + len(part) > MOST:
                    raise TooLong(f"the answer is longer than {MOST >> 20} MB")
                body += part
        finally:
            await response.aclose()
        return _whole(response, bytes(body))


def _whole(response: Any, body: bytes) -> Any:
    """The response as if it had been sent unpacked."""
    headers = response.headers.multi_items()
    return type(response)(
        response.status_code,
        headers=[(name, text) for name, text in headers if name.lower() not in _UNPACKED],
        content=body,
        request=response.request,
        history=response.history,
        extensions=response.extensions,
    )
