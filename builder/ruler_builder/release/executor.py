"""Run the steps of a worker on many items, in processes of this machine or of a Ray cluster.

    with worker_pool(2, FileBuilder, (suite, mirror, choice, root)) as run:
        for result in run(FileBuilder.build, jobs):    # build(builder, job), in any order
            …

Each process makes one worker and shares nothing. On a cluster every node must see the same paths
(shared storage) and have this project installed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.ray_cluster import connect

Run = Callable[[Callable[[Any, Any], Any], Iterable[Any]], Iterator[Any]]
"""Runs a method of the worker, named through its class, on each item; yields the results."""
_DIED = (
    "A worker process died, probably because memory ran out; finished files are kept. "
    "Run the command again, with fewer --workers."
)
# Variables that the workers of a cluster get from here.
_PASSED_ON = ("RULER_CACHE", "RULER_MIRROR", "HF_HOME", "HF_HUB_OFFLINE")
_RESTARTS = 2  # of a worker of a cluster that died, perhaps with its node


@contextmanager
def worker_pool(
    workers: int,
    make: Callable[..., Any],
    arguments: tuple[Any, ...],
    engine: str = "processes",
    address: str | None = None,
) -> Iterator[Run]:
    """Start `workers` processes that each hold `make(*arguments)`, and yield what runs steps.

    With one worker of the engine `processes` everything happens in this process. `address` is that
    of a Ray cluster; by default the one this machine belongs to, or one made for this work. An
    error in a step ends the work; a process that died raises RulerError.
    """
    if engine == "ray":
        with _ray_actors(workers, make, arguments, address) as run:
            yield run
    elif workers == 1:
        worker = make(*arguments)
        yield lambda step, items: (step(worker, item) for item in items)
    else:
        with _local_processes(workers, make, arguments) as run:
            yield run


@contextmanager
def _local_processes(
    workers: int, make: Callable[..., Any], arguments: tuple[Any, ...]
) -> Iterator[Run]:
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, context, _start_process, (make, arguments))

    def run(step: Callable[[Any, Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        try:
            for future in as_completed([executor.submit(_in_process, step, i) for i in items]):
                yield future.result()
        except BrokenProcessPool:
            raise RulerError(_DIED) from None

    try:
        yield run
    except BaseException:
        for process in list((executor._processes or {}).values()):
            process.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


_worker: Any = None  # of a process of the pool


def _start_process(make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """In a new process: leave Ctrl-C to the parent, end when the parent ends, make the worker."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = make(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _in_process(step: Callable[[Any, Any], Any], item: Any) -> Any:
    return step(_worker, item)


class _Actor:
    """The worker of a process of a cluster; paths are relative to the folder of the command."""

    def __init__(self, folder: str, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if os.path.isdir(folder):
            os.chdir(folder)
        self.worker = make(*arguments)

    def run(self, step: Callable[[Any, Any], Any], item: Any) -> Any:
        return step(self.worker, item)


@contextmanager
def _ray_actors(
    workers: int, make: Callable[..., Any], arguments: tuple[Any, ...], address: str | None
) -> Iterator[Run]:
    ray, connected_here = connect(address, "--engine ray")
    try:
        if ray.cluster_resources().get("CPU", 0) < workers:
            raise RulerError(f"The cluster has fewer than {workers} CPUs: give fewer --workers.")
        passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        actor = ray.remote(_Actor).options(
            num_cpus=1,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": passed_on},
            max_restarts=_RESTARTS,
            max_task_retries=_RESTARTS,
        )
        actors = [actor.remote(os.getcwd(), make, arguments) for _ in range(workers)]

        def run(step: Callable[[Any, Any], Any], items: Iterable[Any]) -> Iterator[Any]:
            pool = ray.util.ActorPool(actors)
            try:
                yield from pool.map_unordered(lambda to, item: to.run.remote(step, item), items)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError:
                raise RulerError(_DIED) from None

        try:
            yield run
        finally:
            for each in actors:
                ray.kill(each)
    finally:
        if connected_here:
            ray.shutdown()
