"""The runs whose figures are shown: their results, and the lines of the charts.

runs = open_runs([Path("runs/qwen"), Path("llama.json")], names=["Qwen", "Llama"])
runs.series[0].label, runs.series[0].groups["all"]["average"]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from ruler_common.errors import RulerError
from ruler_common.names import CONTROL_LENGTH, Names
from ruler_common.text import shortened
from ruler_eval.score.aggregates import categories, for_all, in_languages
from ruler_eval.score.results import (
    Cell,
    GroupSummary,
    Results,
    RowsByConfig,
    rows_by_config,
    tokenizer_of,
)
from ruler_eval.score.stored import open_different_results

COLOURS = ("#3566c4", "#d1600a", "#12866f", "#a8479b", "#8a6d00", "#c03a4b", "#4b7f1d", "#6a5fc1")
"""Of the series, in order; they have a contrast of 3 or more on white and on black."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DATASET_TITLES = {"ruler": "RULER", "oneruler": "ONERULER"}
_MAX_LABEL = 80  # characters
_MAX_PATH = 300  # characters


@dataclass(frozen=True, kw_only=True)
class ScoredRun:
    """A scored run: its label and its results."""

    label: str
    results: Results

    @cached_property
    def rows(self) -> RowsByConfig:
        """The scores of its rows."""
        return rows_by_config(self.results)

    @property
    def labelled(self) -> Results:
        """The results with the label as the model's name."""
        return cast(Results, {**self.results, "model": self.label})

    @property
    def names(self) -> Names:
        """The names of the tasks, groups and languages that were scored."""
        dataset = self.results["dataset"]
        names = Names.standard(dataset["name"])
        names = replace(names, languages=(*names.languages, *dataset.get("languages", ())))
        if "groups" in dataset:
            names = replace(names, tasks=tuple(dataset["tasks"]), groups=dataset["groups"])
        return names


@dataclass(frozen=True, kw_only=True)
class Series:
    """A run under one tokenizer: a line of a chart and a row of a table."""

    id: int
    run_number: int
    run: ScoredRun
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
        names = []
        for name, cell in self.cells.items():
            if cell["length"] == length and cell["task"] in tasks:
                names.append(name)
        return names


@dataclass(frozen=True, kw_only=True)
class Runs:
    """What every figure reads."""

    dataset: str
    runs: Sequence[ScoredRun]
    series: Sequence[Series]
    # The lengths at which any run was scored, shortest first: tokens by name, such as 4096 by "4k".
    lengths: Mapping[str, int]
    tasks: Sequence[str]  # those scored, in the order of the papers' tables

    @cached_property
    def groups(self) -> list[str]:
        """The groups of tasks that any series has, all tasks first."""
        names = {"all": None}
        for series in self.series:
            names |= dict.fromkeys(series.groups)
        return list(names)

    @cached_property
    def has_one_length(self) -> bool:
        """Whether there is at most one length, the control not counted."""
        return len(self.lengths.keys() - {CONTROL_LENGTH}) <= 1

    def first_series(self, run_number: int) -> Series:
        """Return the first series of a run."""
        for series in self.series:
            if series.run_number == run_number:
                return series
        raise IndexError(run_number)


def open_runs(paths: Sequence[Path], names: Sequence[str] = ()) -> Runs:
    """Read scored RUN folders or results.json files. Raises RulerError as `runs_of` does."""
    all_results = open_different_results(paths)
    labels = labels_of(all_results, paths, names)
    runs = []
    for label, results in zip(labels, all_results, strict=True):
        runs.append(ScoredRun(label=label, results=results))
    return runs_of(runs)


def runs_of(runs: Sequence[ScoredRun], languages: str | None = None) -> Runs:
    """Return scored runs with their series, lengths and tasks.

    Args:
        runs: the runs, in the order in which they are shown.
        languages: a language, pair of languages, or mean over either, as in the summary of
            results.json; None for those that stand for each run.

    Raises:
        RulerError: for runs of two data sets.
    """
    datasets = list(dict.fromkeys(run.results["dataset"]["name"] for run in runs))
    if len(datasets) > 1:
        raise RulerError(f"The runs are of {' and '.join(sorted(datasets))}: show them separately.")
    series: list[Series] = []
    lengths: dict[str, int] = {}
    tasks: dict[str, bool] = {}  # whether each was scored
    for number, run in enumerate(runs):
        series += _series_of(run, number, len(series), languages)
        for task in run.results["dataset"]["tasks"]:
            tasks.setdefault(task, False)
        for cell in run.results["configurations"].values():
            lengths[cell["length"]] = cell["max_length"]
            tasks[cell["task"]] = True
    return Runs(
        dataset=datasets[0],
        runs=runs,
        series=series,
        lengths={name: lengths[name] for name in sorted(lengths, key=lengths.__getitem__)},
        tasks=[task for task, was_scored in tasks.items() if was_scored],
    )


def _series_of(
    run: ScoredRun, run_number: int, first_id: int, languages: str | None
) -> list[Series]:
    """Return the series of a run, one for each tokenizer; see runs_of."""
    results = run.results
    series: list[Series] = []
    for tokenizer, by_language in results["summary"].items():
        chosen_languages = languages or for_all(by_language)
        if chosen_languages not in by_language:
            continue
        cells = chosen(results, tokenizer, chosen_languages)
        groups = categories(run.names, cells, results["dataset"]["standard"] is not False)
        is_only = len(results["summary"]) == 1
        series_id = first_id + len(series)
        series.append(
            Series(
                id=series_id,
                run_number=run_number,
                run=run,
                label=run.label if is_only else f"{run.label} · {tokenizer}",
                tokenizer=tokenizer,
                languages=chosen_languages,
                groups=by_language[chosen_languages],
                members={group.name: group.tasks for group in groups},
                cells=cells,
                colour=COLOURS[series_id % len(COLOURS)],
                shape=SHAPES[series_id % len(SHAPES)],
            )
        )
    return series


def chosen(results: Results, tokenizer: str, languages: str | None = None) -> dict[str, Cell]:
    """Return the configurations under a tokenizer, in all languages or in these."""
    return {
        name: cell
        for name, cell in results["configurations"].items()
        if tokenizer_of(cell) == tokenizer and (languages is None or in_languages(cell, languages))
    }


def labels_of(
    all_results: Sequence[Results], paths: Sequence[Path], names: Sequence[str]
) -> list[str]:
    """Return a label for each run: its --name or its model's name; equal ones get a path.

    Raises RulerError if there are not as many names as runs.
    """
    if names and len(names) != len(paths):
        raise RulerError(
            f"The number of --name is {len(names)} for {len(paths)} runs: give one for each, in "
            "order."
        )
    texts = []
    for number, results in enumerate(all_results):
        name = names[number] if names else results["model"] or "unnamed model"
        texts.append(shortened(name, _MAX_LABEL).replace("\n", " "))
    labels: list[str] = []
    for number, (text, path) in enumerate(zip(texts, paths, strict=True), 1):
        label = text
        if texts.count(text) > 1:
            label = f"{text} ({shortened(str(path), _MAX_PATH)})"
        labels.append(label if label not in labels else f"{label}, run {number}")
    return labels


def complete_lengths(group: GroupSummary) -> list[str]:
    """Return the lengths that count in the averages: those at which every task was scored."""
    names = []
    for length, mean in group["lengths"].items():
        if mean["tokens"] and mean["score"] is not None and not mean["lacking"]:
            names.append(length)
    return names
