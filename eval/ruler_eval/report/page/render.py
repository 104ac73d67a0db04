"""Write the HTML page of `ruler report`, one file that shows scored runs.

    write_report(open_runs([Path("runs/qwen")]), Path("report.html"))
    html = render(page, figures(page))

The page works offline, and text from a run is never executed. Its content security policy allows
two scripts, by their digests (Vega's runtime and page.js), and no connections; Vega interprets its
expressions without `eval`. The rows behind the cells are compressed, because their text would be
the largest part of the file.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_common.frozen import are_frozen
from ruler_common.text import shortened
from ruler_eval.report.language_tables import instructions
from ruler_eval.report.page import charts
from ruler_eval.report.page.build import engine_verdict, page_data
from ruler_eval.report.page.figures import error_kinds, figures
from ruler_eval.report.page.model import PageData
from ruler_eval.report.page.numbers import tables
from ruler_eval.report.page.rows import MOST_BYTES, fitted, packed
from ruler_eval.report.page.runs import ReportedRun
from ruler_eval.report.templates import dress, template
from ruler_eval.report.terminal import TROUBLE_NAMES
from ruler_eval.score.intervals import FEWEST_ROWS

MAX_TITLE = 200  # characters
_FOLDER = Path(__file__).resolve().parent
VEGA = _FOLDER / "vega.js.gz"
"""Vega's runtime, a script of a megabyte that sets `window.vegaEmbed` (VEGA_LICENSES.md)."""
# The rows replace these comments once the size of the rest of the page is known. Text from runs is
# escaped, so it cannot contain an HTML comment.
_ROWS, _ABOUT_ROWS = "<!--rows-->", "<!--about the rows-->"


def write_report(
    runs: Sequence[ReportedRun],
    out: Path,
    every_error: bool = False,
    title: str | None = None,
    doctor: Mapping[str, Any] | None = None,
) -> None:
    """Write the page of scored runs to a file.

    Args:
        runs: the scored runs, in the order in which the page shows them.
        out: the HTML file to write.
        every_error: sort all wrong rows into kinds of errors, and not only a sample.
        title: the page's heading; None for the data set's name.
        doctor: the verdict of `ruler doctor` (doctor/examine.py) on the engine of the runs.

    Raises:
        RulerError: if `out` is a folder or the runs cannot be shown together.
    """
    if out.is_dir():
        raise RulerError(f"'{out}' is a folder: name a file, such as {out / 'report.html'}.")
    page = page_data(runs, every_error)
    if title is not None:
        page["title"] = shortened(title, MAX_TITLE)
    page["doctor"] = None if doctor is None else engine_verdict(doctor)
    write_whole(out, render(page, figures(page)))


def render(page: PageData, figures: Mapping[str, charts.Figure]) -> str:
    """Return the whole HTML file."""
    cells: list[dict[str, Any]] = []  # the cells that open a list of rows

    def remember(
        series: int, configurations: list[str], name: str, length: str, kind: str, depth: int = -1
    ) -> int:
        """Add a cell to the script's list and return its number, for the cell's `data-cell`."""
        cell = {"series": series, "configs": configurations, "name": name, "at": length, "of": kind}
        if depth >= 0:
            cell["depth"] = depth
        cells.append(cell)
        return len(cells) - 1

    runtime, js = gzip.decompress(VEGA.read_bytes()).decode(), _read("page.js")
    specs = {name: figure.chart.to_dict(validate=False) for name, figure in figures.items()}

    def data() -> Markup:
        """Return the data of page.js; the template calls it last, when `cells` is complete."""
        groups = [{"name": group["name"], "members": group["members"]} for group in page["groups"]]
        script_data = {
            "series": page["series"],
            "tasks": page["tasks"],
            "kinds": page["errors"]["kinds"],
            "show": page["show"],
            "groups": groups,
            "charts": specs,
            "cells": cells,
        }
        return htmlsafe_json_dumps(
            script_data, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )

    html = template(_FOLDER / "page.html.j2", score=_score).render(
        page=page,
        figures=figures,
        tables={**dict.fromkeys(figures), **tables(page)},
        trouble_names=TROUBLE_NAMES,
        few=FEWEST_ROWS,
        kinds=error_kinds(page),
        first_series=charts.first_series(page),
        warnings=_warnings(page),
        runs_on_custom_rows=[run for run in page["runs"] if not are_frozen(run["whose_rows"])],
        remember=remember,
        crossed=instructions,
        tokens_of=_tokens_of,
        css=dress() + Markup(_read("page.css") + _scale_css()),
        policy=_policy(runtime, js),
        runtime=Markup(packed(runtime)),
        js=Markup(js),
        data=data,
    )
    rows = fitted(page["rows"], MOST_BYTES - len(html.encode()))
    before_rows, _, after_rows = html.rpartition(_ROWS)
    before_sentence, _, after_sentence = before_rows.rpartition(_ABOUT_ROWS)
    return f"{before_sentence}{rows.sentence}{after_sentence}{rows.text}{after_rows}"


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").strip()


def _policy(*scripts: str) -> str:
    """Return a content security policy that allows these scripts and no connections."""
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _tokens_of(name: str) -> int:
    """Return a printed length (`>128K`, `<4K`, `32K`) as a number to sort by."""
    digits = "".join(character for character in name if character.isdigit())
    tokens = 1024 * int(digits or 0)
    if ">" in name:
        return tokens + 1
    if "<" in name:
        return tokens - 1
    return tokens


def _warnings(page: PageData) -> dict[str, list[str]]:
    """Return the warnings at the top of the page, each with the labels of its runs."""
    labels_by_warning: dict[str, list[str]] = {}
    for run in page["runs"]:
        for warning in run["warnings"]:
            labels_by_warning.setdefault(warning, []).append(run["label"])
    return labels_by_warning


def _scale_css() -> str:
    """Return a CSS rule for each whole score, and the colour ramp of the legend."""
    rules = [
        f".s{n}{{background:{charts.colour(n)};color:{charts.text_colour(n)}}}" for n in range(101)
    ]
    stops = ",".join(charts.colour(n) for n in range(0, 101, 5))
    return "".join(rules) + f".ramp{{background:linear-gradient(90deg,{stops})}}"
