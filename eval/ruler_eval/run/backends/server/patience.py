"""How long an answer is waited for: `--timeout`, and what the tokens ahead of it take.

    patience = Patience(seconds=3600)
    answer = await patience.wait(request, tokens=131_072)

A server works through its queue: a request's own time begins when what was sent before it is done.
When that is follows from the tokens a second that it has answered so far, which are taken to be
half as many, since rows differ. What is not answered at all is waited for `seconds`. Where answers
are streamed (event_stream.py) the server itself tells when it has begun, and `seconds` count anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

from ruler_eval.run.backends.server.event_stream import on_begin

Answer = TypeVar("Answer")
SLACK = 2.0


class Patience:
    """The requests in flight, and how fast they were answered; all calls come from one loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._in_flight = self._answered = 0
        self._began: float | None = None
        self._taken = 0.0

    async def wait(self, request: Awaitable[Answer], tokens: int) -> Answer:
        """What a request of so many prompt tokens gives. Raises asyncio.TimeoutError."""
        sent, ahead = time.monotonic(), self._in_flight
        if self._began is None:
            self._began = sent
        began: list[float] = []
        before = on_begin.set(lambda: began.append(time.monotonic()))
        task = asyncio.ensure_future(request)
        on_begin.reset(before)
        self._in_flight += tokens
        try:
            while not task.done():
                since = began[0] if began else sent + self._queueing(ahead)
                left = since + self._seconds - time.monotonic()
                if left <= 0:
                    raise asyncio.TimeoutError
                await asyncio.wait({task}, timeout=min(left, self._seconds))
            answer = task.result()
        finally:
            self._in_flight -= tokens
            task.cancel()
        self._answered += tokens
        self._taken = time.monotonic() - self._began
        return answer

    def _queueing(self, ahead: int) -> float:
        """Seconds that the server takes for so many tokens, as far as it has shown."""
        return SLACK * ahead * self._taken / self._answered if self._answered else 0.0
