"""`--backend ray`: several vLLM engines, one an actor, that share the rows of a run.

    with closing(RayReplicas(order, on_note)) as replicas:
        replicas.answer(parts, read_row, on_answered)      # once for each missing row

This process hands rows out and records what comes back; what an engine has not answered when it
ends, with its process or its node, goes to the others. An engine that had started is replaced,
twice at most, while the nodes have room for it.

Why Ray Core's actors and not ray.data.llm. The latter was tried too (Ray 2.60, vLLM 0.32 on a CPU,
two engines, 200 rows, one engine killed), and every row came back once. But the rows of the killed
engine waited until Ray had started it anew, while the other, having no more blocks, was ended. Its
pool gives a block to whichever engine has the least to do, so rows of one haystack do not stay
together; a row comes back without its cached tokens, and the engine's settings do not come back,
which records and run.json hold. And Ray's extra asks for one vLLM (0.29.0): under 0.32 engines
started only with `log_engine_metrics=False`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.text import one_line
from ruler_eval.run.answering import Answered, OnAnswered
from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.preparing.row_reader import SentRow
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.replicas.ray_placement import RayCluster
from ruler_eval.run.replicas.replica import Started
from ruler_eval.run.replicas.row_dealer import TRIES, Key, RowDealer, row_runs
from ruler_eval.run.row_state import Expected, record_of
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.work_plan import Part

_WAIT = 1.0
"""Seconds that an engine is waited for, at most, before it is given more rows."""
_PATIENCE = 60
"""Seconds until the user reads that no engine has started yet."""
REPLACED = 2
"""How often an engine is replaced, at most."""
ReadRow = Callable[[str, int], SentRow]
"""Reads the row of a configuration and index."""


class RayReplicas:
    """Engines that are starting; the first that has started gives the settings of all.

    `on_note` is called with a sentence that the user should know.
    """

    def __init__(self, order: RunOrder, on_note: Callable[[str], None]) -> None:
        """Place the engines and wait for the first. Raises RulerError if none can start."""
        self.cluster, self.on_note = RayCluster(order.cluster), on_note
        self.ray = self.cluster.ray
        self._rooms: dict[int, int] = {}
        self._replaced: Counter[int] = Counter()
        self._last_end = ""
        try:
            self.actors = dict(enumerate(self.cluster.place(order)))
            """The engines that have not ended, by number."""
            self._starting = {actor.started.remote(): n for n, actor in self.actors.items()}
            self.first = self._first()
        except BaseException:
            self.cluster.close()
            raise

    def settings(self) -> dict[str, Any]:
        """What engine and prompts add to run.json."""
        return self.first.settings

    def _first(self) -> Started:
        """The first engine that starts. Raises RulerError if none can."""
        patience: float | None = _PATIENCE
        while True:
            ready, _ = self.ray.wait([*self._starting], num_returns=1, timeout=patience)
            if not ready:
                self.on_note("No engine has started yet: they load, or wait for a free place.")
                patience = None
                continue
            replica = self._starting.pop(ready[0])
            try:
                first: Started = self.ray.get(ready[0])
            except self.ray.exceptions.RayError as error:
                self._end(replica, error)
                if not self.actors:
                    raise RulerError(f"{self._last_end}.") from error
            else:
                self._rooms[replica] = first.room
                return first

    def answer(self, parts: Sequence[Part], read: ReadRow, on_answered: OnAnswered) -> None:
        """Answer every missing row once. Raises RulerError when no engine is left."""
        count = self.cluster.options.replicas
        dealer = RowDealer(row_runs(parts, count), count)
        calls, idle = dict(self._starting), [n for n in self._rooms if n in self.actors]
        while not dealer.finished:
            for replica in idle:
                rows = [read(*key) for key in dealer.rows_for(replica, self._rooms[replica])]
                if rows or dealer.held(replica):
                    calls[self.actors[replica].exchange.remote(rows, _WAIT)] = replica
            idle = [replica for replica in idle if replica not in calls.values()]
            ready: list[Any] = []
            if calls:
                ready, _ = self.ray.wait([*calls], num_returns=1, timeout=_PATIENCE)
            if not ready and calls and self.cluster.has_room(len(self.actors)):
                continue  # engines that load
            if not ready:
                raise RulerError(
                    f"All {count} engines ended; the last: {self._last_end}. "
                    "What was answered is kept: the same command goes on."
                )
            (call,) = ready
            replica = calls.pop(call)
            try:
                result = self.ray.get(call)
            except self.ray.exceptions.RayError as error:
                again = self._replaceable(replica)
                self._end(replica, error, dealer.held(replica), again)
                if again:
                    calls[self._replace(replica)] = replica
                for key in dealer.lost(replica) if self.actors else ():
                    on_answered(_given_up(key, self._last_end))
                continue
            if self._starting.pop(call, None) is not None:
                self._rooms[replica] = self._same(result).room
            else:
                for answered in result:
                    key = answered.record["config"], answered.record["index"]
                    if dealer.answered(replica, key):
                        on_answered(answered)
            idle.append(replica)

    def _same(self, started: Started) -> Started:
        """An engine with the settings of the first; RulerError for another version or model."""
        theirs, ours = ({**s.settings, "ruler-release": s.project} for s in (started, self.first))
        for name, value in theirs.items():
            if ours.get(name) != value:
                raise RulerError(
                    f"Two engines differ in {name}: {ours.get(name)!r} and {value!r}. "
                    "Give all nodes the same versions."
                )
        return started

    def _replaceable(self, replica: int) -> bool:
        """Whether an engine that ended gets another: one that never started would not start."""
        started = replica in self._rooms and self._replaced[replica] < REPLACED
        return started and self.cluster.has_room(len(self.actors))

    def _replace(self, replica: int) -> Any:
        """Start another engine in place of one; what tells that it has started."""
        self._replaced[replica] += 1
        del self._rooms[replica]
        self.actors[replica] = self.cluster.replace(replica)
        call = self.actors[replica].started.remote()
        self._starting[call] = replica
        return call

    def _end(self, replica: int, error: BaseException, held: int = 0, again: bool = False) -> None:
        """Take an engine that ended out, and name the reason while there are others."""
        self.ray.kill(self.actors.pop(replica))
        self._last_end = _reason(error)
        if self.actors or again:
            rest = f"its {held} unanswered rows go to the others" if held else "the others go on"
            more = " It is replaced." if again else ""
            self.on_note(f"An engine ended ({self._last_end}); {rest}.{more}")

    def close(self) -> None:
        """End all engines and give their places back."""
        stops = [actor.stop.remote() for n, actor in self.actors.items() if n in self._rooms]
        if stops:
            self.ray.wait(stops, num_returns=len(stops), timeout=30)
        for actor in self.actors.values():
            self.ray.kill(actor)
        self.cluster.close()


def _given_up(key: Key, reason: str) -> Answered:
    """The record of a row that several engines held when they ended."""
    prompt = Prompt(
        config=key[0], index=key[1], messages=(), text=None, token_ids=None, max_new_tokens=0
    )
    error = f"{TRIES} engines ended while they held this row, the last so: {reason}"
    return Answered(record_of(Completion(prompt, error=error), Expected()), None, 0)


def _reason(error: BaseException) -> str:
    """Why an engine cannot start or has ended, in one line."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, BaseException):
        return one_line(cause, 500)
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0] if first else ''}"[:300].rstrip(".")
