"""A figure: records, and the table, chart, CSV file and sentences that are made of them.

    figure = scores(runs)
    figure.cells()                     # header and rows of text, for a terminal, Markdown and LaTeX
    figure.values()                    # header and rows of numbers, for CSV and JSON
    figure.chart                       # a Vega-Lite specification whose data are named "records"

A record has the fields that the columns name, the fields of the chart, and, if a click on the page
opens the rows behind it:

    series      the ids of its series (series.py); a click opens the rows of the first
    configs     the configurations behind it
    label       its name: "vt at 4K"
    kind        the kind of rows that a click opens, if not all: "right", "wrong", or one of KINDS
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ruler_common.text import bounds, number, p_value
from ruler_eval.figures.series import Series

Record = dict[str, Any]
CLICKED = ("series", "configs", "label")
"""The fields of a record that a click needs."""
FROM, TO = "95 % from", "95 % to"
"""The names of the rows of a pivot with the ends of an interval."""


class Column(NamedTuple):
    """A column of a figure's table: its header, the field of the records, and the style.

    The style is one of Python's formats (COUNT for whole numbers), "interval", "p", "percent", or
    "±": a difference and its interval. Columns of details are in files only.
    """

    header: str
    field: str
    style: str = ".1f"
    is_detail: bool = False
    # The field with a mark that follows the value, such as "†".
    mark: str = ""

    def text(self, record: Record) -> str:
        """Return the cell of a record as text."""
        value = record.get(self.field)
        return value_text(value, self.style) + str(record.get(self.mark, ""))


def value_text(value: Any, style: str) -> str:
    """Return a value as text: numbers in the style, and `-` for none."""
    if value is None:
        return "-"
    if style == "interval":
        return bounds(value)
    if style == "p":
        return p_value(value)
    if style == "percent":
        return f"{value:.0f} %"
    if style == "±":
        return signed(*value)
    if isinstance(value, str):
        return value
    return number(value) if style == ".1f" else format(value, style)


def signed(difference: float, interval: Sequence[float] | None) -> str:
    """Return a difference with half the width of its interval: `−6.2±0.8`."""
    text = f"{difference:+.1f}".replace("-", "−")
    return text if interval is None else f"{text}±{(interval[1] - interval[0]) / 2:.1f}"


def score_text(mean: Mapping[str, Any]) -> str:
    """Return a score with its interval: `87.5 [71.7, 96.3]`; `-` if there is none."""
    text = number(mean["score"])
    return text if mean["interval"] is None else f"{text} {bounds(mean['interval'])}"


COUNT = ","
"""The style of whole numbers."""
MODEL = Column("model", "model")
TASK = Column("task", "task")
LENGTH = Column("length", "length")
LANGUAGE = Column("language", "language")
SCORE = Column("score", "score")
DIFFERENCE = Column("difference", "score", "+.1f")
INTERVAL = Column("95 % interval", "interval", "interval")
ROWS = Column("rows", "rows", COUNT)


class Pivot(NamedTuple):
    """How records make a table of two dimensions: a row and a column for each value of a field."""

    row: Column
    column: str  # the field
    value: Column
    # The rows below which the ends of the intervals have rows of their own.
    bounds_below: Collection[str] = ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Sentences, and records with a table and maybe a chart; see the module's docstring."""

    name: str
    title: str
    columns: Sequence[Column] = ()
    records: Sequence[Record] = ()
    # What the reader must know: sentences, a note about the figure, and one about the columns.
    sentences: Sequence[str] = ()
    note: str = ""
    column_note: str = ""
    # The field whose text is below each line in a terminal; elsewhere it is a column.
    below: str = ""
    # A chart, as a Vega-Lite specification.
    chart: dict[str, Any] | None = None
    # How the table is shown to people; None: a line for each record.
    pivot: Pivot | None = None
    # A grid of coloured cells on the page. "heat": by the pivot; "depth": ten bins a record.
    grid: Literal["heat", "depth"] | None = None
    # The series shown; on the page the figure is hidden if any of them is hidden.
    series: Sequence[int] = ()
    # "half": two next to each other; "fixed": the chart sets its width, and may be scrolled.
    width: Literal["full", "half", "fixed"] = "full"
    caption: str = ""  # of the table; the title if empty
    fold: str = "The numbers as a table"
    # On the page: whether the table is open, for a figure without a chart.
    is_open: bool = False

    @property
    def family(self) -> str:
        """The name by which the figure is chosen: `tasks` for `tasks-0`."""
        return self.name.partition("-")[0]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.records and not self.sentences

    def lines(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the cells, a line for each record, as text."""
        shown = [column for column in self.columns if not column.is_detail]
        rows = [[column.text(record) for column in shown] for record in self._run_records()]
        return [column.header for column in shown], rows

    def cells(self, without: str = "") -> tuple[list[str], list[list[str]]]:
        """Return the header and the cells as text, as people read them.

        Columns without a value are left out, and that of the field `without`.
        """
        header, rows = self.lines() if self.pivot is None else _pivoted(self.pivot, self.records)
        fields = [column.field for column in self.columns if not column.is_detail]
        kept = []
        for place in range(len(header)):
            is_left_out = bool(without) and fields[place] == without
            if place == 0 or any(row[place] not in ("-", "") for row in rows):
                kept += [] if is_left_out else [place]
        return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]

    def left_columns(self) -> list[int]:
        """Return the columns of names, before the first score, which are aligned to the left."""
        if self.pivot is not None:
            return [0]
        left = []
        shown = [column for column in self.columns if not column.is_detail]
        for place, column in enumerate(shown):
            values = [record.get(column.field) for record in self.records]
            if all(isinstance(value, str) and value for value in values):
                left.append(place)
            elif not all(isinstance(value, int | None) for value in values):
                break
        return left

    def values(self) -> tuple[list[str], list[list[Any]]]:
        """Return the header and the values of all columns, unrounded; an interval is two."""
        header: list[str] = []
        for column in self.columns:
            if column.style == "interval":
                header += _ends(column)
            else:
                header.append(column.header)
            if column.mark:
                header.append(f"{column.header} mark")
        return header, [self._values_of(record) for record in self._run_records()]

    def _values_of(self, record: Record) -> list[Any]:
        values: list[Any] = []
        for column in self.columns:
            value = record.get(column.field)
            if column.style == "interval":
                values += value or [None, None]
            else:
                values.append(value)
            if column.mark:
                values.append(record.get(column.mark, ""))
        return values

    def _run_records(self) -> list[Record]:
        """Return the records without the cells of a heat map that were not run."""
        if self.grid != "heat":
            return list(self.records)
        return [record for record in self.records if record["configs"]]

    def for_script(self) -> dict[str, Any]:
        """Return what page.js needs: of a grid only the fields that a click takes."""
        records = []
        for record in self.records:
            fields = {}
            for name, value in record.items():
                if self.chart is not None or name in CLICKED:
                    fields[name] = script_value(value, name)
            records.append(fields)
        return {"spec": self.chart, "records": records}


def script_value(value: Any, name: str) -> Any:
    """Return a value as the charts have it: rounded, and an interval as text."""
    if name == "interval":
        return bounds(value)
    return round(value, 2) if isinstance(value, float) else value


def _ends(column: Column) -> list[str]:
    """Return the headers of the two ends of an interval: `4K low`, `4K high`."""
    name = column.header.removesuffix("95 % interval").strip()
    return [f"{name} low".strip(), f"{name} high".strip()]


def _pivoted(pivot: Pivot, records: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table of two dimensions."""
    columns = list(dict.fromkeys(str(record[pivot.column]) for record in records))
    texts: dict[str, dict[str, str]] = {}
    ends: dict[str, dict[str, Sequence[float]]] = {}
    for record in records:
        row, column = str(record[pivot.row.field]), str(record[pivot.column])
        texts.setdefault(row, {})[column] = pivot.value.text(record)
        if record.get("interval") is not None:
            ends.setdefault(row, {})[column] = record["interval"]
    rows = []
    for row, by_column in texts.items():
        rows.append([row, *(by_column.get(column, "-") for column in columns)])
        if row in pivot.bounds_below and row in ends:
            for end, name in enumerate((FROM, TO)):
                numbers = [ends[row].get(column) for column in columns]
                rows.append([name, *(number(n[end] if n else None) for n in numbers)])
    return [pivot.row.header, *columns], rows


def record_of(series: Series, configs: Sequence[str], label: str, **fields: Any) -> Record:
    """Return a record of one series: what a click needs, the model's name, and further fields."""
    click = {"series": [series.id], "configs": configs, "label": label}
    return {**click, "model": series.label, **fields}


def score_fields(score: float | None, interval: Sequence[float] | None) -> Record:
    """Return the fields of a score, or of a difference, and of its interval."""
    low, high = interval or (score, score)
    return {"score": score, "low": low, "high": high, "interval": interval}


def has_values(records: Sequence[Mapping[str, Any]], field: str) -> bool:
    """Return whether any record has a value in a field."""
    return any(record.get(field) is not None for record in records)
