"""Fill a window exactly: the most haystack that fits, found by counting, not by guessing.

    fitted = fit(draft, room, step)        # fitted.units, fitted.draft, fitted.unit

`draft(n)` gives the row's text with n units of haystack; `step(n, tokens)` says about how many
units hold `tokens` more (or, negative, fewer) than n units do. The result has at most `room`
tokens, and with one unit more it would not fit (law "full").

    packed = pack(pools, required, tokens, about, room)
    packed.documents, packed.unit

packs documents, numbers of a corpus: in random order while they fit, then smaller ones in what is
left. Pools are used one after another, the next only when the one before it is all in. `tokens`
counts a prompt with so many documents exactly; `about` guesses what documents add, and only makes
the search short. So a window is as full under every tokenizer, also where the tokens of a text are
not those of its pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

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


Documents = np.ndarray


class Pool(NamedTuple):
    """Documents in the order in which they are tried, and how often the corpus began again."""

    documents: Documents
    again: int


class Packed(NamedTuple):
    """The documents chosen, their prompt's tokens, and what the next one would have taken.

    `unit` are the tokens of the smallest document left out of the pool in use; None if none is.
    `again` says how often the corpus began again.
    """

    documents: Documents
    tokens: int
    unit: int | None
    again: int


def pack(
    pools: Iterable[Pool],
    required: Documents,
    tokens: Callable[[Documents], int],
    about: Callable[[Documents, int], np.ndarray],
    room: int,
) -> Packed:
    """The documents that fill `room` tokens, the required ones first.

    `about(documents, n)` guesses the tokens of each document were it the one after n others.
    Raises Impossible if the required documents do not fit.
    """
    packed = Packed(required, tokens(required), None, 0)
    refuse_if_over(packed.tokens, room)
    for pool in pools:
        fuller = _from_pool(pool, packed, tokens, about, room)
        again = pool.again if len(fuller.documents) > len(packed.documents) else packed.again
        packed = fuller._replace(again=again)
        if packed.unit is not None:
            break
    return packed


def _from_pool(
    pool: Pool,
    packed: Packed,
    tokens: Callable[[Documents], int],
    about: Callable[[Documents, int], np.ndarray],
    room: int,
) -> Packed:
    """Add documents of one pool: as many of the first as fit, then the smaller ones that do."""
    before = len(packed.documents)
    sums = np.concatenate([[0], np.cumsum(about(pool.documents, before))])

    def draft(count: int) -> Packed:
        if not count:
            return packed
        documents = np.concatenate([packed.documents, pool.documents[:count]])
        return Packed(documents, tokens(documents), None, pool.again)

    def step(count: int, spare: int) -> int:
        return int(np.searchsorted(sums, sums[count] + spare, "right")) - 1

    fitted = fit(draft, room, step, len(pool.documents))
    packed, left = fitted.draft, pool.documents[fitted.units :]
    failed = False  # whether the guess took a document for smaller than it is
    while len(left):
        guesses = about(left, len(packed.documents))
        fitting = np.flatnonzero(guesses <= room - packed.tokens)
        smallest = int(np.argmin(guesses))
        tried = smallest if failed or not len(fitting) else int(fitting[0])
        documents = np.append(packed.documents, left[tried])
        total = tokens(documents)
        if total <= room:
            packed, left = Packed(documents, total, None, pool.again), np.delete(left, tried)
            failed = False
        elif tried == smallest:
            return packed._replace(unit=total - packed.tokens)
        else:
            failed = True
    return packed
