"""Fill a window exactly: the most haystack that fits, found by counting, not by guessing.

    fitted = fit(draft, room, step)        # fitted.units, fitted.draft, fitted.unit

`draft(n)` gives the row's text with n units of haystack; `step(n, tokens)` says about how many
units hold `tokens` more (or, negative, fewer) than n units do. The result has at most `room`
tokens, and with one unit more it would not fit (law "full").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Generic, Protocol, TypeVar

from ruler_common.errors import RulerError

_STEPS = 8  # of the guess, before the gap is halved instead


class Impossible(RulerError):
    """A task cannot be built for this window; others can (`ruler build --skip-impossible`)."""


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

    Steps between a number of units known to fit and one known not to; where a few steps do not
    find it, the gap is halved each time. Raises Impossible if not even `least` units fit.
    """
    units, best = least, draft(least)
    spare = room - best.tokens
    refuse_if_over(best.tokens, room)
    over, excess = most + 1 if most is not None else None, None
    n, left = units, spare
    for tried in count():
        if over is not None and over - units <= 1:
            break
        n = max(units + 1, step(n, left))
        if tried >= _STEPS:
            n = max(n, units + 2 ** (tried - _STEPS)) if over is None else (units + over) // 2
        if over is not None:
            n = min(n, over - 1)
        candidate = draft(n)
        left = room - candidate.tokens
        if left >= 0:
            units, best, spare = n, candidate, left
        else:
            over, excess = n, -left
    return Fitted(units, best, spare + excess if excess is not None else None)


def refuse_if_over(tokens: int, room: int) -> None:
    """Raise Impossible where the least that a row must hold is more than its window leaves."""
    if tokens > room:
        raise Impossible(
            f"The task needs {tokens} tokens at the least where the window leaves {room}: "
            "take a longer length."
        )
