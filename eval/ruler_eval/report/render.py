"""Write figures as text, Markdown, LaTeX, CSV or JSON, and their charts as SVG or PDF.

    print(render(figures, "latex"))
    write_figures(figures, Path("charts"), ["svg", "pdf"])

This is the only place that knows a format. Charts are drawn by vl-convert (the extra `figures`),
which needs no network.
"""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError, missing_packages
from ruler_common.files import temporary_beside
from ruler_common.text import line_of, sentences, table
from ruler_eval.figures.charts import grid_chart
from ruler_eval.figures.figure import Figure
from ruler_eval.report.formats import CHARTS, SUFFIXES

_BOOKTABS = "% \\usepackage{booktabs}"
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "−": "$-$",
    "±": r"$\pm$",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "τ": r"$\tau$",
    "·": r"$\cdot$",
    "–": "--",
    "…": r"\ldots{}",
    "’": "'",
    "“": "``",
    "”": "''",
}
"""Characters with a meaning in LaTeX, or that its usual fonts do not have."""
_THEME = {
    "background": "#ffffff",
    "font": "Helvetica, Arial, sans-serif",
    "padding": 6,
    "view": {"stroke": None},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "axisQuantitative": {"tickCount": 5},
    "legend": {"labelLimit": 400},
}
_WIDTH = 560  # pixels of a chart that is as wide as its place


def render(figures: Sequence[Figure], format: str) -> str:
    """Return figures in a format of FORMATS; those without anything to show are left out.

    CSV is one table: of several figures, all must have the same columns. Raises RulerError if they
    do not, or if there is no table.
    """
    shown = [figure for figure in figures if not figure.is_empty]
    return _RENDERERS[format](shown)


def text(figures: Sequence[Figure]) -> str:
    """Return figures for a terminal, as wide as it is."""
    return "\n\n".join(part for figure in figures for part in _parts(figure, markdown=False))


def markdown(figures: Sequence[Figure]) -> str:
    """Return figures as Markdown."""
    return "\n\n".join(part for figure in figures for part in _parts(figure, markdown=True))


def _parts(figure: Figure, markdown: bool) -> list[str]:
    """Return the paragraphs of a figure: title, sentences, table and note."""
    parts = []
    if figure.title:
        parts.append(sentences(figure.title, markdown))
    if figure.records:
        below = "" if markdown else figure.below
        header, rows = figure.cells(without=below)
        lines = []
        for record in figure.records if below else ():
            lines.append("  " + line_of(str(record[below])))
        parts.append(table(header, rows, markdown, figure.left_columns(), lines))
    if figure.sentences:
        separator = "\n\n" if markdown and not figure.records else "\n"
        parts.append(separator.join(sentences(line, markdown) for line in figure.sentences))
    for note in (figure.note, figure.column_note):
        if note:
            parts.append(sentences(note, markdown))
    return parts


def latex(figures: Sequence[Figure]) -> str:
    r"""Return the tables of figures as LaTeX with booktabs; their sentences are comments."""
    tables = [_latex_table(figure) for figure in figures if figure.records]
    if not tables:
        raise RulerError("There is no table to write as LaTeX: choose another --figure.")
    comments = [f"% {line_of(line)}" for figure in figures for line in figure.sentences]
    return "\n\n".join(["\n".join([_BOOKTABS, *comments]), *tables])


def _latex_table(figure: Figure) -> str:
    header, rows = figure.cells()
    left = figure.left_columns()
    alignment = "".join("l" if place in left else "r" for place in range(len(header)))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(figure.caption or figure.title)}}}",
        rf"\label{{tab:{figure.name}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        _latex_row(header),
        r"\midrule",
        *(_latex_row(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    notes = " ".join(filter(None, (figure.note, figure.column_note)))
    if notes:
        lines.append(rf"\par\smallskip\footnotesize {_escaped(notes)}")
    lines.append(r"\end{table}")
    return "\n".join(lines)


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(_escaped(cell) for cell in cells) + r" \\"


def _escaped(value: str) -> str:
    """Return a text on one line, with what LaTeX would act on escaped."""
    return "".join(_LATEX.get(char, char) for char in line_of(value))


def csv_text(figures: Sequence[Figure]) -> str:
    """Return the records of figures as one CSV table, unrounded; raise RulerError for several."""
    header: list[str] | None = None
    rows: list[list[Any]] = []
    for figure in figures:
        if not figure.records:
            continue
        columns, values = figure.values()
        if header is not None and columns != header:
            names = ", ".join(dict.fromkeys(item.family for item in figures if item.records))
            raise RulerError(f"CSV is one table: choose one with --figure ({names}).")
        header = columns
        rows += values
    if header is None:
        raise RulerError("There is no table to write as CSV: choose another --figure.")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([header, *rows])
    return buffer.getvalue().rstrip("\n")


def json_text(figures: Sequence[Figure]) -> str:
    """Return figures as a list of JSON objects: name, title, sentences, note, records."""
    objects = []
    for figure in figures:
        header, rows = figure.values()
        records = [dict(zip(header, row, strict=True)) for row in rows]
        notes = " ".join(filter(None, (figure.note, figure.column_note)))
        about = {"name": figure.name, "title": figure.title, "sentences": [*figure.sentences]}
        objects.append({**about, "note": notes, "records": records})
    return json.dumps(objects, ensure_ascii=False, indent=1, allow_nan=False)


_RENDERERS: dict[str, Callable[[Sequence[Figure]], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "csv": csv_text,
    "json": json_text,
}


# ---- Charts --------------------------------------------------------------------------------------


def write_figures(figures: Sequence[Figure], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write each figure to a file of each format, named by the figure; return the files.

    SVG and PDF are of the figures with a chart, the formats of tables of those with records.
    Raises RulerError if vl-convert is needed and is not installed.
    """
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    for format in formats:
        for figure in figures:
            if format in CHARTS:
                if (chart := chart_of(figure)) is None:
                    continue
                content = _drawn(chart, format)
            elif figure.records:
                content = (render([figure], format) + "\n").encode("utf-8", "backslashreplace")
            else:
                continue
            file = folder / f"{figure.name}.{SUFFIXES.get(format, format)}"
            with temporary_beside(file) as temporary:
                temporary.write_bytes(content)
            files.append(file)
    return files


def chart_of(figure: Figure) -> dict[str, Any] | None:
    """Return the chart of a figure with its data and a legend; None if it has no chart."""
    if not figure.records:
        return None
    if figure.chart is None:
        return grid_chart(figure) if figure.grid else None
    chart = copy.deepcopy(figure.chart)
    datasets = dict(chart.get("datasets", {}))
    datasets.pop("published", None)  # the page shows them only if the reader asks for it
    chart["datasets"] = {**datasets, "records": figure.for_script()["records"]}
    if "layer" in chart:
        names = {*chart["datasets"]}
        chart["layer"] = [
            layer for layer in chart["layer"] if layer.get("data", {}).get("name") in (None, *names)
        ]
    if chart.get("width") == "container":
        chart["width"] = _WIDTH
    for choice in chart.get("params", []):
        choice.pop("bind", None)  # a list on the page; a file shows the first choice
    if "labels" not in datasets:
        _show_models(chart)
    return chart


def _show_models(part: Any) -> None:
    """Add a legend of the models, which the page names above its sections."""
    if isinstance(part, list):
        for item in part:
            _show_models(item)
    elif isinstance(part, dict):
        if part.get("field") in ("model", "kind") and part.get("legend", "") is None:
            part["legend"] = {"title": None, "orient": "bottom", "columns": 2}
        for item in part.values():
            _show_models(item)


def _drawn(chart: dict[str, Any], format: str) -> bytes:
    """Return a chart as SVG or PDF."""
    try:
        import vl_convert
    except ImportError as error:
        raise missing_packages("figures", "Drawing SVG and PDF") from error
    if format == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(chart, config=_THEME))
    return str(vl_convert.vegalite_to_svg(chart, config=_THEME)).encode()
