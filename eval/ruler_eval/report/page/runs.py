"""The runs a page is made of: their results, and the answers and rows behind them.

    runs = open_runs([Path("runs/qwen"), Path("llama.json")], names=["Qwen", "Llama"])
    runs[0].results["configurations"], runs[0].answers["vt_4k"][0].text

results.json names the files that were scored and their digests; they are read again. Where they or
the release are no longer here the page has its numbers without the rows behind them, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.names import Names, length_name
from ruler_common.text import shortened
from ruler_eval.analysis.errors import answers_from_memory
from ruler_eval.frozen_release import Release, ReleaseLanguages
from ruler_eval.prediction import Prediction
from ruler_eval.score.join import join_predictions
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import Predictions, open_predictions
from ruler_eval.score.results import (
    Results,
    RowsByConfig,
    RowState,
    open_results,
    row_values,
    rows_by_config,
)
from ruler_eval.score.row_score import ScoringRules

_LONGEST_NAME = 80  # characters


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """A scored run; `answers` are by configuration and index, `problem` says why there are none.

    `places` are the folders or files that hold its answers.
    """

    label: str
    results: Results
    release: Release | None = None
    answers: Mapping[str, Mapping[int, Prediction]] = field(default_factory=dict)
    problem: str | None = None
    places: Sequence[Path] = ()

    @property
    def names(self) -> Names:
        """The task names of the run's data set."""
        if self.release:
            return self.release.names
        dataset = self.results["dataset"]
        names = Names.standard(dataset["name"])
        return replace(names, languages=(*names.languages, *dataset.get("languages", ())))

    @cached_property
    def rows(self) -> RowsByConfig:
        """The scores of its rows."""
        return rows_by_config(self.results)

    @cached_property
    def states(self) -> dict[str, dict[int, RowState]]:
        """How its rows ended, by configuration and index."""
        return row_values(self.results, "state")

    @cached_property
    def references(self) -> dict[str, dict[int, str]]:
        """Digests of the references of its rows, by configuration and index."""
        return row_values(self.results, "references")

    @cached_property
    def memory(self) -> dict[str, dict[int, str]]:
        """What the run answers without documents; see analysis/errors.py."""
        return {} if self.release is None else answers_from_memory(self.answers, self.release)

    @cached_property
    def rules(self) -> ScoringRules:
        """The rules the run was scored by."""
        rules = self.results["rules"]
        return ScoringRules(
            rules["compat"],
            rules["cut"],
            self.results["partial"],
            model=self.results["model"] or "",
            languages=ReleaseLanguages(self.results["dataset"].get("languages", {})),
        )


def open_runs(
    paths: Sequence[Path],
    names: Sequence[str] = (),
    dataset: str | None = None,
    revision: str | None = None,
    references: Path | None = None,
) -> list[ReportedRun]:
    """Read scored RUN folders or results.json files, with their answers where these are here.

    `dataset` is the release the runs were made on; default: as each run names it. `references` is
    the reference code's data folder, for runs that were scored by one. Raises RulerError for what
    is not a result, for runs of two data sets, and for answers or rows that are no longer those
    that were scored.
    """
    if names and len(names) != len(paths):
        raise RulerError(
            f"There are {len(names)} --name for {len(paths)} runs: give one for each, in order."
        )
    results = [open_results(path) for path in paths]
    kinds = list(dict.fromkeys(found["dataset"]["name"] for found in results))
    if len(kinds) > 1:
        raise RulerError(f"The runs are of {' and '.join(kinds)}: make a page for each.")
    labels = _labels([*names] or [found["model"] or "unnamed model" for found in results], paths)
    return [
        _with_answers(label, found, path, dataset, revision, references)
        for label, found, path in zip(labels, results, paths, strict=True)
    ]


def _labels(names: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """Return the names as text; equal ones with what was given for their run."""
    shown = [shortened(name, _LONGEST_NAME).replace("\n", " ") for name in names]
    labels = [
        f"{name} ({shortened(str(path), _LONGEST_NAME)})" if shown.count(name) > 1 else name
        for name, path in zip(shown, paths, strict=True)
    ]
    if len(set(labels)) < len(labels):
        raise RulerError("A run is named twice: name each once, or give other --name labels.")
    return labels


def _with_answers(
    label: str,
    results: Results,
    path: Path,
    dataset: str | None,
    revision: str | None,
    references: Path | None,
) -> ReportedRun:
    folder = path if path.is_dir() else path.parent
    found = [file for name in results["predictions"] if (file := _here(name, folder))]
    if not found or len(found) < len(results["predictions"]):
        problem = "the files that were scored are not here any more"
        return ReportedRun(label=label, results=results, problem=problem)
    places = _together(found)
    try:
        options = _options(places, results, dataset, revision, references)
        predictions, release = open_predictions(options, keep_prompts=True)
    except RulerError as error:
        if dataset is not None or references is not None:
            raise
        return ReportedRun(label=label, results=results, problem=str(error).rstrip("."))
    _same_files(predictions, results, label, path)
    if release is not None:
        _same_rows(results, release, label)
    joined = join_predictions(predictions, release)
    answers = {
        name: joined[name].answers if name in joined else {} for name in results["configurations"]
    }
    return ReportedRun(
        label=label, results=results, release=release, answers=answers, places=places
    )


def _here(name: str, folder: Path) -> Path | None:
    """Return a scored file where it was, or beside the results that name it."""
    return next(filter(Path.is_file, (folder / Path(name).name, Path(name))), None)


def _together(files: Sequence[Path]) -> list[Path]:
    """Return the folder of a run's files, so that its run.json is read once; else the files."""
    folder, *others = {file.parent for file in files}
    return list(files) if others or not (folder / "run.json").is_file() else [folder]


def _options(
    files: Sequence[Path],
    results: Results,
    dataset: str | None,
    revision: str | None,
    references: Path | None,
) -> PredictionOptions:
    """How files are read that do not name their configuration: by what they were scored as."""
    cells = results["configurations"]
    lengths = {cell["max_length"] for cell in cells.values()}
    tokenizers = {cell["tokenizer"] for cell in cells.values()}
    length = None
    if len(lengths) == 1 and len(cells) > 1:
        with suppress(RulerError):
            length = length_name(next(iter(lengths)), results["dataset"]["name"])
    return PredictionOptions(
        files,
        dataset=dataset,
        references=references,
        revision=revision,
        length=length if not results["run"].get("sessions") else None,
        tokenizer=next(iter(tokenizers)) if len(tokenizers) == 1 else None,
        config=next(iter(cells)) if len(cells) == 1 else None,
    )


def _same_files(predictions: Predictions, results: Results, label: str, path: Path) -> None:
    if sorted(predictions.files.values()) != sorted(results["predictions"].values()):
        raise RulerError(
            f"The answers of '{label}' are not those that were scored: run `ruler score` again "
            f"for '{path}'."
        )


def _same_rows(results: Results, release: Release, label: str) -> None:
    for name, digest in results["dataset"].get("rows", {}).items():
        if name in results["configurations"] and release.rows_sha256(name) != digest:
            raise RulerError(
                f"'{label}' was scored on other rows of '{name}' than '{release.source}' holds: "
                "name its release with --dataset."
            )
