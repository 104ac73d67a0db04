"""Fill a window exactly: the most haystack that fits, found by counting, not by guessing.

    fitted = fit(draft, budget, step)      # fitted.units, fitted.draft, fitted.next_unit_tokens

`draft(n)` gives the row's text with n units of haystack; `step(n, tokens)` says about how many
units hold `tokens` more (or, negative, fewer) than n units do. The result has at most `budget`
tokens, and with one unit more it would not fit.

    packed = pack(pools, required, tokens, about, budget)
    packed.documents, packed.next_unit_tokens

packs documents, numbers of a corpus: in random order while they fit, then smaller ones in what is
left. Pools are used one after another, the next only when the one before it is all in. `tokens`
counts a prompt with these documents exactly; `about` guesses what documents add, and only makes
the search short. So a window is as full under every tokenizer, even if the tokens of a text are
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
    """The fullest draft, its units, and the tokens of the next unit, which did not fit, if any."""

    units: int
    draft: S
    next_unit_tokens: int | None


def fit(
    draft: Callable[[int], S],
    budget: int,
    step: Callable[[int, int], int],
    max_units: int | None = None,
    min_units: int = 0,
) -> Fitted[S]:
    """Return the draft with the most units, from `min_units` to `max_units`, within the budget.

    Steps between a number of units known to fit and one known not to; if a few steps do not
    find it, the gap is halved each time. Raises Impossible if not even `min_units` fit.

    Args:
        draft: Gives the text with a number of units.
        budget: In tokens.
        step: Says about how many units hold a number of tokens more than a number of units do.
        max_units: How many units there are; None: without end.
        min_units: The fewest that a text can have.
    """
    units, best = min_units, draft(min_units)
    refuse_if_over(best.tokens, budget)
    remaining = budget - best.tokens  # of the best draft; negative `difference` is of one too long
    too_many, excess = max_units + 1 if max_units is not None else None, None
    tried_units, difference = units, remaining
    for tried in count():
        if too_many is not None and too_many - units <= 1:
            break
        tried_units = max(units + 1, step(tried_units, difference))
        if tried >= _STEPS and too_many is None:
            tried_units = max(tried_units, units + 2 ** (tried - _STEPS))
        elif tried >= _STEPS and too_many is not None:
            tried_units = (units + too_many) // 2
        if too_many is not None:
            tried_units = min(tried_units, too_many - 1)
        candidate = draft(tried_units)
        difference = budget - candidate.tokens
        if difference >= 0:
            units, best, remaining = tried_units, candidate, difference
        else:
            too_many, excess = tried_units, -difference
    return Fitted(units, best, remaining + excess if excess is not None else None)


def refuse_if_over(tokens: int, budget: int) -> None:
    """Raise Impossible if the least that a row must hold is more than its window leaves."""
    if tokens > budget:
        raise Impossible(
            f"The task needs {tokens} tokens at the least where the window leaves {budget}: "
            "take a longer length."
        )


Documents = np.ndarray


class Pool(NamedTuple):
    """Documents in the order in which they are tried, and how often the corpus began again."""

    documents: Documents
    repeats: int


class Packed(NamedTuple):
    """The documents chosen, their prompt's tokens, and what the next one would have taken.

    `next_unit_tokens` are those of the smallest document left out of the pool in use; None if none
    is. `repeats` says how often the corpus began again.
    """

    documents: Documents
    tokens: int
    next_unit_tokens: int | None
    repeats: int


def pack(
    pools: Iterable[Pool],
    required: Documents,
    tokens: Callable[[Documents], int],
    about: Callable[[Documents, int], np.ndarray],
    budget: int,
) -> Packed:
    """Return the documents that fill a budget of tokens, the required ones first.

    `about(documents, n)` guesses the tokens of each document were it the one after n others.
    Raises Impossible if the required documents do not fit.
    """
    packed = Packed(required, tokens(required), None, 0)
    refuse_if_over(packed.tokens, budget)
    for pool in pools:
        fuller = _from_pool(pool, packed, tokens, about, budget)
        repeats = packed.repeats
        if len(fuller.documents) > len(packed.documents):
            repeats = pool.repeats
        packed = fuller._replace(repeats=repeats)
        if packed.next_unit_tokens is not None:
            break
    return packed


def _from_pool(
    pool: Pool,
    packed: Packed,
    tokens: Callable[[Documents], int],
    about: Callable[[Documents, int], np.ndarray],
    budget: int,
) -> Packed:
    """Add documents of one pool: as many of the first as fit, then the smaller ones that do."""
    before = len(packed.documents)
    sums = np.concatenate([[0], np.cumsum(about(pool.documents, before))])

    def draft(count: int) -> Packed:
        if not count:
            return packed
        documents = np.concatenate([packed.documents, pool.documents[:count]])
        return Packed(documents, tokens(documents), None, pool.repeats)

    def step(count: int, more_tokens: int) -> int:
        return int(np.searchsorted(sums, sums[count] + more_tokens, "right")) - 1

    fitted = fit(draft, budget, step, len(pool.documents))
    packed, untried = fitted.draft, pool.documents[fitted.units :]
    failed = False  # whether the guess took a document for smaller than it is
    while len(untried):
        guesses = about(untried, len(packed.documents))
        fitting = np.flatnonzero(guesses <= budget - packed.tokens)
        smallest = int(np.argmin(guesses))
        tried = smallest if failed or not len(fitting) else int(fitting[0])
        documents = np.append(packed.documents, untried[tried])
        total = tokens(documents)
        if total <= budget:
            packed = Packed(documents, total, None, pool.repeats)
            untried, failed = np.delete(untried, tried), False
        elif tried == smallest:
            return packed._replace(next_unit_tokens=total - packed.tokens)
        else:
            failed = True
    return packed
