"""Rows are prepared by threads before their turn comes, so that no model waits for a tokenizer.

    ahead = Ahead(prepare)
    for prepared in ahead(rows): …      # in the order of the rows, whoever was ready first
    ahead.close()

Tokenizers work outside Python's lock: as many run at a time as there are cores.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Generic, TypeVar

from ruler_common.work import let_go
from ruler_eval.run.preparing.row_reader import SentRow

MOST_THREADS = 16
MOST_TOKENS = 1 << 22
"""Tokens of the rows that are prepared ahead, at most (a longer row is prepared alone)."""
PATIENCE = 2.0
"""Seconds that a row which is being prepared is waited for at the end, at most."""
LET_GO = 1 << 20
"""Tokens of rows after which the memory that tokenizers took is given back."""
Ready = TypeVar("Ready")


class Ahead(Generic[Ready]):
    """Threads that call `prepare`. They end with the process, or with `close`."""

    def __init__(self, prepare: Callable[[SentRow], Ready], threads: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        count = threads or min(cores or 1, MOST_THREADS)
        self._prepare = prepare
        self._asked: queue.SimpleQueue[tuple[Future[Ready], SentRow] | None] = queue.SimpleQueue()
        self._waiting: deque[tuple[Future[Ready], int]] = deque()
        self._since = 0
        # daemons: a tokenizer cannot be interrupted, and ten million tokens take it a minute
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def __call__(self, rows: Iterator[SentRow]) -> Iterator[Ready]:
        """What `prepare` makes of each row, in order; its errors are raised here."""
        most, tokens = 2 * len(self._threads), 0
        for row in rows:
            future: Future[Ready] = Future()
            size = int(row[1].get("length", 0))
            self._asked.put((future, row))
            self._waiting.append((future, size))
            tokens += size
            while self._waiting and (len(self._waiting) > most or tokens > MOST_TOKENS):
                tokens -= self._waiting[0][1]
                yield self._next()
        while self._waiting:
            yield self._next()

    def _next(self) -> Ready:
        ready = self._waiting[0][0].result()
        self._since += self._waiting.popleft()[1]
        if self._since >= LET_GO:
            self._since = 0
            let_go()
        return ready

    def close(self) -> None:
        """Take no more rows, and wait a little for those that are being prepared."""
        for future, _ in self._waiting:
            future.cancel()
        for _ in self._threads:
            self._asked.put(None)
        until = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while asked := self._asked.get():
            future, row = asked
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._prepare(row))
            except BaseException as error:  # raised where the result is asked for
                future.set_exception(error)
