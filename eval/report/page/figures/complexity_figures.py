"""The charts of a changed suite: how scores fall as tasks grow harder (RULER's Figures 2 and 3)."""

from __future__ import annotations

import altair as alt

from eval.report.page.figures.chart_parts import Datum, Figure
from eval.report.page.page_model import ComplexityPanel, PageData
from eval.report.page.page_scores import COLOURS, SHAPES


def complexity_figures(page: PageData) -> dict[str, Figure]:
    """A chart for each panel, by name: a line for each value of the parameter."""
    return {
        f"complexity-{number}": _panel(page, panel)
        for number, panel in enumerate(page["complexity"])
    }


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
    parameter = panel["title"].rpartition(": ")[2]
    legend = alt.Legend(orient="top", title=parameter)
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(values))]
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(values))]
    x = alt.X("length:N", sort=list(labels.values()), title=None, axis=alt.Axis(labelAngle=0))
    y = alt.Y("score:Q", scale=alt.Scale(domain=[0, 100]), title=None)
    colour = alt.Color("value:N", scale=alt.Scale(domain=values, range=colours), legend=legend)
    shape = alt.Shape("value:N", scale=alt.Scale(domain=values, range=shapes), legend=legend)
    tooltip = [alt.Tooltip(field) for field in ("value:N", "task:N", "length:N", "score:Q")]
    base = alt.Chart()
    by_length, alone = (base.transform_filter(f"{no}datum.alone") for no in ("!", ""))
    chart = alt.layer(
        by_length.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        by_length.mark_point(filled=True, size=56, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tooltip
        ),
        alone.mark_rule(strokeWidth=2, strokeDash=[4, 3]).encode(
            y=y, color=colour, tooltip=tooltip
        ),
        data=alt.Data(values=data),
    )
    title = f"Score by length, {panel['title']}"
    return Figure(title, chart.properties(height=200, width="container", description=title))
