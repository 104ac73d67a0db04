"""One engine in an actor of a Ray cluster: rows are put in, records come out, while it works.

The engine has a thread of its own, so that rows can be handed over while it answers others.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from importlib.metadata import version
from typing import Any, NamedTuple

from ruler_common.errors import RulerError
from ruler_eval.run.answering import Answered, Answerer
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.preparing.row_reader import SentRow
from ruler_eval.run.run_order import RunOrder

_END: Any = object()


class Started(NamedTuple):
    """What is known of an engine that has started: its part of run.json, and rows it can hold.

    `project` is the version of this project where the engine runs.
    """

    settings: dict[str, Any]
    room: int
    project: str


class Replica:
    """An engine that starts with its actor. Errors of its start are raised by `started`."""

    def __init__(self, order: RunOrder, folder: str) -> None:
        """`folder` is where the command runs: the model's path may be relative to it."""
        with contextlib.suppress(OSError):  # a node without it; a Hub name needs none
            os.chdir(folder)
        self._incoming: queue.SimpleQueue[SentRow] = queue.SimpleQueue()
        self._answered: queue.SimpleQueue[Answered] = queue.SimpleQueue()
        self._started: Future[Started] = Future()
        self._thread = threading.Thread(target=self._work, args=(order,), daemon=True)
        self._error = ""
        self._thread.start()

    def started(self) -> Started:
        """Wait for the engine. Raises RulerError if it cannot start."""
        return self._started.result()

    def exchange(self, rows: Sequence[SentRow], seconds: float) -> list[Answered]:
        """Take rows, and give the answers there are; wait for the first up to some seconds.

        Raises RuntimeError once the engine has ended with an error.
        """
        for row in rows:
            self._incoming.put(row)
        found: list[Answered] = []
        try:
            found.append(self._answered.get(timeout=seconds))
            while True:
                found.append(self._answered.get_nowait())
        except queue.Empty:
            if not found and self._error:
                raise RuntimeError(self._error) from None
            return found

    def stop(self) -> None:
        """End the engine and free what it holds."""
        self._incoming.put(_END)
        self._thread.join(30)

    def _work(self, order: RunOrder) -> None:
        try:
            answerer = Answerer(order)
            settings, room = answerer.settings(), answerer.backend.room
            self._started.set_result(Started(settings, room, version("ruler-release")))
        except BaseException as error:
            self._started.set_exception(
                error if isinstance(error, RulerError) else RulerError(_in_short(error))
            )
            return
        try:
            answerer.answer(self._rows(answerer), self._answered.put)
        except BaseException as error:
            self._error = _in_short(error)
        finally:
            answerer.close()

    def _rows(self, answerer: Answerer) -> Iterator[SentRow | None]:
        """The rows as they come in; None while there are none and the engine has others."""
        while True:
            try:
                row = self._incoming.get(block=not answerer.busy)
            except queue.Empty:
                yield None
                continue
            if row is _END:
                return
            yield row


def _in_short(error: BaseException) -> str:
    """An error in one line."""
    return hide_keys(f"{type(error).__name__}: {' '.join(str(error).split())}", 500)
