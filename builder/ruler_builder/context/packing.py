"""Fill a window with documents: in random order while they fit, then smaller ones in what is left.

    packed = pack(pools, required, tokens, about, room)
    packed.documents, packed.unit

Documents are numbers of a corpus. Pools are used one after another, the next only when the one
before it is all in. `tokens` counts a prompt with so many documents exactly; `about` guesses what
documents add, and only makes the search short. So a window is as full under every tokenizer, also
where the tokens of a text are not those of its pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ruler_builder.context.fit import fit, refuse_if_over

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
