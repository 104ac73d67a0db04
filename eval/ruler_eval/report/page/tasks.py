"""The sections of single tasks: heat maps, depth, kinds of errors, complexity, correlation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from ruler_common.errors import RulerError
from ruler_common.text import bounds
from ruler_eval.analysis.complexity import Panel, correlate, panels
from ruler_eval.analysis.errors import KINDS
from ruler_eval.report.page.figure import (
    INK,
    INTERVAL,
    LENGTH,
    RECORDS,
    ROW_HEIGHT,
    ROWS,
    SCORE,
    SCORE_AXIS,
    SCORE_TOOLTIP,
    TASK,
    Column,
    Figure,
    Record,
    record_of,
    spec_of,
    text_on,
)
from ruler_eval.report.page.rows import ConfigRows
from ruler_eval.report.page.runs import COLOURS, SHAPES, PageInput, Series, count_troubles
from ruler_eval.report.terminal import MEANS, TROUBLE_NAMES
from ruler_eval.score.aggregates import combine
from ruler_eval.score.cells import mean_bins
from ruler_eval.score.results import Cell

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
_CELL_SIZE = 34  # pixels of a cell of the correlation matrix
_WHITE_TEXT_FROM = 0.6  # the absolute correlation from which the number in a cell is white


# ---- Heat maps and depth ---------------------------------------------------------------------


def heat_maps(page: PageInput) -> list[Figure]:
    """Return a heat map of tasks by lengths for each series; a cell is the mean over languages."""
    figures = []
    for series in page.series:
        title = series.label
        if series.languages != "en":
            title += f", {MEANS.get(series.languages, series.languages)}"
        configs: dict[str, list[str]] = {task: [] for task in page.tasks}
        for name, cell in series.cells.items():
            configs[cell["task"]].append(name)
        figures.append(heat_map(page, series, f"tasks-{series.id}", title, "task", configs))
    return figures


def heat_map(
    page: PageInput,
    series: Series,
    name: str,
    title: str,
    rows_are: str,
    configs: Mapping[str, Sequence[str]],
) -> Figure:
    """Return a heat map of scores by rows and lengths; `configs` has the configurations by row."""
    records = []
    for row, names in configs.items():
        for length in page.lengths:
            cells: dict[str, Cell] = {}
            for config in names:
                cell = series.run.results["configurations"][config]
                if cell["length"] == length:
                    cells[config] = cell
            counts = count_troubles(cells)
            troubles = [f"{count} {TROUBLE_NAMES[key]}" for key, count in counts.items()]
            score, strict, interval = combine(cells, series.run.rows)
            records.append(
                record_of(
                    series,
                    list(cells),
                    f"{row} at {length.upper()}",
                    row=row,
                    column=length.upper(),
                    score=score,
                    interval=bounds(interval),
                    strict=strict,
                    rows=sum(cell["n"] for cell in cells.values()),
                    troubles=", ".join(troubles),
                    # Reasoning, and answers scored although truncated, make no score doubtful.
                    is_flawed=bool(counts.keys() - {"thinking", "truncated_scored"}),
                )
            )
    strict_column, of_these = Column("strict", "strict"), Column("of these", "troubles")
    row_column, length_column = Column(rows_are, "row"), Column("length", "column")
    return Figure(
        name=name,
        title=title,
        caption=f"{title}: every cell",
        columns=[row_column, length_column, SCORE, INTERVAL, strict_column, ROWS, of_these],
        records=records,
        grid="heat",
        width="half",
        rows_are=rows_are,
        series=[series.id],
    )


def depth_maps(page: PageInput) -> tuple[list[Figure], list[Figure]]:
    """Return scores by depth: of all tasks that hide needles, taken together, and of each task."""
    pooled: list[Figure] = []
    by_task: list[Figure] = []
    for series in page.series:
        parameters = series.run.results["dataset"].get("parameters", {})
        needle_tasks = []
        for task in page.tasks:
            if "niah" in task or "niah" in str(parameters.get(task, {}).get("family")):
                needle_tasks.append(task)
            figure = _depth_map(page, series, f"depth-{series.id}-{task}", task, task, [task])
            if figure.records:
                by_task.append(figure)
        name, title = f"needles-{series.id}", f"{series.label}, needles by depth and length"
        figure = _depth_map(page, series, name, title, "needles", needle_tasks)
        if figure.records:
            pooled.append(figure)
    return pooled, by_task


def _depth_map(
    page: PageInput, series: Series, name: str, title: str, what: str, tasks: Collection[str]
) -> Figure:
    """Return scores by depth: a record is a length, with ten bins from the text's beginning."""
    records = []
    for length in page.lengths:
        configs, depths = [], []
        for config in series.configs(length, tasks):
            if depth := series.cells[config]["depth"]:
                configs.append(config)
                depths.append(depth)
        if configs:
            bins = mean_bins(depths)
            texts = {}
            for number, depth_bin in enumerate(bins):
                score, n = depth_bin["score"], depth_bin["n"]
                texts[f"bin{number}"] = None if score is None else f"{score:.1f} ({n})"
            label = f"{what} at {length.upper()}"
            fields = {"length": length.upper(), "bins": bins, **texts}
            records.append(record_of(series, configs, label, **fields))
    columns = [LENGTH]
    for number in range(10):
        columns.append(Column(f"{10 * number} to {10 * number + 10} %", f"bin{number}"))
    return Figure(
        name=name,
        title=title,
        caption=f"{series.label}, {what} by depth: score (references)",
        columns=columns,
        records=records,
        grid="depth",
        width="half",
        series=[series.id],
    )


# ---- Kinds of errors -------------------------------------------------------------------------


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


def count_errors(
    page: PageInput, rows_of_runs: Sequence[dict[str, ConfigRows]]
) -> list[TaskErrors]:
    """Count the kinds of errors of each series and task that has rows."""
    errors = []
    for series in page.series:
        rows_by_config = rows_of_runs[series.run_number]
        for task in page.tasks:
            configs = []
            kinds: Counter[str] = Counter()
            rows = wrong = 0
            for name, cell in series.cells.items():
                if cell["task"] == task and name in rows_by_config:
                    configs.append(name)
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
    occurring: set[str] = set()
    for task in errors:
        occurring |= task.kinds.keys()
    kinds: list[ErrorKind] = []
    for name, colour in KIND_COLOURS.items():
        if name in occurring:
            kinds.append(ErrorKind(name, KINDS[name], len(kinds) + 1, colour, text_on(colour)))
    return kinds


def error_note(page: PageInput, errors: Sequence[TaskErrors]) -> str:
    """Return what a reader must know about the bars: which rows were sorted, and by what."""
    wrong = sorted_rows = 0
    for task in errors:
        wrong += task.wrong
        sorted_rows += task.kinds.total()
    if not wrong:
        return "No row was answered wrongly."
    note = (
        "A bar is the share of a task’s rows, in percent, without the full score, by kind of "
        "error; click a part for its rows."
    )
    if sorted_rows < wrong:
        note += (
            f" {sorted_rows:,} of {wrong:,} wrong rows were sorted, those among the first rows of "
            "every configuration; `ruler report --every-error` sorts all of them."
        )
    has_samples = lacks_texts = False
    for run in page.runs:
        for scores in run.configs.values():
            has_samples = has_samples or scores.repeats > 1
            if run.release is None and scores.answers:
                first = next(iter(scores.answers.values()))
                lacks_texts = lacks_texts or first.known_prompt is None
    if has_samples:
        note += " Of several samples of a row only the first counts here."
    if lacks_texts:
        note += (
            " Rows whose release was not found were sorted without their texts, so distractors "
            "were not recognized: name the release with --dataset."
        )
    return note


def error_figures(
    page: PageInput, errors: Sequence[TaskErrors], kinds: Sequence[ErrorKind]
) -> list[Figure]:
    """Return for each series the bars of its kinds of errors by task, with the kinds' numbers.

    If only some of the wrong rows were sorted into kinds, all wrong rows are taken to be alike.
    """
    largest = 0.0
    for task in errors:
        largest = max(largest, task.wrong / task.rows if task.rows else 0)
    axis_end = 10 * math.ceil(10 * largest or 10)  # percent, in steps of 10
    figures = []
    for series in page.series:
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
                            share_of_sorted=f"{100 * count / total:.0f} %",
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


# ---- Complexity and correlation --------------------------------------------------------------


def complexity(page: PageInput) -> list[Figure]:
    """Return a chart for each parameter that is the only difference between tasks of a suite."""
    figures = []
    for series in page.series:
        if series.run.results["dataset"]["standard"] is False:
            for number, panel in enumerate(panels(series.run.results)):
                if panel.tokenizer == series.tokenizer:
                    figures.append(
                        panel_figure(page, series, f"complexity-{series.id}-{number}", panel)
                    )
    return figures


def panel_figure(page: PageInput, series: Series, name: str, panel: Panel) -> Figure:
    """Return the chart of scores by the panel's parameter, with a line for each length.

    A task that was scored only at `0k`, while others have more lengths, is a dashed horizontal
    line, such as question answering without documents.
    """
    lengths = [length for length in page.lengths if length in panel.lengths]
    records: list[Record] = []
    values = []
    for line in panel.lines:
        is_dashed = len(lengths) > 1 and line.scores.keys() == {"0k"}
        if not is_dashed:
            values.append(line.value)
        for length in lengths:
            if length in line.scores:
                records.append(
                    record_of(
                        series,
                        series.configs(length, [line.task]),
                        f"{line.task} at {length.upper()}",
                        value=line.value,
                        task=line.task,
                        length=length.upper(),
                        score=line.scores[length],
                        is_dashed=is_dashed,
                    )
                )
    parameter = panel.title.rpartition(": ")[2]
    domain, colours, shapes = [], [], []
    for number, length in enumerate(lengths):
        domain.append(length.upper())
        colours.append(COLOURS[number % len(COLOURS)])
        shapes.append(SHAPES[number % len(SHAPES)])
    legend = alt.Legend(orient="top", title="length")
    x = alt.X("value:N", sort=values, title=parameter, axis=alt.Axis(labelAngle=0))
    color = alt.Color("length:N", scale=alt.Scale(domain=domain, range=colours), legend=legend)
    shape = alt.Shape("length:N", scale=alt.Scale(domain=domain, range=shapes), legend=legend)
    tooltip = ["value:N", "task:N", "length:N", SCORE_TOOLTIP]
    base = alt.Chart().encode(y=SCORE_AXIS, color=color)
    by_value = base.transform_filter("!datum.is_dashed").encode(x=x)
    points = by_value.mark_point(filled=True, size=56, opacity=1)
    layers = [by_value.mark_line(strokeWidth=2), points.encode(shape=shape, tooltip=tooltip)]
    if any(record["is_dashed"] for record in records):  # an empty layer has no name to read out
        dashed = base.transform_filter("datum.is_dashed")
        rules = dashed.mark_rule(strokeWidth=2, strokeDash=[4, 3])
        layers.append(rules.encode(tooltip=tooltip))
    chart = alt.layer(*layers, data=RECORDS)
    title = f"Score by complexity, {panel.title}"
    if len(page.series) > 1:
        title = f"{series.label}: {title}"
    return Figure(
        name=name,
        title=title,
        caption=f"{series.label}, {panel.title}",
        columns=[Column(parameter, "value"), TASK, LENGTH, SCORE],
        records=records,
        spec=spec_of(chart, title, height=200),
        width="half",
        series=[series.id],
    )


def correlation(page: PageInput) -> tuple[str, list[Figure]]:
    """Return a note and the heat map of the correlation of the tasks; empty if scores are too few.

    Similar tasks are next to each other.
    """
    try:
        correlated = correlate({run.label: run.results for run in page.runs})
    except RulerError:  # too few observations
        return "", []
    if len(correlated["tasks"]) < 2:
        return "", []
    tasks, observations = correlated["tasks"], len(correlated["observations"])
    note = (
        f"Correlation of the tasks’ scores over {observations} pairs of model and length, in the "
        "order of their clusters (average linkage of 1 − r), as in Figure 5 of RULER’s paper. "
        "Lengths of one model are not independent: scores of most tasks fall with the length, so "
        "tasks that measure different things correlate too."
    )
    if correlated["constant"]:
        note += (
            f" Left out, because their scores never change: {', '.join(correlated['constant'])}."
        )
    return note, [correlation_figure(tasks, correlated["correlation"], observations)]


def correlation_figure(
    tasks: Sequence[str], matrix: Sequence[Sequence[float]], observations: int
) -> Figure:
    """Return the heat map of a correlation matrix."""
    records: list[Record] = []
    for row, coefficients in zip(tasks, matrix, strict=True):
        for column, r in zip(tasks, coefficients, strict=True):
            ink = "#ffffff" if abs(r) > _WHITE_TEXT_FROM else "#000000"
            records.append({"row": row, "column": column, "r": r, "ink": ink})
    axis = alt.Axis(labelAngle=-60, labelOverlap=False)
    base = alt.Chart(RECORDS).encode(
        x=alt.X("column:N", sort=tasks, title=None, axis=axis),
        y=alt.Y("row:N", sort=tasks, title=None),
        tooltip=["row:N", "column:N", alt.Tooltip("r:Q", format=".2f")],
    )
    scale = alt.Scale(scheme="purplegreen", domain=[-1, 1])
    legend = alt.Legend(title="correlation r", orient="bottom")
    size = _CELL_SIZE * len(tasks)
    chart = alt.layer(
        base.mark_rect().encode(color=alt.Color("r:Q", scale=scale, legend=legend)),
        base.mark_text(fontSize=10).encode(text=alt.Text("r:Q", format=".2f"), color=INK),
    )
    title = "Correlation of the tasks over models and lengths"
    return Figure(
        name="correlation",
        title=title,
        caption=f"Correlation over {observations} pairs of model and length",
        columns=[Column("task", "row"), Column("task", "column"), Column("r", "r", ".2f")],
        records=records,
        spec=spec_of(chart, title, width=size, height=size),
        width="fixed",
    )
