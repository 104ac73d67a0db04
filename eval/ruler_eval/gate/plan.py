"""Plan which rows a sequential test looks at, in which order, and when.

    plan = plan_of_results(base)          # of a run that has all its rows
    plan.looks()                          # [5, 10, …, 495, 500]: rows of each task

Every task at every length is a stratum. Its rows are in a random order (run/look_order.py) that is
independent of the other strata, as the proof in betting.py requires. The rows of a task with the
same index in several languages and under several tokenizers count as one row: their mean. The order
differs from that of `--limit`, so that a candidate chosen by its first `--limit` rows is not tested
on those rows first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ruler_common.errors import RulerError
from ruler_common.rows import row_order
from ruler_eval.run.look_order import look_order
from ruler_eval.run.plan import RunPlan
from ruler_eval.score.own_run import stopped_at
from ruler_eval.score.results import Results, Scores, is_control, row_values

LOOK_EVERY, LOOK_EVERY_OVER_LENGTHS = 5, 2
"""New rows of each task and length between two looks, at one length and at several."""

Stratum = tuple[str, str]
"""A task and a length."""


@dataclass(frozen=True)
class LookPlan:
    """The rows of a test and their order.

    Raises RulerError if strata differ in the number of rows or languages, because the proof in
    betting.py needs equal weights.
    """

    order: Mapping[Stratum, Sequence[int]]
    """The row indices of each stratum, in the order in which they are looked at."""
    configs: Mapping[Stratum, Sequence[str]]
    """The configurations of each stratum: its languages and tokenizers."""

    def __post_init__(self) -> None:
        rows = {len(indices) for indices in self.order.values()}
        if len(rows) != 1 or len({len(names) for names in self.configs.values()}) != 1:
            raise RulerError(
                "A sequential test needs the same number of rows for every task and length, in the "
                "same languages: choose such configurations with --configs."
            )

    @property
    def rows(self) -> int:
        """The number of rows of each stratum."""
        return len(next(iter(self.order.values())))

    @property
    def all_rows(self) -> int:
        """The number of rows of all strata together."""
        return self.rows * len(self.order)

    @property
    def lengths(self) -> int:
        """The number of lengths."""
        return len({length for _, length in self.order})

    @property
    def is_at_one_length(self) -> bool:
        """Whether there is only one length."""
        return self.lengths == 1

    def looks(self) -> list[int]:
        """Return after how many rows of each stratum to look; the last look is after all rows."""
        step = LOOK_EVERY if self.is_at_one_length else LOOK_EVERY_OVER_LENGTHS
        return [*range(step, self.rows, step), self.rows]

    def part(self, start: int, end: int | None) -> dict[str, Sequence[int]]:
        """Return the rows of each configuration from `start` to `end` in the order of the plan."""
        part = {}
        for stratum, names in self.configs.items():
            for name in names:
                part[name] = self.order[stratum][start:end]
        return part

    def missing_row(self, scores: Scores, rows: int) -> str | None:
        """Return the first row up to a look that has no score, such as `row 7 of 'vt_4k'`."""
        for stratum, names in self.configs.items():
            for name in names:
                if missing := {*self.order[stratum][:rows]} - {*scores.get(name, {})}:
                    return f"row {min(missing)} of '{name}'"
        return None


def plan_of_results(base: Results, candidate: Results | None = None) -> LookPlan:
    """Return the plan for a scored run.

    If the candidate was run with a smaller `--limit`, the plan has only its rows. Raises RulerError
    if the rows of the run are not those that a `--limit` chooses.
    """
    data = base["dataset"]
    version = data["data_version"] or ""
    stopped = stopped_at(base["run"]) if base["partial"] else None
    chosen: dict[Stratum, list[int]] = {}
    configs: dict[Stratum, list[str]] = {}
    scores = row_values(base, "score")
    for name, cell in base["configurations"].items():
        if is_control(cell):  # the control 0k counts in no mean
            continue
        stratum = cell["task"], cell["length"]
        frozen = row_order(version, data["name"], *stratum, cell["rows_available"])
        indices = frozen[: stopped["of"] if stopped else cell["n"]]
        rows = {*scores[name]}
        if not (rows < {*indices} if stopped else rows == {*indices}):
            raise RulerError(
                f"The rows of '{name}' are not the first ones of the frozen order: score the "
                "whole run without --partial, or run it with --limit."
            )
        if chosen.setdefault(stratum, indices) != indices:
            raise RulerError(
                f"'{name}' has a different number of rows than the other languages of the task: "
                "run them with the same --limit."
            )
        configs.setdefault(stratum, []).append(name)
    limit = _rows_asked(candidate, configs) if candidate else None
    order = {s: look_order(version, *s, indices[:limit]) for s, indices in chosen.items()}
    return LookPlan(order, configs)


def _rows_asked(results: Results, configs: Mapping[Stratum, Sequence[str]]) -> int | None:
    """Return how many rows of each configuration a run was asked for; None for all of them."""
    if results["partial"] and (stopped := stopped_at(results["run"])):
        return stopped["of"]
    cells = results["configurations"]
    sizes = [cells[name]["n"] for names in configs.values() for name in names if name in cells]
    return min(sizes, default=0) or None


def plan_of_run(run: RunPlan) -> LookPlan:
    """Return the plan of a run in progress, with its rows in the order of the run."""
    order: dict[Stratum, Sequence[int]] = {}
    configs: dict[Stratum, list[str]] = {}
    for config, indices in run.rows.items():
        file = run.files[config]
        if not file["max_length"]:
            raise RulerError(
                f"'{config}' is the control 0k, which counts in no mean: leave it out of --configs."
            )
        stratum = file["task"], file["length"]
        order[stratum] = indices
        configs.setdefault(stratum, []).append(config)
    return LookPlan(order, configs)
