"""The correlation of the tasks as a heat map beside its dendrogram (RULER, Figure 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from ruler_eval.report.page.figures.chart_parts import GREY, INK, Datum, Figure, chart_of

_STEP = 34  # pixels of a cell
_TREE = 150  # pixels of the dendrogram
_DARK = 0.6  # a correlation from which its number is white on its colour


def correlation_figure(found: Mapping[str, Any]) -> Figure:
    """What analysis/correlate.py found; tasks in the order of the dendrogram's leaves."""
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
    base = chart_of(cells).encode(
        x=alt.X("column:N", sort=tasks, title=None, axis=every),
        y=alt.Y("row:N", sort=tasks, title=None),
        tooltip=["row:N", "column:N", "r:Q"],
    )
    scale = alt.Scale(scheme="purplegreen", domain=[-1, 1])
    legend = alt.Legend(title="correlation r", orient="bottom")
    size = {"height": _STEP * len(tasks)}
    heat = alt.layer(
        base.mark_rect().encode(color=alt.Color("r:Q", scale=scale, legend=legend)),
        base.mark_text(fontSize=10).encode(text=alt.Text("r:Q", format=".2f"), color=INK),
    ).properties(width=_STEP * len(tasks), **size)
    places = alt.Scale(domain=[0, len(tasks)], reverse=True, nice=False)
    tree = (
        chart_of(_branches(tasks, found["merges"]))
        .mark_rule(color=GREY, strokeWidth=1.5)
        .encode(
            x=alt.X("from:Q", title="distance, 1 − r"),
            x2="to:Q",
            y=alt.Y("low:Q", scale=places, axis=None),
            y2="high:Q",
        )
        .properties(width=_TREE, **size)
    )
    title = "Correlation of the tasks over models and lengths, and their clusters"
    chart = alt.hconcat(heat, tree, spacing=4).properties(description=title)
    return Figure(title, chart, wide=True)


def _branches(tasks: Sequence[str], merges: Sequence[Mapping[str, Any]]) -> Iterator[Datum]:
    """The lines of the dendrogram: of each cluster to where it joins another, and across."""
    ends = {(task,): (place + 0.5, 0.0) for place, task in enumerate(tasks)}
    for merge in merges:
        distance = round(merge["distance"], 4)
        middles = []
        for cluster in merge["clusters"]:
            middle, at = ends[tuple(sorted(cluster)) if len(cluster) > 1 else tuple(cluster)]
            middles.append(middle)
            yield {"from": at, "to": distance, "low": middle, "high": middle}
        yield {"from": distance, "to": distance, "low": min(middles), "high": max(middles)}
        both = tuple(sorted(task for cluster in merge["clusters"] for task in cluster))
        ends[both] = (sum(middles) / 2, distance)
