"""What the page's charts share: colours, shapes, an axis of lengths, dots with intervals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from eval.report.page.page_model import Length, Series

Datum = dict[str, Any]
ROW = 20
"""Pixels of a row of a bar or a dot."""
GREY = "#8a8f98"


@dataclass(frozen=True)
class Figure:
    """A chart with its name in words, for the page and for screen readers."""

    title: str
    chart: Any
    wide: bool = False
    """Whether it has a width of its own, and is not as wide as its place."""


def chart_of(data: Iterable[Datum]) -> Any:
    """A chart of these data, to be given marks."""
    return alt.Chart(alt.Data(values=list(data)))


def dots(
    data: Sequence[Datum],
    row: str,
    order: Sequence[str],
    series: Sequence[Series],
    domain: Sequence[float],
) -> Any:
    """Dots with intervals, a row for each name and in it a place for each series."""
    labels = [one["label"] for one in series]
    base = alt.Chart()
    y = alt.Y(f"{row}:N", sort=list(order), title=None, axis=alt.Axis(labelLimit=260))
    offset = alt.YOffset("model:N", sort=labels)
    scale = alt.Scale(domain=list(domain))
    colour = by_colour(series)
    rule = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale, title=None), x2="high:Q", y=y, yOffset=offset, color=colour
    )
    dot = base.mark_point(filled=True, size=52, opacity=1).encode(
        x=alt.X("score:Q", scale=scale, title=None),
        y=y,
        yOffset=offset,
        color=colour,
        shape=by_shape(series),
        tooltip=[alt.Tooltip(f) for f in ("model:N", f"{row}:N", "score:Q", "interval:N")],
    )
    height = max(2, len(order)) * max(ROW, 13 * len(series) + 8)
    return alt.layer(rule, dot, data=alt.Data(values=list(data))).properties(height=height)


def by_colour(series: Sequence[Series]) -> Any:
    """Each model in the colour of its series."""
    scale = alt.Scale(domain=[s["label"] for s in series], range=[s["colour"] for s in series])
    return alt.Color(
        "model:N", scale=scale, legend=alt.Legend(orient="top", title=None, labelLimit=400)
    )


def by_shape(series: Sequence[Series]) -> Any:
    """Each model's points in the shape of its series."""
    scale = alt.Scale(domain=[s["label"] for s in series], range=[s["shape"] for s in series])
    return alt.Shape("model:N", scale=scale, legend=alt.Legend(orient="top", title=None))


def windows(lengths: Sequence[Length]) -> list[Length]:
    """The lengths that have a window: the control `0k` has none, nor a place on such an axis."""
    return [item for item in lengths if item["tokens"]]


def length_axis(lengths: Sequence[Length]) -> Any:
    """Lengths on a logarithmic axis under their own names."""
    names = {item["tokens"]: item["label"] for item in lengths}
    cases = "".join(f"datum.value == {number} ? {json.dumps(n)} : " for number, n in names.items())
    return alt.X(
        "tokens:Q",
        scale=alt.Scale(
            type="log", base=2, nice=False, domain=[min(names), max(names)], padding=12
        ),
        axis=alt.Axis(
            values=list(names),
            labelExpr=f"{cases}''",
            grid=False,
            labelOverlap=False,
            tickCount=4 * len(names),  # a logarithmic axis labels no more than are counted here
        ),
        title=None,
    )


def bounds(score: float, interval: Sequence[float] | None) -> Mapping[str, Any]:
    """A score (or a difference) with its interval, as the fields of a datum."""
    low, high = interval or (score, score)
    return {
        "score": round(score, 2),
        "low": round(low, 2),
        "high": round(high, 2),
        "interval": interval_text(interval),
    }


def interval_text(interval: Sequence[float] | None) -> str:
    """An interval in words, for a tooltip."""
    return "" if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}"
