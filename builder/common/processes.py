"""Spread work over processes, or do it here: the same calls either way.

    with spread(2, FileBuilder, (suite, settings, root), told) as run:
        for result in run("build", jobs):        # FileBuilder.build(job, tell), as they finish
            …

Each process makes its own worker object and shares nothing. `told(n)` hears what workers `tell`.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from ruler_dataset import RulerError

Tell = Callable[[int], None]
Run = Callable[[str, Iterable[Any]], Iterator[Any]]


@contextmanager
def spread(
    workers: int, make: Callable[..., Any], arguments: tuple[Any, ...], told: Tell
) -> Iterator[Run]:
    """A function that runs a method of the worker object on every item, in any order.

    An error ends the work of all; a worker that dies raises RulerError.
    """
    if workers == 1:
        worker = make(*arguments)
        yield lambda method, items: (getattr(worker, method)(item, told) for item in items)
        return
    context = get_context("spawn")
    heard: Any = context.SimpleQueue()
    listener = threading.Thread(target=_listen, args=(heard, told), daemon=True)
    listener.start()
    start = (make, arguments, heard, os.getpid())
    executor = ProcessPoolExecutor(workers, context, _start, start)
    try:
        yield lambda method, items: _results(executor, method, items)
    except BaseException:
        for process in list((executor._processes or {}).values()):
            process.terminate()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        heard.put(None)
        listener.join()


def _results(executor: ProcessPoolExecutor, method: str, items: Iterable[Any]) -> Iterator[Any]:
    try:
        futures: list[Future] = [executor.submit(_in_worker, method, item) for item in items]
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool:
        raise RulerError(
            "A worker process died, perhaps for want of memory; what was finished is kept. "
            "Run the command again, with fewer --workers."
        ) from None


def _listen(heard: Any, told: Tell) -> None:
    while (count := heard.get()) is not None:
        told(count)


_here: tuple[Any, Tell]


def _start(make: Callable[..., Any], arguments: tuple[Any, ...], heard: Any, parent: int) -> None:
    """In a new process: leave Ctrl-C to the parent, and do not outlive it."""
    global _here
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def tell(count: int) -> None:
        if os.getppid() != parent:
            os._exit(1)
        heard.put(count)

    _here = make(*arguments), tell


def _in_worker(method: str, item: Any) -> Any:
    worker, tell = _here
    return getattr(worker, method)(item, tell)
