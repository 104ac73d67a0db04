"""The page's charts as Vega-Lite specifications, made with Altair from the page's model.

    figures(page)["average"].to_dict()          # {"$schema": …, "layer": […], …}

Every datum has the id of its series, by which the page's script hides models. The heat maps of the
page are HTML tables; heat_figures.py draws them for papers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from eval.report.page.figures.chart_parts import (
    GREY,
    ROW,
    Datum,
    Figure,
    bounds,
    by_colour,
    by_shape,
    chart_of,
    dots,
    interval_text,
    length_axis,
    windows,
)
from eval.report.page.figures.complexity_figures import complexity_figures
from eval.report.page.figures.language_figures import language_figures
from eval.report.page.page_model import Group, Length, PageData, Pair, Series

KIND_COLOURS = (
    *("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#a463f2", "#97bbf5"),
    *("#9c6b4e", "#ff8ab7", "#3ca951", "#9498a0"),
)
"""Of the kinds of errors, the most frequent first; the last is of all others together."""
OTHER_KINDS = "other kinds"


def figures(page: PageData) -> dict[str, Figure]:
    """Every chart that has data, by its name, in the page's order."""
    found = dict(_curves(page)) | complexity_figures(page)
    for pair in page["pairs"]:
        if pair["differences"]:
            found[f"differences-{pair['a']}-{pair['b']}"] = _differences(page, pair)
    found |= _errors(page)
    if page["languages"] is not None:
        found |= language_figures(page, page["languages"])
    return found


def kind_names(page: PageData) -> list[str]:
    """The kinds of errors that have a colour of their own, the most frequent first."""
    kinds = list(page["errors"]["kinds"])
    if len(kinds) <= len(KIND_COLOURS):
        return kinds
    return [*kinds[: len(KIND_COLOURS) - 1], OTHER_KINDS]


def _curves(page: PageData) -> Iterator[tuple[str, Figure]]:
    """A curve by length for all tasks and each category; dots where there is one length alone."""
    shown = windows(page["lengths"])
    if len(shown) == 1:
        yield "average", _one_length(page, shown[0])
    if len(shown) < 2:
        return
    for number, group in enumerate(page["groups"]):
        if not any(m["score"] is not None for r in group["rows"] for m in r["lengths"].values()):
            continue
        title = "all tasks" if number == 0 else group["name"]
        name = "average" if number == 0 else f"category-{number}"
        yield name, Figure(f"Score by length, {title}", _curve(page, group, title))


def _curve(page: PageData, group: Group, title: str) -> Any:
    labels = {one["id"]: one["label"] for one in page["series"]}
    tokens = {item["name"]: item for item in windows(page["lengths"])}
    scored = [
        (row["series"], tokens[name], mean, mean["score"])
        for row in group["rows"]
        for name, mean in row["lengths"].items()
        if name in tokens and mean["score"] is not None
    ]
    whole = [one for one in scored if one[2]["tasks"] == one[2]["of"]]
    data: list[Datum] = [
        {
            "model": labels[series],
            "series": series,
            "tokens": length["tokens"],
            "length": length["label"],
            **bounds(score, mean["interval"]),
        }
        # where no length has all tasks: means over some of them, as the table marks them
        for series, length, mean, score in whole or scored
    ]
    published: list[Datum] = [
        {
            "model": row["model"],
            "published": True,
            "tokens": tokens[name]["tokens"],
            "length": tokens[name]["label"],
            "score": score,
        }
        for row in group["published"]
        for name, score in row["lengths"].items()
        if name in tokens
    ]
    x = length_axis(list(tokens.values()))
    y = alt.Y("score:Q", scale=alt.Scale(domain=[0, 100]), title=None)
    colour, shape = by_colour(page["series"]), by_shape(page["series"])
    tooltip = [alt.Tooltip(field) for field in ("model:N", "length:N", "score:Q", "interval:N")]
    own = alt.Chart()
    layers = [
        own.mark_area(opacity=0.16).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        own.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        own.mark_point(filled=True, size=56, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tooltip
        ),
    ]
    if published:
        grey = chart_of(published).mark_line(
            color=GREY, strokeWidth=1, opacity=0.55, point=alt.OverlayMarkDef(size=12, color=GREY)
        )
        layers.insert(0, grey.encode(x=x, y=y, detail="model:N", tooltip=tooltip[:3]))
    return alt.layer(*layers, data=alt.Data(values=data)).properties(
        height=300 if title == "all tasks" else 180,
        width="container",
        description=f"Score by length, {title}: lines with 95 % bands",
    )


def _one_length(page: PageData, length: Length) -> Figure:
    """Where one length alone was scored: categories with their intervals."""
    labels = {one["id"]: one["label"] for one in page["series"]}
    data: list[Datum] = [
        {
            "model": labels[row["series"]],
            "series": row["series"],
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
    return Figure(
        title, chart.properties(width="container", description=f"{title}, with 95 % intervals")
    )


def _differences(page: PageData, pair: Pair) -> Figure:
    names = [page["runs"][pair[side]]["label"] for side in ("a", "b")]
    colours = [_run_colour(page, pair["a"]), _run_colour(page, pair["b"])]
    mean = "mean of all"
    labels = {item["name"]: item["label"] for item in page["lengths"]}
    better = [f"{names[0]} better", f"{names[1]} better", "not told apart"]
    data: list[Datum] = []
    for item in pair["differences"]:
        if item["length"] is None or item["language"] not in (_main_language(pair), ""):
            continue
        low, high = item["interval"]
        data.append(
            {
                "runs": [pair["a"], pair["b"]],
                "task": item["task"] or mean,
                "length": labels[item["length"]],
                "score": round(item["difference"], 2),
                "low": low,
                "high": high,
                "interval": interval_text(item["interval"]),
                "result": better[0 if low > 0 else 1 if high < 0 else 2],
            }
        )
    edge = max(5.0, *(max(abs(one["low"]), abs(one["high"])) for one in data)) if data else 5.0
    scale = alt.Scale(domain=[-edge, edge], nice=True)
    order = [task for task in page["tasks"] if any(one["task"] == task for one in data)] + [mean]
    colour = alt.Color(
        "result:N",
        scale=alt.Scale(domain=better, range=[*colours, GREY]),
        legend=alt.Legend(orient="top", title=None, labelLimit=400),
    )
    y = alt.Y("task:N", sort=order, title=None)
    base = alt.Chart()
    layers = alt.layer(
        base.mark_rule(color=GREY, strokeDash=[2, 2], aria=False).encode(x=alt.XDatum(0)),
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", scale=scale, title=None), x2="high:Q", y=y, color=colour
        ),
        base.mark_point(filled=True, size=44, opacity=1).encode(
            x=alt.X("score:Q", scale=scale, title=None),
            y=y,
            color=colour,
            tooltip=[
                alt.Tooltip("task:N"),
                alt.Tooltip("length:N"),
                alt.Tooltip("score:Q", title="difference"),
                alt.Tooltip("interval:N"),
            ],
        ),
    )
    shown = [item["label"] for item in page["lengths"]]
    shown = [label for label in shown if any(one["length"] == label for one in data)]
    width = 480 if len(shown) == 1 else 300 if len(shown) == 2 else 120
    title = f"{names[0]} minus {names[1]}, points"
    chart = (
        layers.properties(width=width, height=ROW * len(order))
        .facet(
            column=alt.Column(
                "length:N", sort=shown, title=None, header=alt.Header(labelAnchor="start")
            ),
            data=alt.Data(values=data),
            spacing=14,
        )
        .properties(description=f"Paired differences with 95 % intervals: {title}")
    )
    return Figure(title, chart, wide=True)


def _main_language(pair: Pair) -> str:
    """The language that most of a pair's differences are of; the others are in the table."""
    known = [item["language"] for item in pair["differences"] if item["language"]]
    return max(dict.fromkeys(known), key=known.count, default="")


def _errors(page: PageData) -> dict[str, Figure]:
    kinds = kind_names(page)
    found = {}
    shares = [task["wrong"] / task["rows"] for task in page["errors"]["tasks"]]
    edge = 10 * math.ceil(10 * max(shares, default=1) or 1)
    for one in page["series"]:
        data = list(_error_shares(page, one, kinds))
        if not data:
            continue
        order = [task for task in page["tasks"] if any(datum["task"] == task for datum in data)]
        colour = alt.Color(
            "kind:N",
            scale=alt.Scale(domain=kinds, range=list(KIND_COLOURS[: len(kinds)])),
            legend=alt.Legend(orient="right", title=None),
        )
        chart = (
            chart_of(data)
            .mark_bar(height=ROW - 7, stroke="white", strokeWidth=0.5)
            .encode(
                y=alt.Y("task:N", sort=order, title=None),
                x=alt.X("share:Q", title="% of rows", scale=alt.Scale(domain=[0, edge])),
                color=colour,
                order=alt.Order("place:Q"),
                tooltip=[
                    alt.Tooltip("task:N"),
                    alt.Tooltip("kind:N"),
                    alt.Tooltip("rows:Q", title="rows"),
                    alt.Tooltip("share:Q", title="% of rows", format=".1f"),
                ],
            )
            .properties(
                width="container",
                height=ROW * len(order),
                description=f"Kinds of errors by task, {one['label']}",
            )
        )
        found[f"errors-{one['id']}"] = Figure(one["label"], chart)
    return found


def _error_shares(page: PageData, series: Series, kinds: Sequence[str]) -> Iterator[Datum]:
    """Each kind's share of a task's rows, in percent, by the wrong rows that were sorted."""
    for task in page["errors"]["tasks"]:
        if task["series"] != series["id"] or not task["sorted"]:
            continue
        shown: dict[str, int] = {}
        for kind, count in task["kinds"].items():
            name = kind if kind in kinds else OTHER_KINDS
            shown[name] = shown.get(name, 0) + count
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


def _run_colour(page: PageData, run: int) -> str:
    return next(one["colour"] for one in page["series"] if one["run"] == run)
