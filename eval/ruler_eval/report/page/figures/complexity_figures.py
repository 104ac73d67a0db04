"""The charts of a changed suite: how scores fall as tasks grow harder (RULER's Figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice

import altair as alt

from ruler_eval.report.page.figures.chart_parts import SCORE_AXIS, Datum, Figure, full_width, lines
from ruler_eval.report.page.page_model import ComplexityPanel, PageData
from ruler_eval.report.page.page_scores import COLOURS, SHAPES


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
    base = alt.Chart().encode(y=SCORE_AXIS, color=colour)
    by_value, across = (base.transform_filter(f"{no}datum.alone") for no in ("!", ""))
    chart = alt.layer(
        *lines(by_value.encode(x=x), shape, tooltip),
        across.mark_rule(strokeWidth=2, strokeDash=[4, 3]).encode(tooltip=tooltip),
        data=alt.Data(values=data),
    )
    return full_width(f"Score by complexity, {panel['title']}", chart, height=200)
