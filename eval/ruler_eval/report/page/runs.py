"""The runs that a page is made of: their results, and the answers and rows behind them.

    page_input = open_runs([Path("runs/qwen"), Path("llama.json")], names=["Qwen", "Llama"])
    page_input.runs[0].results["configurations"], page_input.series[0].label

results.json names the files that were scored and their digests; they are read again. If they or
the release are missing, the page has its numbers without the rows behind them, and says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.names import Names, length_name
from ruler_common.text import shortened
from ruler_eval.frozen_release import Release, ReleaseLanguages
from ruler_eval.report.terminal import chosen
from ruler_eval.score.aggregates import categories, for_all
from ruler_eval.score.join import JoinedConfig, ScoringRules, join_predictions
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.results import (
    Cell,
    GroupSummary,
    Results,
    RowsByConfig,
    open_results,
    rows_by_config,
)

COLOURS = ("#3566c4", "#d1600a", "#12866f", "#a8479b", "#8a6d00", "#c03a4b", "#4b7f1d", "#6a5fc1")
"""Of the series, in order; they have a contrast of 3 or more on white and on black."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_MAX_LABEL = 80  # characters


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """A scored run with its answers by configuration."""

    label: str
    results: Results
    release: Release | None = None
    joined: Mapping[str, JoinedConfig] = field(default_factory=dict)
    # Why there are no answers.
    problem: str | None = None
    # The folders or files that hold the answers.
    places: Sequence[Path] = ()

    @cached_property
    def rows(self) -> RowsByConfig:
        """The scores of its rows."""
        return rows_by_config(self.results)


@dataclass(frozen=True, kw_only=True)
class Series:
    """A run under one tokenizer: a line of a chart and a row of a table."""

    id: int
    run_number: int
    run: ReportedRun
    label: str
    tokenizer: str
    # The languages over which its means are taken.
    languages: str
    # The summary of those, and the tasks, by group.
    groups: Mapping[str, GroupSummary]
    members: Mapping[str, Sequence[str]]
    # The configurations that the means are over.
    cells: Mapping[str, Cell]
    colour: str
    shape: str

    def configs(self, length: str, tasks: Collection[str]) -> list[str]:
        """Return the configurations of some tasks at a length."""
        return [
            name
            for name, cell in self.cells.items()
            if cell["length"] == length and cell["task"] in tasks
        ]


@dataclass(frozen=True, kw_only=True)
class Length:
    """A length at which any run was scored; the control `0k` has no tokens."""

    name: str  # 4k
    tokens: int
    label: str  # 4K


@dataclass(frozen=True, kw_only=True)
class PageInput:
    """What every section of the page reads."""

    dataset: str
    runs: Sequence[ReportedRun]
    series: Sequence[Series]
    lengths: Sequence[Length]  # shortest first
    tasks: Sequence[str]  # those scored, in the order of the papers' tables

    @cached_property
    def groups(self) -> list[str]:
        """The groups of tasks that any series has, all tasks first."""
        names = dict.fromkeys(name for series in self.series for name in series.groups)
        return sorted(names, key=lambda name: name != "all")

    @cached_property
    def has_one_length(self) -> bool:
        """Whether there is a single length besides the control `0k`."""
        return sum(length.tokens > 0 for length in self.lengths) <= 1

    def first_series(self, run_number: int) -> Series:
        """Return the first series of a run."""
        return next(item for item in self.series if item.run_number == run_number)


def open_runs(
    paths: Sequence[Path],
    names: Sequence[str] = (),
    dataset: str | None = None,
    revision: str | None = None,
    references: Path | None = None,
) -> PageInput:
    """Read scored RUN folders or results.json files, with their answers if these are found.

    Args:
        paths: the runs, in the order in which the page shows them.
        names: what to call each model; by default as its results do.
        dataset: the release that the runs were made on; by default as each run names it.
        revision: the release's tag or commit on the Hub.
        references: the reference code's data folder, for runs that were scored by one.

    Raises:
        RulerError: for what is not a result, for runs of two data sets, and for answers or rows
            that are no longer those that were scored.
    """
    if names and len(names) != len(paths):
        raise RulerError(
            f"There are {len(names)} --name for {len(paths)} runs: give one for each, in order."
        )
    all_results = [open_results(path) for path in paths]
    datasets = list(dict.fromkeys(results["dataset"]["name"] for results in all_results))
    if len(datasets) > 1:
        raise RulerError(f"The runs are of {' and '.join(datasets)}: make a page for each.")
    labels = _labels(
        names or [results["model"] or "unnamed model" for results in all_results], paths
    )
    runs: list[ReportedRun] = []
    series: list[Series] = []
    tokens: dict[str, int] = {}  # of each length
    scored: set[str] = set()
    tasks: dict[str, None] = {}
    for label, results, path in zip(labels, all_results, paths, strict=True):
        run = _with_answers(label, results, path, dataset, revision, references)
        task_names = _names(run)
        for tokenizer, by_language in results["summary"].items():
            languages = for_all(by_language)
            cells = chosen(results, tokenizer, languages)
            series.append(
                Series(
                    id=len(series),
                    run_number=len(runs),
                    run=run,
                    label=label if len(results["summary"]) == 1 else f"{label} · {tokenizer}",
                    tokenizer=tokenizer,
                    languages=languages,
                    groups=by_language[languages],
                    members={group.name: group.tasks for group in categories(task_names, cells)},
                    cells=cells,
                    colour=COLOURS[len(series) % len(COLOURS)],
                    shape=SHAPES[len(series) % len(SHAPES)],
                )
            )
        runs.append(run)
        tasks |= dict.fromkeys(results["dataset"]["tasks"])
        for cell in results["configurations"].values():
            tokens[cell["length"]] = cell["max_length"]
            scored.add(cell["task"])
    return PageInput(
        dataset=datasets[0],
        runs=runs,
        series=series,
        lengths=[
            Length(name=name, tokens=tokens[name], label=name.upper())
            for name in sorted(tokens, key=tokens.__getitem__)
        ],
        tasks=[task for task in tasks if task in scored] + sorted(scored - tasks.keys()),
    )


def _names(run: ReportedRun) -> Names:
    """Return the task names of a run's data set."""
    if run.release:
        return run.release.names
    dataset = run.results["dataset"]
    names = Names.standard(dataset["name"])
    return replace(names, languages=(*names.languages, *dataset.get("languages", ())))


def _labels(names: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """Return the names as text; equal ones with the path of their run."""
    texts = [shortened(name, _MAX_LABEL).replace("\n", " ") for name in names]
    labels = []
    for text, path in zip(texts, paths, strict=True):
        is_unique = texts.count(text) == 1
        labels.append(text if is_unique else f"{text} ({shortened(str(path), _MAX_LABEL)})")
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
    """Return a run with its answers; without them if their files or their release are missing."""
    files = _find_files(results, path if path.is_dir() else path.parent)
    if not files:
        problem = "the files that were scored are not here any more"
        return ReportedRun(label=label, results=results, problem=problem)
    options = _options(files, results, dataset, revision, references)
    try:
        predictions, release = open_predictions(options, keep_prompts=True)
    except RulerError as error:
        if dataset is not None or references is not None:
            raise
        return ReportedRun(label=label, results=results, problem=str(error).rstrip("."))
    if sorted(predictions.files.values()) != sorted(results["predictions"].values()):
        raise RulerError(
            f"The answers of '{label}' are not those that were scored: run `ruler score` again "
            f"for '{path}'."
        )
    if release is not None:
        for name, digest in results["dataset"].get("rows", {}).items():
            if name in results["configurations"] and release.rows_sha256(name) != digest:
                raise RulerError(
                    f"'{label}' was scored on other rows of '{name}' than '{release.source}' "
                    "holds: name its release with --dataset."
                )
    rules = ScoringRules(
        results["rules"]["compat"],
        results["rules"]["cut"],
        results["partial"],
        model=results["model"] or "",
        languages=ReleaseLanguages(results["dataset"].get("languages", {})),
    )
    joined = join_predictions(predictions, release, rules)
    return ReportedRun(label=label, results=results, release=release, joined=joined, places=files)


def _find_files(results: Results, folder: Path) -> list[Path]:
    """Return the scored files, or the run folder that has them all; nothing if one is missing."""
    files = []
    for name in results["predictions"]:
        file = folder / Path(name).name  # next to the results
        if not file.is_file():
            file = Path(name)
        if not file.is_file():
            return []
        files.append(file)
    folders = {file.parent for file in files}
    if len(folders) == 1 and (files[0].parent / "run.json").is_file():
        return [*folders]  # so that run.json is read once
    return files


def _options(
    files: Sequence[Path],
    results: Results,
    dataset: str | None,
    revision: str | None,
    references: Path | None,
) -> PredictionOptions:
    """Return how to read files that do not name their configuration: as they were scored."""
    cells = results["configurations"]
    lengths = {cell["max_length"] for cell in cells.values()}
    tokenizers = {cell["tokenizer"] for cell in cells.values()}
    length = None
    if len(lengths) == 1 and len(cells) > 1 and not results["run"].get("sessions"):
        with suppress(RulerError):
            length = length_name(lengths.pop(), results["dataset"]["name"])
    return PredictionOptions(
        files,
        dataset=dataset,
        references=references,
        revision=revision,
        length=length,
        tokenizer=tokenizers.pop() if len(tokenizers) == 1 else None,
        config=next(iter(cells)) if len(cells) == 1 else None,
    )
