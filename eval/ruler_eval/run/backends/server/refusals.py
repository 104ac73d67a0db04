"""A server that refuses every row is at fault, or the order is; one row that it refuses is not.

    refusals = Refusals()
    for completion in refusals(one): …     # what can be recorded now

A refused row is held back until another is answered. Where ROWS rows in a row are refused alike,
and for HTTP 400 nothing was ever answered, AllRefused ends the run, and they count as missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ruler_eval.run.backends.backend import Completion

ROWS = 8
"""Rows that are refused alike until the run ends."""
KEYS = (401, 403)
"""Statuses that are no row's own fault, even after others were answered."""
STATUSES = (400, *KEYS)


class AllRefused(Exception):
    """Every row is refused; the text is the server's."""


class Refusals:
    """The refused rows that are not recorded yet."""

    def __init__(self) -> None:
        self.held: list[Completion] = []
        self._answered = False

    def __call__(self, completion: Completion) -> Iterator[Completion]:
        """What can be recorded after one more completion. Raises AllRefused."""
        status = completion.status
        if status not in STATUSES:
            self._answered = self._answered or completion.error is None
            yield from self.rest()
            yield completion
            return
        if self._answered and status not in KEYS:
            yield from self.rest()
            yield completion
            return
        if self.held and self.held[-1].status != status:
            yield from self.rest()
        self.held.append(completion)
        if len(self.held) == ROWS:
            raise AllRefused(completion.error)

    def rest(self) -> list[Completion]:
        """What was held back, which is now each row's own failure."""
        rest, self.held = self.held, []
        return rest
