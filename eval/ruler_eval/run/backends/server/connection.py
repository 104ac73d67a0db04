"""The connection to one server: an event loop in a thread of its own, and what is asked there.

server = Connection(base_url, key, timeout=3600.0)
page = server.call(server.ask("/models", seconds=60.0))     # from any thread
text = server.beside("metrics", read=str)                   # None where there is no such path
server.close()
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai

from ruler_common.errors import RulerError
from ruler_eval.run.backends import server_replies
from ruler_eval.run.backends.bounded_http import UNUSABLE, BoundedClient
from ruler_eval.run.backends.server_replies import Malformed, Refused, describe
from ruler_eval.run.backends.server_requests import json_bytes

Result = TypeVar("Result")
Read = Callable[[str], Any]
FAILURES = (openai.APIError, asyncio.TimeoutError, Malformed, Refused)
"""What a request may end with instead of an answer."""
PATIENCE = 60.0
"""Seconds for what a server is asked about itself, at most; and for a connection."""


class Connection:
    """Requests to a server; `timeout` are the seconds of one, at most, where it has a limit.

    Raises RulerError where the environment lets none be made.
    """

    def __init__(self, base_url: str | None, key: str, timeout: float) -> None:
        self._timeout = timeout
        # whose address and headers the environment says too: OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID
        try:
            official = openai.AsyncOpenAI(api_key=key, base_url=base_url)
            headers = {**official.auth_headers, **official.default_headers}
            sent = {name: value for name, value in headers.items() if isinstance(value, str)}
            self._client = BoundedClient(sent, connect=min(PATIENCE, timeout))
        except RulerError:
            raise
        except UNUSABLE as error:
            named = isinstance(error, ImportError | OSError)  # others may show a proxy's password
            raise RulerError(
                "No request can be made with the proxies and certificates that the environment "
                f"names{f' ({describe(error)})' if named else ''}: correct HTTP_PROXY, "
                "HTTPS_PROXY, ALL_PROXY or SSL_CERT_FILE."
            ) from error
        self._url = str(official.base_url).rstrip("/")
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """What a coroutine gives; it runs in the thread of the connections."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def ask(
        self,
        path: str,
        body: Any = None,
        seconds: float | None = None,
        read: Read = server_replies.read_json,
    ) -> Any:
        """What a path answers with, all of it within so many seconds, if any are given.

        Nobody holds a body's objects as long as the answer is waited for: bytes take a tenth.
        """
        content = None if body is None else json_bytes(body)
        del body
        url = path if "://" in path else f"{self._url}{path}"
        limit = None if seconds is None else min(seconds, self._timeout)
        return read(await asyncio.wait_for(self._client.ask(url, content), limit))

    @property
    def where(self) -> str:
        """The server's address without anything secret in it."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def beside(
        self,
        path: str,
        body: Any = None,
        seconds: float = PATIENCE,
        read: Read = server_replies.read_json,
    ) -> Any:
        """Call a path beside /v1 that only some servers have; None where it is missing."""
        root = self._url.removesuffix("/v1")
        try:
            return self.call(self.ask(f"{root}/{path}", body, seconds, read))
        except FAILURES as error:
            sentence = server_replies.unusable(error, self.where)
            if sentence and isinstance(error, Refused):
                raise sentence from error
            return None

    async def alive(self) -> bool:
        """Whether the server says anything of its own."""
        try:
            await self.ask("/models", seconds=PATIENCE)
        except openai.APIStatusError as error:
            return error.status_code not in (502, 503, 504)  # of a balancer with nobody behind it
        except (openai.APIConnectionError, TimeoutError, asyncio.TimeoutError):
            return False
        except FAILURES:
            return True
        return True

    def close(self) -> None:
        """Close the connections."""
        self.call(self._client.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
