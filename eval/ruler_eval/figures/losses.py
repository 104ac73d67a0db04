"""The loss from the shortest length to each longer one: the figure `losses`.

    losses(runs).records[0]      # {"model", "tasks", "length": "32K", "score": -6.2, "interval", …}

Rows with the same index ask the same at every length, so their differences are taken row by row
(score/aggregates.py).
"""

from __future__ import annotations

from ruler_common.text import bounds, number_of
from ruler_eval.figures.figure import (
    INTERVAL,
    LENGTH,
    MODEL,
    ROWS,
    Column,
    Figure,
    Pivot,
    Record,
)
from ruler_eval.figures.series import Runs, Series
from ruler_eval.score.aggregates import length_loss
from ruler_eval.score.results import LengthLoss


def losses(runs: Runs, all_groups: bool = True) -> Figure:
    """Return how the means change from the shortest to each longer length, in points.

    They are those of all tasks and, with `all_groups`, of each category.
    """
    records: list[Record] = []
    shortest: dict[str, None] = {}
    for name in runs.groups if all_groups else runs.groups[:1]:
        for series in runs.series:
            for loss in series.groups[name]["losses"] if name in series.groups else ():
                shortest[loss["shorter"].upper()] = None
                records.append(_record(series, name, loss))
    start = next(iter(shortest), "")
    for record in records:
        if record["from"] != start:
            record["row"] += f", from {record['from']}"
        if len(runs.series) > 1:
            record["row"] = f"{record['model']}: {record['row']}"
    tasks, change = Column("tasks", "tasks"), Column("change", "score", "+.1f")
    return Figure(
        name="losses",
        title=f"Change from {start}, in points" if len(shortest) == 1 else "Change with length",
        note="Rows are paired by index; ± is half the 95 % interval.",
        columns=[MODEL, tasks, Column("from", "from"), LENGTH, change, INTERVAL, ROWS],
        records=records,
        pivot=Pivot(Column("tasks", "row"), "length", Column("change", "change", "±")),
        is_open=True,
        fold="Change from the shortest length, row by row",
    )


def _record(series: Series, name: str, loss: LengthLoss) -> Record:
    total = series.groups[name]["tasks"]
    tasks = "all tasks" if name == "all" else name
    if loss["tasks"] < total:
        part = f"{loss['tasks']} of {number_of(total, 'task')}"
        tasks = part if name == "all" else f"{name}, {part}"
    return {
        "series": [series.id],
        "model": series.label,
        "row": tasks,
        "tasks": tasks,
        "from": loss["shorter"].upper(),
        "length": loss["longer"].upper(),
        "score": loss["difference"],
        "interval": loss["interval"],
        "change": (loss["difference"], loss["interval"]),
        "rows": loss["rows"],
    }


def task_losses(series: Series, shorter: str, longer: str) -> list[tuple[str, LengthLoss]]:
    """Return the change of each task from one length to a longer one, the largest loss first."""
    changes = []
    for task in dict.fromkeys(cell["task"] for cell in series.cells.values()):
        of_task = {
            name: cell
            for name, cell in series.cells.items()
            if cell["task"] == task and cell["length"] in (shorter, longer)
        }
        loss = length_loss(of_task, series.run.rows, shorter, longer)
        if loss is not None:
            changes.append((task, loss))
    return sorted(changes, key=lambda change: change[1]["difference"])


def loss_text(loss: LengthLoss) -> str:
    """Return a loss with its interval, both positive: `25.1 points [23.0, 27.2]`."""
    text = f"{-loss['difference']:.1f} points"
    if loss["interval"] is None:
        return text
    low, high = loss["interval"]
    return f"{text} {bounds([-high, -low])}"
