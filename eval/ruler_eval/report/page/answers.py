"""The runs of a page: their results, and the answers behind them.

    runs = open_answered_runs([Path("runs/qwen"), Path("llama.json")], names=["Qwen", "Llama"])
    runs[0].configs["vt_4k"].by_index[7].prediction.text

The answers are in rows.parquet next to results.json, the texts of their rows in the release.
Without a release the prompts are in the files that were scored, which are read again. If any of
them is missing, the page has its numbers without the rows behind them, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.names import length_name
from ruler_common.options import paths
from ruler_eval.figures.series import ScoredRun, labels_of
from ruler_eval.frozen_release import Release
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.results import Results
from ruler_eval.score.rows import ConfigScores, rules_of_results, score_rows
from ruler_eval.score.stored import (
    RowSource,
    differing_config,
    open_different_results,
    release_of,
    stored_scores,
)


@dataclass(frozen=True, kw_only=True)
class AnsweredRun(ScoredRun):
    """A scored run with its answers by configuration."""

    release: Release | None = None
    configs: Mapping[str, ConfigScores] = field(default_factory=dict)
    # Why there are no answers.
    problem: str | None = None
    # The folders or files that hold the answers.
    places: Sequence[Path] = ()


def open_answered_runs(
    paths: Sequence[Path],
    names: Sequence[str] = (),
    dataset: str | None = None,
    revision: str | None = None,
    references: Path | None = None,
) -> list[AnsweredRun]:
    """Read scored RUN folders or results.json files, with their answers if these are found.

    Args:
        paths: the runs, in the order in which the page shows them.
        names: what to call each model; by default as its results do.
        dataset: the release that the runs were made on; by default as each run names it.
        revision: the release's tag or commit on the Hub.
        references: the reference code's data folder, for runs that were scored by one.

    Raises:
        RulerError: for what is not a result, and for answers or rows that are not those that were
            scored.
    """
    if not paths:
        raise RulerError("There is nothing to show: name scored RUN folders or results.json files.")
    rows = RowSource(dataset, revision, references)
    all_results = open_different_results(paths, rows)
    runs = []
    for label, results, path in zip(
        labels_of(all_results, paths, names), all_results, paths, strict=True
    ):
        runs.append(_with_answers(label, results, path, rows))
    return runs


def _with_answers(label: str, results: Results, path: Path, rows: RowSource) -> AnsweredRun:
    """Return a run with its answers; without them if their files or their release are missing."""
    files = _find_files(results, path if path.is_dir() else path.parent)
    if results["dataset"]["source"] is not None and rows.references is None:
        try:
            release = release_of(results, rows.dataset, rows.revision)
        except RulerError as error:
            if rows.dataset is not None:
                raise
            return AnsweredRun(label=label, results=results, problem=str(error).rstrip("."))
        if release is not None:
            if differing := differing_config(results, release):
                release.rows_sha256(differing)  # refused if the release does not have it
                raise RulerError(
                    f"'{label}' was scored on other rows of '{differing}' than "
                    f"'{release.source}' holds: name its release with --dataset."
                )
            return AnsweredRun(
                label=label,
                results=results,
                release=release,
                configs=stored_scores(results, path, release),
                places=files or ([path] if path.is_dir() else []),
            )
    if not files:
        problem = "the files that were scored were not found"
        return AnsweredRun(label=label, results=results, problem=problem)
    # Files that do not name their configuration are read as they were scored.
    cells = results["configurations"]
    lengths, tokenizers = set(), set()
    for cell in cells.values():
        lengths.add(cell["max_length"])
        tokenizers.add(cell["tokenizer"])
    length = None
    if len(lengths) == 1 and len(cells) > 1 and not results["run"].get("sessions"):
        with suppress(RulerError):
            length = length_name(lengths.pop(), results["dataset"]["name"])
    options = PredictionOptions(
        files,
        **rows._asdict(),
        length=length,
        tokenizer=tokenizers.pop() if len(tokenizers) == 1 else None,
        config=next(iter(cells)) if len(cells) == 1 else None,
    )
    return _with_prompts(label, results, path, options)


def _with_prompts(
    label: str, results: Results, path: Path, options: PredictionOptions
) -> AnsweredRun:
    """Return a run that was scored without a release, whose files have the prompts of its rows."""
    try:
        predictions, release = open_predictions(options, keep_prompts=True)
    except RulerError as error:
        if options.dataset is not None or options.references is not None:
            raise
        return AnsweredRun(label=label, results=results, problem=str(error).rstrip("."))
    if sorted(predictions.files.values()) != sorted(results["predictions"].values()):
        raise RulerError(
            f"The answers of '{label}' are not those that were scored: run `ruler score` again "
            f"for '{path}'."
        )
    scored = score_rows(predictions, release, rules_of_results(results))
    configs = {scores.name: scores for scores in scored}
    return AnsweredRun(
        label=label,
        results=results,
        release=release,
        configs=configs,
        places=[Path(file) for file in paths(options.files)],
    )


def _find_files(results: Results, folder: Path) -> list[Path]:
    """Return the scored files, or the run folder that has them all; nothing if one is missing."""
    files, folders = [], set()
    for name in results["predictions"]:
        file = folder / Path(name).name  # next to the results
        if not file.is_file():
            file = Path(name)
        if not file.is_file():
            return []
        files.append(file)
        folders.add(file.parent)
    if len(folders) == 1 and (files[0].parent / "run.json").is_file():
        return [*folders]  # so that run.json is read once
    return files
