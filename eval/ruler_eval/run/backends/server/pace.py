"""How many requests are sent at a time: fewer where the server cannot keep up, then more again.

    pace = Pace(most=32)
    pace.now            # 32: requests at a time
    await pace.watch(request)   # counts how it ends, as these do
    pace.failed(error)  # 16, after HTTP 429 or 503, or a timeout
    pace.answered()     # one more after as many answers

Additive increase, multiplicative decrease (Chiu and Jain, Computer Networks and ISDN Systems 17,
1989, doi:10.1016/0169-7552(89)90019-6). Requests that were in flight when the pace fell say nothing
new where they fail too.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from ruler_eval.run.backends.server_replies import kind_of

Answer = TypeVar("Answer")
OVERLOAD = ("HTTP 429", "HTTP 503", "TimeoutError", "APITimeoutError")
"""Failures of a server that has too much to do."""


class Pace:
    """Requests at a time, between 1 and `most`; it begins with `most`."""

    def __init__(self, most: int) -> None:
        self.most = self.now = most
        self._answers = self._old = 0

    async def watch(self, request: Awaitable[Answer]) -> Answer:
        """What a request gives, whose end is counted. Raises what it raises."""
        try:
            answer = await request
        except Exception as error:
            self.failed(error)
            raise
        self.answered()
        return answer

    def answered(self) -> None:
        """Count an answer: after `now` of them there is room for one more."""
        self._old = max(0, self._old - 1)
        self._answers += 1
        if self._answers >= self.now:
            self.now, self._answers = min(self.most, self.now + 1), 0

    def failed(self, error: BaseException) -> None:
        """Halve the pace where the server is overloaded, once for all requests in flight."""
        if kind_of(error) not in OVERLOAD:
            return
        if self._old:
            self._old -= 1
            return
        self._old, self._answers = self.now - 1, 0
        self.now = max(1, self.now // 2)
