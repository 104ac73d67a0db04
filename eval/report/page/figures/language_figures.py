"""The charts of ONERULER's part of the page: ranking, the offer of "none", reasoning tokens."""

from __future__ import annotations

import altair as alt

from eval.report.page.figures.chart_parts import (
    GREY,
    Datum,
    Figure,
    bounds,
    by_colour,
    by_shape,
    dots,
)
from eval.report.page.page_model import Languages, PageData, Series


def language_figures(page: PageData, languages: Languages) -> dict[str, Figure]:
    """The charts of ONERULER that have data, by name."""
    found: dict[str, Figure] = {}
    shown = _one_a_run(page)
    ranked: list[Datum] = [
        {
            "model": shown[model["run"]]["label"],
            "series": shown[model["run"]]["id"],
            "language": item["language"],
            **bounds(item["score"], item["interval"]),
        }
        for model in languages["models"]
        for item in model["languages"]
    ]
    if ranked:
        order = list(dict.fromkeys(datum["language"] for datum in ranked))
        chart = dots(ranked, "language", order, list(shown.values()), [0, 100])
        title = "Languages by their mean over the niah tasks"
        found["ranking"] = Figure(title, chart.properties(width="container", description=title))
    offered: list[Datum] = [
        {
            "model": shown[model["run"]]["label"],
            "series": shown[model["run"]]["id"],
            "place": f"{item['languages']} {item['length'].upper()}",
            **bounds(item["difference"], item["interval"]),
        }
        for model in languages["models"]
        for item in model["none_ablation"]
    ]
    if offered:
        order = list(dict.fromkeys(datum["place"] for datum in offered))
        edge = max(5.0, *(max(abs(one["low"]), abs(one["high"])) for one in offered))
        chart = dots(offered, "place", order, list(shown.values()), [-edge, edge])
        title = "What the offer to answer “none” changes, points"
        found["none"] = Figure(title, chart.properties(width="container", description=title))
    tokens: list[Datum] = [
        {
            "model": shown[model["run"]]["label"],
            "series": shown[model["run"]]["id"],
            "length": item["length"].upper(),
            "answers": answers,
            "tokens": item[answers],
        }
        for model in languages["models"]
        for item in model["reasoning"]
        for answers in ("right", "wrong")
        if item[answers] is not None
    ]
    if tokens:
        title = "Reasoning tokens of right and of wrong answers"
        order = [item["label"] for item in page["lengths"]]
        base = alt.Chart().encode(
            x=alt.X("length:N", sort=order, title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("tokens:Q", title=None),
            color=by_colour(list(shown.values())),
            detail="answers:N",
        )
        dashes = alt.Legend(
            title=None, orient="top", symbolType="stroke", symbolSize=400, symbolStrokeColor=GREY
        )
        tooltip = [alt.Tooltip(f) for f in ("model:N", "length:N", "answers:N", "tokens:Q")]
        chart = alt.layer(
            base.mark_line().encode(strokeDash=alt.StrokeDash("answers:N", legend=dashes)),
            base.mark_point(filled=True, size=44, opacity=1).encode(
                shape=by_shape(list(shown.values())), tooltip=tooltip
            ),
            data=alt.Data(values=tokens),
        ).properties(width="container", height=220, description=title)
        found["reasoning"] = Figure(title, chart)
    return found


def _one_a_run(page: PageData) -> dict[int, Series]:
    """The first series of each run."""
    found: dict[int, Series] = {}
    for one in page["series"]:
        found.setdefault(one["run"], one)
    return found
