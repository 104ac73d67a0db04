"""Run work in the processes of a Ray cluster: the calls of ruler_builder/common/processes.py.

    with ray_pool(8, FileBuilder, (suite, mirror, choice, root), on_progress) as run:
        for result in run(FileBuilder.build, jobs):
            …

Every node must see the same paths (shared storage) and have this project. Ray gives an item to any
CPU that is free; an item whose process dies is begun again, perhaps on another node: it makes files
whole or not at all.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ruler_builder.common.processes import Item, Result, Run, Step, Worker
from ruler_common.errors import RulerError
from ruler_common.ray_cluster import connect
from ruler_common.work import OnRows

TRIES = 3  # processes that may die over an item before the work is given up
_LOOK = 0.5  # seconds between two looks at what is done
# Variables that workers get from here; keys are set on the nodes.
_PASSED_ON = ("RULER_CACHE", "RULER_MIRROR", "HF_HOME", "HF_HUB_OFFLINE")


@contextmanager
def ray_pool(
    workers: int,
    make: Callable[..., Worker],
    arguments: tuple[Any, ...],
    on_progress: OnRows,
    address: str | None = None,
) -> Iterator[Run[Worker]]:
    """What runs steps in `workers` processes of one CPU each, on the nodes that have room.

    `address` is that of a running cluster; None: the one this machine belongs to, else one made for
    this work. Raises RulerError without a cluster, or one that is too small.
    """
    ray, own = connect(address, "--engine ray")
    try:
        if ray.cluster_resources().get("CPU", 0) < workers:
            raise RulerError(
                f"{workers} workers need {workers} CPUs, more than the cluster has: "
                "give fewer --workers."
            )
        start = _Start(uuid.uuid4().hex, make, arguments, str(Path.cwd()))
        yield _Pool(ray, start, workers, on_progress).run
    finally:
        if own:
            ray.shutdown()


class _Start(NamedTuple):
    """The worker of a pool: an id of the pool, what makes it, and where paths begin."""

    pool: str
    make: Callable[..., Any]
    arguments: tuple[Any, ...]
    folder: str


class _Progress:
    """In an actor: what has been done of each item so far, as its process reports it."""

    def __init__(self) -> None:
        self._done: dict[int, int] = {}

    def reported(self, number: int, done: int) -> None:
        """So much of an item is done in all."""
        self._done[number] = done

    def done(self) -> dict[int, int]:
        """What is done of each item."""
        return self._done


# In a process of the cluster: the worker object that it keeps, by the pool it belongs to.
_kept: dict[str, Any] = {}


def _do(
    start: _Start, progress: Any, step: Step[Any, Any, Any], number: int, item: Any
) -> tuple[Any, int]:
    """In a process of the cluster: the result of a step, and all that it reported."""
    if start.pool not in _kept:
        _kept.clear()
        with suppress(OSError):  # paths may be relative to where the command runs
            os.chdir(start.folder)
        _kept[start.pool] = start.make(*start.arguments)
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress.reported.remote(number, done)

    return step(_kept[start.pool], item, report), done


class _Pool:
    """What runs items in the cluster, and how much of each is done."""

    def __init__(self, ray: Any, start: _Start, workers: int, on_progress: OnRows) -> None:
        self._ray, self._workers, self._on_progress = ray, workers, on_progress
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        options = {"num_cpus": 1, "max_retries": 0, "scheduling_strategy": "SPREAD"}
        self._task = ray.remote(_do).options(**options, runtime_env={"env_vars": passed})
        self._progress = ray.remote(_Progress).options(num_cpus=0).remote()
        self._start = ray.put(start)
        self._numbers = count()
        self._known: Counter[int] = Counter()

    def run(self, step: Step[Any, Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """As many items at a time as there are workers; results come as they are done."""
        from ray.exceptions import RayError, RayTaskError

        waiting, deaths = deque(zip(self._numbers, items, strict=False)), Counter[int]()
        busy: dict[Any, tuple[int, Item]] = {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self._workers:
                    given = waiting.popleft()
                    busy[self._task.remote(self._start, self._progress, step, *given)] = given
                ended, _ = self._ray.wait([*busy], num_returns=1, timeout=_LOOK)
                with suppress(RayError):  # of a node that has gone; results tell what is done
                    self._look(self._ray.get(self._progress.done.remote(), timeout=_LOOK))
                for result in ended:
                    number, item = busy.pop(result)
                    try:
                        found, done = self._ray.get(result)
                    except RayTaskError as error:
                        if isinstance(error.cause, RulerError):
                            raise error.cause from None
                        raise
                    except RayError:
                        deaths[number] += 1
                        if deaths[number] == TRIES:
                            raise RulerError(
                                f"{TRIES} workers died over one item, perhaps for want of memory; "
                                "what was finished is kept. Run the command again, with fewer "
                                "--workers on each node."
                            ) from None
                        waiting.appendleft((number, item))
                        continue
                    self._look({number: done})
                    yield found
        finally:
            for result in busy:
                self._ray.cancel(result, force=True)

    def _look(self, done: dict[int, int]) -> None:
        """Pass on how much more is done of each item than was known."""
        for number, rows in done.items():
            if (more := rows - self._known[number]) > 0:
                self._known[number] = rows
                self._on_progress(more)
