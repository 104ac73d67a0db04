"""The section of errors: the kinds of wrong answers by task (analysis/errors.py)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

from ruler_eval.analysis.errors import KINDS
from ruler_eval.report.page.figure import (
    INK,
    RECORDS,
    ROW_HEIGHT,
    Column,
    Figure,
    Record,
    spec_of,
    text_on,
)
from ruler_eval.report.page.rows import ConfigRows
from ruler_eval.report.page.runs import PageInput

KIND_COLOURS = {
    "missing": "#222255",
    "does not fit": "#332288",
    "failed": "#661100",
    "truncated": "#882255",
    "empty": "#aa4499",
    "wrong count": "#ddcc77",
    "distractor": "#cc6677",
    "incomplete": "#77aadd",
    "refused": "#117733",
    "another language": "#ddaa33",
    "from memory": "#997700",
    "repeats the prompt": "#44aa99",
    "wrong words": "#ee8866",
    "other": "#bbbbbb",
}
"""The colour of each kind of error, in the order of the kinds.

Any two differ by at least 10 in CIE76's Delta E, also as seen with deuteranopia.
"""


class ErrorKind(NamedTuple):
    """A kind of error on the page."""

    name: str
    meaning: str
    number: str  # written on the kind's bars and in the list of kinds
    colour: str  # of its bars
    ink: str  # the colour of the number on the bars


class TaskErrors(NamedTuple):
    """A series' rows of a task over all lengths, and the kinds of the wrong ones.

    A row with several samples is wrong if its first sample is.
    """

    series: int
    task: str
    configs: list[str]
    rows: int
    wrong: int
    kinds: Counter[str]  # of the wrong rows that were sorted


def count_errors(
    page: PageInput, rows_of_runs: Sequence[dict[str, ConfigRows]]
) -> list[TaskErrors]:
    """Count the kinds of errors of each series and task that has rows."""
    errors = []
    for series in page.series:
        rows_by_config = rows_of_runs[series.run_number]
        for task in page.tasks:
            configs = [
                name
                for name, cell in series.cells.items()
                if cell["task"] == task and name in rows_by_config
            ]
            kinds: Counter[str] = Counter()
            rows = wrong = 0
            for name in configs:
                rows += len(rows_by_config[name].scores)
                wrong += len(rows_by_config[name].wrong)
                for kind in rows_by_config[name].kinds.values():
                    if kind is None:
                        wrong -= 1
                    else:
                        kinds[kind] += 1
            if configs:
                errors.append(TaskErrors(series.id, task, configs, rows, wrong, kinds))
    return errors


def error_kinds(errors: Sequence[TaskErrors]) -> list[ErrorKind]:
    """Return the kinds that occur, numbered from 1; a kind has the same colour on every page."""
    occurring = {kind for task in errors for kind in task.kinds}
    kinds: list[ErrorKind] = []
    for name, colour in KIND_COLOURS.items():
        if name in occurring:
            number = str(len(kinds) + 1)
            kinds.append(ErrorKind(name, KINDS[name], number, colour, text_on(colour)))
    return kinds


def error_note(page: PageInput, errors: Sequence[TaskErrors]) -> str:
    """Return what a reader must know about the bars: which rows were sorted, and by what."""
    note = (
        "A bar is the share of a task’s rows, in percent, without the full score, by kind of "
        "error; click a part for its rows."
    )
    wrong = sum(task.wrong for task in errors)
    sorted_rows = sum(task.kinds.total() for task in errors)
    if sorted_rows < wrong:
        note += (
            f" {sorted_rows:,} of {wrong:,} wrong rows were sorted, an even share of every "
            "configuration; `ruler report --every-error` sorts all of them."
        )
    if any(joined.repeats > 1 for run in page.runs for joined in run.joined.values()):
        note += " Of several samples of a row only the first counts here."
    for run in page.runs:
        answers = (s[0] for joined in run.joined.values() for s in joined.samples.values())
        first = next(answers, None)
        if run.release is None and first is not None and first.known_prompt is None:
            return note + (
                " Rows whose release was not found were sorted without their texts, so distractors "
                "were not recognized: name the release with --dataset."
            )
    return note


def error_figures(
    page: PageInput, errors: Sequence[TaskErrors], kinds: Sequence[ErrorKind]
) -> list[Figure]:
    """Return for each series the bars of its kinds of errors by task, with the kinds' numbers."""
    shares = [task.wrong / task.rows for task in errors if task.rows]
    axis_end = 10 * math.ceil(10 * max(shares, default=1) or 1)  # percent, in steps of 10
    figures = []
    for series in page.series:
        records = []
        for task in errors:
            if task.series == series.id:
                records += _task_records(task, kinds)
        if records:
            figures.append(
                Figure(
                    name=f"errors-{series.id}",
                    title=series.label,
                    caption=f"Kinds of errors, {series.label}",
                    columns=[
                        Column("task", "task"),
                        Column("kind", "kind"),
                        Column("rows", "rows"),
                        Column("share of the sorted", "share_of_sorted"),
                        Column("wrong rows sorted", "sorted"),
                    ],
                    records=records,
                    spec=_bars(series.label, records, kinds, axis_end),
                    width="half",
                    series=[series.id],
                )
            )
    return figures


def _task_records(task: TaskErrors, kinds: Sequence[ErrorKind]) -> list[Record]:
    """Return a record for each kind of a task, with its estimated share of the task's rows.

    If only some of the wrong rows were sorted into kinds, all wrong rows are taken to be alike.
    """
    records: list[Record] = []
    start = 0.0
    for kind in kinds:
        count = task.kinds[kind.name]
        if count:
            share = 100 * task.wrong / task.rows * count / task.kinds.total()
            records.append(
                {
                    "series": [task.series],
                    "configs": task.configs,
                    "label": task.task,
                    "task": task.task,
                    "kind": kind.name,
                    "number": kind.number,
                    "ink": kind.ink,
                    "rows": count,
                    "share": share,
                    "start": start,
                    "middle": start + share / 2,
                    "end": start + share,
                    "share_of_sorted": f"{100 * count / task.kinds.total():.0f} %",
                    "sorted": f"{task.kinds.total():,} of {task.wrong:,}",
                }
            )
            start += share
    return records


def _bars(
    label: str, records: Sequence[Record], kinds: Sequence[ErrorKind], axis_end: int
) -> dict[str, Any]:
    order = list(dict.fromkeys(record["task"] for record in records))
    scale = alt.Scale(domain=[kind.name for kind in kinds], range=[kind.colour for kind in kinds])
    x = alt.X("start:Q", title="% of rows", scale=alt.Scale(domain=[0, axis_end]))
    tooltip = [
        "task:N",
        "kind:N",
        alt.Tooltip("rows:Q", title="rows"),
        alt.Tooltip("share:Q", title="% of rows", format=".1f"),
    ]
    base = alt.Chart().encode(y=alt.Y("task:N", sort=order, title=None))
    bars = base.mark_bar(height=ROW_HEIGHT - 5, strokeWidth=0.5, cursor="pointer")
    number = base.mark_text(fontSize=10, fontWeight="bold").transform_filter(
        f"datum.share > {axis_end / 25}"  # a narrower bar has no space for its number
    )
    chart = alt.layer(
        bars.encode(
            x=x, x2="end:Q", color=alt.Color("kind:N", scale=scale, legend=None), tooltip=tooltip
        ),
        number.encode(
            x=alt.X("middle:Q", title="% of rows"), text="number:N", color=INK, tooltip=tooltip
        ),
        data=RECORDS,
    )
    return spec_of(chart, f"Kinds of errors by task, {label}", height=ROW_HEIGHT * len(order))
