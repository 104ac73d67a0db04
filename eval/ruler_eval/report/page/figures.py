"""The page's charts as Vega-Lite specifications, made with Altair from the page's model.

    figures(page)["average"].to_dict()          # {"$schema": …, "layer": […], …}

Curves by length; how scores fall as tasks grow harder (RULER's Figures 2 and 3); paired differences
of two runs; kinds of errors; the correlation of the tasks (Figure 5); for ONERULER the ranking of
languages, the offer of "none", reasoning. Every datum has the id of its series, by which the page's
script hides models. The heat maps of the page are HTML tables.
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
"""The colour of each kind of error, in their order.

Under deuteranopia each differs from each of the others by 10 or more of CIE76's Delta E.
"""
FACET_WIDTH, FACET_WIDTHS = 120, {2: 380, 3: 250, 4: 185, 5: 145}
"""Pixels of a length's column in the chart of differences; by the number of lengths."""
_LABEL_GAP = 4.6  # points of score between the names at the ends of lines
_MOST_LABEL = 150  # pixels of such a name
_MEAN = "mean of all"
_STEP = 34  # pixels of a cell
_DARK = 0.6  # a correlation from which its number is white on its colour


class ErrorKind(NamedTuple):
    """A kind of error on the page: what it means, and how it is drawn."""

    name: str
    meaning: str
    number: str
    colour: str
    ink: str


def figures(page: PageData) -> dict[str, Figure]:
    """Every chart that has data, by its name, in the page's order.

    altair checks a chart's specification in `to_dict`, not each of its parts while it is made.
    """
    with debug_mode(False):
        return dict(_figures(page))


def _figures(page: PageData) -> Iterator[tuple[str, Figure]]:
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
    """Return the kinds of errors on the page, numbered; colours are the same on every page."""
    return [
        ErrorKind(kind, KINDS[kind], str(number), colour, charts.text_on(colour))
        for number, (kind, colour) in enumerate(
            [item for item in KIND_COLOURS.items() if item[0] in page["errors"]["kinds"]], 1
        )
    ]


def group_name(group: Group) -> str:
    """Return a group in words."""
    return "all tasks" if group["name"] == "all" else group["name"]


def _curves(page: PageData) -> Iterator[tuple[str, Figure]]:
    """Yield a curve by length for all tasks and each category.

    Dots where there is one length alone.
    """
    shown = charts.windows(page["lengths"])
    if len(shown) == 1:
        yield "average", _one_length(page, shown[0])
    for number, group in enumerate(page["groups"] if len(shown) > 1 else ()):
        if any(m["score"] is not None for r in group["rows"] for m in r["lengths"].values()):
            yield f"category-{number}" if number else "average", _curve(page, group, number == 0)


def _curve(page: PageData, group: Group, of_all: bool) -> Figure:
    shown = charts.windows(page["lengths"])
    places = {one["name"]: {"tokens": one["tokens"], "length": one["label"]} for one in shown}
    scored = [
        (charts.of_series(page["series"][row["series"]]) | places[name], mean, mean["score"])
        for row in group["rows"]
        for name, mean in row["lengths"].items()
        if name in places and mean["score"] is not None
    ]
    whole = [one for one in scored if one[1]["tasks"] == one[1]["of"]]
    # where no length has all tasks: means over some of them, as the table marks them
    data = [
        place | charts.bounds(score, mean["interval"]) for place, mean, score in whole or scored
    ]
    published: list[Datum] = [
        {"model": row["model"], "published": True, **places[name], "score": score}
        for row in group["published"]
        for name, score in row["lengths"].items()
        if name in places
    ]
    x = charts.length_axis(shown)
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
    if of_all:
        layers.append(_at_line_ends(page, data))
    chart = alt.layer(*layers, data=alt.Data(values=data))
    title = f"Score by length, {group_name(group)}"
    described = f"{title}: lines with 95 % bands"
    if not of_all:
        return charts.full_width(title, chart, described, height=180)
    room = min(_MOST_LABEL, 8 * max(len(one["label"]) for one in page["series"])) + 16
    padding = {"left": 4, "top": 4, "bottom": 4, "right": room}
    return charts.full_width(title, chart, described, height=340, padding=padding)


def _thresholds(group: Group) -> list[Any]:
    """Return a dashed line at the threshold of the effective length, with its value."""
    levels = {row["threshold"] for row in group["rows"]} - {None}
    data = [{"score": level, "text": f"threshold {level:.1f}"} for level in levels if level]
    if not data:
        return []
    base = charts.chart_of(data).encode(y=charts.SCORE_AXIS)
    text = base.mark_text(align="left", baseline="top", dx=4, dy=4, fontSize=11, color=charts.GREY)
    return [
        base.mark_rule(color=charts.GREY, strokeDash=[6, 4]).encode(tooltip=["text:N"]),
        text.encode(x=alt.XValue(0), text="text:N"),
    ]


def _at_line_ends(page: PageData, data: Sequence[Datum]) -> Any:
    """Return the models' names beside the ends of their lines, kept from each other."""
    ends = {one["series"]: one for one in sorted(data, key=lambda one: float(one["tokens"]))}
    ranked = sorted(ends.values(), key=lambda one: -one["score"])
    places: list[float] = []
    for one in ranked:
        places.append(min([one["score"], *(place - _LABEL_GAP for place in places[-1:])]))
    up = max(0.0, -min(places, default=0.0))  # those that would fall below the axis
    named = [one | {"place": place + up} for one, place in zip(ranked, places, strict=True)]
    text = charts.chart_of(named).mark_text(align="left", dx=9, fontSize=12, limit=_MOST_LABEL)
    return text.encode(
        x=charts.length_axis(charts.windows(page["lengths"])),
        y=alt.Y("place:Q", scale=alt.Scale(domain=[0, 100])),
        text="model:N",
        color=charts.by_colour(page["series"]),
    ).properties(name="labels")


def _one_length(page: PageData, length: Length) -> Figure:
    """Where one length alone was scored: categories with their intervals."""
    data: list[Datum] = [
        {
            **charts.of_series(page["series"][row["series"]]),
            "group": group["name"],
            **charts.bounds(mean["score"], mean["interval"]),
        }
        for group in page["groups"]
        for row in group["rows"]
        if (mean := row["lengths"].get(length["name"])) is not None and mean["score"] is not None
    ]
    title = f"Score at {length['label']} by category"
    names = [group["name"] for group in page["groups"]]
    chart = charts.dots(data, "group", names, page["series"], [0, 100])
    return charts.full_width(title, chart, f"{title}, with 95 % intervals")


def _errors(page: PageData) -> Iterator[tuple[str, Figure]]:
    """Yield bars of the kinds of errors, each with its number, as in the list above them."""
    kinds = error_kinds(page)
    shares = [task["wrong"] / task["rows"] for task in page["errors"]["tasks"]]
    edge = 10 * math.ceil(10 * max(shares, default=1) or 1)
    for one in page["series"]:
        data = list(_error_shares(page, one, kinds))
        if not data:
            continue
        order = [task for task in page["tasks"] if any(datum["task"] == task for datum in data)]
        y = alt.Y("task:N", sort=order, title=None)
        x = alt.X("start:Q", title="% of rows", scale=alt.Scale(domain=[0, edge]))
        tooltip = [
            *("task:N", "kind:N"),
            alt.Tooltip("rows:Q", title="rows"),
            alt.Tooltip("share:Q", title="% of rows", format=".1f"),
        ]
        base = alt.Chart().encode(y=y)
        names, colours = [kind.name for kind in kinds], [kind.colour for kind in kinds]
        scale = alt.Scale(domain=names, range=colours)
        colour = alt.Color("kind:N", scale=scale, legend=alt.Legend(orient="right", title=None))
        bars = base.mark_bar(height=charts.ROW - 5, strokeWidth=0.5, cursor="pointer")
        number = base.mark_text(fontSize=10, fontWeight="bold").transform_filter(
            f"datum.share > {edge / 25}"
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
        description = f"Kinds of errors by task, {one['label']}"
        height = charts.ROW * len(order)
        figure = charts.full_width(one["label"], chart, description, height=height)
        yield f"errors-{one['id']}", figure


def _error_shares(page: PageData, series: Series, kinds: Sequence[ErrorKind]) -> Iterator[Datum]:
    """Yield each kind's share of a task's rows, in percent, by the wrong rows that were sorted."""
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
    """Return A - B in points: a row a task, a column a length.

    Differences that the rows can tell from none are coloured. With several languages their mean is
    shown, and a list below the chart has the others.
    """
    names = [page["runs"][pair[side]]["label"] for side in ("a", "b")]
    colours = [charts.first_series(page)[pair[side]]["colour"] for side in ("a", "b")]
    labels = {item["name"]: item["label"] for item in page["lengths"]}
    results = {"a": f"{names[0]} better", "b": f"{names[1]} better", None: "not told apart"}
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
    order = [task for task in page["tasks"] if any(one["task"] == task for one in data)] + [_MEAN]
    colour = alt.Color(
        "result:N",
        scale=alt.Scale(domain=[*results.values()], range=[*colours, charts.GREY]),
        legend=alt.Legend(orient="top", direction="vertical", title=None, labelLimit=400),
    )
    base = alt.Chart()
    of_task = base.encode(y=alt.Y("task:N", sort=order, title=None), color=colour)
    tooltip = ["task:N", "length:N", alt.Tooltip("score:Q", title="difference"), "interval:N"]
    layers = alt.layer(
        base.mark_rule(color=charts.GREY, strokeDash=[2, 2], aria=False).encode(x=alt.XDatum(0)),
        *charts.with_intervals(of_task, scale, 44, tooltip=tooltip),
    )
    shown = [item["label"] for item in page["lengths"]]
    shown = [label for label in shown if any(one["length"] == label for one in data)]
    title = f"{names[0]} minus {names[1]}, points"
    height = charts.ROW * len(order)
    if len(shown) == 1:
        title += f", {shown[0]}"
        chart = layers.properties(width="container", height=height, data=alt.Data(values=data))
    else:
        header = alt.Header(labelAnchor="start")
        width = FACET_WIDTHS.get(len(shown), FACET_WIDTH)
        chart = layers.properties(width=width, height=height).facet(
            column=alt.Column("length:N", sort=shown, title=None, header=header),
            data=alt.Data(values=data),
            spacing=14,
        )
    if len(languages) > 1:
        chart = _with_choice(chart, languages)
        title += f"; {_in_words(languages)[0]}, or the languages chosen below"
    described = chart.properties(description=f"Paired differences with 95 % intervals: {title}")
    return Figure(title, described, wide=len(shown) > 1)


def _with_choice(chart: Any, languages: Sequence[str]) -> Any:
    """Return the chart of one choice of languages, and a list to choose from beneath it."""
    choice = alt.param(
        name="languages",
        value=languages[0],
        bind=alt.binding_select(
            options=list(languages), labels=_in_words(languages), name="Languages shown: "
        ),
    )
    return chart.transform_filter("datum.languages === languages").add_params(choice)


def _in_words(languages: Sequence[str]) -> list[str]:
    single = sum("-" not in name and name != EVERY_LANGUAGE for name in languages)
    mean = f"mean over {single} languages"
    return [mean if name == EVERY_LANGUAGE else name for name in languages]


def complexity_figures(page: PageData) -> Iterator[tuple[str, Figure]]:
    """Yield a chart for each panel, by name: the parameter along it, a line for each length."""
    for number, panel in enumerate(page["complexity"]):
        yield f"complexity-{number}", _panel(page, panel)


def _panel(page: PageData, panel: ComplexityPanel) -> Figure:
    """Scores by the parameter, a line a length.

    Where other tasks have more lengths, one that was asked at `0k` alone is a dashed line across.
    """
    shown = {length for line in panel["lines"] for length in line["scores"]}
    labels = {item["name"]: item["label"] for item in page["lengths"] if item["name"] in shown}
    data: list[Datum] = [
        {
            "series": panel["series"],
            "value": line["value"],
            "task": line["task"],
            "length": labels[length],
            "score": round(score, 2),
            "alone": len(shown) > 1 and line["scores"].keys() == {"0k"},
        }
        for line in panel["lines"]
        for length, score in line["scores"].items()
    ]
    alone = {one["value"] for one in data if one["alone"]}
    values = [line["value"] for line in panel["lines"] if line["value"] not in alone]
    colours, shapes = (
        alt.Scale(domain=[*labels.values()], range=list(islice(cycle(every), len(labels))))
        for every in (COLOURS, SHAPES)
    )
    parameter = panel["title"].rpartition(": ")[2]
    legend = alt.Legend(orient="top", title="length")
    x = alt.X("value:N", sort=values, title=parameter, axis=alt.Axis(labelAngle=0))
    colour = alt.Color("length:N", scale=colours, legend=legend)
    shape = alt.Shape("length:N", scale=shapes, legend=legend)
    tooltip = ["value:N", "task:N", "length:N", "score:Q"]
    base = alt.Chart().encode(y=charts.SCORE_AXIS, color=colour)
    by_value, across = (base.transform_filter(f"{no}datum.alone") for no in ("!", ""))
    chart = alt.layer(
        *charts.lines(by_value.encode(x=x), shape, tooltip),
        across.mark_rule(strokeWidth=2, strokeDash=[4, 3]).encode(tooltip=tooltip),
        data=alt.Data(values=data),
    )
    return charts.full_width(f"Score by complexity, {panel['title']}", chart, height=200)


def correlation_figure(found: Mapping[str, Any]) -> Figure:
    """Return the heat map of what analysis/complexity.py found, similar tasks together."""
    tasks = found["tasks"]
    cells: list[Datum] = [
        {
            "row": row,
            "column": column,
            "r": round(r, 3),
            "ink": "#ffffff" if abs(r) > _DARK else "#000000",
        }
        for row, line in zip(tasks, found["correlation"], strict=True)
        for column, r in zip(tasks, line, strict=True)
    ]
    every = alt.Axis(labelAngle=-60, labelOverlap=False)
    base = charts.chart_of(cells).encode(
        x=alt.X("column:N", sort=tasks, title=None, axis=every),
        y=alt.Y("row:N", sort=tasks, title=None),
        tooltip=["row:N", "column:N", "r:Q"],
    )
    scale = alt.Scale(scheme="purplegreen", domain=[-1, 1])
    legend = alt.Legend(title="correlation r", orient="bottom")
    heat = alt.layer(
        base.mark_rect().encode(color=alt.Color("r:Q", scale=scale, legend=legend)),
        base.mark_text(fontSize=10).encode(text=alt.Text("r:Q", format=".2f"), color=charts.INK),
    ).properties(width=_STEP * len(tasks), height=_STEP * len(tasks))
    title = "Correlation of the tasks over models and lengths"
    return Figure(title, heat.properties(description=title), wide=True)


def language_figures(page: PageData, languages: Languages) -> Iterator[tuple[str, Figure]]:
    """Yield the charts of ONERULER that have data, by name."""
    shown = charts.first_series(page)
    series = [shown[run] for run in sorted(shown)]
    models = [(charts.of_series(shown[model["run"]]), model) for model in languages["models"]]
    ranked: list[Datum] = [
        {**one, "language": item["language"], **charts.bounds(item["score"], item["interval"])}
        for one, model in models
        for item in model["languages"]
    ]
    if ranked:
        order = list(dict.fromkeys(datum["language"] for datum in ranked))
        title = "Languages by their mean over the niah tasks"
        yield (
            "ranking",
            charts.full_width(title, charts.dots(ranked, "language", order, series, [0, 100])),
        )
    offered: list[Datum] = [
        {
            **one,
            "place": f"{item['languages']} {item['length'].upper()}",
            **charts.bounds(item["difference"], item["interval"]),
        }
        for one, model in models
        for item in model["none_ablation"]
    ]
    if offered:
        order = list(dict.fromkeys(datum["place"] for datum in offered))
        title = "What the offer to answer “none” changes, points"
        chart = charts.dots(offered, "place", order, series, charts.difference_domain(offered))
        yield "none", charts.full_width(title, chart)
    tokens: list[Datum] = [
        {**one, "length": item["length"].upper(), "answers": answers, "tokens": item[answers]}
        for one, model in models
        for item in model["reasoning"]
        for answers in ("right", "wrong")
        if item[answers] is not None
    ]
    if tokens:
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
        title = "Reasoning tokens of right and of wrong answers"
        yield "reasoning", charts.full_width(title, chart, height=220)
