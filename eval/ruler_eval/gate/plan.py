"""Which rows a gate looks at, in which order, and after how many of them.

    plan = plan_of_results(base)          # of a run that has all its rows
    plan.looks()                          # [5, 10, …, 200, 500]: rows of each task

At one length looks are taken at the first LOOKED_AT of the rows, and their verdict is about all
rows of the plan; over several as long as no index of a task comes a second time (at another length
it asks the same). Then only the last row decides. Languages and tokenizers of a task are one row:
their mean by index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ruler_common.errors import RulerError
from ruler_common.rows import row_order
from ruler_eval.gate.betting import LOOK_EVERY, LOOKED_AT
from ruler_eval.run.plan import WAVE, WAVE_OVER_LENGTHS
from ruler_eval.run.runner import OpenRun
from ruler_eval.score.results_file import Results, Scores, is_alone
from ruler_eval.score.stopped import stopped_at

Stratum = tuple[str, str]
"""A task and a length."""


@dataclass(frozen=True)
class LookPlan:
    """The rows that are looked at.

    `order` holds the indices of each task and length, `configs` its languages and tokenizers.
    Raises RulerError if tasks and lengths differ in rows or languages: with other weights than
    equal ones the proof in betting.py does not hold.
    """

    order: Mapping[Stratum, Sequence[int]]
    configs: Mapping[Stratum, Sequence[str]]

    def __post_init__(self) -> None:
        rows = {len(indices) for indices in self.order.values()}
        if len(rows) != 1 or len({len(names) for names in self.configs.values()}) != 1:
            raise RulerError(
                "A sequential test needs as many rows of every task and length, in the same "
                "languages: choose such configurations with --configs."
            )

    @property
    def rows(self) -> int:
        """Rows of each task and length."""
        return len(next(iter(self.order.values())))

    @property
    def is_at_one_length(self) -> bool:
        """Whether every row of a task is drawn once."""
        return len({length for _, length in self.order}) == 1

    @property
    def drawn_from(self) -> int | None:
        """Of how many rows the waves are drawn, each once; None over several lengths."""
        return self.rows * len(self.order) if self.is_at_one_length else None

    @property
    def wave(self) -> int:
        """Rows of each task and length in a wave of `ruler run`."""
        return WAVE if self.is_at_one_length else WAVE_OVER_LENGTHS

    def looks(self) -> list[int]:
        """After how many rows is looked: complete waves without an index twice, and the last."""
        step = min(self.wave, LOOK_EVERY)
        distinct = int(self.rows * LOOKED_AT) if self.is_at_one_length else self.rows
        for task in {task for task, _ in self.order}:
            orders = [order for (of, _), order in self.order.items() if of == task]
            seen = set[int]()
            for place in range(self.rows):
                indices = [order[place] for order in orders]
                if len({*indices} - seen) < len(indices):
                    distinct = min(distinct, place)
                    break
                seen |= {*indices}
        return [*range(step, min(distinct, self.rows - 1) + 1, step), self.rows]

    def missing_row(self, scores: Scores, rows: int) -> str | None:
        """Name the first of the rows up to a look that has no score: `row 7 of 'vt_4k'`."""
        for place, names in self.configs.items():
            for name in names:
                if missing := {*self.order[place][:rows]} - {*scores.get(name, {})}:
                    return f"row {min(missing)} of '{name}'"
        return None


def plan_of_results(base: Results, other: Results | None = None) -> LookPlan:
    """Return the plan of a scored run, without the rows that --limit left out of another one.

    Raises RulerError if its rows are not the first of the frozen order.
    """
    data = base["dataset"]
    stopped = stopped_at(base["run"]) if base["partial"] else None
    order: dict[Stratum, list[int]] = {}
    configs: dict[Stratum, list[str]] = {}
    for name, cell in base["configurations"].items():
        if is_alone(cell):  # the control without a haystack counts in no mean
            continue
        place = cell["task"], cell["length"]
        version = data["data_version"] or ""
        frozen = row_order(version, data["name"], *place, cell["rows_available"])
        if {*frozen[: cell["n"]]} != {*cell["rows"]["index"]}:
            raise RulerError(
                f"The rows of '{name}' are not the first ones of the frozen order: score the "
                "whole run without --partial, or run it with --limit."
            )
        indices = frozen[: stopped["of"] if stopped else cell["n"]]
        if order.setdefault(place, indices) != indices:
            raise RulerError(f"'{name}' has another number of rows than its other languages.")
        configs.setdefault(place, []).append(name)
    rows = _rows_of(other, configs) if other else None
    return LookPlan({place: indices[:rows] for place, indices in order.items()}, configs)


def _rows_of(other: Results, configs: Mapping[Stratum, Sequence[str]]) -> int | None:
    """Return how many rows of each configuration a run was to answer; None for all of them."""
    if other["partial"] and (stopped := stopped_at(other["run"])):
        return stopped["of"]
    cells = other["configurations"]
    sizes = [cells[name]["n"] for names in configs.values() for name in names if name in cells]
    return min(sizes, default=0) or None


def plan_of_run(work: OpenRun) -> LookPlan:
    """Return the plan of a run that is being worked on."""
    entries = {file["config"]: file for file in work.checked.release.manifest["files"].values()}
    order: dict[Stratum, Sequence[int]] = {}
    configs: dict[Stratum, list[str]] = {}
    for part in work.parts:
        if not entries[part.config]["max_length"]:
            raise RulerError(
                f"'{part.config}' is the control without a haystack, which counts in no mean: "
                "leave it out of --configs."
            )
        place = entries[part.config]["task"], entries[part.config]["length"]
        order[place] = list(part.indices)
        configs.setdefault(place, []).append(part.config)
    return LookPlan(order, configs)
