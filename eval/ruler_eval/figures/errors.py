"""Kinds of errors: the figures `errors` and `memory` of `ruler errors`, and the bars of the page.

    error_figures(wrong_rows)          # by configuration and kind, with an example of each
    error_bars(runs, counted)          # by task, of the rows that a page sorts

The kinds are those of analysis/errors.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from ruler_eval.analysis.errors import KINDS
from ruler_eval.figures.charts import INK, RECORDS, ROW_HEIGHT, spec_of, text_on
from ruler_eval.figures.figure import COUNT, ROWS, TASK, Column, Figure, Record, record_of
from ruler_eval.figures.series import Runs

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
BARS_NOTE = (
    "A bar is the share of a task’s rows, in percent, without the full score, by kind of error; "
    "click a part for its rows."
)
_MAX_EXAMPLE = 60  # characters of a reference or an answer in an example

Error = Mapping[str, Any]
"""A wrong row, as `ruler errors --out` writes it."""


# ---- The wrong rows of a run ---------------------------------------------------------------------


def error_figures(wrong_rows: Sequence[Error]) -> list[Figure]:
    """Return the kinds of errors by configuration, and the share of answers from memory."""
    if not wrong_rows:
        return [Figure(name="errors", title="", sentences=["No wrong answers."])]
    by_config: dict[str, dict[str, list[Error]]] = {}
    kinds = set()
    for error in wrong_rows:
        by_kind = by_config.setdefault(error["config"], {})
        by_kind.setdefault(error["kind"], []).append(error)
        kinds.add(error["kind"])
    records = []
    for config, by_kind in by_config.items():
        wrong = sum(map(len, by_kind.values()))
        for kind in KINDS:
            if kind in by_kind:
                records.append(_error_record(config, kind, by_kind[kind], wrong))
    figure = Figure(
        name="errors",
        title="Kinds of errors",
        columns=[
            Column("configuration", "configuration"),
            Column("kind", "kind"),
            ROWS,
            Column("of the wrong", "share", "percent"),
            Column("right", "right_of"),
            Column("references right", "right", is_detail=True),
            Column("references", "of", is_detail=True),
            Column("away", "away", "percent"),
            Column("an example", "example"),
        ],
        records=records,
        sentences=[f"{kind}: {KINDS[kind]}." for kind in KINDS if kind in kinds],
        note=_note_of_errors(records),
        below="example",
    )
    return [figure, _from_memory(by_config)]


def _error_record(config: str, kind: str, same: Sequence[Error], wrong: int) -> Record:
    """Return the rows of a configuration with one kind of error.

    An incomplete answer has a mean number of right references; a distractor a mean distance from
    the right evidence.
    """
    gaps = [error["gap"] for error in same if error["gap"] is not None]
    right = sum(error["found"] for error in same) / len(same)
    references = sum(error["of"] for error in same) / len(same)
    is_incomplete = kind == "incomplete"
    return {
        "configuration": config,
        "kind": kind,
        "rows": len(same),
        "share": 100 * len(same) / wrong,
        "right_of": f"{right:.1f} of {references:.1f}" if is_incomplete else "",
        "right": right if is_incomplete else None,
        "of": references if is_incomplete else None,
        "away": 100 * sum(gaps) / len(gaps) if gaps else None,
        "example": _example(same[0]),
    }


def _note_of_errors(records: Sequence[Record]) -> str:
    """Return what the columns of means are."""
    notes = []
    if any(record["right"] is not None for record in records):
        notes.append("right: how many references an incomplete answer has, on average.")
    if any(record["away"] is not None for record in records):
        notes.append("away: how far a distractor is from the right evidence in depth, on average.")
    return " ".join(notes)


def _from_memory(by_config: Mapping[str, Mapping[str, list[Error]]]) -> Figure:
    """Return the share of wrong answers that equal the model's answer without documents."""
    records = []
    for config, by_kind in by_config.items():
        compared = [error for same in by_kind.values() for error in same if "memory" in error]
        if compared:
            same = sum(error["kind"] == "from memory" for error in compared)
            counts = {"configuration": config, "wrong": len(compared), "same": same}
            records.append({**counts, "share": 100 * same / len(compared)})
    return Figure(
        name="memory",
        title="Wrong answers equal to the answer without documents (RULER, section 5)",
        columns=[
            Column("configuration", "configuration"),
            Column("wrong", "wrong", COUNT),
            Column("from memory", "same", COUNT),
            Column("share", "share", "percent"),
        ],
        records=records,
    )


def _example(error: Error) -> str:
    """Return a row's references and the answer, shortened."""
    references, answer = _shortened(", ".join(error["outputs"])), "nothing"
    if error["prediction"] is not None:
        answer = repr(_shortened(error["prediction"]))
    text = f"row {error['index']}: {references} <- {answer}"
    if error.get("needle"):
        text += f", at {100 * error['depth']:.0f} %: {_shortened(error['needle'])}"
    return text.replace("|", "/")


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_EXAMPLE else text[: _MAX_EXAMPLE - 1] + "…"


# ---- The bars of the page ------------------------------------------------------------------------


class ErrorKind(NamedTuple):
    """A kind of error on the page."""

    name: str
    meaning: str
    number: int  # written on the kind's bars and in the list of kinds
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


def error_kinds(errors: Sequence[TaskErrors]) -> list[ErrorKind]:
    """Return the kinds that occur, numbered from 1; a kind has the same colour on every page."""
    occurring: set[str] = set()
    for task in errors:
        occurring |= task.kinds.keys()
    kinds: list[ErrorKind] = []
    for name, colour in KIND_COLOURS.items():
        if name in occurring:
            kinds.append(ErrorKind(name, KINDS[name], len(kinds) + 1, colour, text_on(colour)))
    return kinds


def error_bars(
    runs: Runs, errors: Sequence[TaskErrors], kinds: Sequence[ErrorKind]
) -> list[Figure]:
    """Return for each series the bars of its kinds of errors by task, with the kinds' numbers.

    If only some of the wrong rows were sorted into kinds, all wrong rows are taken to be alike.
    """
    largest = 0.0
    for task in errors:
        largest = max(largest, task.wrong / task.rows if task.rows else 0)
    axis_end = 10 * math.ceil(10 * largest or 10)  # percent, in steps of 10
    figures = []
    for series in runs.series:
        records: list[Record] = []
        for task in errors:
            total = task.kinds.total()
            for kind in kinds:
                count = task.kinds[kind.name]
                if task.series == series.id and count:
                    records.append(
                        record_of(
                            series,
                            task.configs,
                            task.task,
                            task=task.task,
                            kind=kind.name,
                            number=kind.number,
                            ink=kind.ink,
                            rows=count,
                            share=100 * task.wrong / task.rows * count / total,
                            share_of_sorted=100 * count / total,
                            sorted=f"{total:,} of {task.wrong:,}",
                        )
                    )
        if records:
            figures.append(
                Figure(
                    name=f"errors-{series.id}",
                    title=series.label,
                    caption=f"Kinds of errors, {series.label}",
                    columns=[
                        TASK,
                        Column("kind", "kind"),
                        ROWS,
                        Column("share of the sorted", "share_of_sorted", "percent"),
                        Column("wrong rows sorted", "sorted"),
                    ],
                    records=records,
                    chart=_bars(series.label, records, kinds, axis_end),
                    width="half",
                    series=[series.id],
                )
            )
    return figures


def _bars(
    label: str, records: Sequence[Record], kinds: Sequence[ErrorKind], axis_end: int
) -> dict[str, Any]:
    order = list(dict.fromkeys(record["task"] for record in records))
    scale = alt.Scale(domain=[kind.name for kind in kinds], range=[kind.colour for kind in kinds])
    base = alt.Chart().encode(
        y=alt.Y("task:N", sort=order, title=None),
        order="number:Q",
        tooltip=[
            "task:N",
            "kind:N",
            alt.Tooltip("rows:Q", title="rows"),
            alt.Tooltip("share:Q", title="% of rows", format=".1f"),
        ],
    )
    x_scale = alt.Scale(domain=[0, axis_end])
    bars = base.mark_bar(height=ROW_HEIGHT - 5, strokeWidth=0.5, cursor="pointer").encode(
        x=alt.X("share:Q", stack="zero", title="% of rows", scale=x_scale),
        color=alt.Color("kind:N", scale=scale, legend=None),
    )
    has_space = f"datum.share > {axis_end / 25}"  # a narrower bar has no space for its number
    numbers = base.mark_text(fontSize=10, fontWeight="bold").encode(
        x=alt.X("share:Q", stack="zero", bandPosition=0.5, title="% of rows", scale=x_scale),
        text="number:N",
        color=INK,
        opacity=alt.condition(has_space, alt.value(1), alt.value(0)),
    )
    chart = alt.layer(bars, numbers, data=RECORDS)
    return spec_of(chart, f"Kinds of errors by task, {label}", height=ROW_HEIGHT * len(order))
