"""The charts of ONERULER's part of the page: ranking, the offer of "none", reasoning tokens."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt

from ruler_eval.report.page.figures.chart_parts import (
    GREY,
    Datum,
    Figure,
    bounds,
    by_colour,
    by_shape,
    difference_domain,
    dots,
    first_series,
    full_width,
    of_series,
)
from ruler_eval.report.page.page_model import Languages, PageData


def language_figures(page: PageData, languages: Languages) -> Iterator[tuple[str, Figure]]:
    """The charts of ONERULER that have data, by name."""
    shown = first_series(page)
    series = [shown[run] for run in sorted(shown)]
    models = [(of_series(shown[model["run"]]), model) for model in languages["models"]]
    ranked: list[Datum] = [
        {**one, "language": item["language"], **bounds(item["score"], item["interval"])}
        for one, model in models
        for item in model["languages"]
    ]
    if ranked:
        order = list(dict.fromkeys(datum["language"] for datum in ranked))
        title = "Languages by their mean over the niah tasks"
        yield "ranking", full_width(title, dots(ranked, "language", order, series, [0, 100]))
    offered: list[Datum] = [
        {
            **one,
            "place": f"{item['languages']} {item['length'].upper()}",
            **bounds(item["difference"], item["interval"]),
        }
        for one, model in models
        for item in model["none_ablation"]
    ]
    if offered:
        order = list(dict.fromkeys(datum["place"] for datum in offered))
        title = "What the offer to answer “none” changes, points"
        chart = dots(offered, "place", order, series, difference_domain(offered))
        yield "none", full_width(title, chart)
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
            color=by_colour(series),
            detail="answers:N",
        )
        dashes = alt.Legend(
            title=None, orient="top", symbolType="stroke", symbolSize=400, symbolStrokeColor=GREY
        )
        points = base.mark_point(filled=True, size=44, opacity=1)
        tooltip = ["model:N", "length:N", "answers:N", "tokens:Q"]
        chart = alt.layer(
            base.mark_line().encode(strokeDash=alt.StrokeDash("answers:N", legend=dashes)),
            points.encode(shape=by_shape(series), tooltip=tooltip),
            data=alt.Data(values=tokens),
        )
        title = "Reasoning tokens of right and of wrong answers"
        yield "reasoning", full_width(title, chart, height=220)
