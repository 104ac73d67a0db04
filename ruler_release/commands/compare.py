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
from ruler_common.text import announce, line_of, number_of, show
from ruler_release import api

if TYPE_CHECKING:
    from ruler_eval.score.results import Results

Labels = Annotated[
    tuple[str, ...],
    Option(
        "What to call each model, in order; repeatable.",
        flag="--name",
        repeatable=True,
        metavar="TEXT",
    ),
]
Markdown = Annotated[bool, Option("Tables in Markdown.")]


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
    markdown: Markdown = False

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
    from ruler_eval.analysis.compare import EXIT_CODES
    from ruler_eval.report import comparison_tables

    check_file(options.out, "comparison.json")
    announce("Comparing")
    results = _by_label(options.results, options.names)
    if len(results) > 2:
        from ruler_eval.analysis.ranks import ranks

        ranking = ranks(results)
        write_json(options.out, ranking)
        show(comparison_tables.ranking(ranking, options.markdown))
        return
    comparison = api.compare(
        *results.values(), max_drop=options.max_drop, max_task_drop=options.max_task_drop
    )
    write_json(options.out, comparison)
    if "seeds" in comparison:
        show(comparison_tables.seeds(comparison, options.markdown))
        return
    show(comparison_tables.comparison(comparison, options.markdown))
    if "decision" in comparison:
        raise SystemExit(EXIT_CODES[comparison["decision"]["verdict"]])


@dataclass(frozen=True, kw_only=True)
class AnalyzeCommand:
    """The flags of `ruler analyze`."""

    results: Annotated[
        tuple[Path, ...],
        Option("RUN folders, or results.json files.", argument=True, metavar="[RESULTS...]"),
    ] = ()
    errors: Annotated[
        tuple[Path, ...],
        Option("ONERULER: a file of `ruler errors --out`; repeatable.", repeatable=True),
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
    markdown: Markdown = False

    def __post_init__(self) -> None:
        check_options(self)
        if bool(self.dataset) != bool(self.tokenizers):
            raise RulerError(
                "Token counts need a release and tokenizers: add both --dataset and --tokenizer."
            )
        if not self.results and not self.dataset:
            raise RulerError("Name results.json files, or add --dataset and --tokenizer.")


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
    from ruler_eval.analysis.languages import analyze as analyze_results
    from ruler_eval.report import language_tables

    check_file(options.out, "analysis.json")
    announce("Reading the results")
    analysis: dict[str, Any] = {"format": 1}
    texts = []
    results = _by_label(options.results, options.names) if options.results else {}
    datasets = sorted({result["dataset"]["name"] for result in results.values()})
    if len(datasets) > 1:
        raise RulerError(f"The runs are of {' and '.join(datasets)}: analyze them separately.")
    if datasets == ["ruler"]:
        if options.errors or options.lengths:
            raise RulerError("--errors and --lengths are for ONERULER: leave them out.")
        analysis, text = _ruler_figures(results, options.markdown)
        texts.append(text)
    elif datasets:
        errors = [error for path in options.errors for error in _read_errors(path)]
        analysis = analyze_results(results, errors, options.lengths)
        texts.append(language_tables.report(analysis, options.markdown))
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
        texts.append(language_tables.text_tokens(counts, options.markdown))
    write_json(options.out, analysis)
    show("\n\n".join(texts))


def _ruler_figures(results: dict[str, Results], markdown: bool) -> tuple[dict[str, Any], str]:
    """Return RULER's figures as JSON and as text: scores by complexity, and the correlation."""
    from ruler_eval.analysis.complexity import correlate, panels
    from ruler_eval.report import analysis_tables

    complexity = {}
    parts = []
    for label, result in results.items():
        figures = panels(result) if result["dataset"]["standard"] is False else []
        if figures:
            complexity[label] = [asdict(panel) for panel in figures]
            parts.append(line_of(f"Scores by complexity, {label}", markdown))
            parts.append(analysis_tables.complexity(figures, markdown))
    analysis: dict[str, Any]
    try:
        analysis = correlate(results)
        parts.append(analysis_tables.correlation(analysis, markdown))
    except RulerError as error:  # scores by complexity need no correlation
        if not complexity:
            raise
        analysis = {"correlation": None, "why": str(error)}
        parts.append(f"No correlation. {error}")
    return {**analysis, "complexity": complexity}, "\n\n".join(parts)


def _read_errors(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of `ruler errors --out`. Raises RulerError."""
    if not path.exists():
        raise RulerError(f"There is no '{path}'. Write it with: ruler errors RUN --out {path}")
    try:
        errors = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
        if all(isinstance(error[key], str) for error in errors for key in ("languages", "kind")):
            return errors
    except (ValueError, TypeError, LookupError, RecursionError, IsADirectoryError):
        pass
    raise RulerError(f"'{path}' was not written by `ruler errors --out`: name a file that was.")


def _by_label(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Results]:
    """Return the results by their --name, else the model's name, else the path.

    If several results are of the same model, the path is added to its name.
    """
    from ruler_eval.score.stored import open_results

    if names and len(names) != len(paths):
        raise RulerError(
            f"There are {number_of(len(paths), 'result')}, but {len(names)} --name: add one for "
            "each, in order."
        )
    opened = [open_results(path) for path in paths]
    models = [str(results["model"] or "") for results in opened]
    by_label: dict[str, Results] = {}
    for number, (path, results) in enumerate(zip(paths, opened, strict=True)):
        label = names[number] if names else models[number] or str(path)
        if not names and models.count(models[number]) > 1:
            label = f"{models[number]} ({path})".lstrip()
        if label in by_label and names:
            raise RulerError(f"'{label}' occurs twice: choose different --name labels.")
        if label in by_label:
            label = f"{label}, argument {number + 1}"
        results["model"] = label
        by_label[label] = results
    return by_label
