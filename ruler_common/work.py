"""Work: a part of it for each of several processes, how much of it is done, what it leaves."""

from __future__ import annotations

import ctypes
import gc
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple

from ruler_common.errors import RulerError

OnBytes = Callable[[int], Any]  # called with the bytes that are there so far


_REPAYS = 1 << 24
"""Tokens of rows that take a process longer than its start does."""


def processes_for(tokens: int) -> int:
    """Processes for work on rows of so many tokens: one a core, where they repay their start."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores, tokens // _REPAYS))


class Shard(NamedTuple):
    """One of several parts of a work, made by different processes: `2/4` is the second of four."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `2/4`. Raises RulerError."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise RulerError(f"--shard '{text}' is not i/n with 1 <= i <= n, such as 2/4.")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def chosen(self, sizes: Mapping[str, int]) -> set[str]:
        """The names that are this shard's: each, the largest first, goes to the least loaded shard.

        Every shard finds the same division from the same names and sizes (tokens, say).
        """
        load = [0] * self.total
        mine = set()
        for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
            least = load.index(min(load))
            load[least] += sizes[name]
            if least + 1 == self.number:
                mine.add(name)
        return mine


@lru_cache(maxsize=1)
def _trim() -> Any:
    """Glibc's `malloc_trim`; None where the C library has no such thing."""
    with suppress(OSError, AttributeError, TypeError):
        return ctypes.CDLL(None).malloc_trim
    return None


def let_go() -> None:
    """Give back the memory of texts and row groups that are done with.

    pyarrow keeps it in its pool, and glibc in the heap of each thread that ever held a long text.
    """
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    if trim := _trim():
        trim(0)


@contextmanager
def no_search_for_circles() -> Iterator[None]:
    """Without Python's search for objects that name each other, which predictions never do.

    It would look through all that was read again and again: a third of the time of reading, and a
    tenth of what a page of 70,000 rows takes.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
