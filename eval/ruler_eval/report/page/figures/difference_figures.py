"""The chart of two runs' paired differences: a row a task, a column a length, dots with intervals.

Where there are several languages their mean is shown, and a list beneath the chart has the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from ruler_eval.report.page.figures.chart_parts import (
    GREY,
    ROW,
    Datum,
    Figure,
    difference_domain,
    first_series,
    interval_text,
    with_intervals,
)
from ruler_eval.report.page.page_differences import shown_languages
from ruler_eval.report.page.page_model import PageData, Pair
from ruler_eval.score.aggregates import EVERY_LANGUAGE

_MEAN = "mean of all"


def difference_figure(page: PageData, pair: Pair) -> Figure:
    """A - B in points, coloured where the rows tell the two apart."""
    names = [page["runs"][pair[side]]["label"] for side in ("a", "b")]
    colours = [first_series(page)[pair[side]]["colour"] for side in ("a", "b")]
    labels = {item["name"]: item["label"] for item in page["lengths"]}
    results = {"a": f"{names[0]} better", "b": f"{names[1]} better", None: "not told apart"}
    languages = shown_languages(pair)
    data: list[Datum] = [
        {
            "runs": [pair["a"], pair["b"]],
            "task": item["task"] or _MEAN,
            "length": labels[item["length"]],
            "languages": item["language"] or languages[0],
            "score": round(item["difference"], 2),
            "low": low,
            "high": high,
            "interval": interval_text(item["interval"]),
            "result": results[item["better"]],
        }
        for item in pair["differences"]
        if item["length"] is not None and (item["language"] or len(languages) == 1)
        for low, high in (item["interval"],)
    ]
    scale = alt.Scale(domain=difference_domain(data), nice=True)
    order = [task for task in page["tasks"] if any(one["task"] == task for one in data)] + [_MEAN]
    colour = alt.Color(
        "result:N",
        scale=alt.Scale(domain=[*results.values()], range=[*colours, GREY]),
        legend=alt.Legend(orient="top", direction="vertical", title=None, labelLimit=400),
    )
    base = alt.Chart()
    of_task = base.encode(y=alt.Y("task:N", sort=order, title=None), color=colour)
    tooltip = ["task:N", "length:N", alt.Tooltip("score:Q", title="difference"), "interval:N"]
    layers = alt.layer(
        base.mark_rule(color=GREY, strokeDash=[2, 2], aria=False).encode(x=alt.XDatum(0)),
        *with_intervals(of_task, scale, 44, tooltip=tooltip),
    )
    shown = [item["label"] for item in page["lengths"]]
    shown = [label for label in shown if any(one["length"] == label for one in data)]
    title = f"{names[0]} minus {names[1]}, points"
    height = ROW * len(order)
    if len(shown) == 1:  # as wide as its place: no facets are
        title += f", {shown[0]}"
        chart = layers.properties(width="container", height=height, data=alt.Data(values=data))
    else:
        header = alt.Header(labelAnchor="start")
        chart = layers.properties(width=300 if len(shown) == 2 else 120, height=height).facet(
            column=alt.Column("length:N", sort=shown, title=None, header=header),
            data=alt.Data(values=data),
            spacing=14,
        )
    if len(languages) > 1:
        chart = _with_choice(chart, languages)
        title += f"; {_in_words(languages)[0]}, or the languages chosen below"
    described = chart.properties(description=f"Paired differences with 95 % intervals: {title}")
    return Figure(title, described, wide=True)


def _with_choice(chart: Any, languages: Sequence[str]) -> Any:
    """The chart of one choice of languages, and a list to choose from beneath it."""
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
