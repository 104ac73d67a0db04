r"""Random draws for rows: from a published standard, so that they can be repeated anywhere.

    draws = Draws("1.0.0", 0, "ruler", "vt", 17, "ask")
    draws.integers(10, 3)       # three integers from 0 to 9
    draws.distinct(10, 3)       # three different ones, in random order

A draw depends on its key alone. Call number n of a `Draws`, counted from 0, reads the output of
SHAKE-128 (FIPS 202) for the parts of the key and n, joined by the byte 0x1F, as little-endian
64-bit words. Libraries' generators promise no stable stream; this one is defined by
docs/draws.md, with examples for writing it in another language.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Collection

import numpy as np

WORD_BYTES = 8


class Draws:
    """Random numbers that depend on a key and on how many calls came before."""

    def __init__(self, *key: str | int) -> None:
        self._key = key
        self._calls = 0

    def _next_stream(self) -> Stream:
        """Return the words that the next call reads."""
        stream = Stream(*self._key, self._calls)
        self._calls += 1
        return stream

    def integers(self, below: int, count: int) -> np.ndarray:
        """Draw `count` integers from 0 to `below` - 1, int64: the fair words modulo `below`."""
        return self._next_stream().integers(below, count)

    def floats(self, count: int) -> np.ndarray:
        """Draw `count` multiples of 2**-53 from 0 to below 1: the upper 53 bits of each word."""
        return (self._next_stream().words(count) >> np.uint64(11)) * 2.0**-53

    def permutation(self, count: int) -> np.ndarray:
        """Return the integers below `count` in random order: a stable sort of `count` words."""
        return self._next_stream().permutation(count)

    def shuffled(self, items: np.ndarray) -> np.ndarray:
        """Return the items in random order."""
        shuffled: np.ndarray = items[self.permutation(len(items))]
        return shuffled

    def distinct(self, below: int, count: int) -> np.ndarray:
        """Draw `count` different integers below `below`, in random order.

        The beginning of a permutation if that is over half of them, else the first different ones
        of a sequence of integers. Raises ValueError for more than there are.
        """
        if count > below:
            raise ValueError(f"There are only {below} integers below {below}: {count} are wanted.")
        stream = self._next_stream()
        if 2 * count > below:
            return stream.permutation(below)[:count]
        # About count**2 / (2 * below) of them repeat an earlier one, at most 0.39 * count.
        drawn = count + count * count // below + 16
        while True:
            numbers = stream.integers(below, drawn)
            _, firsts = np.unique(numbers, return_index=True)
            if len(firsts) >= count:
                return numbers[np.sort(firsts)[:count]]
            drawn *= 2

    def data(self, size: int) -> bytes:
        """Return `size` random bytes."""
        return self._next_stream().data(size)


class Stream:
    """The output of SHAKE-128 for a key: every method reads it from its beginning."""

    def __init__(self, *key: str | int) -> None:
        self._hash = hashlib.shake_128("\x1f".join(map(str, key)).encode())

    def data(self, size: int) -> bytes:
        """Return the first `size` bytes."""
        return self._hash.digest(size)

    def words(self, count: int) -> np.ndarray:
        """Return the first `count` words, uint64."""
        return np.frombuffer(self.data(WORD_BYTES * count), dtype="<u8")

    def integers(self, below: int, count: int) -> np.ndarray:
        """Return `count` integers below `below`: words modulo `below`, without the unfair words.

        Those are the words from the largest multiple of `below` up to 2**64.
        """
        if not 0 < below <= 1 << 63:
            raise ValueError(f"Integers are drawn below 1 to 2**63, not {below}.")
        max_fair = (1 << 64) - (1 << 64) % below - 1
        size = count
        while True:  # fewer than half of all words are unfair
            words = self.words(size)
            fair = words[words <= np.uint64(max_fair)]
            if len(fair) >= count:
                return (fair[:count] % np.uint64(below)).astype(np.int64)
            size *= 2

    def permutation(self, count: int) -> np.ndarray:
        """Return the integers below `count`, ordered by the words at their places."""
        words = self.words(count)
        order = np.argsort(words)  # takes half of the time of a stable sort
        ordered = words[order]
        if (ordered[1:] == ordered[:-1]).any():
            order = np.argsort(words, kind="stable")
        return order


def all_but(population: int, taken: Collection[int] | np.ndarray) -> np.ndarray:
    """Return the integers below `population` that are not in `taken`, ascending."""
    free = np.ones(population, dtype=bool)
    free[np.array(taken, dtype=int)] = False
    return np.flatnonzero(free)


def numbers(draws: Draws, digits: int, count: int, taken: Collection[str] = ()) -> list[str]:
    """Draw `count` different numbers of exactly `digits` digits, none of them in `taken`.

    Enough are drawn to replace all of `taken`, so that it is never necessary to draw again.
    """
    low, high = 10 ** (digits - 1), 10**digits
    drawn = low + draws.distinct(high - low, count + len(taken))
    texts = [str(number) for number in drawn.tolist()]
    return [text for text in texts if text not in taken][:count]


def uuids(draws: Draws, count: int) -> list[str]:
    """Draw `count` random version-4 UUIDs."""
    raw = np.frombuffer(draws.data(16 * count), dtype=np.uint8).reshape(count, 16).copy()
    raw[:, 6] = raw[:, 6] & 0x0F | 0x40  # the version
    raw[:, 8] = raw[:, 8] & 0x3F | 0x80  # the variant of RFC 4122
    digits = np.frombuffer(raw.tobytes().hex().encode(), dtype=np.uint8).reshape(count, 32)
    text = np.insert(digits, [8, 12, 16, 20], ord("-"), axis=1).tobytes().decode()
    return [text[start : start + 36] for start in range(0, len(text), 36)]


def letters(
    draws: Draws,
    length: int,
    count: int,
    alphabet: str = string.ascii_lowercase,
    taken: Collection[str] = (),
) -> list[str]:
    """Draw `count` different strings of `length` ASCII letters, none of them in `taken`.

    A string is a number in the base of the alphabet's size, its last digit first.
    """
    drawn = draws.distinct(len(alphabet) ** length, count + len(taken))
    digits = drawn[:, np.newaxis] // len(alphabet) ** np.arange(length) % len(alphabet)
    text = np.frombuffer(alphabet.encode(), dtype=np.uint8)[digits].tobytes().decode()
    words = [text[start : start + length] for start in range(0, len(text), length)]
    return [word for word in words if word not in taken][:count]
