"""What the page's charts share: colours, shapes, an axis of lengths, dots with intervals.

    colour(97.4), text_colour(97.4)          # ("#f9e23b", "#000000")

Scores are in cividis, made for colour blindness and for print in grey (Nuñez, Anderton and
Renslow, 2018); the polynomials are those of d3-scale-chromatic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from ruler_eval.report.page.model import Length, PageData, Series

Datum = dict[str, Any]
ROW = 20  # pixels of a row of a bar or a dot
GREY = "#8a8f98"
SCORE_AXIS = alt.Y("score:Q", scale=alt.Scale(domain=[0, 100]), title="Score, %")

INK = alt.condition("datum.ink === '#ffffff'", alt.value("#ffffff"), alt.value("#000000"))
"""The colour of a number on a coloured ground: the datum's own, which is white or black."""

# Red, green and blue: coefficients of the powers of the share, from the constant up.
_POLYNOMIALS = (
    (-4.54, -35.34, 2381.73, -6402.7, 7024.72, -2710.57),
    (32.49, 170.73, 52.82, -131.46, 176.58, -67.37),
    (81.24, 442.36, -2482.43, 6167.24, -6614.94, 2475.67),
)


@dataclass(frozen=True)
class Figure:
    """A chart with its name in words, for the page and for screen readers.

    A `wide` one sets its own width instead of filling the page.
    """

    title: str
    chart: Any
    wide: bool = False


def full_width(title: str, chart: Any, description: str = "", **properties: Any) -> Figure:
    """Return a figure as wide as its place."""
    properties |= {"width": "container", "description": description or title}
    return Figure(title, chart.properties(**properties))


def chart_of(data: Iterable[Datum]) -> Any:
    """Return a chart of these data, to be given marks."""
    return alt.Chart(alt.Data(values=list(data)))


def of_series(series: Series) -> Datum:
    """Return the fields of a datum by which the page's script knows the models."""
    return {"model": series["label"], "series": series["id"]}


def first_series(page: PageData) -> dict[int, Series]:
    """Return the first series of each run."""
    return {one["run"]: one for one in reversed(page["series"])}


def with_intervals(base: Any, scale: Any, size: int, **point: Any) -> list[Any]:
    """Return the layers of points with their intervals beside them.

    `point` has more of their encoding.
    """
    rules, points = (
        base.mark_rule(strokeWidth=2),
        base.mark_point(filled=True, size=size, opacity=1),
    )
    return [
        rules.encode(x=alt.X("low:Q", scale=scale, title=None), x2="high:Q"),
        points.encode(x=alt.X("score:Q", scale=scale, title=None), **point),
    ]


def dots(
    data: Sequence[Datum],
    row: str,
    order: Sequence[str],
    series: Sequence[Series],
    domain: Sequence[float],
) -> Any:
    """Dots with intervals, a row for each name and in it a place for each series."""
    base = alt.Chart().encode(
        y=alt.Y(f"{row}:N", sort=list(order), title=None, axis=alt.Axis(labelLimit=260)),
        yOffset=alt.YOffset("model:N", sort=[one["label"] for one in series]),
        color=by_colour(series),
    )
    tooltip = ["model:N", f"{row}:N", "score:Q", "interval:N"]
    scale = alt.Scale(domain=list(domain))
    layers = with_intervals(base, scale, 52, shape=by_shape(series), tooltip=tooltip)
    height = max(2, len(order)) * max(ROW, 13 * len(series) + 8)
    return alt.layer(*layers, data=alt.Data(values=list(data))).properties(height=height)


def lines(base: Any, shape: Any, tooltip: Sequence[Any]) -> list[Any]:
    """Return the layers of lines with a point at each score."""
    points = base.mark_point(filled=True, size=56, opacity=1)
    return [base.mark_line(strokeWidth=2), points.encode(shape=shape, tooltip=tooltip)]


def by_colour(series: Sequence[Series]) -> Any:
    """Each model in the colour of its series."""
    return alt.Color("model:N", **_of_models(series, [one["colour"] for one in series]))


def by_shape(series: Sequence[Series]) -> Any:
    """Each model's points in the shape of its series."""
    return alt.Shape("model:N", **_of_models(series, [one["shape"] for one in series]))


def _of_models(series: Sequence[Series], shown_as: list[str]) -> dict[str, Any]:
    scale = alt.Scale(domain=[one["label"] for one in series], range=shown_as)
    return {"scale": scale, "legend": alt.Legend(orient="top", title=None, labelLimit=400)}


def windows(lengths: Sequence[Length]) -> list[Length]:
    """Return the lengths that have a window.

    The control `0k` has none, nor a place on such an axis.
    """
    return [item for item in lengths if item["tokens"]]


def length_axis(lengths: Sequence[Length]) -> Any:
    """Lengths on a logarithmic axis under their own names."""
    names = {item["tokens"]: item["label"] for item in lengths}
    cases = "".join(f"datum.value == {number} ? {json.dumps(n)} : " for number, n in names.items())
    scale = alt.Scale(type="log", base=2, nice=False, domain=[min(names), max(names)], padding=12)
    axis = alt.Axis(
        values=list(names),
        labelExpr=f"{cases}''",
        grid=False,
        labelOverlap=False,
        tickCount=4 * len(names),  # a logarithmic axis labels no more than are counted here
    )
    return alt.X("tokens:Q", scale=scale, axis=axis, title="Length of the prompt, tokens")


def bounds(score: float, interval: Sequence[float] | None) -> Datum:
    """Return a score (or a difference) with its interval, as the fields of a datum."""
    low, high = interval or (score, score)
    return {
        "score": round(score, 2),
        "low": round(low, 2),
        "high": round(high, 2),
        "interval": "" if interval is None else f"{low:.1f} to {high:.1f}",
    }


def difference_domain(data: Sequence[Datum]) -> list[float]:
    """Return an axis around zero that holds all intervals of differences."""
    edge = max([5.0, *(abs(one[end]) for one in data for end in ("low", "high"))])
    return [-edge, edge]


def colour(score: float) -> str:
    """Return the colour of a score of 0 … 100, as #rrggbb."""
    return "#" + "".join(f"{part:02x}" for part in _parts(score))


def text_colour(score: float) -> str:
    """Black or white, whichever contrasts more with the score's colour (4.5 or more)."""
    return text_on(colour(score))


def text_on(background: str) -> str:
    """Black or white, whichever contrasts more with a colour, given as #rrggbb."""
    light = _luminance([int(background[place : place + 2], 16) for place in (1, 3, 5)])
    return "#000000" if (light + 0.05) / 0.05 > 1.05 / (light + 0.05) else "#ffffff"


def _parts(score: float) -> list[int]:
    share = min(1.0, max(0.0, score / 100))
    values = (sum(c * share**n for n, c in enumerate(terms)) for terms in _POLYNOMIALS)
    return [min(255, max(0, round(value))) for value in values]


def _luminance(parts: list[int]) -> float:
    """WCAG's relative luminance."""
    shares = (part / 255 for part in parts)
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
