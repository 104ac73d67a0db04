"""Write the HTML page of `ruler report`, one file that shows scored runs, and that of a single row.

    write_report(open_runs([Path("runs/qwen")]), Path("report.html"))
    row_page(row_view(Release.open("ruler"), "vt_4k", 3))

The pages work offline, and text from a run is never executed. The content security policy of the
report allows only two scripts, by their digests (Vega's runtime and page.js), and no connections;
Vega interprets its expressions without `eval`. The rows behind the cells are compressed, because
their text would be the largest part of the file. The page of a row has no script.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from altair.utils.schemapi import debug_mode
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_common.text import number_of, shortened, visible
from ruler_eval.analysis.errors import KINDS
from ruler_eval.report.page import scores, tasks
from ruler_eval.report.page.differences import differences, pair_runs
from ruler_eval.report.page.figure import Figure, colour, text_on
from ruler_eval.report.page.rows import (
    MAX_BYTES,
    PageRows,
    fit_rows,
    packed,
    read_rows,
    show_command,
)
from ruler_eval.report.page.runs import (
    DATASET_TITLES,
    PageInput,
    RunFacts,
    engine_verdict,
    run_facts,
)
from ruler_eval.score.intervals import MIN_INDEPENDENT_ROWS

if TYPE_CHECKING:
    from ruler_eval.report.row_view import RowView

MAX_TITLE = 200  # characters
_FOLDER = Path(__file__).resolve().parent
VEGA = _FOLDER / "vega.js.gz"
"""Vega's runtime, a script of a megabyte that sets `window.vegaEmbed` (VEGA_LICENSES.md)."""
# The rows replace these comments once the size of the rest of the page is known. Text from runs is
# escaped, so it cannot contain an HTML comment.
_ROWS, _ABOUT_ROWS = "<!--rows-->", "<!--about the rows-->"


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the page. One without sentences, figures and content is left out."""

    id: str = field(kw_only=False)
    title: str = field(kw_only=False)
    link: str = ""  # the name in the navigation; the title if empty
    note: str = ""
    sentences: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    # What templates/page.html.j2 shows only in this section.
    content: Any = None


def write_report(
    page: PageInput,
    out: Path,
    every_error: bool = False,
    title: str | None = None,
    doctor: Mapping[str, Any] | None = None,
) -> None:
    """Write the page of scored runs to a file.

    Args:
        page: the scored runs.
        out: the HTML file to write.
        every_error: sort all wrong rows into kinds of errors instead of a sample.
        title: the page's heading; None for the data set's name.
        doctor: the verdict of `ruler doctor` (doctor/folder.py) on the runs' engine.

    Raises:
        RulerError: if `out` is a folder or the runs cannot be shown together.
    """
    if out.is_dir():
        raise RulerError(f"'{out}' is a folder: name a file, such as {out / 'report.html'}.")
    rows = read_rows(page, every_error)
    facts = [run_facts(run) for run in page.runs]
    with debug_mode(False):  # faster: altair would validate every part while it is made
        sections = build_sections(page, rows, facts, doctor)
    heading = shortened(title or f"{DATASET_TITLES[page.dataset]} results", MAX_TITLE)
    write_whole(out, render(page, sections, rows, facts, heading))


def build_sections(
    page: PageInput,
    rows: PageRows,
    facts: Sequence[RunFacts],
    doctor: Mapping[str, Any] | None = None,
) -> list[Section]:
    """Return the sections that have anything to show, in the order of the page."""
    pairs = pair_runs(page)
    pooled_depths, task_depths = tasks.depth_maps(page)
    difference_figures, problems = differences(page, pairs)
    errors = tasks.count_errors(page, rows.by_run)  # none without the rows of any run
    kinds = tasks.error_kinds(errors)
    error_note = tasks.error_note(page, errors)
    correlation_note, correlation_figures = tasks.correlation(page)
    sections = [
        Section("summary", "In short", sentences=scores.summary(page, pairs)),
        Section(
            "scores", "Scores", figures=[scores.losses(page)], content=scores.score_tables(page)
        ),
        Section(
            "curves",
            "By category" if page.has_one_length else "By length",
            figures=scores.curves(page),
        ),
        Section(
            "depth",
            "By depth of the evidence",
            link="Depth",
            figures=pooled_depths,
            content=task_depths,
        ),
        Section(
            "tasks",
            "Tasks" if page.has_one_length else "Tasks by length",
            link="Tasks",
            figures=tasks.heat_maps(page),
        ),
        Section("complexity", "By complexity", link="Complexity", figures=tasks.complexity(page)),
        Section("differences", "Differences", sentences=problems, figures=difference_figures),
        Section(
            "errors",
            "Kinds of errors",
            link="Errors",
            note=error_note if kinds else "",
            sentences=[error_note] if errors and not kinds else [],
            figures=tasks.error_figures(page, errors, kinds),
            content=kinds,
        ),
    ]
    if page.dataset == "oneruler":
        from ruler_eval.report.page.languages import languages  # loads pandas

        figures, rankings = languages(page)
        sections.append(Section("languages", "Languages", sentences=rankings, figures=figures))
    sections.append(
        Section(
            "correlation",
            "Which tasks rise and fall together",
            link="Correlation",
            note=correlation_note,
            figures=correlation_figures,
        )
    )
    if doctor is not None:
        headline, conditions = engine_verdict(doctor)
        sections.append(Section("engine", "Engine", sentences=[headline], content=conditions))
    sections.append(Section("runs", "What was run", content=facts))
    return [item for item in sections if item.sentences or item.figures or item.content]


def render(
    page: PageInput,
    sections: Sequence[Section],
    rows: PageRows,
    facts: Sequence[RunFacts],
    heading: str,
) -> str:
    """Return the whole HTML file."""
    runtime = gzip.decompress(VEGA.read_bytes()).decode()
    script = (_FOLDER / "page.js").read_text(encoding="utf-8").strip()
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    policy += "form-action 'none'; script-src"
    for text in (runtime, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        policy += f" 'sha256-{digest}'"
    warnings: dict[str, list[str]] = {}  # the labels of the runs, by warning
    for run in facts:
        for warning in run.warnings:
            warnings.setdefault(warning, []).append(run.label)
    published: dict[str, None] = {}  # the names of the models that are not the page's
    for section in sections:
        if section.id == "scores":
            for table in section.content:
                published |= {row.label: None for row in table.rows if row.series is None}
    html = _fill(
        "page.html.j2",
        page=page,
        sections=sections,
        facts=facts,
        heading=heading,
        dataset_title=DATASET_TITLES[page.dataset],
        published=list(published),
        empty_cell=scores.ScoreCell(),
        warnings=warnings,
        made_by=f"ruler-release {version('ruler-release')}",
        few=MIN_INDEPENDENT_ROWS,
        css=_css("dress.css") + _css("page.css") + _scale_css(),
        policy=policy,
        runtime=Markup(packed(runtime)),
        js=Markup(script),
        data=htmlsafe_json_dumps(
            _script_data(page, sections, rows),
            ensure_ascii=False,
            separators=(",", ":"),
            allow_nan=False,
        ),
    )
    packed_rows, sentence = fit_rows(rows.dialog, MAX_BYTES - len(html.encode()))
    before_rows, _, after_rows = html.rpartition(_ROWS)
    before_sentence, _, after_sentence = before_rows.rpartition(_ABOUT_ROWS)
    return f"{before_sentence}{sentence}{after_sentence}{packed_rows}{after_rows}"


def _script_data(page: PageInput, sections: Sequence[Section], rows: PageRows) -> dict[str, Any]:
    """Return the data of page.js."""
    figures = {}
    for section in sections:
        depths_by_task = section.content if section.id == "depth" else []
        for figure in [*section.figures, *depths_by_task]:
            figures[figure.name] = figure.for_script()
    runs = []
    for run, rows_by_config in zip(page.runs, rows.by_run, strict=True):
        counts = {}
        for name, config_rows in rows_by_config.items():
            counts[name] = [len(config_rows.scores), len(config_rows.wrong)]
        runs.append({"label": run.label, "show": show_command(run), "counts": counts})
    series = [{"label": item.label, "run": item.run_number} for item in page.series]
    return {"series": series, "runs": runs, "kinds": KINDS, "figures": figures}


def row_page(view: RowView) -> str:
    """Return a row as one HTML page."""
    from ruler_eval.report.row_view import MAX_ANSWER, MAX_PIECE

    return _fill(
        "row.html.j2", view=view, css=_css("dress.css"), max_piece=MAX_PIECE, max_answer=MAX_ANSWER
    )


def _fill(name: str, **values: Any) -> str:
    """Return a template's text with these values, which it escapes; it rejects unknown names."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number_of": number_of, "shortened": shortened, "visible": visible}
    return environment.get_template(name).render(values)


def _css(name: str) -> Markup:
    return Markup((_FOLDER / name).read_text(encoding="utf-8").strip())


def _scale_css() -> Markup:
    """Return a CSS rule for each whole score, and the colour ramp of the legend."""
    css, ramp = "", ""
    for score in range(101):
        background = colour(score)
        css += f".s{score}{{background:{background};color:{text_on(background)}}}"
        if score % 5 == 0:
            ramp += f",{background}"
    return Markup(f".ramp{{background:linear-gradient(90deg{ramp})}}{css}")
