"""The charts of what is analysed: differences, complexity, correlation, languages.

Two runs' paired differences, a row a task, a column a length: with several languages their mean is
shown, and a list below the chart has the others. How scores fall as tasks grow harder (RULER's
Figures 2 and 3), the correlation of the tasks (Figure 5); for ONERULER the ranking of languages,
the offer of "none", reasoning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

import altair as alt

from ruler_eval.report.page.figures import chart_parts as part
from ruler_eval.report.page.figures.chart_parts import Datum, Figure
from ruler_eval.report.page.page_differences import shown_languages
from ruler_eval.report.page.page_model import ComplexityPanel, Languages, PageData, Pair
from ruler_eval.report.page.page_scores import COLOURS, SHAPES
from ruler_eval.score.aggregates import EVERY_LANGUAGE

_MEAN = "mean of all"
_STEP = 34  # pixels of a cell
_DARK = 0.6  # a correlation from which its number is white on its colour


def difference_figure(page: PageData, pair: Pair) -> Figure:
    """A - B in points, coloured where the rows tell the two apart."""
    names = [page["runs"][pair[side]]["label"] for side in ("a", "b")]
    colours = [part.first_series(page)[pair[side]]["colour"] for side in ("a", "b")]
    labels = {item["name"]: item["label"] for item in page["lengths"]}
    results = {"a": f"{names[0]} better", "b": f"{names[1]} better", None: "not told apart"}
    languages = shown_languages(pair)
    data: list[Datum] = [
        {
            "runs": [pair["a"], pair["b"]],
            "task": item["task"] or _MEAN,
            "length": labels[item["length"]],
            "languages": item["language"] or languages[0],
            **part.bounds(item["difference"], item["interval"]),
            "result": results[item["better"]],
        }
        for item in pair["differences"]
        if item["length"] is not None and (item["language"] or len(languages) == 1)
    ]
    scale = alt.Scale(domain=part.difference_domain(data), nice=True)
    order = [task for task in page["tasks"] if any(one["task"] == task for one in data)] + [_MEAN]
    colour = alt.Color(
        "result:N",
        scale=alt.Scale(domain=[*results.values()], range=[*colours, part.GREY]),
        legend=alt.Legend(orient="top", direction="vertical", title=None, labelLimit=400),
    )
    base = alt.Chart()
    of_task = base.encode(y=alt.Y("task:N", sort=order, title=None), color=colour)
    tooltip = ["task:N", "length:N", alt.Tooltip("score:Q", title="difference"), "interval:N"]
    layers = alt.layer(
        base.mark_rule(color=part.GREY, strokeDash=[2, 2], aria=False).encode(x=alt.XDatum(0)),
        *part.with_intervals(of_task, scale, 44, tooltip=tooltip),
    )
    shown = [item["label"] for item in page["lengths"]]
    shown = [label for label in shown if any(one["length"] == label for one in data)]
    title = f"{names[0]} minus {names[1]}, points"
    height = part.ROW * len(order)
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


def complexity_figures(page: PageData) -> Iterator[tuple[str, Figure]]:
    """A chart for each panel, by name: the parameter along it, a line for each length."""
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
    base = alt.Chart().encode(y=part.SCORE_AXIS, color=colour)
    by_value, across = (base.transform_filter(f"{no}datum.alone") for no in ("!", ""))
    chart = alt.layer(
        *part.lines(by_value.encode(x=x), shape, tooltip),
        across.mark_rule(strokeWidth=2, strokeDash=[4, 3]).encode(tooltip=tooltip),
        data=alt.Data(values=data),
    )
    return part.full_width(f"Score by complexity, {panel['title']}", chart, height=200)


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
    base = part.chart_of(cells).encode(
        x=alt.X("column:N", sort=tasks, title=None, axis=every),
        y=alt.Y("row:N", sort=tasks, title=None),
        tooltip=["row:N", "column:N", "r:Q"],
    )
    scale = alt.Scale(scheme="purplegreen", domain=[-1, 1])
    legend = alt.Legend(title="correlation r", orient="bottom")
    heat = alt.layer(
        base.mark_rect().encode(color=alt.Color("r:Q", scale=scale, legend=legend)),
        base.mark_text(fontSize=10).encode(text=alt.Text("r:Q", format=".2f"), color=part.INK),
    ).properties(width=_STEP * len(tasks), height=_STEP * len(tasks))
    title = "Correlation of the tasks over models and lengths"
    return Figure(title, heat.properties(description=title), wide=True)


def language_figures(page: PageData, languages: Languages) -> Iterator[tuple[str, Figure]]:
    """The charts of ONERULER that have data, by name."""
    shown = part.first_series(page)
    series = [shown[run] for run in sorted(shown)]
    models = [(part.of_series(shown[model["run"]]), model) for model in languages["models"]]
    ranked: list[Datum] = [
        {**one, "language": item["language"], **part.bounds(item["score"], item["interval"])}
        for one, model in models
        for item in model["languages"]
    ]
    if ranked:
        order = list(dict.fromkeys(datum["language"] for datum in ranked))
        title = "Languages by their mean over the niah tasks"
        yield (
            "ranking",
            part.full_width(title, part.dots(ranked, "language", order, series, [0, 100])),
        )
    offered: list[Datum] = [
        {
            **one,
            "place": f"{item['languages']} {item['length'].upper()}",
            **part.bounds(item["difference"], item["interval"]),
        }
        for one, model in models
        for item in model["none_ablation"]
    ]
    if offered:
        order = list(dict.fromkeys(datum["place"] for datum in offered))
        title = "What the offer to answer “none” changes, points"
        chart = part.dots(offered, "place", order, series, part.difference_domain(offered))
        yield "none", part.full_width(title, chart)
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
            color=part.by_colour(series),
            detail="answers:N",
        )
        dashes = alt.Legend(
            title=None,
            orient="top",
            symbolType="stroke",
            symbolSize=400,
            symbolStrokeColor=part.GREY,
        )
        points = base.mark_point(filled=True, size=44, opacity=1)
        tooltip = ["model:N", "length:N", "answers:N", "tokens:Q"]
        chart = alt.layer(
            base.mark_line().encode(strokeDash=alt.StrokeDash("answers:N", legend=dashes)),
            points.encode(shape=part.by_shape(series), tooltip=tooltip),
            data=alt.Data(values=tokens),
        )
        title = "Reasoning tokens of right and of wrong answers"
        yield "reasoning", part.full_width(title, chart, height=220)
