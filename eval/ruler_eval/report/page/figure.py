"""The figures of the page, and what their charts share: colours, the axis of lengths, intervals.

A figure's records are the only source of its chart, its table, its CSV file and the rows that a
click opens. A record has the fields that the chart and the table show, and for a click:

    series      the ids of its series (runs.py); a click opens the rows of the first
    configs     the configurations behind it
    label       its name: "vt at 4K"
    kind        the kind of rows that a click opens, if not all: "right", "wrong", or one of KINDS

Scores are coloured in cividis, which suits colour-blind readers and grey prints (Nuñez, Anderton
and Renslow, 2018); the polynomials are from d3-scale-chromatic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import altair as alt
from numpy.polynomial.polynomial import polyval

from ruler_common.text import bounds, p_value
from ruler_eval.report.page.runs import Series

Record = dict[str, Any]
CLICKED = ("series", "configs", "label")
"""The fields of a record that a click needs."""
RECORDS = alt.NamedData("records")
ROW_HEIGHT = 20  # pixels of a row of a bar or a dot
GREY = "#8a8f98"
SCORE_AXIS = alt.Y("score:Q", scale=alt.Scale(domain=[0, 100]), title="Score, %")
SCORE_TOOLTIP = alt.Tooltip("score:Q", format=".1f")
INK = alt.condition("datum.ink === '#ffffff'", alt.value("#ffffff"), alt.value("#000000"))
"""The colour of a number on a coloured background: white or black, as the datum says."""
# Red, green and blue: coefficients of the powers of the share, from the constant up.
_POLYNOMIALS = (
    (-4.54, -35.34, 2381.73, -6402.7, 7024.72, -2710.57),
    (32.49, 170.73, 52.82, -131.46, 176.58, -67.37),
    (81.24, 442.36, -2482.43, 6167.24, -6614.94, 2475.67),
)


class Column(NamedTuple):
    """A column of a figure's table: its header, the field of the records, and the format."""

    header: str
    field: str
    form: str = ".1f"  # of numbers that are not whole; "p" for p values


MODEL = Column("model", "model")
TASK = Column("task", "task")
LENGTH = Column("length", "length")
LANGUAGE = Column("language", "language")
SCORE = Column("score", "score")
DIFFERENCE = Column("difference", "score", "+.1f")
INTERVAL = Column("95 % interval", "interval")
ROWS = Column("rows", "rows")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Records with a table, and a chart or a grid of coloured cells that shows them."""

    name: str
    title: str
    columns: Sequence[Column]
    records: Sequence[Record]
    # A chart, as a Vega-Lite specification whose data are named "records".
    spec: dict[str, Any] | None = None
    # "heat": cells by the records' `row` and `column`, row by row; "depth": ten bins a record.
    grid: Literal["heat", "depth"] | None = None
    # What the rows of a heat map are: "task".
    rows_are: str = ""
    # The series shown; the figure is hidden if any of them is hidden.
    series: Sequence[int] = ()
    # "half": two next to each other; "fixed": the chart sets its width, and may be scrolled.
    width: Literal["full", "half", "fixed"] = "full"
    caption: str = ""  # of the table; the title if empty
    fold: str = "The numbers as a table"

    def table(self) -> list[list[str]]:
        """Return the text of the table's cells, row by row; without cells that were not run."""
        rows = []
        for record in self.records:
            if self.grid == "heat" and not record["configs"]:
                continue
            texts = []
            for column in self.columns:
                value = record[column.field]
                if value is None:
                    texts.append("-")
                elif isinstance(value, float):
                    is_p = column.form == "p"
                    texts.append(p_value(value) if is_p else format(value, column.form))
                else:
                    texts.append(f"{value:,}" if isinstance(value, int) else str(value))
            rows.append(texts)
        return rows

    def for_script(self) -> dict[str, Any]:
        """Return what page.js needs: of a grid only the fields that a click takes."""
        records = []
        for record in self.records:
            fields = {}
            for name, value in record.items():
                if self.spec is not None or name in CLICKED:
                    fields[name] = round(value, 2) if isinstance(value, float) else value
            records.append(fields)
        return {"spec": self.spec, "records": records}


def record_of(series: Series, configs: Sequence[str], label: str, **fields: Any) -> Record:
    """Return a record of one series: what a click needs, the model's name, and further fields."""
    click = {"series": [series.id], "configs": configs, "label": label}
    return {**click, "model": series.label, **fields}


def score_fields(score: float, interval: Sequence[float] | None) -> Record:
    """Return the fields of a score, or of a difference, and of its interval."""
    low, high = interval or (score, score)
    return {"score": score, "low": low, "high": high, "interval": bounds(interval)}


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
    """Return a logarithmic axis of lengths, labelled by name; `0k` has no place on it."""
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
