"""What the charts share: colours, the axis of lengths, intervals; and the chart of a grid.

A chart is a Vega-Lite specification whose data are named "records": those of its figure.

Scores are coloured in cividis, which suits colour-blind readers and grey prints (Nuñez, Anderton
and Renslow, 2018); the polynomials are from d3-scale-chromatic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from numpy.polynomial.polynomial import polyval

from ruler_eval.figures.figure import Figure, Record
from ruler_eval.figures.series import Series

RECORDS = alt.NamedData("records")
ROW_HEIGHT = 20  # pixels of a row of a bar or a dot
GREY = "#8a8f98"
SCORE_AXIS = alt.Y("score:Q", scale=alt.Scale(domain=[0, 100]), title="Score, %")
SCORE_TOOLTIP = alt.Tooltip("score:Q", format=".1f")
INK = alt.condition("datum.ink === '#ffffff'", alt.value("#ffffff"), alt.value("#000000"))
"""The colour of a number on a coloured background: white or black, as the datum says."""
_CELL = 46, 24  # pixels of a cell of a grid
# Red, green and blue: coefficients of the powers of the share, from the constant up.
_POLYNOMIALS = (
    (-4.54, -35.34, 2381.73, -6402.7, 7024.72, -2710.57),
    (32.49, 170.73, 52.82, -131.46, 176.58, -67.37),
    (81.24, 442.36, -2482.43, 6167.24, -6614.94, 2475.67),
)


def spec_of(chart: Any, description: str, **properties: Any) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart, by default as wide as its container."""
    properties = {"width": "container", "description": description, **properties}
    spec: dict[str, Any] = chart.properties(**properties).to_dict(validate=False)
    return spec


def by_model(series: Sequence[Series]) -> tuple[Any, Any]:
    """Return the channels that give each model the colour, and its points the shape, of its series.

    There is no legend: the models are named above the sections.
    """
    labels, colours, shapes = [], [], []
    for item in series:
        labels.append(item.label)
        colours.append(item.colour)
        shapes.append(item.shape)
    colour_scale = alt.Scale(domain=labels, range=colours)
    shape_scale = alt.Scale(domain=labels, range=shapes)
    return (
        alt.Color("model:N", scale=colour_scale, legend=None),
        alt.Shape("model:N", scale=shape_scale, legend=None),
    )


def length_axis(lengths: Mapping[str, int]) -> Any:
    """Return a logarithmic axis of lengths, labelled by name; the control has no place on it."""
    tokens, cases = [], ""
    for name, number in lengths.items():
        if number:
            tokens.append(number)
            cases += f"datum.value == {number} ? {json.dumps(name.upper())} : "
    scale = alt.Scale(type="log", base=2, nice=False, domain=[min(tokens), max(tokens)], padding=12)
    axis = alt.Axis(
        values=tokens,
        labelExpr=f"{cases}''",
        grid=False,
        labelOverlap=False,
        tickCount=4 * len(tokens),  # a logarithmic axis has at most this number of labels
    )
    return alt.X("tokens:Q", scale=scale, axis=axis, title="Length of the prompt, tokens")


def with_intervals(base: Any, domain: Sequence[float], size: int, **point: Any) -> list[Any]:
    """Return the layers of points and of their intervals; `point` are channels of the points."""
    scale = alt.Scale(domain=list(domain), nice=True)
    rules = base.mark_rule(strokeWidth=2)
    points = base.mark_point(filled=True, size=size, opacity=1)
    return [
        rules.encode(x=alt.X("low:Q", scale=scale, title=None), x2="high:Q"),
        points.encode(x=alt.X("score:Q", scale=scale, title=None), **point),
    ]


def dots_spec(
    title: str,
    records: Sequence[Record],
    row: str,
    series: Sequence[Series],
    domain: Sequence[float],
) -> dict[str, Any]:
    """Return a chart of dots with intervals, with a row for each name and a dot for each series."""
    names = list(dict.fromkeys(record[row] for record in records))
    color, shape = by_model(series)
    base = alt.Chart().encode(
        y=alt.Y(f"{row}:N", sort=names, title=None, axis=alt.Axis(labelLimit=260)),
        yOffset=alt.YOffset("model:N", sort=[item.label for item in series]),
        color=color,
    )
    tooltip = ["model:N", f"{row}:N", SCORE_TOOLTIP, "interval:N"]
    layers = with_intervals(base, domain, 52, shape=shape, tooltip=tooltip)
    height = max(2, len(names)) * max(ROW_HEIGHT, 13 * len(series) + 8)
    description = f"{title}, with 95 % intervals"
    return spec_of(alt.layer(*layers, data=RECORDS), description, height=height)


def difference_domain(records: Sequence[Record]) -> list[float]:
    """Return the ends of an axis around zero that covers all intervals of differences."""
    edge = 5.0
    for record in records:
        edge = max(edge, -record["low"], record["high"])
    return [-edge, edge]


def colour(score: float) -> str:
    """Return the colour of a score of 0 … 100, as #rrggbb."""
    text = "#"
    for coefficients in _POLYNOMIALS:
        text += f"{min(255, max(0, round(polyval(score / 100, coefficients)))):02x}"
    return text


def text_on(background: str) -> str:
    """Return black or white, whichever contrasts more with a colour, given as #rrggbb."""
    luminance = 0.0  # WCAG's relative luminance
    for start, weight in ((1, 0.2126), (3, 0.7152), (5, 0.0722)):
        share = int(background[start : start + 2], 16) / 255
        linear = share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        luminance += weight * linear
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def grid_chart(figure: Figure) -> dict[str, Any]:
    """Return the chart of a grid of coloured cells, which is a table on the page."""
    cells: list[Record] = []
    for record in figure.records:
        if figure.grid == "depth":
            for number, depth_bin in enumerate(record["bins"]):
                depth = f"{10 * number} to {10 * number + 10} %"
                cells.append(_cell(depth, record["length"], depth_bin["score"]))
        elif figure.pivot is not None:
            row, column = record[figure.pivot.row.field], record[figure.pivot.column]
            cells.append(_cell(row, column, record["score"]))
    cells = [cell for cell in cells if cell["score"] is not None]
    rows = list(dict.fromkeys(cell["row"] for cell in cells))
    columns = list(dict.fromkeys(cell["column"] for cell in cells))
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X("column:N", sort=columns, title=None, axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("row:N", sort=rows, title=None),
    )
    chart = alt.layer(
        base.mark_rect(stroke="#ffffff").encode(color=alt.Color("colour:N", scale=None)),
        base.mark_text(fontSize=11).encode(text=alt.Text("score:Q", format=".1f"), color=INK),
    )
    width, height = _CELL[0] * len(columns), _CELL[1] * len(rows)
    return spec_of(chart, figure.title, width=width, height=height)


def _cell(row: str, column: str, score: float | None) -> Record:
    background = colour(score or 0.0)
    ink = text_on(background)
    return {"row": row, "column": column, "score": score, "colour": background, "ink": ink}
