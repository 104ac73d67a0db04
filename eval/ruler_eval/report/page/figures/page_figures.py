"""The page's charts as Vega-Lite specifications, made with Altair from the page's model.

    figures(page)["average"].to_dict()          # {"$schema": …, "layer": […], …}

Every datum has the id of its series, by which the page's script hides models. The heat maps of the
page are HTML tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import altair as alt
from altair.utils.schemapi import debug_mode

from ruler_eval.analysis.errors import KINDS
from ruler_eval.report.page.figures import analysis_figures as analysis
from ruler_eval.report.page.figures import chart_parts as part
from ruler_eval.report.page.figures.chart_parts import Datum, Figure
from ruler_eval.report.page.page_model import Group, Length, PageData, Series

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
    "other": "#bbbbbb",
}
"""The colour of each kind of error, in their order.

Under deuteranopia each differs from each of the others by 10 or more of CIE76's Delta E.
"""
_LABEL_GAP = 4.6  # points of score between the names at the ends of lines
_MOST_LABEL = 150  # pixels of such a name


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
    yield from analysis.complexity_figures(page)
    for pair in page["pairs"]:
        if pair["differences"]:
            yield f"differences-{pair['a']}-{pair['b']}", analysis.difference_figure(page, pair)
    yield from _errors(page)
    if page["correlation"] is not None:
        yield "correlation", analysis.correlation_figure(page["correlation"])
    if page["languages"] is not None:
        yield from analysis.language_figures(page, page["languages"])


def error_kinds(page: PageData) -> list[ErrorKind]:
    """Return the kinds of errors on the page; number and colour are the same on every page."""
    return [
        ErrorKind(kind, KINDS[kind], str(number), colour, part.text_on(colour))
        for number, (kind, colour) in enumerate(KIND_COLOURS.items(), 1)
        if kind in page["errors"]["kinds"]
    ]


def group_name(group: Group) -> str:
    """A group in words."""
    return "all tasks" if group["name"] == "all" else group["name"]


def _curves(page: PageData) -> Iterator[tuple[str, Figure]]:
    """A curve by length for all tasks and each category; dots where there is one length alone."""
    shown = part.windows(page["lengths"])
    if len(shown) == 1:
        yield "average", _one_length(page, shown[0])
    for number, group in enumerate(page["groups"] if len(shown) > 1 else ()):
        if any(m["score"] is not None for r in group["rows"] for m in r["lengths"].values()):
            yield f"category-{number}" if number else "average", _curve(page, group, number == 0)


def _curve(page: PageData, group: Group, of_all: bool) -> Figure:
    shown = part.windows(page["lengths"])
    places = {one["name"]: {"tokens": one["tokens"], "length": one["label"]} for one in shown}
    scored = [
        (part.of_series(page["series"][row["series"]]) | places[name], mean, mean["score"])
        for row in group["rows"]
        for name, mean in row["lengths"].items()
        if name in places and mean["score"] is not None
    ]
    whole = [one for one in scored if one[1]["tasks"] == one[1]["of"]]
    # where no length has all tasks: means over some of them, as the table marks them
    data = [place | part.bounds(score, mean["interval"]) for place, mean, score in whole or scored]
    published: list[Datum] = [
        {"model": row["model"], "published": True, **places[name], "score": score}
        for row in group["published"]
        for name, score in row["lengths"].items()
        if name in places
    ]
    x = part.length_axis(shown)
    base = alt.Chart().encode(x=x, y=part.SCORE_AXIS, color=part.by_colour(page["series"]))
    tooltip = ["model:N", "length:N", "score:Q", "interval:N"]
    layers = [
        *_thresholds(group),
        base.mark_area(opacity=0.16).encode(y="low:Q", y2="high:Q"),
        *part.lines(base, part.by_shape(page["series"]), tooltip),
    ]
    if published:
        grey = part.chart_of(published).encode(
            x=x, y=part.SCORE_AXIS, detail="model:N", tooltip=tooltip[:3]
        )
        point = alt.OverlayMarkDef(size=12, color=part.GREY)
        layers.insert(0, grey.mark_line(color=part.GREY, strokeWidth=1, opacity=0.7, point=point))
    if of_all:
        layers.append(_at_line_ends(page, data))
    chart = alt.layer(*layers, data=alt.Data(values=data))
    title = f"Score by length, {group_name(group)}"
    described = f"{title}: lines with 95 % bands"
    if not of_all:
        return part.full_width(title, chart, described, height=180)
    room = min(_MOST_LABEL, 8 * max(len(one["label"]) for one in page["series"])) + 16
    padding = {"left": 4, "top": 4, "bottom": 4, "right": room}
    return part.full_width(title, chart, described, height=340, padding=padding)


def _thresholds(group: Group) -> list[Any]:
    """A dashed line at the threshold of the effective length, with its value."""
    levels = {row["threshold"] for row in group["rows"]} - {None}
    data = [{"score": level, "text": f"threshold {level:.1f}"} for level in levels if level]
    if not data:
        return []
    base = part.chart_of(data).encode(y=part.SCORE_AXIS)
    text = base.mark_text(align="left", baseline="top", dx=4, dy=4, fontSize=11, color=part.GREY)
    return [
        base.mark_rule(color=part.GREY, strokeDash=[6, 4]).encode(tooltip=["text:N"]),
        text.encode(x=alt.XValue(0), text="text:N"),
    ]


def _at_line_ends(page: PageData, data: Sequence[Datum]) -> Any:
    """The models' names beside the ends of their lines, kept from each other."""
    ends = {one["series"]: one for one in sorted(data, key=lambda one: float(one["tokens"]))}
    ranked = sorted(ends.values(), key=lambda one: -one["score"])
    places: list[float] = []
    for one in ranked:
        places.append(min([one["score"], *(place - _LABEL_GAP for place in places[-1:])]))
    up = max(0.0, -min(places, default=0.0))  # those that would fall below the axis
    named = [one | {"place": place + up} for one, place in zip(ranked, places, strict=True)]
    text = part.chart_of(named).mark_text(align="left", dx=9, fontSize=12, limit=_MOST_LABEL)
    return text.encode(
        x=part.length_axis(part.windows(page["lengths"])),
        y=alt.Y("place:Q", scale=alt.Scale(domain=[0, 100])),
        text="model:N",
        color=part.by_colour(page["series"]),
    ).properties(name="labels")


def _one_length(page: PageData, length: Length) -> Figure:
    """Where one length alone was scored: categories with their intervals."""
    data: list[Datum] = [
        {
            **part.of_series(page["series"][row["series"]]),
            "group": group["name"],
            **part.bounds(mean["score"], mean["interval"]),
        }
        for group in page["groups"]
        for row in group["rows"]
        if (mean := row["lengths"].get(length["name"])) is not None and mean["score"] is not None
    ]
    title = f"Score at {length['label']} by category"
    names = [group["name"] for group in page["groups"]]
    chart = part.dots(data, "group", names, page["series"], [0, 100])
    return part.full_width(title, chart, f"{title}, with 95 % intervals")


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
        bars = base.mark_bar(height=part.ROW - 5, strokeWidth=0.5, cursor="pointer")
        number = base.mark_text(fontSize=10, fontWeight="bold").transform_filter(
            f"datum.share > {edge / 25}"
        )
        chart = alt.layer(
            bars.encode(x=x, x2="end:Q", color=colour, tooltip=tooltip),
            number.encode(
                x=alt.X("middle:Q", title="% of rows"),
                text="number:N",
                color=part.INK,
                tooltip=tooltip,
            ),
            data=alt.Data(values=data),
        )
        description = f"Kinds of errors by task, {one['label']}"
        height = part.ROW * len(order)
        figure = part.full_width(one["label"], chart, description, height=height)
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
