"""Run work in the actors of a Ray cluster: the calls of ruler_builder/common/processes.py.

    with ray_pool(8, FileBuilder, (suite, mirror, choice, root), on_progress) as run:
        for result in run(FileBuilder.build, jobs):
            …

Every node must see the same paths (shared storage) and have this project. An item of a worker that
dies goes to another; an item makes files whole or not at all, so it may be begun twice.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ruler_builder.common.processes import Item, Result, Run, Step, Worker
from ruler_common.errors import RulerError
from ruler_common.ray_cluster import connect
from ruler_common.text import one_line
from ruler_common.work import OnRows

TRIES = 3  # workers that may die over an item before the work is given up
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
    """What runs steps in `workers` actors of one CPU each, on the nodes that have room.

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
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        actor = ray.remote(_Actor).options(
            num_cpus=1,
            max_concurrency=2,  # one step, and one look at what is done
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": passed},
        )
        folder = str(Path.cwd())
        actors = [actor.remote(make, arguments, folder) for _ in range(workers)]
        try:
            yield _Pool(ray, actors, on_progress).run
        finally:
            for each in actors:
                ray.kill(each)
    finally:
        if own:
            ray.shutdown()


class _Actor:
    """In an actor: a worker, and how much it has done."""

    def __init__(self, make: Callable[..., Any], arguments: tuple[Any, ...], folder: str) -> None:
        with contextlib.suppress(OSError):  # paths may be relative to where the command runs
            os.chdir(folder)
        self._make, self._arguments = make, arguments
        self._worker: Any = None
        self._done = 0

    def step(self, step: Step[Any, Any, Any], item: Any) -> tuple[Any, int]:
        """The result of a step, and all that was reported so far."""
        if self._worker is None:
            self._worker = self._make(*self._arguments)
        return step(self._worker, item, self._report), self._done

    def done(self) -> int:
        """All that was reported so far."""
        return self._done

    def _report(self, count: int) -> None:
        self._done += count


class _Pool:
    """The actors of a cluster, and who does which item."""

    def __init__(self, ray: Any, actors: list[Any], on_progress: OnRows) -> None:
        self.ray, self.on_progress = ray, on_progress
        self._starting = {actor.done.remote(): actor for actor in actors}
        self._free: list[Any] = []
        self._known: Counter[Any] = Counter()
        self._last_death = ""

    def run(self, step: Step[Any, Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """Give every free actor the next item; results come as they are done."""
        waiting = deque(enumerate(items))
        busy: dict[Any, tuple[Any, int, Item]] = {}
        try:
            yield from self._work(step, waiting, busy)
        finally:  # after an error other actors are still at work, and free for the next run then
            self._starting |= {result: actor for result, (actor, _, _) in busy.items()}

    def _work(
        self,
        step: Step[Any, Item, Result],
        waiting: deque[tuple[int, Item]],
        busy: dict[Any, tuple[Any, int, Item]],
    ) -> Iterator[Result]:
        """Do what is waiting; `busy` are the actors at work, by the result that is to come."""
        from ray.exceptions import RayError, RayTaskError

        deaths: Counter[int] = Counter()
        while waiting or busy:
            while self._free and waiting:
                actor = self._free.pop()
                number, item = waiting.popleft()
                busy[actor.step.remote(step, item)] = actor, number, item
            if not (busy or self._starting):
                raise RulerError(
                    f"No worker of the cluster is left ({self._last_death}); what was finished is "
                    "kept: the same command goes on."
                )
            ended, _ = self.ray.wait([*busy, *self._starting], num_returns=1, timeout=_LOOK)
            self._look([actor for actor, _, _ in busy.values()])
            for result in ended:
                if result in self._starting:
                    self._started(result)
                    continue
                actor, number, item = busy.pop(result)
                try:
                    found, done = self.ray.get(result)
                except RayTaskError as error:
                    self._free.append(actor)
                    if isinstance(error.cause, RulerError):
                        raise error.cause from None
                    raise
                except RayError as error:
                    self._last_death = one_line(error)
                    deaths[number] += 1
                    if deaths[number] == TRIES:
                        raise RulerError(
                            f"{TRIES} workers died over one item, perhaps for want of memory; "
                            "what was finished is kept. Run the command again, with fewer "
                            "--workers on each node."
                        ) from None
                    waiting.appendleft((number, item))
                    continue
                self._progress(actor, done)
                self._free.append(actor)
                yield found

    def _started(self, start: Any) -> None:
        """Take an actor that has started into the work, unless it died over that."""
        from ray.exceptions import RayError, RayTaskError

        actor = self._starting.pop(start)
        try:
            self.ray.get(start)
        except RayTaskError:  # an item of an earlier run failed, the actor lives
            pass
        except RayError as error:
            self._last_death = one_line(error)
            return
        self._free.append(actor)

    def _look(self, actors: list[Any]) -> None:
        """Pass on what actors report; one that has died reports nothing."""
        from ray.exceptions import RayError

        looks = {actor.done.remote(): actor for actor in actors}
        ready, _ = self.ray.wait(list(looks), num_returns=len(looks), timeout=_LOOK)
        for look in ready:
            with contextlib.suppress(RayError):
                self._progress(looks[look], self.ray.get(look))

    def _progress(self, actor: Any, done: int) -> None:
        """Pass on how much more an actor has done than was known."""
        more = done - self._known[actor]
        if more > 0:
            self._known[actor] = done
            self.on_progress(more)
