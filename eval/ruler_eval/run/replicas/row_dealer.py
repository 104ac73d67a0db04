"""Which engine gets which row: whole files or contiguous runs of rows, and again what was lost.

    dealer = RowDealer(row_runs(parts, replicas=2), replicas=2)
    rows = dealer.rows_for(0, room=512)     # [("vt_4k", 3), …], held by engine 0 from now on
    dealer.answered(0, ("vt_4k", 3))        # True: this is the row's one answer
    dealer.lost(0)                          # engine 0 ended: its rows go to the others

Rows of a file begin with the same haystack, so a run of them stays with one engine, whose prefix
cache holds the haystack.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

from ruler_eval.run.work_plan import Part

Key = tuple[str, int]
"""A row: its configuration and index."""
Run = dict[Key, int]
"""Rows in the order of sending, each with its prompt's tokens."""
RUNS_A_REPLICA = 4
"""A run is at most this part of an engine's share of the work."""
MOST_TOKENS = 1 << 24
"""Prompt tokens that an engine holds unanswered, at most (a longer prompt is sent alone)."""
TRIES = 3
"""Engines that may end while they hold a row; then the row is not given to another."""


def row_runs(parts: Iterable[Part], replicas: int) -> list[Run]:
    """The missing rows as runs of one file each, those with the most tokens first.

    A file is divided only where it is more than a fair part of the work.
    """
    files = [
        {(part.config, index): size for index, size in zip(part.missing, part.tokens, strict=True)}
        for part in parts
        if part.missing
    ]
    whole = sum(sum(file.values()) for file in files)
    most = max(1, whole // (RUNS_A_REPLICA * replicas))
    runs = [run for file in files for run in _divided(file, most)]
    return sorted(runs, key=lambda run: -sum(run.values()))


def _divided(file: Run, most: int) -> Iterator[Run]:
    """A file in runs of about the same number of tokens, none far above `most`."""
    tokens = sum(file.values())
    share = tokens / -(-tokens // most) if tokens else 1
    run: Run = {}
    begun = 0.0
    for key, size in file.items():
        if run and begun + size / 2 > share:
            yield run
            run, begun = {}, begun - share
        run[key] = size
        begun += size
    yield run


class RowDealer:
    """Who holds which row; each is answered once, whatever engines end meanwhile."""

    def __init__(self, runs: Sequence[Run], replicas: int) -> None:
        self._runs = deque(dict(run) for run in runs)
        self._left = sum(map(len, runs))
        self._held: list[Run] = [{} for _ in range(replicas)]
        self._open: list[Run] = [{} for _ in range(replicas)]
        self._deaths: Counter[Key] = Counter()
        self._fair = sum(sum(run.values()) for run in runs) / (2 * replicas)

    @property
    def finished(self) -> bool:
        """Whether every row was answered or given up."""
        return self._left == 0

    def held(self, replica: int) -> int:
        """How many rows an engine has not answered yet."""
        return len(self._held[replica])

    def rows_for(self, replica: int, room: int) -> list[Key]:
        """The next rows for an engine that can hold `room` rows; they are its own from now on."""
        held, given = self._held[replica], list[Key]()
        tokens = sum(held.values())
        while len(held) < room and (not held or tokens < MOST_TOKENS):
            if not self._open[replica]:
                if not self._runs or (held and tokens >= self._fair):
                    break
                self._open[replica] = self._runs.popleft()
            key = next(iter(self._open[replica]))
            held[key] = self._open[replica].pop(key)
            tokens += held[key]
            given.append(key)
        return given

    def answered(self, replica: int, key: Key) -> bool:
        """Whether an answer counts: the engine holds the row, and it had none before."""
        if self._held[replica].pop(key, None) is None:
            return False
        self._left -= 1
        return True

    def lost(self, replica: int) -> list[Key]:
        """Put the rows of an engine that ended back; those that saw TRIES engines end are given up.

        What is given up is returned and counts as done.
        """
        back = {**self._held[replica], **self._open[replica]}
        self._deaths.update(self._held[replica].keys())
        self._held[replica], self._open[replica] = {}, {}
        given_up = [key for key in back if self._deaths[key] >= TRIES]
        for key in given_up:
            del back[key]
        self._left -= len(given_up)
        if back:
            self._runs.appendleft(back)
        return given_up
