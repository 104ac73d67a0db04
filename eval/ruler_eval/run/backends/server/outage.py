"""A server that is gone for a while: rows wait for it, and no row fails because of it.

    outage = Outage(alive, give_up_after=600.0, on_begin=print)
    await outage.over()                 # before each request
    outage.answered()                   # after each answer
    if await outage.begun(row, kind):   # after a failure that may pass: was it the server's?

The server is gone where it no longer says which models it has when a row would be given up, or
where ROWS rows in a row fail alike. It is asked again after 1, 2, 4, … seconds; once nothing has
been answered for `give_up_after` seconds, GivenUp ends the run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable

ROWS = 8
"""Rows that fail alike, one after another, until that is the server's fault."""
LONGEST_PAUSE = 60.0
"""Seconds between two questions to a server that is gone, at most."""


class GivenUp(Exception):
    """The server has not answered for too long; the text says for what reason."""


class Outage:
    """What is known of a server's health; all calls come from one event loop.

    `alive` says whether the server answers anything; `on_begin` is called with the kind of failure
    when rows begin to wait. `first_pause` is in seconds.
    """

    def __init__(
        self,
        alive: Callable[[], Awaitable[bool]],
        give_up_after: float,
        on_begin: Callable[[str], None],
        first_pause: float = 1.0,
    ) -> None:
        self._alive, self._on_begin = alive, on_begin
        self._give_up_after, self._first_pause = give_up_after, first_pause
        self._failed: set[Hashable] = set()
        self._kind = ""
        self._since: float | None = None
        self._pause = first_pause
        self._waiting: asyncio.Task[None] | None = None
        self.count = 0
        """How often rows had to wait; tries from before count for nothing."""

    def answered(self) -> None:
        """Note an answer: the server is well."""
        self._failed.clear()
        self._since, self._pause = None, self._first_pause

    async def begun(self, row: Hashable, kind: str, last: bool) -> bool:
        """Note a failure of a row, and say whether it is the server's fault and not the row's.

        With `last` the row has had all its tries.
        """
        if self._waiting is not None:
            return True
        if kind != self._kind:
            self._failed.clear()
            self._kind = kind
        self._failed.add(row)
        if self._since is None:
            self._since = time.monotonic()
        gone = len(self._failed) >= ROWS or (last and not await self._alive())
        if gone and self._waiting is None:
            if self._pause == self._first_pause:
                self._on_begin(kind)
            self.count += 1
            self._waiting = asyncio.ensure_future(self._until_alive(kind))
        return gone

    async def over(self) -> None:
        """Wait until the server answers again. Raises GivenUp after too long a time."""
        if self._waiting is not None:
            await asyncio.shield(self._waiting)

    async def _until_alive(self, kind: str) -> None:
        """Ask again and again; the pauses grow until something is answered."""
        while True:
            left = (self._since or 0.0) + self._give_up_after - time.monotonic()
            if left <= 0:
                raise GivenUp(kind)
            await asyncio.sleep(min(self._pause, left))
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            if await self._alive():
                break
        self._failed.clear()
        self._waiting = None
