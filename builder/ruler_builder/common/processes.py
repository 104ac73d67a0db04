"""Run work in several processes, or in this one: the same calls either way.

    with worker_pool(2, FileBuilder, (suite, mirror, choice, root), on_progress) as run:
        for result in run(FileBuilder.build, jobs):    # build(builder, job, report), as they end
            …

Each process makes a worker object of its own and shares nothing. A step reports how much more it
has done (rows) by calling `report(n)`; the parent process then calls `on_progress(n)`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.sharedctypes import RawArray
from typing import Any, Protocol, TypeVar

from ruler_common.errors import RulerError
from ruler_common.work import OnRows

_LOOK = 0.1  # seconds between two looks at what is done
Worker = TypeVar("Worker")
WorkerOut = TypeVar("WorkerOut", covariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")
Step = Callable[[Worker, Item, OnRows], Result]
"""What a worker does with an item, telling how much more is done."""


class Run(Protocol[WorkerOut]):
    """Runs a step of a worker on every item; results come as they are done, in any order."""

    def __call__(
        self, step: Step[WorkerOut, Item, Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """`step` is a method named through its class, `FileBuilder.build`: it must be importable.

        An error in one ends the work of all; a process that dies raises RulerError.
        """
        ...


@contextmanager
def worker_pool(
    workers: int, make: Callable[..., Worker], arguments: tuple[Any, ...], on_progress: OnRows
) -> Iterator[Run[Worker]]:
    """What runs steps in `workers` processes, each with a worker `make(*arguments)`.

    With one worker everything happens in this process.
    """
    if workers == 1:
        worker = make(*arguments)

        def run_here(step: Step[Worker, Item, Result], items: Iterable[Item]) -> Iterator[Result]:
            return (step(worker, item, on_progress) for item in items)

        yield run_here
        return
    context = get_context("spawn")
    # A slot a worker and no lock: a process that is killed while it holds one stops all others.
    done = RawArray(ctypes.c_longlong, workers)
    slots = [context.Semaphore(1) for _ in range(workers)]
    ended = threading.Event()
    listener = threading.Thread(target=_pass_on, args=(done, ended, on_progress), daemon=True)
    listener.start()
    start = (make, arguments, done, slots, os.getpid())
    executor = ProcessPoolExecutor(workers, context, _start, start)

    def run_there(step: Step[Worker, Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        try:
            futures: list[Future[Result]]
            futures = [executor.submit(_in_worker, step, item) for item in items]
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            raise RulerError(
                "A worker process died, perhaps for want of memory; what was finished is kept. "
                "Run the command again, with fewer --workers."
            ) from None

    try:
        yield run_there
    except BaseException:
        for process in list((executor._processes or {}).values()):
            process.terminate()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        ended.set()
        listener.join()


def _pass_on(done: Any, ended: threading.Event, on_progress: OnRows) -> None:
    """Call `on_progress` with what the workers have done since the last look, until all is over."""
    known, over = 0, False
    while not over:
        over = ended.wait(_LOOK)
        if (total := sum(done)) > known:
            on_progress(total - known)
            known = total


class _ParentDied(BaseException):
    """Nobody waits for the result of this worker process."""


# In a worker process: its worker object, and what reports to the parent.
_here: tuple[Any, OnRows]


def _start(
    make: Callable[..., Any], arguments: tuple[Any, ...], done: Any, slots: list[Any], parent: int
) -> None:
    """In a new process: leave Ctrl-C to the parent, and do not outlive it."""
    global _here
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    own = next(number for number, slot in enumerate(slots) if slot.acquire(block=False))

    def report(count: int) -> None:
        if os.getppid() != parent:
            raise _ParentDied
        done[own] += count

    _here = make(*arguments), report


def _in_worker(step: Step[Any, Item, Result], item: Item) -> Result:
    worker, report = _here
    try:
        return step(worker, item, report)
    except _ParentDied:  # what the step had begun is removed by now
        os._exit(1)
