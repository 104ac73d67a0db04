"""How many requests are sent at a time: more while that is faster, fewer where the server fails.

    pace = Pace(32, tokens=2 << 20)
    pace.now, pace.tokens               # requests and prompt tokens at a time
    await pace.watch(request, 4096)     # counts how a request of 4,096 tokens ends, as these do
    pace.answered(4096)                 # half as many more after `now` of them, if that is faster
    pace.failed(error)                  # half, after HTTP 429 or 503, or a timeout

Before the first failure requests grow by half a round, as long as a round of answers brings GAIN
times the tokens a second of the best before: what is sent beyond that only waits in the server's
queue. Rounds in which rows were not ready as fast as they were answered say nothing. After a
failure it is additive increase, multiplicative decrease (Chiu and Jain, Computer Networks and ISDN
Systems 17, 1989, doi:10.1016/0169-7552(89)90019-6), up to where it failed. Requests that were in
flight when the pace fell say nothing new where they fail too.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.server_replies import kind_of

Answer = TypeVar("Answer")
OVERLOAD = ("HTTP 429", "HTTP 503", "TimeoutError", "APITimeoutError")
"""Failures of a server that has too much to do."""
REQUESTS, TOKENS = 32, 2 << 20
"""Requests and prompt tokens at a time, at first, for each engine behind an address."""
MOST = 1000
"""Requests at a time, at most: as many connections as the HTTP library opens."""
GAIN = 1.05
FLAT = 2
"""Rounds without a gain until the pace is settled: rows differ, and so do rounds."""


class Pace:
    """Requests at a time, from 1 to `most`; it begins with `first` of them and `tokens`."""

    def __init__(
        self,
        first: int,
        tokens: int,
        most: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.now = self._first = self._fastest = first
        self.most = max(first, most or first)
        self._tokens = tokens
        self._climbs, self._held = self.most > first, False
        self._best, self._flat, self._old = 0.0, 0, 0
        self._clock = clock
        self._began: float | None = None
        self._answers = self._answered = 0

    @classmethod
    def of(cls, options: ModelOptions, cache: int | None = None, engines: int = 1) -> Pace:
        """The pace for a server: what was asked for, else what its `engines` can hold.

        `cache` are the tokens of an engine's cache, where it tells: as many again may wait.
        """
        behind = max(options.replicas_behind, engines)
        first = options.concurrency or min(MOST, REQUESTS * behind)
        tokens = options.tokens_in_flight or (2 * cache if cache else TOKENS) * behind
        return cls(first, tokens, options.concurrency or MOST)

    @property
    def tokens(self) -> int:
        """Prompt tokens at a time: fewer with fewer requests; more would only wait in memory."""
        return self._tokens * min(self.now, self._first) // self._first

    def full(self, requests: int, tokens: int) -> bool:
        """Whether one more is too many, with it as many tokens."""
        full = requests >= self.now or tokens > self.tokens
        self._held = self._held or full
        return full

    async def watch(self, request: Awaitable[Answer], tokens: int) -> Answer:
        """What a request of so many tokens gives; its end is counted. Raises what it raises."""
        if self._began is None:
            self._began = self._clock()
        try:
            answer = await request
        except Exception as error:
            self.failed(error)
            raise
        self.answered(tokens)
        return answer

    def answered(self, tokens: int) -> None:
        """Count an answer to so many tokens: a round is over after `now` of them."""
        self._old = max(0, self._old - 1)
        self._answers, self._answered = self._answers + 1, self._answered + tokens
        if self._answers < self.now:
            return
        now = self._clock()
        if not self._climbs:
            self.now = min(self.most, self.now + 1)
        elif self._held and self._began is not None:
            self._climb(self._answered / max(now - self._began, 1e-9))
        self._began, self._held, self._answers, self._answered = now, False, 0, 0

    def _climb(self, speed: float) -> None:
        """After a round of so many tokens a second: more requests, or as many as were fastest."""
        if speed > GAIN * self._best:
            self._best, self._fastest, self._flat = speed, self.now, 0
            self.now = min(self.most, self.now + max(1, self.now // 2))
            return
        self._flat += 1
        if self._flat == FLAT:
            self._climbs = False
            self.now = self.most = self._fastest

    def failed(self, error: BaseException) -> None:
        """Halve the pace where the server is overloaded, once for all requests in flight."""
        if kind_of(error) not in OVERLOAD:
            return
        if self._old:
            self._old -= 1
            return
        if self._climbs:
            self._climbs, self.most = False, self.now
        self._old, self._answers, self._answered = self.now - 1, 0, 0
        self.now = max(1, self.now // 2)
