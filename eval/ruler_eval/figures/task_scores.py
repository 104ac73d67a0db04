"""The scores of tasks by lengths: `tasks`, `cells`, `variants`, `control`, `words`.

tasks(runs)           # for each model its tasks by lengths, as in Tables 12 to 16 of RULER
control(runs)         # … in percent of the scores without a haystack
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ruler_common.names import CONTROL_LENGTH
from ruler_eval.figures.figure import (
    INTERVAL,
    MODEL,
    ROWS,
    SCORE,
    Column,
    Figure,
    Pivot,
    Record,
    record_of,
    score_fields,
)
from ruler_eval.figures.scores import MEANS, marked_means, mean_name, other_tasks
from ruler_eval.figures.series import Runs, Series
from ruler_eval.score.aggregates import combine
from ruler_eval.score.results import Cell, GroupSummary
from ruler_eval.score.troubles import count_troubles, is_doubtful, troubles_in_words

WHOLE_WORDS = (
    "whole words: the share of answers that contain a reference as whole words; the score also "
    "accepts a reference within a longer word."
)


def tasks(runs: Runs, in_full: bool = False) -> list[Figure]:
    """Return each series' tasks by lengths, and their mean; a cell is the mean over languages.

    `in_full` adds the average of each task over the lengths, and shows every interval.
    """
    figures = []
    for series in runs.series:
        title = f"{series.label}, {runs.dataset}, {series.tokenizer}"
        if series.languages != "en":
            title += f", {MEANS.get(series.languages, series.languages)}"
        configs: dict[str, list[str]] = {task: [] for task in runs.tasks}
        for name, cell in series.cells.items():
            configs[cell["task"]].append(name)
        scored = {task: names for task, names in configs.items() if names}
        figure = heat_map(runs, series, f"tasks-{series.id}", title, "task", scored)
        group = series.groups["all"]
        records = [*figure.records, *_mean_records_of(series, group)]
        if in_full and not runs.has_one_length:
            records += _averages_of_tasks(records, runs, group)
        note = other_tasks(runs) if any(marked_means(group).values()) else ""
        below = [*scored, mean_name(group)] if in_full else [mean_name(group)]
        pivot = Pivot(Column("task", "row"), "column", Column("score", "score", mark="mark"), below)
        figures.append(replace(figure, records=records, note=note, pivot=pivot))
    return figures


def cells(runs: Runs) -> list[Figure]:
    """Return every cell of the tasks by lengths on a line of its own."""
    return [
        replace(figure, name=figure.name.replace("tasks", "cells"), pivot=None, grid=None)
        for figure in tasks(runs)
    ]


def heat_map(
    runs: Runs,
    series: Series,
    name: str,
    title: str,
    rows_are: str,
    configs: Mapping[str, Sequence[str]],
) -> Figure:
    """Return a heat map of scores by rows and lengths; `configs` has the configurations by row."""
    records = []
    for row, names in configs.items():
        for length in runs.lengths:
            of_length: dict[str, Cell] = {}
            for config in names:
                cell = series.run.results["configurations"][config]
                if cell["length"] == length:
                    of_length[config] = cell
            score, strict, interval = combine(of_length, series.run.rows)
            if not _has_intervals(series):
                interval = None
            fields = {"row": row, "column": length.upper(), "strict": strict, "mark": ""}
            label = f"{row} at {length.upper()}"
            record = record_of(series, list(of_length), label, **fields, **_rows_of(of_length))
            records.append({**record, **score_fields(score, interval)})
    columns = [
        Column(rows_are, "row"),
        Column("length", "column"),
        SCORE,
        INTERVAL,
        Column("strict", "strict"),
        ROWS,
        Column("of these", "troubles"),
    ]
    return Figure(
        name=name,
        title=title,
        caption=f"{title}: every cell",
        columns=[MODEL, *columns] if len(runs.series) > 1 else columns,
        records=records,
        pivot=Pivot(Column(rows_are, "row"), "column", SCORE),
        grid="heat",
        width="half",
        series=[series.id],
    )


def _has_intervals(series: Series) -> bool:
    """Return whether intervals are valid: not those of a run that its scores stopped."""
    return any(cell["interval"] is not None for cell in series.cells.values())


def _rows_of(of_length: Mapping[str, Cell]) -> Record:
    """Return the number of rows of cells, and how many are missing, failed and so on."""
    counts = count_troubles(of_length.values())
    rows = sum(cell["n"] for cell in of_length.values())
    troubles = ", ".join(troubles_in_words(counts))
    return {"rows": rows, "troubles": troubles, "is_flawed": is_doubtful(counts)}


def _mean_records_of(series: Series, group: GroupSummary) -> list[Record]:
    """Return the records of the mean over the tasks, by length."""
    row = mean_name(group)
    records = []
    for length, is_marked in marked_means(group).items():
        mean = group["lengths"][length]
        configs = series.configs(length, series.members.get("all", ()))
        of_length = {name: series.cells[name] for name in configs}
        fields = {"row": row, "column": length.upper(), "strict": mean["strict"]}
        label = f"all tasks at {length.upper()}"
        record = record_of(series, configs, label, **fields, **_rows_of(of_length))
        record |= score_fields(mean["score"], mean["interval"])
        records.append({**record, "mark": "*" if is_marked else ""})
    return records


def _averages_of_tasks(records: Sequence[Record], runs: Runs, group: GroupSummary) -> list[Record]:
    """Return the average of each row over the lengths, if it was scored at each; no control."""
    lengths = [length.upper() for length, tokens in runs.lengths.items() if tokens]
    by_row: dict[str, dict[str, float | None]] = {}
    for record in records:
        by_row.setdefault(record["row"], {})[record["column"]] = record["score"]
    averages_of_rows = []
    for row, by_length in by_row.items():
        values = [by_length.get(length) for length in lengths]
        known = [value for value in values if value is not None]
        score = sum(known) / len(known) if len(known) == len(values) else None
        if row == mean_name(group):
            score = group["average"]["score"]
        averages_of_rows.append({"row": row, "column": "Avg.", "score": score, "configs": ()})
    return averages_of_rows


def variants(runs: Runs) -> Figure:
    """Return the scores by other rules: by whole words, and by the best of several samples."""
    records: list[Record] = []
    note = ""
    for series in runs.series:
        by_place: dict[tuple[str, str], list[float]] = {}
        for cell in series.cells.values():
            if cell.get("whole_word") is not None:
                note = WHOLE_WORDS
            for name, value in _variants_of(cell):
                by_place.setdefault((name, cell["length"]), []).append(value)
        names = dict.fromkeys(name for name, _ in by_place)
        for name in names:
            for length in runs.lengths:
                if values := by_place.get((name, length)):
                    score = sum(values) / len(values)
                    place = {"model": series.label, "row": name, "column": length.upper()}
                    records.append({**place, "score": score})
    return _pivot_figure(runs, "variants", "Scores by other rules", records, note)


def _variants_of(cell: Cell) -> list[tuple[str, float]]:
    found = []
    whole_word = cell.get("whole_word")
    if whole_word is not None:
        found.append((f"{cell['task']}, whole words", whole_word))
    for size, mean in sorted(cell.get("pass_at", {}).items(), key=lambda item: int(item[0])):
        if mean["score"] is not None:
            found.append((f"{cell['task']}, pass@{size}", mean["score"]))
    return found


def control(runs: Runs) -> Figure:
    """Return each score in percent of that of the task's control, if it was scored."""
    records: list[Record] = []
    for series in runs.series:
        shares: dict[tuple[str, str], float] = {}  # by task and length
        for cell in series.cells.values():
            if (share := cell.get("percent_of_control")) is not None:
                shares[cell["task"], cell["length"]] = share
        if shares:
            for length, mean in series.groups["all"]["lengths"].items():
                if (share := mean.get("percent_of_control")) is not None:
                    shares["mean by mean", length] = share
        for row in [*runs.tasks, "mean by mean"]:
            for length in runs.lengths:
                if (row, length) in shares and length != CONTROL_LENGTH:
                    place = {"model": series.label, "row": row, "column": length.upper()}
                    records.append({**place, "score": shares[row, length]})
    title = "Scores in percent of the control's (0k, evidence only)"
    return _pivot_figure(runs, "control", title, records)


def words(runs: Runs) -> Figure:
    """Return the mean number of right words in ONERULER's cwe, by length."""
    records: list[Record] = []
    for series in runs.series:
        by_place: dict[tuple[str, str], list[float]] = {}
        for cell in series.cells.values():
            right = cell.get("words_right")
            if right is not None:
                by_place.setdefault((cell["task"], cell["length"]), []).append(right)
        for (task, length), values in by_place.items():
            place = {"model": series.label, "row": task, "column": length.upper()}
            records.append({**place, "score": sum(values) / len(values)})
    return _pivot_figure(runs, "words", "Words right of ten, mean over the rows", records)


def _pivot_figure(
    runs: Runs, name: str, title: str, records: Sequence[Record], note: str = ""
) -> Figure:
    """Return a table of tasks by lengths, without a chart; of several models a row for each."""
    if len(runs.series) > 1:
        records = [{**record, "row": f"{record['model']}: {record['row']}"} for record in records]
    return Figure(
        name=name,
        title=title,
        columns=[Column("task", "row"), Column("length", "column"), SCORE],
        records=records,
        note=note,
        pivot=Pivot(Column("task", "row"), "column", SCORE),
        fold=title,
    )
