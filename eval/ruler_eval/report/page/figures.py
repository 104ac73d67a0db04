"""Draw the page's charts with Altair, as Vega-Lite specifications.

    figures(page)["average"].chart.to_dict()          # {"$schema": …, "layer": […], …}

The charts: scores by length; scores by complexity (RULER's Figures 2 and 3); paired differences of
two runs; kinds of errors; the correlation of the tasks (Figure 5); for ONERULER the ranking of
languages, the effect of offering "none" as an answer, and reasoning tokens. Every datum has the id
of its series, by which page.js hides models. The page's heat maps are HTML tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

import altair as alt
from altair.utils.schemapi import debug_mode

from ruler_eval.analysis.errors import KINDS
from ruler_eval.report.page import charts
from ruler_eval.report.page.charts import Datum, Figure
from ruler_eval.report.page.model import (
    ComplexityPanel,
    Group,
    Languages,
    Length,
    PageData,
    Pair,
    Series,
)
from ruler_eval.report.page.scores import COLOURS, SHAPES, shown_languages
from ruler_eval.score.aggregates import EVERY_LANGUAGE

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
FACET_WIDTHS = {2: 380, 3: 250, 4: 185, 5: 145}
"""Pixels of a length's column in the chart of differences, by the number of lengths."""
MIN_FACET_WIDTH = 120  # pixels, with more lengths
_LABEL_GAP = 4.6  # points of score between the names at the ends of lines
_MAX_LABEL_WIDTH = 150  # pixels of such a name
_MEAN = "mean of all"
_CELL_SIZE = 34  # pixels of a cell of the correlation matrix
_WHITE_TEXT_FROM = 0.6  # the absolute correlation from which the number in a cell is white


class ErrorKind(NamedTuple):
    """A kind of error on the page."""

    name: str
    meaning: str
    number: str  # written on the kind's bars and in the list of kinds
    colour: str  # of its bars
    ink: str  # the colour of the number on the bars


def figures(page: PageData) -> dict[str, Figure]:
    """Return every chart that has data, by its name, in the order of the page."""
    with debug_mode(False):  # faster: altair would validate every part while it is made
        return dict(_named_figures(page))


def _named_figures(page: PageData) -> Iterator[tuple[str, Figure]]:
    yield from _curves(page)
    yield from complexity_figures(page)
    for pair in page["pairs"]:
        if pair["differences"]:
            yield f"differences-{pair['a']}-{pair['b']}", difference_figure(page, pair)
    yield from _errors(page)
    if page["correlation"] is not None:
        yield "correlation", correlation_figure(page["correlation"])
    if page["languages"] is not None:
        yield from language_figures(page, page["languages"])


def error_kinds(page: PageData) -> list[ErrorKind]:
    """Return the kinds of errors that occur on the page, numbered from 1.

    A kind has the same colour on every page.
    """
    kinds = [kind for kind in KIND_COLOURS if kind in page["errors"]["kinds"]]
    return [
        ErrorKind(
            name=kind,
            meaning=KINDS[kind],
            number=str(number),
            colour=KIND_COLOURS[kind],
            ink=charts.text_on(KIND_COLOURS[kind]),
        )
        for number, kind in enumerate(kinds, 1)
    ]


def _curves(page: PageData) -> Iterator[tuple[str, Figure]]:
    """Yield the curves by length of all tasks and of each category.

    With a single length there is one chart, which has a dot for each category.
    """
    lengths = charts.windows(page["lengths"])
    if len(lengths) == 1:
        yield "average", _one_length(page, lengths[0])
    if len(lengths) <= 1:
        return
    for i, group in enumerate(page["groups"]):
        means = [mean for row in group["rows"] for mean in row["lengths"].values()]
        if any(mean["score"] is not None for mean in means):
            name = "average" if i == 0 else f"category-{i}"
            yield name, _curve(page, group, is_main=i == 0)


def _curve(page: PageData, group: Group, is_main: bool) -> Figure:
    """Return the chart of one group's scores by length; the main one is larger and labelled."""
    lengths = charts.windows(page["lengths"])
    length_fields = {
        length["name"]: {"tokens": length["tokens"], "length": length["label"]}
        for length in lengths
    }
    complete: list[Datum] = []  # means over all tasks of the group
    partial: list[Datum] = []  # means over some of them
    for row in group["rows"]:
        for name, mean in row["lengths"].items():
            if name in length_fields and mean["score"] is not None:
                datum = {
                    **charts.of_series(page["series"][row["series"]]),
                    **length_fields[name],
                    **charts.bounds(mean["score"], mean["interval"]),
                }
                if mean["tasks"] == mean["of"]:
                    complete.append(datum)
                else:
                    partial.append(datum)
    data = complete or partial
    published: list[Datum] = [
        {"model": row["model"], "published": True, **length_fields[name], "score": score}
        for row in group["published"]
        for name, score in row["lengths"].items()
        if name in length_fields
    ]
    x = charts.length_axis(lengths)
    base = alt.Chart().encode(x=x, y=charts.SCORE_AXIS, color=charts.by_colour(page["series"]))
    tooltip = ["model:N", "length:N", "score:Q", "interval:N"]
    layers = [
        *_thresholds(group),
        base.mark_area(opacity=0.16).encode(y="low:Q", y2="high:Q"),
        *charts.lines(base, charts.by_shape(page["series"]), tooltip),
    ]
    if published:
        grey = charts.chart_of(published).encode(
            x=x, y=charts.SCORE_AXIS, detail="model:N", tooltip=tooltip[:3]
        )
        point = alt.OverlayMarkDef(size=12, color=charts.GREY)
        layers.insert(0, grey.mark_line(color=charts.GREY, strokeWidth=1, opacity=0.7, point=point))
    if is_main:
        layers.append(_line_labels(page, data))
    chart = alt.layer(*layers, data=alt.Data(values=data))
    title = f"Score by length, {'all tasks' if group['name'] == 'all' else group['name']}"
    description = f"{title}: lines with 95 % bands"
    if not is_main:
        return charts.full_width(title, chart, description, height=180)
    longest_label = max(len(series["label"]) for series in page["series"])
    label_width = min(_MAX_LABEL_WIDTH, 8 * longest_label)
    padding = {"left": 4, "top": 4, "bottom": 4, "right": label_width + 16}
    return charts.full_width(title, chart, description, height=340, padding=padding)


def _thresholds(group: Group) -> list[Any]:
    """Return a dashed line at the threshold of the effective length, with its value."""
    thresholds = {row["threshold"] for row in group["rows"]}
    data = [
        {"score": threshold, "text": f"threshold {threshold:.1f}"}
        for threshold in thresholds
        if threshold
    ]
    if not data:
        return []
    base = charts.chart_of(data).encode(y=charts.SCORE_AXIS)
    text = base.mark_text(align="left", baseline="top", dx=4, dy=4, fontSize=11, color=charts.GREY)
    return [
        base.mark_rule(color=charts.GREY, strokeDash=[6, 4]).encode(tooltip=["text:N"]),
        text.encode(x=alt.XValue(0), text="text:N"),
    ]


def _line_labels(page: PageData, data: Sequence[Datum]) -> Any:
    """Return the models' names at the ends of their lines, moved apart so as not to overlap."""
    by_length = sorted(data, key=lambda datum: float(datum["tokens"]))
    last_of_series = {datum["series"]: datum for datum in by_length}
    ends = sorted(last_of_series.values(), key=lambda datum: -datum["score"])
    heights: list[float] = []
    for datum in ends:
        height = datum["score"]
        if heights:
            height = min(height, heights[-1] - _LABEL_GAP)
        heights.append(height)
    below_axis = max(0.0, -min(heights, default=0.0))
    labels = [
        {**datum, "place": height + below_axis} for datum, height in zip(ends, heights, strict=True)
    ]
    text = charts.chart_of(labels).mark_text(
        align="left", dx=9, fontSize=12, limit=_MAX_LABEL_WIDTH
    )
    return text.encode(
        x=charts.length_axis(charts.windows(page["lengths"])),
        y=alt.Y("place:Q", scale=alt.Scale(domain=[0, 100])),
        text="model:N",
        color=charts.by_colour(page["series"]),
    ).properties(name="labels")


def _one_length(page: PageData, length: Length) -> Figure:
    """Return the chart for runs at a single length: each category's score with its interval."""
    data: list[Datum] = []
    for group in page["groups"]:
        for row in group["rows"]:
            mean = row["lengths"].get(length["name"])
            if mean is not None and mean["score"] is not None:
                data.append(
                    {
                        **charts.of_series(page["series"][row["series"]]),
                        "group": group["name"],
                        **charts.bounds(mean["score"], mean["interval"]),
                    }
                )
    title = f"Score at {length['label']} by category"
    names = [group["name"] for group in page["groups"]]
    chart = charts.dots(data, "group", names, page["series"], [0, 100])
    return charts.full_width(title, chart, f"{title}, with 95 % intervals")


def _errors(page: PageData) -> Iterator[tuple[str, Figure]]:
    """Yield for each series the bars of its kinds of errors by task, with the kinds' numbers."""
    kinds = error_kinds(page)
    shares = [task["wrong"] / task["rows"] for task in page["errors"]["tasks"]]
    axis_end = 10 * math.ceil(10 * max(shares, default=1) or 1)  # percent, in steps of 10
    for series in page["series"]:
        data = list(_error_shares(page, series, kinds))
        if not data:
            continue
        order = _tasks_in(page, data)
        y = alt.Y("task:N", sort=order, title=None)
        x = alt.X("start:Q", title="% of rows", scale=alt.Scale(domain=[0, axis_end]))
        tooltip = [
            "task:N",
            "kind:N",
            alt.Tooltip("rows:Q", title="rows"),
            alt.Tooltip("share:Q", title="% of rows", format=".1f"),
        ]
        base = alt.Chart().encode(y=y)
        names, colours = [kind.name for kind in kinds], [kind.colour for kind in kinds]
        scale = alt.Scale(domain=names, range=colours)
        colour = alt.Color("kind:N", scale=scale, legend=alt.Legend(orient="right", title=None))
        bars = base.mark_bar(height=charts.ROW - 5, strokeWidth=0.5, cursor="pointer")
        number = base.mark_text(fontSize=10, fontWeight="bold").transform_filter(
            f"datum.share > {axis_end / 25}"  # a narrower bar has no space for its number
        )
        chart = alt.layer(
            bars.encode(x=x, x2="end:Q", color=colour, tooltip=tooltip),
            number.encode(
                x=alt.X("middle:Q", title="% of rows"),
                text="number:N",
                color=charts.INK,
                tooltip=tooltip,
            ),
            data=alt.Data(values=data),
        )
        description = f"Kinds of errors by task, {series['label']}"
        height = charts.ROW * len(order)
        figure = charts.full_width(series["label"], chart, description, height=height)
        yield f"errors-{series['id']}", figure


def _tasks_in(page: PageData, data: Sequence[Datum]) -> list[str]:
    """Return the tasks that the data has, in the order of the page."""
    tasks = {datum["task"] for datum in data}
    return [task for task in page["tasks"] if task in tasks]


def _error_shares(page: PageData, series: Series, kinds: Sequence[ErrorKind]) -> Iterator[Datum]:
    """Yield each kind's estimated share of a task's rows, in percent.

    If only some of the wrong rows were sorted into kinds, all wrong rows are taken to be alike.
    """
    for task in page["errors"]["tasks"]:
        if task["series"] != series["id"] or not task["sorted"]:
            continue
        start = 0.0
        for kind in kinds:
            rows = task["kinds"].get(kind.name, 0)
            if not rows:
                continue
            share = 100 * task["wrong"] / task["rows"] * rows / task["sorted"]
            yield {
                "series": series["id"],
                "task": task["task"],
                "kind": kind.name,
                "number": kind.number,
                "ink": kind.ink,
                "rows": rows,
                "share": round(share, 3),
                "start": round(start, 3),
                "middle": round(start + share / 2, 3),
                "end": round(start + share, 3),
            }
            start += share


def difference_figure(page: PageData, pair: Pair) -> Figure:
    """Return the chart of the differences A - B in points, with tasks as rows, lengths as columns.

    Significant differences have the colour of the better model. With several languages the chart
    shows their mean, and a list below it selects a single language.
    """
    names = [page["runs"][pair[side]]["label"] for side in ("a", "b")]
    colours = [charts.first_series(page)[pair[side]]["colour"] for side in ("a", "b")]
    labels = {item["name"]: item["label"] for item in page["lengths"]}
    results = {"a": f"{names[0]} better", "b": f"{names[1]} better", None: "not told apart"}
    result_scale = alt.Scale(domain=list(results.values()), range=[*colours, charts.GREY])
    languages = shown_languages(pair)
    data: list[Datum] = [
        {
            "runs": [pair["a"], pair["b"]],
            "task": item["task"] or _MEAN,
            "length": labels[item["length"]],
            "languages": item["language"] or languages[0],
            **charts.bounds(item["difference"], item["interval"]),
            "result": results[item["better"]],
        }
        for item in pair["differences"]
        if item["length"] is not None and (item["language"] or len(languages) == 1)
    ]
    scale = alt.Scale(domain=charts.difference_domain(data), nice=True)
    order = [*_tasks_in(page, data), _MEAN]
    colour = alt.Color(
        "result:N",
        scale=result_scale,
        legend=alt.Legend(orient="top", direction="vertical", title=None, labelLimit=400),
    )
    base = alt.Chart()
    of_task = base.encode(y=alt.Y("task:N", sort=order, title=None), color=colour)
    tooltip = ["task:N", "length:N", alt.Tooltip("score:Q", title="difference"), "interval:N"]
    layers = alt.layer(
        base.mark_rule(color=charts.GREY, strokeDash=[2, 2], aria=False).encode(x=alt.XDatum(0)),
        *charts.with_intervals(of_task, scale, 44, tooltip=tooltip),
    )
    lengths_in_data = {datum["length"] for datum in data}
    lengths = [item["label"] for item in page["lengths"] if item["label"] in lengths_in_data]
    title = f"{names[0]} minus {names[1]}, points"
    height = charts.ROW * len(order)
    if len(lengths) == 1:
        title += f", {lengths[0]}"
        chart = layers.properties(width="container", height=height, data=alt.Data(values=data))
    else:
        header = alt.Header(labelAnchor="start")
        width = FACET_WIDTHS.get(len(lengths), MIN_FACET_WIDTH)
        chart = layers.properties(width=width, height=height).facet(
            column=alt.Column("length:N", sort=lengths, title=None, header=header),
            data=alt.Data(values=data),
            spacing=14,
        )
    if len(languages) > 1:
        chart = _with_language_list(chart, languages)
        title += f"; {_language_labels(languages)[0]}, or the languages chosen below"
    chart = chart.properties(description=f"Paired differences with 95 % intervals: {title}")
    return Figure(title, chart, wide=len(lengths) > 1)


def _with_language_list(chart: Any, languages: Sequence[str]) -> Any:
    """Return the chart with a list below it that selects whose differences it shows."""
    choice = alt.param(
        name="languages",
        value=languages[0],
        bind=alt.binding_select(
            options=list(languages), labels=_language_labels(languages), name="Languages shown: "
        ),
    )
    return chart.transform_filter("datum.languages === languages").add_params(choice)


def _language_labels(languages: Sequence[str]) -> list[str]:
    single = sum("-" not in name and name != EVERY_LANGUAGE for name in languages)
    mean = f"mean over {single} languages"
    return [mean if name == EVERY_LANGUAGE else name for name in languages]


def complexity_figures(page: PageData) -> Iterator[tuple[str, Figure]]:
    """Yield a chart for each complexity panel, with its name."""
    for number, panel in enumerate(page["complexity"]):
        yield f"complexity-{number}", _panel(page, panel)


def _panel(page: PageData, panel: ComplexityPanel) -> Figure:
    """Return the chart of scores by the panel's parameter, with a line for each length.

    A task that was scored only at `0k`, while others have more lengths, is a dashed horizontal
    line, such as question answering without documents.
    """
    scored = {length for line in panel["lines"] for length in line["scores"]}
    labels = {item["name"]: item["label"] for item in page["lengths"] if item["name"] in scored}
    data: list[Datum] = [
        {
            "series": panel["series"],
            "value": line["value"],
            "task": line["task"],
            "length": labels[length],
            "score": round(score, 2),
            "alone": len(scored) > 1 and line["scores"].keys() == {"0k"},
        }
        for line in panel["lines"]
        for length, score in line["scores"].items()
    ]
    dashed = {datum["value"] for datum in data if datum["alone"]}
    values = [line["value"] for line in panel["lines"] if line["value"] not in dashed]
    domain = list(labels.values())
    colours = alt.Scale(domain=domain, range=list(islice(cycle(COLOURS), len(domain))))
    shapes = alt.Scale(domain=domain, range=list(islice(cycle(SHAPES), len(domain))))
    parameter = panel["title"].rpartition(": ")[2]
    legend = alt.Legend(orient="top", title="length")
    x = alt.X("value:N", sort=values, title=parameter, axis=alt.Axis(labelAngle=0))
    colour = alt.Color("length:N", scale=colours, legend=legend)
    shape = alt.Shape("length:N", scale=shapes, legend=legend)
    tooltip = ["value:N", "task:N", "length:N", "score:Q"]
    base = alt.Chart().encode(y=charts.SCORE_AXIS, color=colour)
    by_value = base.transform_filter("!datum.alone")
    horizontal = base.transform_filter("datum.alone")
    chart = alt.layer(
        *charts.lines(by_value.encode(x=x), shape, tooltip),
        horizontal.mark_rule(strokeWidth=2, strokeDash=[4, 3]).encode(tooltip=tooltip),
        data=alt.Data(values=data),
    )
    return charts.full_width(f"Score by complexity, {panel['title']}", chart, height=200)


def correlation_figure(correlation: Mapping[str, Any]) -> Figure:
    """Return the heat map of the correlation of tasks from analysis/complexity.py.

    Similar tasks are next to each other.
    """
    tasks = correlation["tasks"]
    cells: list[Datum] = [
        {
            "row": row,
            "column": column,
            "r": round(r, 3),
            "ink": "#ffffff" if abs(r) > _WHITE_TEXT_FROM else "#000000",
        }
        for row, coefficients in zip(tasks, correlation["correlation"], strict=True)
        for column, r in zip(tasks, coefficients, strict=True)
    ]
    all_labels = alt.Axis(labelAngle=-60, labelOverlap=False)
    base = charts.chart_of(cells).encode(
        x=alt.X("column:N", sort=tasks, title=None, axis=all_labels),
        y=alt.Y("row:N", sort=tasks, title=None),
        tooltip=["row:N", "column:N", "r:Q"],
    )
    scale = alt.Scale(scheme="purplegreen", domain=[-1, 1])
    legend = alt.Legend(title="correlation r", orient="bottom")
    heat = alt.layer(
        base.mark_rect().encode(color=alt.Color("r:Q", scale=scale, legend=legend)),
        base.mark_text(fontSize=10).encode(text=alt.Text("r:Q", format=".2f"), color=charts.INK),
    ).properties(width=_CELL_SIZE * len(tasks), height=_CELL_SIZE * len(tasks))
    title = "Correlation of the tasks over models and lengths"
    return Figure(title, heat.properties(description=title), wide=True)


def language_figures(page: PageData, languages: Languages) -> Iterator[tuple[str, Figure]]:
    """Yield the charts of ONERULER that have data, by name."""
    series_of_run = charts.first_series(page)
    series = [series_of_run[run] for run in sorted(series_of_run)]
    models = [
        (charts.of_series(series_of_run[model["run"]]), model) for model in languages["models"]
    ]
    scores: list[Datum] = [
        {**model_fields, "language": item["language"]}
        | charts.bounds(item["score"], item["interval"])
        for model_fields, model in models
        for item in model["languages"]
    ]
    if scores:
        order = list(dict.fromkeys(datum["language"] for datum in scores))
        chart = charts.dots(scores, "language", order, series, [0, 100])
        yield "ranking", charts.full_width("Languages by their mean over the niah tasks", chart)
    differences: list[Datum] = [
        {**model_fields, "place": f"{item['languages']} {item['length'].upper()}"}
        | charts.bounds(item["difference"], item["interval"])
        for model_fields, model in models
        for item in model["none_ablation"]
    ]
    if differences:
        order = list(dict.fromkeys(datum["place"] for datum in differences))
        domain = charts.difference_domain(differences)
        chart = charts.dots(differences, "place", order, series, domain)
        yield "none", charts.full_width("What the offer to answer “none” changes, points", chart)
    tokens: list[Datum] = [
        {
            **model_fields,
            "length": item["length"].upper(),
            "answers": answers,
            "tokens": item[answers],
        }
        for model_fields, model in models
        for item in model["reasoning"]
        for answers in ("right", "wrong")
        if item[answers] is not None
    ]
    if tokens:
        yield "reasoning", _reasoning_figure(page, series, tokens)


def _reasoning_figure(page: PageData, series: Sequence[Series], tokens: list[Datum]) -> Figure:
    """Return the chart of mean reasoning tokens by length, of right and of wrong answers."""
    order = [item["label"] for item in page["lengths"]]
    base = alt.Chart().encode(
        x=alt.X("length:N", sort=order, title=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("tokens:Q", title=None),
        color=charts.by_colour(series),
        detail="answers:N",
    )
    dashes = alt.Legend(
        title=None,
        orient="top",
        symbolType="stroke",
        symbolSize=400,
        symbolStrokeColor=charts.GREY,
    )
    points = base.mark_point(filled=True, size=44, opacity=1)
    tooltip = ["model:N", "length:N", "answers:N", "tokens:Q"]
    chart = alt.layer(
        base.mark_line().encode(strokeDash=alt.StrokeDash("answers:N", legend=dashes)),
        points.encode(shape=charts.by_shape(series), tooltip=tooltip),
        data=alt.Data(values=tokens),
    )
    return charts.full_width("Reasoning tokens of right and of wrong answers", chart, height=220)
