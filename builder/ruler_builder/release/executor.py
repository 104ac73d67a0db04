"""Run the steps of a worker on many items, in processes of this machine or of a Ray cluster.

    with worker_pool(2, FileBuilder, arguments) as run:
        for result in run(FileBuilder.build, jobs):      # build(builder, job), in any order
            …

Each process makes one worker and shares nothing. On a cluster every node must see the same paths
(shared storage) and have this project installed.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from multiprocessing.connection import Connection
from typing import Any

from ruler_common.errors import RulerError, missing_packages
from ruler_common.text import one_line

Run = Callable[[Callable[[Any, Any], Any], Iterable[Any]], Iterator[Any]]
"""Runs a method of the worker's class on each item, and yields the results."""
_DIED = (
    "A worker process died, probably because memory ran out; finished files are kept. "
    "Run the command again, with fewer --workers."
)
_MIN_TOKENS = 1 << 24  # of rows, for a process: fewer take less time than its start


def processes_for(tokens: int) -> int:
    """Return how many processes to use for rows of this many tokens: at most one per core."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores, tokens // _MIN_TOKENS))


def worker_pool(
    workers: int,
    make: Callable[..., Any],
    arguments: tuple[Any, ...],
    engine: str = "processes",
    address: str | None = None,
) -> AbstractContextManager[Run]:
    """Start processes with a worker each; yield the function that runs a step on many items.

    Args:
        workers: Number of processes. One worker of the engine `processes` works in this process.
        make: Makes a worker.
        arguments: The arguments of `make`.
        engine: `processes` of this machine, or `ray`.
        address: Address of a Ray cluster; by default this machine's cluster, or a new one.

    An error in a step ends the work; a process that died raises RulerError.
    """
    if engine == "ray":
        return _ray_actors(workers, make, arguments, address)
    if workers > 1:
        return _local_processes(workers, make, arguments)
    worker = make(*arguments)
    return nullcontext(lambda step, items: (step(worker, item) for item in items))


# ---- Processes of this machine -------------------------------------------------------------------

_worker: Any = None  # of a process of the pool


@contextmanager
def _local_processes(
    workers: int, make: Callable[..., Any], arguments: tuple[Any, ...]
) -> Iterator[Run]:
    context = multiprocessing.get_context("spawn")
    until_closed, end = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, _start, (until_closed, make, arguments))

    def run(step: Callable[[Any, Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for future in as_completed([pool.submit(_run_step, step, item) for item in items]):
            yield future.result()

    try:
        yield run
    except BrokenProcessPool:
        raise RulerError(_DIED) from None
    finally:
        end.close()  # ends the processes, also those that are at work
        pool.shutdown(cancel_futures=True)


def _start(until_closed: Connection, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """In a new process: leave Ctrl-C to the parent, exit when it does, and make the worker."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_after, args=(until_closed,), daemon=True).start()
    _worker = make(*arguments)


def _exit_after(until_closed: Connection) -> None:
    """Wait until the parent closes the pipe, or is killed."""
    with suppress(EOFError, OSError):
        until_closed.recv()
    os._exit(1)


def _run_step(step: Callable[[Any, Any], Any], item: Any) -> Any:
    return step(_worker, item)


# ---- Processes of a Ray cluster ------------------------------------------------------------------

# Environment variables that are passed on to the workers of a cluster.
_PASSED_ON = ("RULER_CACHE", "RULER_MIRROR", "HF_HOME", "HF_HUB_OFFLINE")
_IF_IT_DIES = {"max_restarts": 2, "max_task_retries": 2}  # if a worker dies with its node


class _Actor:
    """Holds the worker of a process of a cluster."""

    def __init__(self, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.worker = make(*arguments)

    def run(self, step: Callable[[Any, Any], Any], item: Any) -> Any:
        return step(self.worker, item)


@contextmanager
def _ray_actors(
    workers: int, make: Callable[..., Any], arguments: tuple[Any, ...], address: str | None
) -> Iterator[Run]:
    ray = connect(address)
    if ray.cluster_resources().get("CPU", 0) < workers:
        raise RulerError(f"The cluster has fewer than {workers} CPUs: give fewer --workers.")
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    options = {"scheduling_strategy": "SPREAD", "runtime_env": {"env_vars": environment}}
    actor_type = ray.remote(_Actor).options(num_cpus=1, **options, **_IF_IT_DIES)
    actors = [actor_type.remote(make, arguments) for _ in range(workers)]

    def run(step: Callable[[Any, Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        pool = ray.util.ActorPool(actors)
        yield from pool.map_unordered(lambda actor, item: actor.run.remote(step, item), items)

    try:
        yield run
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError:
        raise RulerError(_DIED) from None
    finally:
        for actor in actors:
            ray.kill(actor)


def connect(address: str | None) -> Any:
    """Return the ray package, connected to the cluster at an address, or to this machine's.

    Raises RulerError without the package, or if no cluster answers.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        raise missing_packages("ray", "--engine ray") from error
    if ray.is_initialized():
        return ray
    try:
        host, _, port = (address or "").rpartition(":")
        if port.isdigit() and "/" not in host:  # Ray itself would try for minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(
            address=address,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise RulerError(
            f"No Ray cluster at {address or 'this machine'}: {one_line(error)}. See --address."
        ) from error
    return ray
