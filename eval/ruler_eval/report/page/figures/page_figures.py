"""The page's charts as Vega-Lite specifications, made with Altair from the page's model.

    figures(page)["average"].to_dict()          # {"$schema": …, "layer": […], …}

Every datum has the id of its series, by which the page's script hides models. The heat maps of the
page are HTML tables; heat_figures.py draws them for papers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import altair as alt

from ruler_eval.report.page.figures.chart_parts import (
    GREY,
    ROW,
    SCORE_AXIS,
    Datum,
    Figure,
    bounds,
    by_colour,
    by_shape,
    chart_of,
    dots,
    full_width,
    length_axis,
    lines,
    of_series,
    windows,
)
from ruler_eval.report.page.figures.complexity_figures import complexity_figures
from ruler_eval.report.page.figures.difference_figures import difference_figure
from ruler_eval.report.page.figures.language_figures import language_figures
from ruler_eval.report.page.page_model import Group, Length, PageData, Series

KIND_COLOURS = (
    *("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#a463f2", "#97bbf5"),
    *("#9c6b4e", "#ff8ab7", "#3ca951", "#9498a0"),
)
"""Of the kinds of errors, the most frequent first; the last is of all others together."""
OTHER_KINDS = "other kinds"


def figures(page: PageData) -> dict[str, Figure]:
    """Every chart that has data, by its name, in the page's order."""
    return dict(_figures(page))


def _figures(page: PageData) -> Iterator[tuple[str, Figure]]:
    yield from _curves(page)
    yield from complexity_figures(page)
    for pair in page["pairs"]:
        if pair["differences"]:
            yield f"differences-{pair['a']}-{pair['b']}", difference_figure(page, pair)
    yield from _errors(page)
    if page["languages"] is not None:
        yield from language_figures(page, page["languages"])


def kind_names(page: PageData) -> list[str]:
    """The kinds of errors that have a colour of their own, the most frequent first."""
    kinds = list(page["errors"]["kinds"])
    if len(kinds) <= len(KIND_COLOURS):
        return kinds
    return [*kinds[: len(KIND_COLOURS) - 1], OTHER_KINDS]


def group_name(group: Group) -> str:
    """A group in words."""
    return "all tasks" if group["name"] == "all" else group["name"]


def _curves(page: PageData) -> Iterator[tuple[str, Figure]]:
    """A curve by length for all tasks and each category; dots where there is one length alone."""
    shown = windows(page["lengths"])
    if len(shown) == 1:
        yield "average", _one_length(page, shown[0])
    for number, group in enumerate(page["groups"] if len(shown) > 1 else ()):
        if any(m["score"] is not None for r in group["rows"] for m in r["lengths"].values()):
            yield f"category-{number}" if number else "average", _curve(page, group, number == 0)


def _curve(page: PageData, group: Group, of_all: bool) -> Figure:
    shown = windows(page["lengths"])
    places = {one["name"]: {"tokens": one["tokens"], "length": one["label"]} for one in shown}
    scored = [
        (of_series(page["series"][row["series"]]) | places[name], mean, mean["score"])
        for row in group["rows"]
        for name, mean in row["lengths"].items()
        if name in places and mean["score"] is not None
    ]
    whole = [one for one in scored if one[1]["tasks"] == one[1]["of"]]
    # where no length has all tasks: means over some of them, as the table marks them
    data = [place | bounds(score, mean["interval"]) for place, mean, score in whole or scored]
    published: list[Datum] = [
        {"model": row["model"], "published": True, **places[name], "score": score}
        for row in group["published"]
        for name, score in row["lengths"].items()
        if name in places
    ]
    base = alt.Chart().encode(x=length_axis(shown), y=SCORE_AXIS, color=by_colour(page["series"]))
    tooltip = ["model:N", "length:N", "score:Q", "interval:N"]
    layers = [
        base.mark_area(opacity=0.16).encode(y="low:Q", y2="high:Q"),
        *lines(base, by_shape(page["series"]), tooltip),
    ]
    if published:
        grey = chart_of(published).mark_line(
            color=GREY, strokeWidth=1, opacity=0.55, point=alt.OverlayMarkDef(size=12, color=GREY)
        )
        x = length_axis(shown)
        layers.insert(0, grey.encode(x=x, y=SCORE_AXIS, detail="model:N", tooltip=tooltip[:3]))
    chart = alt.layer(*layers, data=alt.Data(values=data))
    title = f"Score by length, {group_name(group)}"
    return full_width(
        title, chart, f"{title}: lines with 95 % bands", height=300 if of_all else 180
    )


def _one_length(page: PageData, length: Length) -> Figure:
    """Where one length alone was scored: categories with their intervals."""
    data: list[Datum] = [
        {
            **of_series(page["series"][row["series"]]),
            "group": group["name"],
            **bounds(mean["score"], mean["interval"]),
        }
        for group in page["groups"]
        for row in group["rows"]
        if (mean := row["lengths"].get(length["name"])) is not None and mean["score"] is not None
    ]
    title = f"Score at {length['label']} by category"
    names = [group["name"] for group in page["groups"]]
    chart = dots(data, "group", names, page["series"], [0, 100])
    return full_width(title, chart, f"{title}, with 95 % intervals")


def _errors(page: PageData) -> Iterator[tuple[str, Figure]]:
    kinds = kind_names(page)
    shares = [task["wrong"] / task["rows"] for task in page["errors"]["tasks"]]
    edge = 10 * math.ceil(10 * max(shares, default=1) or 1)
    for one in page["series"]:
        data = list(_error_shares(page, one, kinds))
        if not data:
            continue
        order = [task for task in page["tasks"] if any(datum["task"] == task for datum in data)]
        bars = chart_of(data).mark_bar(height=ROW - 7, stroke="white", strokeWidth=0.5)
        chart = bars.encode(
            y=alt.Y("task:N", sort=order, title=None),
            x=alt.X("share:Q", title="% of rows", scale=alt.Scale(domain=[0, edge])),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=list(KIND_COLOURS[: len(kinds)])),
                legend=alt.Legend(orient="right", title=None),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                *("task:N", "kind:N"),
                alt.Tooltip("rows:Q", title="rows"),
                alt.Tooltip("share:Q", title="% of rows", format=".1f"),
            ],
        )
        description = f"Kinds of errors by task, {one['label']}"
        height = ROW * len(order)
        yield f"errors-{one['id']}", full_width(one["label"], chart, description, height=height)


def _error_shares(page: PageData, series: Series, kinds: Sequence[str]) -> Iterator[Datum]:
    """Each kind's share of a task's rows, in percent, by the wrong rows that were sorted."""
    for task in page["errors"]["tasks"]:
        if task["series"] != series["id"] or not task["sorted"]:
            continue
        shown: Counter[str] = Counter()
        for kind, count in task["kinds"].items():
            shown[kind if kind in kinds else OTHER_KINDS] += count
        for kind, count in shown.items():
            share = 100 * task["wrong"] / task["rows"] * count / task["sorted"]
            yield {
                "series": series["id"],
                "task": task["task"],
                "kind": kind,
                "place": kinds.index(kind),
                "rows": count,
                "share": round(share, 3),
            }
