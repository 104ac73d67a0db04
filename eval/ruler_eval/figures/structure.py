"""How scores depend on a task's parameters, and which tasks agree: `complexity`, `correlation`.

    complexity(runs)          # Figures 2 and 3 of RULER (arXiv:2404.06654, section 5)
    correlation_of(runs)      # Figure 5

What they show is computed by analysis/complexity.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from ruler_common.errors import RulerError
from ruler_common.names import CONTROL_LENGTH
from ruler_common.text import number_of
from ruler_eval.analysis.complexity import Panel, correlate, panels
from ruler_eval.figures.charts import (
    INK,
    RECORDS,
    SCORE_AXIS,
    SCORE_TOOLTIP,
    spec_of,
)
from ruler_eval.figures.figure import (
    LENGTH,
    SCORE,
    TASK,
    Column,
    Figure,
    Pivot,
    Record,
    record_of,
)
from ruler_eval.figures.series import COLOURS, SHAPES, Runs, Series

COMPLEXITY_NOTE = (
    "Each chart shows tasks that differ in one parameter only, as in Figures 2 and 3 of RULER’s "
    "paper. A line is a length, and 0K is the control; a dashed line is a task that was run only "
    "in the control, such as question answering without documents."
)
_NOT_INDEPENDENT = (
    "Lengths of one model are not independent: scores of most tasks fall with the length, so tasks "
    "that measure different things correlate too."
)
_CELL_SIZE = 34  # pixels of a cell of the correlation matrix
_WHITE_TEXT_FROM = 0.6  # the absolute correlation from which the number in a cell is white


# ---- Complexity ----------------------------------------------------------------------------------


def complexity(runs: Runs) -> list[Figure]:
    """Return a chart for each parameter that is the only difference between tasks of a suite."""
    figures = []
    for series in runs.series:
        if series.run.results["dataset"]["standard"] is False:
            for place, panel in enumerate(panels(series.run.results)):
                if panel.tokenizer == series.tokenizer:
                    name = f"complexity-{series.id}-{place}"
                    figures.append(panel_figure(runs, series, name, panel))
    return figures


def panel_figure(runs: Runs, series: Series, name: str, panel: Panel) -> Figure:
    """Return the chart of scores by the panel's parameter, with a line for each length.

    A task that was scored only in the control, while others have more lengths, is a dashed
    horizontal line, such as question answering without documents.
    """
    lengths = [length for length in runs.lengths if length in panel.lengths]
    parameter = panel.title.rpartition(": ")[2]
    records: list[Record] = []
    values = []
    wide = max(len(text) for text in (parameter, *(line.value for line in panel.lines)))
    for line in panel.lines:
        is_dashed = len(lengths) > 1 and line.scores.keys() == {CONTROL_LENGTH}
        if not is_dashed:
            values.append(line.value)
        for length in lengths:
            if length in line.scores:
                records.append(
                    record_of(
                        series,
                        series.configs(length, [line.task]),
                        f"{line.task} at {length.upper()}",
                        row=f"{line.value:<{wide}}  {line.task}",
                        value=line.value,
                        task=line.task,
                        length=length.upper(),
                        score=line.scores[length],
                        is_dashed=is_dashed,
                    )
                )
    title = f"Score by complexity, {panel.title}"
    if len(runs.series) > 1:
        title = f"{series.label}: {title}"
    return Figure(
        name=name,
        title=title,
        caption=f"{series.label}, {panel.title} ({panel.tokenizer})",
        columns=[Column(parameter, "value"), TASK, LENGTH, SCORE],
        records=records,
        pivot=Pivot(Column(f"{parameter:<{wide}}  task", "row"), "length", SCORE),
        chart=_panel_chart(records, lengths, values, parameter, title),
        width="half",
        series=[series.id],
    )


def _panel_chart(
    records: Sequence[Record],
    lengths: Sequence[str],
    values: Sequence[str],
    parameter: str,
    title: str,
) -> dict[str, Any]:
    domain, colours, shapes = [], [], []
    for place, length in enumerate(lengths):
        domain.append(length.upper())
        colours.append(COLOURS[place % len(COLOURS)])
        shapes.append(SHAPES[place % len(SHAPES)])
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
    return spec_of(alt.layer(*layers, data=RECORDS), title, height=200)


# ---- Correlation ---------------------------------------------------------------------------------


def correlation_of(runs: Runs) -> list[Figure]:
    """Return the correlation of the tasks of runs; nothing if their scores are too few."""
    try:
        correlated = correlate({run.label: run.results for run in runs.runs})
    except RulerError:  # too few observations
        return []
    return correlation_figures(correlated) if len(correlated["tasks"]) > 1 else []


def correlation_figures(correlated: Mapping[str, Any]) -> list[Figure]:
    """Return the correlation of the tasks (analysis/complexity.py) and their clusters."""
    tasks, pairs = correlated["tasks"], len(correlated["observations"])
    note = [
        f"Over {pairs} pairs of model and length, in the order of the tasks' clusters, as in "
        f"Figure 5 of RULER’s paper. {_NOT_INDEPENDENT}"
    ]
    if correlated["constant"]:
        constant = ", ".join(correlated["constant"])
        note.append(f"Left out, because their scores never change: {constant}.")
    if correlated["left_out"]:
        pairs_left_out = number_of(len(correlated["left_out"]), "pair")
        note.append(f"Left out, because tasks are missing: {pairs_left_out}.")
    figure = correlation_figure(tasks, correlated["correlation"], pairs, " ".join(note))
    return [figure, _clusters(tasks, correlated["merges"])]


def correlation_figure(
    tasks: Sequence[str], matrix: Sequence[Sequence[float]], observations: int, note: str = ""
) -> Figure:
    """Return the heat map of a correlation matrix, with numbers for the columns' names."""
    records: list[Record] = []
    for line, (row, coefficients) in enumerate(zip(tasks, matrix, strict=True), 1):
        for place, (column, r) in enumerate(zip(tasks, coefficients, strict=True), 1):
            ink = "#ffffff" if abs(r) > _WHITE_TEXT_FROM else "#000000"
            places = {"numbered": f"{line} {row}", "place": str(place)}
            records.append({"row": row, "column": column, **places, "r": r, "ink": ink})
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
    coefficient = Column("r", "r", ".2f")
    return Figure(
        name="correlation",
        title=title,
        caption=f"Correlation over {observations} pairs of model and length",
        columns=[Column("task", "row"), Column("with", "column"), coefficient],
        records=records,
        note=note,
        pivot=Pivot(Column("task", "numbered"), "place", coefficient),
        chart=spec_of(chart, title, width=size, height=size),
        width="fixed",
    )


def _clusters(tasks: Sequence[str], merges: Sequence[Mapping[str, Any]]) -> Figure:
    """Return the clusters as they join, by the numbers of their rows in the correlation."""
    records = []
    for merge in merges:
        names = []
        for cluster in merge["clusters"]:
            lines = sorted(1 + tasks.index(task) for task in cluster)
            names.append(str(lines[0]) if len(lines) == 1 else f"{lines[0]}-{lines[-1]}")
        records.append({"first": names[0], "second": names[1], "distance": merge["distance"]})
    title = "Clusters as they join, by their rows above (average linkage of 1 − r)"
    return Figure(
        name="clusters",
        title=title,
        columns=[
            Column("cluster", "first"),
            Column("joins", "second"),
            Column("distance", "distance", ".3f"),
        ],
        records=records,
        fold=title,
    )
