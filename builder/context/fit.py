"""Fill a window exactly: the most haystack that fits, found by counting, not by guessing.

    fitted = fit(draft, room, step)        # fitted.units, fitted.draft, fitted.unit

`draft(n)` gives the row's text with n units of haystack; `step(n, tokens)` says about how many
units hold `tokens` more (or, negative, fewer) than n units do. The result has at most `room`
tokens, and with one unit more it would not fit (law 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ruler_dataset import RulerError


class Sized(Protocol):
    """Anything whose tokens are known."""

    @property
    def tokens(self) -> int:
        """Exact number of tokens."""
        ...


S = TypeVar("S", bound=Sized)


@dataclass(frozen=True)
class Fitted(Generic[S]):
    """The fullest draft, its units, and the tokens of the unit that did not fit, if one is left."""

    units: int
    draft: S
    unit: int | None


def fit(
    draft: Callable[[int], S],
    room: int,
    step: Callable[[int, int], int],
    most: int | None = None,
    least: int = 0,
) -> Fitted[S]:
    """The largest n in least … most whose draft has at most `room` tokens, and that draft.

    Steps between a number of units known to fit and one known not to; every step shrinks the gap,
    so it ends. Raises RulerError if not even `least` units fit.
    """
    units, best = least, draft(least)
    spare = room - best.tokens
    if spare < 0:
        raise RulerError(
            f"The task needs {room - spare} tokens at the least where the window leaves {room}: "
            "take a longer length."
        )
    over, excess = most + 1 if most is not None else None, None
    n, left = units, spare
    while over is None or over - units > 1:
        n = max(units + 1, step(n, left))
        if over is not None:
            n = min(n, over - 1)
        candidate = draft(n)
        left = room - candidate.tokens
        if left >= 0:
            units, best, spare = n, candidate, left
        else:
            over, excess = n, -left
    return Fitted(units, best, spare + excess if excess is not None else None)
