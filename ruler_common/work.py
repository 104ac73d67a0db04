"""Divide work over processes, and keep its memory small."""

from __future__ import annotations

import ctypes
import gc
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple

from ruler_common.errors import RulerError

_MIN_TOKENS = 1 << 24  # of rows, for a process: fewer take less time than its start


def processes_for(tokens: int) -> int:
    """Return how many processes to use for rows of this many tokens: at most one per core."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores, tokens // _MIN_TOKENS))


class Shard(NamedTuple):
    """One of several parts of a run, each done by another process: `2/4` is the second of four."""

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
        """Return the names that belong to this shard.

        Each name, the largest first, goes to the shard with the least work, so that every process
        finds the same division from the same names and sizes (tokens, for example).
        """
        work = [0] * self.total
        chosen = set()
        for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
            shard = work.index(min(work))
            work[shard] += sizes[name]
            if shard + 1 == self.number:
                chosen.add(name)
        return chosen


@lru_cache(maxsize=1)
def _trim() -> Any:
    """Return glibc's `malloc_trim`; None if the C library does not have it."""
    with suppress(OSError, AttributeError, TypeError):
        return ctypes.CDLL(None).malloc_trim
    return None


def release_memory() -> None:
    """Return the memory of texts and row groups that are no longer used to the system.

    pyarrow keeps it in its pool, and glibc in the heap of each thread that ever held a long text.
    """
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    if trim := _trim():
        trim(0)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause Python's search for reference cycles, which predictions do not form.

    It takes a third of the time of reading predictions, and a tenth of making a large page.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
