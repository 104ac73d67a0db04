"""Write the HTML page of `ruler report`, one file that shows scored runs, and that of a single row.

    write_report(open_answered_runs([Path("runs/qwen")]), Path("report.html"))
    page_figures(open_answered_runs([Path("runs/qwen")]))        # all figures of the page
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
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from altair.utils.schemapi import debug_mode
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_common.text import bounds, number_of, shortened, visible
from ruler_eval.analysis.errors import KINDS
from ruler_eval.figures import curves, depth, differences, scores, structure, task_scores
from ruler_eval.figures.charts import colour, text_on
from ruler_eval.figures.errors import TaskErrors, error_bars, error_kinds
from ruler_eval.figures.figure import Column, Figure
from ruler_eval.figures.losses import losses
from ruler_eval.figures.published import published_means
from ruler_eval.figures.runs import (
    count_rows,
    custom_rows_of,
    facts_of,
    notes_of,
    rows_figure,
    runs_figure,
    warnings_about,
)
from ruler_eval.figures.series import DATASET_TITLES, Runs, runs_of
from ruler_eval.figures.summary import summary
from ruler_eval.report.page.answers import AnsweredRun
from ruler_eval.report.page.engine import engine_verdict
from ruler_eval.report.page.rows import (
    MAX_BYTES,
    PageRows,
    count_errors,
    error_note,
    fit_rows,
    kinds_of,
    packed,
    read_page_rows,
    show_command,
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


@dataclass(frozen=True, kw_only=True)
class Page:
    """What is on a page: the runs, the sections and the rows behind the numbers."""

    runs: Runs
    answered: Sequence[AnsweredRun]
    sections: Sequence[Section]
    rows: PageRows

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the page."""
        figures: list[Figure] = []
        for section in self.sections:
            if section.id in ("scores", "depth"):  # of each category, and of each task
                figures += section.content
            figures += section.figures
        return [figure for figure in figures if figure.records]


def write_report(
    answered: Sequence[AnsweredRun],
    out: Path,
    every_error: bool = False,
    title: str | None = None,
    doctor: Mapping[str, Any] | None = None,
) -> Page:
    """Write the page of scored runs to a file, and return what is on it.

    Args:
        answered: the scored runs.
        out: the HTML file to write.
        every_error: sort all wrong rows into kinds of errors instead of a sample.
        title: the page's heading; None for the data set's name.
        doctor: the verdict of `ruler doctor` (doctor/folder.py) on the runs' engine.

    Raises:
        RulerError: if `out` is a folder or the runs cannot be shown together.
    """
    if out.is_dir():
        raise RulerError(f"'{out}' is a folder: name a file, such as {out / 'report.html'}.")
    page = _build_page(answered, every_error, doctor)
    heading = shortened(title or f"{DATASET_TITLES[page.runs.dataset]} results", MAX_TITLE)
    write_whole(out, render(page, heading))
    return page


def page_figures(answered: Sequence[AnsweredRun]) -> list[Figure]:
    """Return all figures of the page of scored runs."""
    return _build_page(answered).figures


def _build_page(
    answered: Sequence[AnsweredRun],
    every_error: bool = False,
    doctor: Mapping[str, Any] | None = None,
) -> Page:
    """Return what is on the page of scored runs; see write_report."""
    runs = runs_of(answered)
    rows = read_page_rows(answered, every_error)
    with debug_mode(False):  # faster: altair would validate every part while it is made
        sections = build_sections(runs, answered, rows, doctor)
    return Page(runs=runs, answered=answered, sections=sections, rows=rows)


def build_sections(
    runs: Runs,
    answered: Sequence[AnsweredRun],
    rows: PageRows,
    doctor: Mapping[str, Any] | None = None,
) -> list[Section]:
    """Return the sections that have anything to show, in the order of the page."""
    pairs = differences.pair_runs(runs)
    pooled_depths, task_depths = depth.depth_maps(runs)
    kinds_by_series = {}
    for series in runs.series:
        of_configs = rows.by_run[series.run_number]
        kinds_by_series[series.id] = {name: kinds_of(part) for name, part in of_configs.items()}
    headline, conditions = ("", None) if doctor is None else engine_verdict(doctor)
    short = summary(runs, pairs, kinds_by_series, headline)
    compared = differences.differences(runs, pairs)
    sections = [
        Section("summary", "In short", sentences=short.sentences),
        Section(
            "scores",
            "Scores",
            figures=[losses(runs)],
            content=scores.scores(runs, with_published=True),
        ),
        Section(
            "curves",
            "By category" if runs.has_one_length else "By length",
            figures=curves.curves(runs),
        ),
        Section(
            "depth",
            "By depth of the evidence",
            link="Depth",
            note=depth.NOTE + (depth.NOTE_OF_NEEDLES if pooled_depths else ""),
            figures=pooled_depths,
            content=task_depths,
        ),
        Section(
            "tasks",
            "Tasks" if runs.has_one_length else "Tasks by length",
            link="Tasks",
            figures=[
                *task_scores.tasks(runs),
                task_scores.variants(runs),
                task_scores.control(runs),
                task_scores.words(runs),
            ],
        ),
        Section(
            "complexity",
            "By complexity",
            link="Complexity",
            note=structure.COMPLEXITY_NOTE,
            figures=structure.complexity(runs),
        ),
        Section(
            "differences",
            "Differences",
            note=differences.PAGE_NOTE,
            sentences=[text for figure in compared for text in figure.sentences],
            figures=[figure for figure in compared if figure.records],
        ),
        _error_section(runs, answered, count_errors(runs, rows.by_run)),
    ]
    if runs.dataset == "oneruler":
        sections.append(Section("languages", "Languages", figures=_language_figures(runs)))
    sections.append(
        Section(
            "correlation",
            "Which tasks rise and fall together",
            link="Correlation",
            figures=structure.correlation_of(runs),
        )
    )
    if conditions is not None:
        engine = Section("engine", "Engine", sentences=[headline], figures=[conditions])
        sections.append(engine)
    sections.append(
        Section("runs", "What was run", figures=[rows_figure(runs)], content=runs_figure(runs))
    )
    return [_without_empty(item) for item in sections if _is_shown(item)]


def _is_shown(section: Section) -> bool:
    """Return whether a section has anything to show."""
    has_figures = any(not figure.is_empty for figure in section.figures)
    return bool(section.sentences or has_figures or section.content)


def _without_empty(section: Section) -> Section:
    """Return a section without the figures that have nothing to show."""
    return replace(section, figures=[item for item in section.figures if not item.is_empty])


def _error_section(
    runs: Runs, answered: Sequence[AnsweredRun], errors: Sequence[TaskErrors]
) -> Section:
    """Return the kinds of errors; without the rows of any run a sentence that says why."""
    kinds = error_kinds(errors)
    note = error_note(answered, errors)
    return Section(
        "errors",
        "Kinds of errors",
        link="Errors",
        note=note if kinds else "",
        sentences=[note] if note and not kinds else [],
        figures=error_bars(runs, errors, kinds),
        content=kinds,
    )


def _language_figures(runs: Runs) -> list[Figure]:
    from ruler_eval.analysis.languages import analyze  # loads pandas
    from ruler_eval.figures.languages import language_figures, language_scores

    analyzed = analyze({run.label: run.results for run in runs.runs})
    return [language_scores(runs), *language_figures(runs, analyzed)]


def render(page: Page, heading: str) -> str:
    """Return the whole HTML file."""
    runtime = gzip.decompress(VEGA.read_bytes()).decode()
    script = (_FOLDER / "page.js").read_text(encoding="utf-8").strip()
    published: dict[str, None] = {}  # the names of the models that are not the page's
    sources: dict[str, Sequence[str]] = {}
    score_tables = next(section.content for section in page.sections if section.id == "scores")
    for name, figure in zip(page.runs.groups, score_tables, strict=True):
        published |= dict.fromkeys(r["model"] for r in figure.records if r["published"])
        sources[figure.name] = published_means(page.runs, name).sentences
    facts = [facts_of(run) for run in page.runs.runs]
    custom_runs = {run.label: custom_rows_of(run) for run in page.answered}
    html = _fill(
        "page.html.j2",
        page=page.runs,
        sections=page.sections,
        custom_runs={label: why for label, why in custom_runs.items() if why},
        data_names=list(dict.fromkeys(of_run["Data"] for of_run in facts)),
        versions=list(dict.fromkeys(of_run["Score version"] for of_run in facts)),
        rows=sum(map(count_rows, page.answered)),
        notes={run.label: notes_of(run) for run in page.answered},
        problems={run.label: visible(run.problem or "") for run in page.answered},
        heading=heading,
        dataset_title=DATASET_TITLES[page.runs.dataset],
        published=list(published),
        sources=sources,
        warnings=_labels_by_warning(page.answered),
        made_by=f"ruler-release {version('ruler-release')}",
        few=MIN_INDEPENDENT_ROWS,
        css=_css("dress.css") + _css("page.css") + _scale_css(),
        policy=_content_policy([runtime, script]),
        runtime=Markup(packed(runtime)),
        js=Markup(script),
        data=htmlsafe_json_dumps(
            _script_data(page),
            ensure_ascii=False,
            separators=(",", ":"),
            allow_nan=False,
        ),
    )
    packed_rows, sentence = fit_rows(page.rows.dialog, MAX_BYTES - len(html.encode()))
    before_rows, _, after_rows = html.rpartition(_ROWS)
    before_sentence, _, after_sentence = before_rows.rpartition(_ABOUT_ROWS)
    return f"{before_sentence}{sentence}{after_sentence}{packed_rows}{after_rows}"


def _content_policy(scripts: Sequence[str]) -> str:
    """Return the page's Content-Security-Policy, which allows these scripts and nothing from afar.

    A script is allowed by its digest, so text from a run cannot become one.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    policy += "form-action 'none'; script-src"
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f" 'sha256-{digest}'"
    return policy


def _labels_by_warning(answered: Sequence[AnsweredRun]) -> dict[str, list[str]]:
    """Return the labels of the runs that each warning is about."""
    labels: dict[str, list[str]] = {}
    for run in answered:
        for warning in warnings_about(run):
            labels.setdefault(warning, []).append(run.label)
    return labels


def _script_data(page: Page) -> dict[str, Any]:
    """Return the data of page.js."""
    figures = {}
    for figure in page.figures:
        if figure.chart is not None or figure.grid is not None:
            figures[figure.name] = figure.for_script()
    runs = []
    for run, rows_by_config in zip(page.answered, page.rows.by_run, strict=True):
        counts = {}
        for name, config_rows in rows_by_config.items():
            counts[name] = [len(config_rows.scores), len(config_rows.wrong)]
        runs.append({"label": run.label, "show": show_command(run), "counts": counts})
    series = [{"label": item.label, "run": item.run_number} for item in page.runs.series]
    return {"series": series, "runs": runs, "kinds": KINDS, "figures": figures}


def columns_with_values(figure: Figure) -> list[Column]:
    """Return the columns that the page shows: averages only if any run has one."""
    shown = []
    for column in figure.columns:
        values = [record.get(column.field) for record in figure.records if not record["published"]]
        is_average = column.field in (*dict(scores.AVERAGES), "relative")
        if not column.is_detail and not (is_average and {*values} <= {None, "-"}):
            shown.append(column)
    return shown


class ScoreCell(NamedTuple):
    """A cell of the table of models: its text, the value to sort by, its interval, small texts."""

    text: str
    value: float
    interval: Sequence[float] | None
    small: str
    note: str  # in the colour of a warning
    is_passed: bool  # whether the score reaches the threshold


def score_cell(record: Mapping[str, Any], column: Column) -> ScoreCell:
    """Return a cell of the table of models.

    Averages over fewer lengths than the others' are not sorted among them.
    """
    field = column.field
    value = record.get(field)
    sort_by = value if isinstance(value, float) else -1.0
    if field in ("effective", "relative"):
        sort_by = record.get(f"{field}_tokens", 0)
    elif field in dict(scores.AVERAGES) and record.get("is_short"):
        sort_by = -1.0
    interval = record.get(f"{field} interval")
    small = "" if interval is None else f"{interval[0]:.1f}–{interval[1]:.1f}"
    if field == "effective":
        small = record.get("between", "")
    return ScoreCell(
        text="–" if value is None else column.text(dict(record)),
        value=sort_by,
        interval=interval,
        small=small,
        note=record.get(f"{field} tasks", ""),
        is_passed=bool(record.get(f"{field} passes")),
    )


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
    environment.globals |= {"bounds": bounds, "score_cell": score_cell}
    environment.globals["columns_with_values"] = columns_with_values
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
