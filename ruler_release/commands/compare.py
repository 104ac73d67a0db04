"""`ruler compare` and `ruler analyze`: what results say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ruler_common.errors import RulerError
from ruler_common.files import lines_of
from ruler_common.parsing import json_value
from ruler_common.text import plain
from ruler_release import api
from ruler_release.commands.flags import (
    Markdown,
    Mirror,
    ModelNames,
    names_in,
    not_a_folder,
    write_json,
)

if TYPE_CHECKING:
    from ruler_eval.score.results import Results

_MAX_DROP = "Points that B may lose against A over all. Exit code 0: it loses less, also on "
_MAX_DROP += "other rows like these, 1: it loses more, 3: these rows cannot tell."
_RESULTS = "RUN folders, or results.json files."
_TEXTS = "A release whose texts are counted."
_COUNTED_BY = "Counts them: a NAME, NAME=hf:ORG/NAME or NAME=FOLDER; repeatable."
_CONFIGS = "Which of its texts, such as niah_single_128k; default: all."
_LIMIT = "So many rows of each configuration are counted."
_ERRORS = "What `ruler errors --out` wrote; repeatable."


def compare(
    a: Annotated[Path, Argument(help="A RUN folder, or a results.json.")],
    b: Annotated[Path, Argument(help="The other one.")],
    more: Annotated[list[Path] | None, Argument(help="More of them: then all are ranked.")] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="Write the comparison as JSON.")] = None,
    max_drop: Annotated[float | None, Option(help=_MAX_DROP)] = None,
    name: ModelNames = None,
    markdown: Markdown = False,
) -> None:
    """Compare two models on the same rows: paired differences with 95 % intervals.

    Two seeds of a model, to see whether it knows the published rows: unpaired ones.

    Example: `ruler compare runs/a/results.json runs/b/results.json`

    Three or more are ranked by their averages, each with the ranks that its rows leave possible.

    In CI, for a quantised or tuned model: `ruler compare runs/base runs/quantised --max-drop 1.5`
    """
    from ruler_eval.analysis.compare import EXIT_CODES
    from ruler_eval.report import comparison_tables

    not_a_folder(out, "comparison.json")
    if more:
        if max_drop is not None:
            raise RulerError("--max-drop is of two models: name two results.")
        from ruler_eval.analysis.ranks import ranks

        ranked = ranks(_named([a, b, *more], name or ()))
        write_json(out, ranked)
        typer.echo(plain(comparison_tables.ranking(ranked, markdown)))
        return
    found = api.compare(*_named([a, b], name or ()).values(), max_drop=max_drop)
    write_json(out, found)
    if "seeds" in found:
        typer.echo(plain(comparison_tables.seeds(found, markdown)))
        return
    typer.echo(plain(comparison_tables.comparison(found, markdown)))
    if "decision" in found:
        raise typer.Exit(EXIT_CODES[found["decision"]["verdict"]])


def analyze(
    results: Annotated[list[Path] | None, Argument(help=_RESULTS)] = None,
    errors: Annotated[list[Path] | None, Option(help=_ERRORS)] = None,
    lengths: Annotated[str | None, Option(help="At these alone: 64k,128k.")] = None,
    dataset: Annotated[str | None, Option("--dataset", "-d", help=_TEXTS)] = None,
    tokenizers: Annotated[list[str] | None, Option("--tokenizer", help=_COUNTED_BY)] = None,
    configs: Annotated[str | None, Option("--configs", "-c", help=_CONFIGS)] = None,
    limit: Annotated[int, Option(metavar="N", min=1, help=_LIMIT)] = 1,
    mirror: Mirror = None,
    out: Annotated[Path | None, Option("--out", "-o", help="Write all of it as JSON.")] = None,
    name: ModelNames = None,
    markdown: Markdown = False,
) -> None:
    """Show the figures of the papers: RULER's 2, 3 and 5, and ONERULER's (sections 3 and 4).

    Example: `ruler analyze runs/qwen runs/llama`

    Of RULER: which tasks measure the same, by correlation over models and lengths; and of a suite
    that varies a parameter, such as ruler_complexity, scores by that parameter. Of ONERULER:
    languages ranked, by resource and by task, reasoning, errors.

    Without a model, how many tokens the same texts take in each language by tokenizer:

    `ruler analyze --dataset oneruler --tokenizer cl100k_base --tokenizer o200k_base --lengths 128k`
    """
    from ruler_eval.analysis.languages import analyze as analyze_results
    from ruler_eval.report import language_tables

    not_a_folder(out, "analysis.json")
    if bool(dataset) != bool(tokenizers):
        raise RulerError("Tokens are counted of a release: give both --dataset and --tokenizer.")
    if not results and not dataset:
        raise RulerError("Name results.json files, or give --dataset and --tokenizer.")
    asked = names_in(lengths) if lengths else None
    found: dict[str, Any] = {"format": 1}
    shown = []
    given = _named(results, name or ()) if results else {}
    kinds = sorted({result["dataset"]["name"] for result in given.values()})
    if len(kinds) > 1:
        raise RulerError(f"The runs are of {' and '.join(kinds)}: analyze each by itself.")
    if kinds == ["ruler"]:
        if errors or asked:
            raise RulerError("--errors and --lengths are for ONERULER: leave them out.")
        found, text = _ruler_figures(given, markdown)
        shown.append(text)
    elif kinds:
        lines = [line for path in errors or () for line in _lines(path)]
        found = analyze_results(given, lines, asked)
        shown.append(language_tables.report(found, markdown))
    if dataset and tokenizers:
        counted = api.tokens_by_tokenizer(
            dataset, tokenizers, configs=names_in(configs) if configs else "all", lengths=asked,
            limit=limit, mirror=mirror, progress=True,
        )  # fmt: skip
        found = {**found, "text_tokens": counted}
        shown.append(language_tables.text_tokens(counted, markdown))
    write_json(out, found)
    typer.echo(plain("\n\n".join(shown)))


def _ruler_figures(results: dict[str, Results], markdown: bool) -> tuple[dict[str, Any], str]:
    """Return RULER's figures as JSON and as text: scores by complexity, and the correlation."""
    from ruler_common.terminal import line_of
    from ruler_eval.analysis.complexity import correlate, panels
    from ruler_eval.report import analysis_tables

    figures = {}
    for label, result in results.items():
        if result["dataset"]["standard"] is False and (drawn := panels(result)):
            figures[label] = drawn
    found: dict[str, Any]
    try:
        found = correlate(results)
    except RulerError as error:  # scores by complexity need no correlation
        if not figures:
            raise
        found = {"correlation": None, "why": str(error)}
    parts = []
    for label, drawn in figures.items():
        parts.append(line_of(f"Scores by complexity, {label}", markdown))
        parts.append(analysis_tables.complexity(drawn, markdown))
    if found["correlation"] is None:
        parts.append(f"No correlation. {found['why']}")
    else:
        parts.append(analysis_tables.correlation(found, markdown))
    found["complexity"] = {label: list(map(asdict, drawn)) for label, drawn in figures.items()}
    return found, "\n\n".join(parts)


def _lines(path: Path) -> list[dict[str, Any]]:
    """The lines of `ruler errors --out`; RulerError for another file."""
    if not path.exists():
        raise RulerError(f"There is no '{path}'. Make it: ruler errors RUN --out {path}")
    try:
        found = [json_value(line) for _, line in lines_of(path) if line.strip()]
        if all(isinstance(line[name], str) for line in found for name in ("languages", "kind")):
            return found
    except (ValueError, TypeError, LookupError):
        pass
    raise RulerError(f"'{path}' is not what `ruler errors --out` writes: name such a file.")


def _named(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Results]:
    """The results by the name given with --name, else the model's, else the file's.

    Of models with one name each says its file too: names that are alike tell nothing.
    """
    from ruler_eval.score.results import open_results

    if names and len(names) != len(paths):
        raise RulerError(
            f"There are {len(names)} --name for {len(paths)} results: give one for each, in order."
        )
    opened = [open_results(path) for path in paths]
    models = [str(results["model"] or "") for results in opened]
    found: dict[str, Results] = {}
    for number, (path, results) in enumerate(zip(paths, opened, strict=True)):
        label = names[number] if names else models[number] or str(path)
        if not names and models.count(models[number]) > 1:
            label = f"{models[number]} ({path})".lstrip()
        if label in found and names:
            raise RulerError(f"'{label}' is named twice: give other --name labels.")
        if label in found:
            label = f"{label}, argument {number + 1}"
        results["model"] = label
        found[label] = results
    return found
