"""Random draws that depend only on a key, never on what was drawn before.

A row's key is (data version, seed, dataset, task, index, …); equal keys give equal draws on any
machine, in any order, with any number of workers.

    rng("1", 0, "ruler", "vt", 17, "ask").integers(10)
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Collection, Iterator
from itertools import islice

import numpy as np


def rng(*key: str | int) -> np.random.Generator:
    """Return a PCG64 generator seeded by a blake2b hash of the key's parts."""
    text = "\x1f".join(str(part) for part in key)
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))


def distinct(generator: np.random.Generator, population: int, count: int) -> list[int]:
    """`count` different integers below `population`, in random order."""
    drawn: list[int] = generator.choice(population, size=count, replace=False).tolist()
    return drawn


def all_but(population: int, taken: Collection[int] | np.ndarray) -> np.ndarray:
    """Return the integers below `population` that are not in `taken`, ascending."""
    free = np.ones(population, dtype=bool)
    free[np.array(taken, dtype=int)] = False
    return np.flatnonzero(free)


def numbers(
    generator: np.random.Generator, digits: int, count: int, taken: Collection[str] = ()
) -> list[str]:
    """`count` different numbers of exactly `digits` digits, none of them in `taken`."""
    return list(iter_numbers(generator, digits, count, taken))


def iter_numbers(
    generator: np.random.Generator, digits: int, count: int, taken: Collection[str] = ()
) -> Iterator[str]:
    """Like `numbers`, but lazy: all are drawn at once, and written as they are read.

    It draws enough extra numbers to replace all of `taken`, so that it never has to draw again.
    """
    low, high = 10 ** (digits - 1), 10**digits
    drawn = generator.choice(high - low, size=count + len(taken), replace=False)
    texts = (str(number) for number in (drawn + low).tolist())
    return islice((text for text in texts if text not in taken), count)


def uuids(generator: np.random.Generator, count: int) -> list[str]:
    """`count` random version-4 UUIDs."""
    raw = np.frombuffer(generator.bytes(16 * count), dtype=np.uint8).reshape(count, 16).copy()
    raw[:, 6] = raw[:, 6] & 0x0F | 0x40  # the version
    raw[:, 8] = raw[:, 8] & 0x3F | 0x80  # the variant of RFC 4122
    digits = np.frombuffer(raw.tobytes().hex().encode(), dtype=np.uint8).reshape(count, 32)
    text = np.insert(digits, [8, 12, 16, 20], ord("-"), axis=1).tobytes().decode()
    return [text[start : start + 36] for start in range(0, len(text), 36)]


def letters(
    generator: np.random.Generator,
    length: int,
    count: int,
    alphabet: str = string.ascii_lowercase,
    taken: Collection[str] = (),
) -> list[str]:
    """`count` different strings of `length` letters, none of them in `taken`."""
    words = []
    for n in distinct(generator, len(alphabet) ** length, count + len(taken)):
        word = ""
        for _ in range(length):
            n, letter = divmod(n, len(alphabet))
            word += alphabet[letter]
        words.append(word)
    return [word for word in words if word not in taken][:count]
