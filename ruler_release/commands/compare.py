"""`ruler compare` and `ruler analyze`: several results together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ruler_common.errors import RulerError
from ruler_common.files import check_file, write_json
from ruler_common.options import Option, check_options, names_in
from ruler_common.text import announce, note, show
from ruler_release import api
from ruler_release.commands.score import SHOWN, Format, Markdown, files_read

if TYPE_CHECKING:
    from ruler_eval.analysis.compare import Comparison
    from ruler_eval.figures.figure import Figure
    from ruler_eval.figures.series import Runs

Labels = Annotated[
    tuple[str, ...],
    Option(
        "What to call each model, in order; repeatable.",
        flag="--name",
        repeatable=True,
        metavar="TEXT",
    ),
]
Json = Annotated[bool, Option("Print the result as JSON, as --out writes it.", panel=SHOWN)]


@dataclass(frozen=True, kw_only=True)
class CompareCommand:
    """The flags of `ruler compare`."""

    results: Annotated[
        tuple[Path, ...],
        Option(
            "RUN folders or results.json files. Two are compared, more are ranked.",
            argument=True,
            metavar="A B [MORE...]",
        ),
    ]
    max_drop: Annotated[
        float | None,
        Option(
            "Points that B may lose against A on average. Exit code 0: it loses less, even on "
            "other rows like these; 1: it loses more; 3: there are too few rows to tell."
        ),
    ] = None
    max_task_drop: Annotated[
        float | None,
        Option(
            "With --max-drop: points that B may lose in every task at every length; the exit code "
            "is 0 only if B loses less in each, and 1 if it loses more in one."
        ),
    ] = None
    out: Annotated[
        Path | None, Option("Write the comparison as JSON.", short="-o", metavar="FILE")
    ] = None
    names: Labels = ()
    short: Annotated[bool, Option("Show only the verdict.", panel=SHOWN)] = False
    format: Format = "text"
    markdown: Markdown = False
    json: Json = False

    def __post_init__(self) -> None:
        check_options(self)
        if len(self.results) < 2:
            raise RulerError("Name two results, or more: ruler compare runs/a runs/b")
        if len(self.results) > 2 and self.max_drop is not None:
            raise RulerError("--max-drop compares two models: name two results.")
        if self.max_task_drop is not None and self.max_drop is None:
            raise RulerError("--max-task-drop needs --max-drop too.")


def compare(options: CompareCommand) -> None:
    """Compare two models on the same rows: paired differences with 95 % intervals.

    Runs on two seeds are compared unpaired, to see whether a model has seen the published rows.
    Three or more results are ranked by their averages, with the range of ranks that is compatible
    with their rows.

    Example: ruler compare runs/a/results.json runs/b/results.json

    Example, in CI, for a quantised model: ruler compare runs/base runs/quantised --max-drop 1.5
    """
    from ruler_eval.analysis.compare import EXIT_CODES, seeds_of
    from ruler_eval.figures.comparisons import rank_figures, seed_figures
    from ruler_eval.figures.series import open_runs

    check_file(options.out, "comparison.json", inputs=files_read(options.results))
    announce("Comparing")
    runs = open_runs(options.results, options.names)
    results = {run.label: run.labelled for run in runs.runs}
    result: Any
    if len(results) > 2:
        from ruler_eval.analysis.ranks import ranks

        result = ranks(results)
        _print(result, rank_figures(result), options)
        return
    a, b = results.values()
    if seeds_of(a, b) is not None:  # of one model, whose labels differ
        a, b = (run.results for run in runs.runs)
    result = api.compare(a, b, max_drop=options.max_drop, max_task_drop=options.max_task_drop)
    if "seeds" in result:
        _print(result, seed_figures(result), options)
        return
    _print(result, _comparison_figures(runs, result), options)
    if "decision" in result:
        raise SystemExit(EXIT_CODES[result["decision"]["verdict"]])


def _comparison_figures(runs: Runs, comparison: Comparison) -> list[Figure]:
    """Return the verdict about two runs and the table of their differences."""
    from ruler_eval.figures.comparisons import comparison_figures
    from ruler_eval.figures.differences import Pair, difference_figure

    pair = Pair(a=runs.first_series(0), b=runs.first_series(1), comparison=comparison)
    return comparison_figures(comparison, difference_figure(runs, pair, comparison))


def _print(result: Any, figures: Sequence[Figure], options: CompareCommand) -> None:
    """Write the result as JSON if that is wanted, and show the figures or the verdict alone."""
    from ruler_eval.report.render import render

    write_json(options.out, result)
    if options.json:
        show(json.dumps(result, ensure_ascii=False, indent=1, allow_nan=False))
        return
    if options.short:
        figures = [figure for figure in figures if figure.name == "verdict"]
    show(render(figures, "markdown" if options.markdown else options.format))


@dataclass(frozen=True, kw_only=True)
class AnalyzeCommand:
    """The flags of `ruler analyze`."""

    results: Annotated[
        tuple[Path, ...],
        Option("RUN folders, or results.json files.", argument=True, metavar="[RESULTS...]"),
    ] = ()
    errors: Annotated[
        tuple[Path, ...],
        Option(
            "ONERULER: a file of `ruler errors --out`, for each of the results; repeatable.",
            repeatable=True,
        ),
    ] = ()
    lengths: Annotated[
        tuple[str, ...] | None,
        Option("Only at these lengths: 64k,128k.", parse=names_in, metavar="NAMES"),
    ] = None
    dataset: Annotated[
        str | None,
        Option("A release whose texts are tokenized.", short="-d", metavar="RELEASE"),
    ] = None
    tokenizers: Annotated[
        tuple[str, ...],
        Option(
            "A tokenizer for them: NAME, NAME=hf:ORG/NAME, NAME=FOLDER or NAME=FILE.gguf; "
            "repeatable.",
            flag="--tokenizer",
            repeatable=True,
        ),
    ] = ()
    configs: Annotated[
        tuple[str, ...],
        Option(
            "The configurations to count, such as niah_single_128k.",
            short="-c",
            parse=names_in,
            metavar="NAMES",
        ),
    ] = ("all",)
    limit: Annotated[int, Option("Rows of each configuration that are tokenized.", min=1)] = 1
    mirror: Annotated[
        Path | None,
        Option("Folder with the tokenizers; searched first.", envvar="RULER_MIRROR"),
    ] = None
    out: Annotated[
        Path | None, Option("Write the analysis as JSON.", short="-o", metavar="FILE")
    ] = None
    names: Labels = ()
    format: Format = "text"
    figures: Annotated[
        tuple[str, ...],
        Option(
            "Show only this figure, such as ranking or correlation; repeatable.",
            flag="--figure",
            repeatable=True,
            panel=SHOWN,
            metavar="NAME",
        ),
    ] = ()
    markdown: Markdown = False

    def __post_init__(self) -> None:
        check_options(self)
        if bool(self.dataset) != bool(self.tokenizers):
            raise RulerError(
                "Token counts need a release and tokenizers: add both --dataset and --tokenizer."
            )
        if not self.results and not self.dataset:
            raise RulerError("Name results.json files, or add --dataset and --tokenizer.")
        if not self.dataset and (self.configs != ("all",) or self.limit != 1):
            raise RulerError(
                "--configs and --limit choose the rows whose tokens are counted: add --dataset and "
                "--tokenizer, or leave them out. --lengths chooses lengths of results."
            )


def analyze(options: AnalyzeCommand) -> None:
    """Show the figures of the papers: RULER's 2, 3 and 5, and ONERULER's (sections 3 and 4).

    For RULER: which tasks measure the same (their correlation over models and lengths) and, for a
    suite that varies a parameter, such as ruler_complexity, the scores by that parameter. For
    ONERULER: languages ranked, by resource and by task, reasoning, errors. With --dataset and
    --tokenizer, without a model: the number of tokens of the same texts in each language, by
    tokenizer.

    Example: ruler analyze runs/qwen runs/llama

    Example: ruler analyze -d oneruler --tokenizer cl100k_base --tokenizer o200k_base
    """
    from ruler_eval.figures.catalogue import notes_on_runs
    from ruler_eval.figures.languages import language_figures, text_tokens
    from ruler_eval.figures.series import open_runs
    from ruler_eval.report.render import render

    check_file(options.out, "analysis.json", inputs=files_read(options.results))
    announce("Reading the results")
    analysis: dict[str, Any] = {"format": 1}
    figures: list[Figure] = []
    if options.results:
        runs = open_runs(options.results, options.names)
        for sentence in notes_on_runs(runs):
            note(sentence)
        if runs.dataset == "ruler":
            if options.errors or options.lengths:
                raise RulerError("--errors and --lengths are for ONERULER: leave them out.")
            analysis, figures = _ruler_figures(runs)
        else:
            from ruler_eval.analysis.languages import analyze as analyze_results

            errors = None
            if options.errors:
                errors = [error for path in options.errors for error in _read_errors(path)]
            results = {run.label: run.results for run in runs.runs}
            analysis = analyze_results(results, errors, options.lengths)
            figures = language_figures(runs, analysis)
    if options.dataset:
        counts = api.tokens_by_tokenizer(
            options.dataset,
            options.tokenizers,
            configs=options.configs,
            lengths=options.lengths,
            limit=options.limit,
            mirror=options.mirror,
            progress=True,
        )
        analysis = {**analysis, "text_tokens": counts}
        figures.append(text_tokens(counts))
    write_json(options.out, analysis)
    figures = _only(figures, options.figures)
    shown = render(figures, "markdown" if options.markdown else options.format)
    show(shown or "These results have nothing to analyze.")


def _only(figures: list[Figure], names: Sequence[str]) -> list[Figure]:
    """Return the figures with these names, or all if there are none. Raises RulerError."""
    if not names:
        return figures
    chosen = [figure for figure in figures if {figure.name, figure.family} & {*names}]
    if not chosen:
        families = ", ".join(dict.fromkeys(figure.family for figure in figures))
        raise RulerError(f"There is no figure '{names[0]}' of these results, only: {families}.")
    return chosen


def _ruler_figures(runs: Runs) -> tuple[dict[str, Any], list[Figure]]:
    """Return RULER's figures as JSON and as figures: scores by complexity, and the correlation."""
    from ruler_eval.analysis.complexity import correlate, panels
    from ruler_eval.figures.figure import Figure
    from ruler_eval.figures.structure import complexity, correlation_figures

    by_complexity = {}
    for run in runs.runs:
        found = panels(run.results) if run.results["dataset"]["standard"] is False else []
        if found:
            by_complexity[run.label] = [asdict(panel) for panel in found]
    figures = complexity(runs)
    analysis: dict[str, Any]
    try:
        analysis = correlate({run.label: run.results for run in runs.runs})
        figures += correlation_figures(analysis)
    except RulerError as error:  # scores by complexity need no correlation
        if not by_complexity:
            raise
        analysis = {"correlation": None, "why": str(error)}
        why = f"No correlation. {error}"
        figures.append(Figure(name="correlation", title="", sentences=[why]))
    return {**analysis, "complexity": by_complexity}, figures


def _read_errors(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of `ruler errors --out`. Raises RulerError."""
    if not path.exists():
        raise RulerError(f"'{path}' does not exist. Write it with: ruler errors RUN --out {path}")
    try:
        errors = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
        if all(
            isinstance(error["languages"], str)
            and isinstance(error["kind"], str)
            and isinstance(error["index"], int)
            for error in errors
        ):
            return errors
    except (ValueError, TypeError, LookupError, RecursionError, IsADirectoryError):
        pass
    raise RulerError(f"'{path}' was not written by `ruler errors --out`: name a file that was.")
