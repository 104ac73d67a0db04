"""The charts of a changed suite: how scores fall as tasks grow harder (RULER's Figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice

import altair as alt

from ruler_eval.report.page.figures.chart_parts import SCORE_AXIS, Datum, Figure, full_width, lines
from ruler_eval.report.page.page_model import ComplexityPanel, PageData
from ruler_eval.report.page.page_scores import COLOURS, SHAPES


def complexity_figures(page: PageData) -> Iterator[tuple[str, Figure]]:
    """A chart for each panel, by name: a line for each value of the parameter."""
    for number, panel in enumerate(page["complexity"]):
        yield f"complexity-{number}", _panel(page, panel)


def _panel(page: PageData, panel: ComplexityPanel) -> Figure:
    """Scores by length; a task that was asked at `0k` alone is a dashed line over all lengths."""
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
    values = [line["value"] for line in panel["lines"]]
    legend = alt.Legend(orient="top", title=panel["title"].rpartition(": ")[2])
    colours, shapes = (
        alt.Scale(domain=values, range=list(islice(cycle(every), len(values))))
        for every in (COLOURS, SHAPES)
    )
    x = alt.X("length:N", sort=list(labels.values()), title=None, axis=alt.Axis(labelAngle=0))
    colour = alt.Color("value:N", scale=colours, legend=legend)
    shape = alt.Shape("value:N", scale=shapes, legend=legend)
    tooltip = ["value:N", "task:N", "length:N", "score:Q"]
    base = alt.Chart().encode(y=SCORE_AXIS, color=colour)
    by_length, alone = (base.transform_filter(f"{no}datum.alone") for no in ("!", ""))
    chart = alt.layer(
        *lines(by_length.encode(x=x), shape, tooltip),
        alone.mark_rule(strokeWidth=2, strokeDash=[4, 3]).encode(tooltip=tooltip),
        data=alt.Data(values=data),
    )
    return full_width(f"Score by length, {panel['title']}", chart, height=200)
