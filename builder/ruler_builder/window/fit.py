"""Fill a window exactly: the most haystack that fits, found by counting, not by guessing.

    fitted = fit(draft, budget, step)      # fitted.units, fitted.draft, fitted.next_unit_tokens

`draft(n)` returns the row's text with n units of haystack; `step(n, tokens)` estimates how many
units hold `tokens` more (or, if negative, fewer) than n units do. The result has at most `budget`
tokens, and would not fit with one more unit.

    packed = pack(pools, required, tokens, estimate, budget)
    packed.documents, packed.next_unit_tokens

packs documents, given as indices into a corpus: in random order while they fit, then smaller ones
into the remaining tokens. The next pool is used only when the one before it is used up. `tokens`
counts a prompt with these documents exactly; `estimate` estimates what each document adds, which
only shortens the search. So windows are filled under every tokenizer, even if the tokens of a text
are not those of its pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ruler_common.errors import RulerError

_MAX_ESTIMATES = 8  # drafts sized by `step`, before the search switches to bisection


class Impossible(RulerError):
    """A task cannot be built for this window; others can (`ruler build --skip-impossible`)."""


class Sized(Protocol):
    """Anything with a known number of tokens."""

    @property
    def tokens(self) -> int:
        """Exact number of tokens."""
        ...


S = TypeVar("S", bound=Sized)


@dataclass(frozen=True)
class Fitted(Generic[S]):
    """The fullest draft, its units, and the tokens of the next unit, which did not fit."""

    units: int
    draft: S
    next_unit_tokens: int | None  # None if there are no more units


def fit(
    draft: Callable[[int], S],
    budget: int,
    step: Callable[[int, int], int],
    max_units: int | None = None,
    min_units: int = 0,
) -> Fitted[S]:
    """Return the draft with the most units, from `min_units` to `max_units`, within the budget.

    The search keeps a number of units that fits and one that does not, and tries the estimate of
    `step` between them; after a few tries it bisects. Raises Impossible if `min_units` do not fit.

    Args:
        draft: Returns the text with a number of units.
        budget: The maximum number of tokens.
        step: Estimates how many units hold a number of tokens more than a number of units do.
        max_units: The number of units available; None if there is no limit.
        min_units: The minimum number of units of a text.
    """
    units, best = min_units, draft(min_units)
    refuse_if_over(best.tokens, budget)
    remaining = budget - best.tokens
    too_many, excess = max_units + 1 if max_units is not None else None, None
    tried_units, difference = units, remaining
    for tried in count():
        if too_many is not None and too_many - units <= 1:
            break
        tried_units = max(units + 1, step(tried_units, difference))
        if tried >= _MAX_ESTIMATES and too_many is None:
            tried_units = max(tried_units, units + 2 ** (tried - _MAX_ESTIMATES))
        elif tried >= _MAX_ESTIMATES and too_many is not None:
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
    """Raise Impossible if the shortest possible row does not fit the budget."""
    if tokens > budget:
        raise Impossible(
            f"The task needs at least {tokens} tokens, and the window has {budget} for it: "
            "take a longer length."
        )


Documents = np.ndarray


class Pool(NamedTuple):
    """Documents in the order to try them, and how many times the corpus was used up before."""

    documents: Documents
    repeats: int


class Packed(NamedTuple):
    """The chosen documents and the tokens of their prompt.

    `next_unit_tokens` is what the smallest document that did not fit would have added; None if all
    fit. `repeats` is how many times the corpus was used up.
    """

    documents: Documents
    tokens: int
    next_unit_tokens: int | None
    repeats: int


def pack(
    pools: Iterable[Pool],
    required: Documents,
    tokens: Callable[[Documents], int],
    estimate: Callable[[Documents, int], np.ndarray],
    budget: int,
) -> Packed:
    """Return the documents that fill a budget of tokens, the required ones first.

    `estimate(documents, n)` estimates how many tokens each document adds to n others.
    Raises Impossible if the required documents do not fit.
    """
    packed = Packed(required, tokens(required), None, 0)
    refuse_if_over(packed.tokens, budget)
    for pool in pools:
        fuller = _from_pool(pool, packed, tokens, estimate, budget)
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
    estimate: Callable[[Documents, int], np.ndarray],
    budget: int,
) -> Packed:
    """Add the first documents of a pool while they fit, then smaller ones that still fit."""
    before = len(packed.documents)
    sums = np.concatenate([[0], np.cumsum(estimate(pool.documents, before))])

    def draft(count: int) -> Packed:
        if not count:
            return packed
        documents = np.concatenate([packed.documents, pool.documents[:count]])
        return Packed(documents, tokens(documents), None, pool.repeats)

    def step(count: int, more_tokens: int) -> int:
        return int(np.searchsorted(sums, sums[count] + more_tokens, "right")) - 1

    fitted = fit(draft, budget, step, len(pool.documents))
    packed, untried = fitted.draft, pool.documents[fitted.units :]
    failed = False  # whether the last document was larger than its estimate and did not fit
    while len(untried):
        guesses = estimate(untried, len(packed.documents))
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
