"""What `ruler report` writes: one HTML page of scored runs.

    write_report(open_runs([Path("runs/qwen")]), Path("report.html"))
    html = render(page, figures(page))

The page needs no network and runs no text of a run.

Vega's runtime is in the file once. The page's policy forbids every connection and every
script but the two whose digests it names; Vega's expressions are interpreted, not compiled. The
rows behind the cells are compressed, as their texts are most of the page.
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
from ruler_eval.report.page.build import page_data
from ruler_eval.report.page.figures import error_kinds, figures
from ruler_eval.report.page.model import PageData
from ruler_eval.report.page.numbers import tables
from ruler_eval.report.page.rows import MOST_BYTES, fitted, packed
from ruler_eval.report.page.runs import ReportedRun
from ruler_eval.report.templates import dress, template
from ruler_eval.report.terminal import TROUBLE_NAMES
from ruler_eval.score.intervals import FEWEST_ROWS

MAX_TITLE = 200  # characters
_HERE = Path(__file__).resolve().parent
VEGA = _HERE / "vega.js.gz"
"""Vega's runtime, a script of a megabyte that sets `window.vegaEmbed` (VEGA_LICENSES.md)."""
# Where the rows go once the size of the rest is known: text of runs holds no such comment.
_ROWS, _ABOUT_ROWS = "<!--rows-->", "<!--about the rows-->"


def write_report(
    runs: Sequence[ReportedRun], out: Path, every_error: bool = False, title: str | None = None
) -> None:
    """Write the page of scored runs to `out`.

    With `every_error` all wrong rows are sorted into kinds. Raises RulerError for what cannot be
    shown.
    """
    if out.is_dir():
        raise RulerError(f"'{out}' is a folder: name a file, such as {out / 'report.html'}.")
    page = page_data(runs, every_error)
    if title is not None:
        page["title"] = shortened(title, MAX_TITLE)
    write_whole(out, render(page, figures(page)))


def render(page: PageData, figures: Mapping[str, charts.Figure]) -> str:
    """Return the whole HTML file."""
    cells: list[dict[str, Any]] = []

    def remember(
        series: int, configurations: list[str], name: str, length: str, kind: str, depth: int = -1
    ) -> int:
        cell = {"series": series, "configs": configurations, "name": name, "at": length, "of": kind}
        cells.append(cell if depth < 0 else {**cell, "depth": depth})
        return len(cells) - 1

    runtime, js = gzip.decompress(VEGA.read_bytes()).decode(), _script("page.js")
    specs = {name: figure.chart.to_dict(validate=False) for name, figure in figures.items()}

    def data() -> Markup:
        """Return what the script reads; asked for when every cell is drawn."""
        kinds = page["errors"]["kinds"]
        known = {
            **{"series": page["series"], "tasks": page["tasks"], "kinds": kinds},
            "show": page["show"],
            "groups": [{"name": one["name"], "members": one["members"]} for one in page["groups"]],
        }
        shown = {**known, "charts": specs, "cells": cells}
        form: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
        return htmlsafe_json_dumps(shown, **form)

    html = template(_HERE / "page.html.j2", score=_score).render(
        page=page,
        figures=figures,
        tables={**dict.fromkeys(figures), **tables(page)},
        trouble_names=TROUBLE_NAMES,
        few=FEWEST_ROWS,
        kinds=error_kinds(page),
        first_series=charts.first_series(page),
        warnings=_warnings(page),
        own=[run for run in page["runs"] if not are_frozen(run["whose_rows"])],
        remember=remember,
        crossed=instructions,
        tokens_of=_tokens_of,
        css=dress() + Markup(_script("page.css") + _scale_css()),
        policy=_policy(runtime, js),
        runtime=Markup(packed(runtime)),
        js=Markup(js),
        data=data,
    )
    rows = fitted(page["rows"], MOST_BYTES - len(html.encode()))
    head, _, tail = html.rpartition(_ROWS)
    before, _, after = head.rpartition(_ABOUT_ROWS)
    return f"{before}{rows.sentence}{after}{rows.text}{tail}"


def _script(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").strip()


def _policy(*scripts: str) -> str:
    digests = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts
    )
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
    return tokens + 1 if ">" in name else tokens - 1 if "<" in name else tokens


def _warnings(page: PageData) -> dict[str, list[str]]:
    """Return what a reader must know first, and the runs of which it holds."""
    found: dict[str, list[str]] = {}
    for run in page["runs"]:
        for warning in run["warnings"]:
            found.setdefault(warning, []).append(run["label"])
    return found


def _scale_css() -> str:
    """Return a rule for each whole score, and the legend's ramp."""
    rules = [
        f".s{n}{{background:{charts.colour(n)};color:{charts.text_colour(n)}}}" for n in range(101)
    ]
    stops = ",".join(charts.colour(n) for n in range(0, 101, 5))
    return "".join(rules) + f".ramp{{background:linear-gradient(90deg,{stops})}}"
