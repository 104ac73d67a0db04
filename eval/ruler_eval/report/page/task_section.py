"""The sections of single tasks: heat maps, depth, complexity, and the correlation of tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle, islice

import altair as alt

from ruler_common.errors import RulerError
from ruler_common.text import bounds
from ruler_eval.analysis.complexity import Panel, correlate, panels
from ruler_eval.report.page.figure import (
    INK,
    RECORDS,
    SCORE_AXIS,
    Column,
    Figure,
    Record,
    spec_of,
)
from ruler_eval.report.page.runs import COLOURS, SHAPES, Length, PageInput, Series
from ruler_eval.report.terminal import MEANS, TROUBLE_NAMES, TROUBLES
from ruler_eval.score.aggregates import combine
from ruler_eval.score.results import Cell
from ruler_eval.score.scoring import mean_bins

_CELL_SIZE = 34  # pixels of a cell of the correlation matrix
_WHITE_TEXT_FROM = 0.6  # the absolute correlation from which the number in a cell is white


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
    cells = series.run.results["configurations"]
    records = []
    for row, names in configs.items():
        for length in page.lengths:
            here = {name: cells[name] for name in names if cells[name]["length"] == length.name}
            records.append(_heat_record(series, row, length, here))
    return Figure(
        name=name,
        title=title,
        caption=f"{title}: every cell",
        columns=[
            Column(rows_are, "row"),
            Column("length", "column"),
            Column("score", "score"),
            Column("95 % interval", "interval"),
            Column("strict", "strict"),
            Column("rows", "rows"),
            Column("of these", "troubles"),
        ],
        records=records,
        grid="heat",
        width="half",
        rows_are=rows_are,
        series=[series.id],
    )


def _heat_record(series: Series, row: str, length: Length, cells: Mapping[str, Cell]) -> Record:
    score, strict, interval = combine(cells, series.run.rows)
    troubles = {}
    for name in TROUBLES:
        if count := sum(cell[name] for cell in cells.values()):
            troubles[name] = f"{count} {TROUBLE_NAMES[name]}"
    return {
        "series": [series.id],
        "configs": list(cells),
        "label": f"{row} at {length.label}",
        "row": row,
        "column": length.label,
        "score": score,
        "interval": bounds(interval),
        "strict": strict,
        "rows": sum(cell["n"] for cell in cells.values()),
        "troubles": ", ".join(troubles.values()),
        "is_flawed": bool(troubles.keys() - {"thinking", "cut_scored"}),
    }


def needle_maps(page: PageInput) -> list[Figure]:
    """Return for each series the scores by depth of all tasks that hide needles, taken together."""
    figures = []
    for series in page.series:
        parameters = series.run.results["dataset"].get("parameters", {})
        tasks = []
        for task in page.tasks:
            if "niah" in task or "niah" in str(parameters.get(task, {}).get("family")):
                tasks.append(task)
        title = f"{series.label}, needles by depth and length"
        figures.append(_depth_map(page, series, f"needles-{series.id}", title, "needles", tasks))
    return [figure for figure in figures if figure.records]


def depth_maps(page: PageInput) -> list[Figure]:
    """Return for each series and task with evidence the scores by its depth."""
    figures = []
    for series in page.series:
        for task in page.tasks:
            name = f"depth-{series.id}-{task}"
            figures.append(_depth_map(page, series, name, task, task, [task]))
    return [figure for figure in figures if figure.records]


def _depth_map(
    page: PageInput, series: Series, name: str, title: str, what: str, tasks: Collection[str]
) -> Figure:
    """Return scores by depth: a record is a length, with ten bins from the text's beginning."""
    records = []
    for length in page.lengths:
        configs, depths = [], []
        for config in series.configs(length.name, tasks):
            if depth := series.cells[config]["depth"]:
                configs.append(config)
                depths.append(depth)
        if configs:
            bins = mean_bins(depths)
            record: Record = {
                "series": [series.id],
                "configs": configs,
                "label": f"{what} at {length.label}",
                "length": length.label,
                "bins": bins,
            }
            for number, depth_bin in enumerate(bins):
                score = depth_bin["score"]
                record[f"bin{number}"] = (
                    None if score is None else f"{score:.1f} ({depth_bin['n']})"
                )
            records.append(record)
    depths_columns = [Column(f"{10 * n} to {10 * n + 10} %", f"bin{n}") for n in range(10)]
    return Figure(
        name=name,
        title=title,
        caption=f"{series.label}, {what} by depth: score (references)",
        columns=[Column("length", "length"), *depths_columns],
        records=records,
        grid="depth",
        width="half",
        series=[series.id],
    )


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
    lengths = [length for length in page.lengths if length.name in panel.lengths]
    records: list[Record] = []
    values = []
    for line in panel.lines:
        is_dashed = len(lengths) > 1 and line.scores.keys() == {"0k"}
        if not is_dashed:
            values.append(line.value)
        for length in lengths:
            if length.name in line.scores:
                records.append(
                    {
                        "series": [series.id],
                        "configs": series.configs(length.name, [line.task]),
                        "label": f"{line.task} at {length.label}",
                        "value": line.value,
                        "task": line.task,
                        "length": length.label,
                        "score": line.scores[length.name],
                        "is_dashed": is_dashed,
                    }
                )
    parameter = panel.title.rpartition(": ")[2]
    domain = [length.label for length in lengths]
    colours = alt.Scale(domain=domain, range=list(islice(cycle(COLOURS), len(domain))))
    shapes = alt.Scale(domain=domain, range=list(islice(cycle(SHAPES), len(domain))))
    legend = alt.Legend(orient="top", title="length")
    x = alt.X("value:N", sort=values, title=parameter, axis=alt.Axis(labelAngle=0))
    shape = alt.Shape("length:N", scale=shapes, legend=legend)
    tooltip = ["value:N", "task:N", "length:N", alt.Tooltip("score:Q", format=".1f")]
    base = alt.Chart().encode(
        y=SCORE_AXIS, color=alt.Color("length:N", scale=colours, legend=legend)
    )
    by_value = base.transform_filter("!datum.is_dashed").encode(x=x)
    dashed = base.transform_filter("datum.is_dashed")
    points = by_value.mark_point(filled=True, size=56, opacity=1)
    chart = alt.layer(
        by_value.mark_line(strokeWidth=2),
        points.encode(shape=shape, tooltip=tooltip),
        dashed.mark_rule(strokeWidth=2, strokeDash=[4, 3]).encode(tooltip=tooltip),
        data=RECORDS,
    )
    title = f"Score by complexity, {panel.title}"
    if len(page.series) > 1:
        title = f"{series.label}: {title}"
    return Figure(
        name=name,
        title=title,
        caption=f"{series.label}, {panel.title}",
        columns=[
            Column(parameter, "value"),
            Column("task", "task"),
            Column("length", "length"),
            Column("score", "score"),
        ],
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
        "order of their clusters (average linkage of 1 − r), as in Figure 5 of RULER’s paper. By "
        f"chance alone, unrelated tasks reach ±{correlated['by_chance']:.2f} in 1 of 20 cases."
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
    base = alt.Chart(RECORDS).encode(
        x=alt.X(
            "column:N",
            sort=tasks,
            title=None,
            axis=alt.Axis(labelAngle=-60, labelOverlap=False),
        ),
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
        width="own",
    )
