"""The scores: `scores`, `averages`, `tasks`, `cells`, `variants`, `control`, `words`, `curves`.

    scores(runs)[0]       # Table 3 of RULER (arXiv:2404.06654): models, lengths, averages
    tasks(runs)           # for each model its tasks by lengths, as in Tables 12 to 16

Means and intervals come from score/aggregates.py. In the table of models a dagger marks a score
that is lower than the first model's: the same rows are compared (analysis/compare.py), and the p
values are adjusted for all tests of the table by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import altair as alt

from ruler_common.errors import RulerError
from ruler_common.names import CONTROL_LENGTH
from ruler_common.text import number_of
from ruler_eval.analysis.compare import Pairs, paired_cells, paired_over
from ruler_eval.figures.charts import (
    GREY,
    RECORDS,
    SCORE_AXIS,
    SCORE_TOOLTIP,
    by_model,
    dots_spec,
    length_axis,
    spec_of,
)
from ruler_eval.figures.effective import effective_length, relative_length
from ruler_eval.figures.figure import (
    INTERVAL,
    LENGTH,
    MODEL,
    ROWS,
    SCORE,
    Column,
    Figure,
    Pivot,
    Record,
    has_values,
    record_of,
    score_fields,
)
from ruler_eval.figures.published import published_means
from ruler_eval.figures.runs import TROUBLES, count_troubles, is_doubtful
from ruler_eval.figures.series import Runs, Series
from ruler_eval.score.aggregates import EVERY_LANGUAGE, EVERY_PAIR, combine
from ruler_eval.score.intervals import (
    CONFIDENCE,
    MIN_INDEPENDENT_ROWS,
    difference_p,
    holm,
)
from ruler_eval.score.results import Cell, GroupSummary, LengthMean

MEANS = {EVERY_LANGUAGE: "mean over languages", EVERY_PAIR: "mean over pairs of languages"}
AVERAGES: tuple[tuple[Literal["weighted_inc", "average", "weighted_dec"], str], ...] = (
    ("average", "Avg."),
    ("weighted_inc", "wAvg (inc)"),
    ("weighted_dec", "wAvg (dec)"),
)
"""The averages over the lengths, and the headers of their columns."""
BELOW = "†"
OTHER_TASKS = "* a mean over different tasks than the other means of this row."
WHOLE_WORDS = (
    "whole words: the share of answers that contain a reference as whole words; the score also "
    "accepts a reference within a longer word."
)
WEIGHTS = "inc, dec: averages in which longer, and in which shorter, lengths weigh more."
EFFECTIVE = "effective: the longest length with a score at or above the threshold."
BRACKETS = "In brackets: by the lower and by the upper ends of the scores' intervals."
RELATIVE = "relative: the longest length with 85 % of the score at the shortest."
_LABEL_GAP = 4.6  # points of score between the names at the ends of lines
_MAX_LABEL_WIDTH = 150  # pixels of such a name


# ---- Models by lengths -----------------------------------------------------------------------


def scores(runs: Runs, with_published: bool = False) -> list[Figure]:
    """Return the table of models by lengths for all tasks, then for each category.

    With `published` the models of the papers follow the runs, for the page to show or hide.
    """
    return [_score_table(runs, place, with_published) for place in range(len(runs.groups))]


def _score_table(runs: Runs, place: int, with_published: bool) -> Figure:
    """Return the table of a group: the first models are those whose averages can be compared."""
    name = runs.groups[place]
    records = [_score_record(series, name) for series in runs.series if name in series.groups]
    lengths = max(record["lengths"] for record in records)
    is_mixed = any(record["lengths"] != lengths for record in records)
    records.sort(key=lambda record: _rank(record, lengths))
    for record in records:
        if is_mixed:
            record["over"] = f"{len(record['lengths'])} of {len(lengths)}"
            record["is_short"] = record["lengths"] != lengths
    note = []
    if place == 0 and len(records) > 1:
        note += _mark_lower(runs, records)
    thresholds = {record["threshold"] for record in records}
    columns = _score_columns(runs, is_mixed, thresholds)
    if is_mixed:
        note.append(
            "Averages over fewer lengths cannot be compared with the others: such models are last."
        )
    if any(record["is_partial"] for record in records):
        note.append(OTHER_TASKS)
    group = next(series.groups[name] for series in runs.series if name in series.groups)
    return Figure(
        name="scores" if place == 0 else f"categories-{place}",
        title=_title_of_group(runs, name, group, thresholds),
        columns=columns,
        records=[*records, *(published_means(runs, name).records if with_published else [])],
        note=" ".join(note),
        column_note=" ".join(_notes_of_columns(columns)) if place == 0 else "",
        fold=name,
    )


def groups(runs: Runs) -> Figure:
    """Return the means of all tasks and of each category by length, and their averages."""
    records = []
    for name in runs.groups:
        for series in runs.series:
            if name in series.groups:
                record = _score_record(series, name)
                if any(record.get(f"at {length}") is not None for length in runs.lengths):
                    records.append(record)
    columns = _score_columns(runs, is_mixed=False, thresholds=[])
    first = (
        [Column("group", "tasks")] if len(runs.series) == 1 else [MODEL, Column("group", "tasks")]
    )
    columns = [*first, *columns[2:]]
    notes = [OTHER_TASKS] if any(record["is_partial"] for record in records) else []
    if not runs.has_one_length:
        columns.append(Column("area", "area"))
    return Figure(
        name="groups",
        title=f"Means by length ({_whose(runs)})",
        columns=columns,
        records=records,
        note=" ".join(notes),
        column_note=" ".join(_notes_of_columns(columns)),
    )


def _score_columns(
    runs: Runs, is_mixed: bool, thresholds: Collection[float | None]
) -> list[Column]:
    """Return the columns of the table of models."""
    columns = [MODEL, Column("tasks", "tasks", is_detail=True)]
    for length in runs.lengths:
        header, field = length.upper(), f"at {length}"
        columns.append(Column(header, field, mark=f"{field} mark"))
        columns.append(_interval(header, field))
    if not runs.has_one_length:
        for key, header in AVERAGES:
            columns += [Column(header, key, mark=f"{key} mark"), _interval(header, key)]
    if is_mixed:
        columns.append(Column("lengths in averages", "over"))
    if len(thresholds) > 1:
        columns.append(Column("threshold", "threshold"))
    if set(thresholds) - {None}:
        columns.append(Column("effective", "effective"))
        columns.append(Column("effective interval", "between", is_detail=True))
    if not runs.has_one_length:
        columns.append(Column("relative", "relative"))
    return columns


def _title_of_group(
    runs: Runs, name: str, group: GroupSummary, thresholds: Iterable[float | None]
) -> str:
    """Return the caption of a table of models: tasks, unit and threshold."""
    title = "all tasks" if name == "all" else name
    if name == "all" or runs.dataset == "ruler":
        title = title[0].upper() + title[1:]
    title += f" ({number_of(group['tasks'], 'task')}), mean in percent"
    known = sorted({threshold for threshold in thresholds if threshold is not None})
    if len(known) == 1:
        title += f"; threshold of the effective length {known[0]:.1f}"
    return title


def _interval(header: str, field: str) -> Column:
    return Column(f"{header} 95 % interval", f"{field} interval", "interval", is_detail=True)


def _score_record(series: Series, name: str) -> Record:
    """Return a series' means of a group: by length, over lengths, and the effective length."""
    group = series.groups[name]
    tasks = series.members.get(name, ())
    record = record_of(
        series,
        [config for config, cell in series.cells.items() if cell["task"] in tasks],
        name,
        tasks=group_name(name, group),
        threshold=group["threshold"],
        effective=effective_length(group).name,
        between=effective_length(group).between,
        effective_tokens=group["effective_length"] or 0,
        relative=relative_length(group),
        relative_tokens=group["relative_effective_length"] or 0,
        lengths=tuple(complete_lengths(group)),
        is_partial=False,
        published="",
    )
    for length, text in marked_means(group).items():
        mean, field = group["lengths"][length], f"at {length}"
        record |= {field: mean["score"], f"{field} interval": mean["interval"]}
        record[f"{field} mark"] = "*" if text else ""
        record["is_partial"] = record["is_partial"] or text
        record[f"{field} tasks"] = _tasks_of(mean, group)
        threshold, score = group["threshold"], mean["score"]
        if threshold is not None and score is not None:
            record[f"{field} passes"] = score >= threshold
    for key, _ in AVERAGES:
        record |= {key: group[key]["score"], f"{key} interval": group[key]["interval"]}
    record["area"] = group["area"]["score"]
    return record


def complete_lengths(group: GroupSummary) -> list[str]:
    """Return the lengths that count in the averages: those at which every task was scored."""
    names = []
    for length, mean in group["lengths"].items():
        if mean["tokens"] and mean["score"] is not None and not mean["lacking"]:
            names.append(length)
    return names


def _tasks_of(mean: LengthMean, group: GroupSummary) -> str:
    """Return `4 of 13 tasks` for a mean over only some tasks, else ""."""
    if mean["score"] is None or mean["tasks"] == group["tasks"]:
        return ""
    return f"{mean['tasks']} of {group['tasks']} tasks"


def _rank(record: Record, lengths: Sequence[str]) -> tuple[bool, float, float]:
    """Return the key that sorts the highest wAvg (inc) first, and other lengths last."""
    inc, average = record["weighted_inc"], record["average"]
    return (
        record["lengths"] != lengths,
        1.0 if inc is None else -inc,
        1.0 if average is None else -average,
    )


def _mark_lower(runs: Runs, records: Sequence[Record]) -> list[str]:
    """Mark the scores that are lower than those of the first model; return what the marks mean."""
    first = records[0]
    by_id = {series.id: series for series in runs.series}
    best = by_id[first["series"][0]]
    tests: list[tuple[Record, str, float]] = []
    problems = []
    for record in records[1:]:
        series = by_id[record["series"][0]]
        try:
            pairs = paired_cells(best.run.results, series.run.results)
        except RulerError as error:
            problems.append(f"{series.label} and {best.label} cannot be paired: {error}")
            continue
        for field, configs in _compared(best, series):
            if set(configs) <= pairs.rows.keys() and configs:
                tests.append((record, field, _p_of_lower(pairs, configs)))
    adjusted = holm([p for _, _, p in tests])
    is_marked = False
    for (record, field, _), p in zip(tests, adjusted, strict=True):
        if p < 1 - CONFIDENCE:
            record[f"{field} mark"] = record.get(f"{field} mark", "") + BELOW
            is_marked = True
    if is_marked:
        problems.insert(
            0,
            f"{BELOW} lower than {best.label}, on the same rows (5 %, after Holm's adjustment for "
            f"{number_of(len(tests), 'test')}).",
        )
    return problems


def _compared(best: Series, series: Series) -> list[tuple[str, list[str]]]:
    """Return the fields of two models' records that are means over the same configurations."""
    compared = []
    groups = best.groups["all"], series.groups["all"]
    for length, mean in groups[0]["lengths"].items():
        other = groups[1]["lengths"].get(length)
        if other is not None and mean["lacking"] == other["lacking"]:
            configs = best.configs(length, best.members["all"])
            if configs == series.configs(length, series.members["all"]):
                compared.append((f"at {length}", configs))
    lengths = complete_lengths(groups[0])
    if len(lengths) > 1 and lengths == complete_lengths(groups[1]):
        of_average = []
        for field, configs in compared:
            if field.removeprefix("at ") in lengths:
                of_average += configs
        compared.append(("average", of_average))
    return compared


def _p_of_lower(pairs: Pairs, configs: Sequence[str]) -> float:
    """Return the p value of a mean difference; 1 if the second is not lower or rows are too few."""
    estimate = paired_over(pairs, configs)
    if estimate.mean <= 0 or estimate.rows < MIN_INDEPENDENT_ROWS:
        return 1.0
    return difference_p(estimate)


def _notes_of_columns(columns: Sequence[Column]) -> list[str]:
    fields = {column.field for column in columns}
    notes = {
        "weighted_inc": WEIGHTS,
        "effective": EFFECTIVE,
        "relative": RELATIVE,
        "area": "area: under the scores over log2 of the lengths.",
        "low": "from, to: 95 % interval.",
    }
    return [note for field, note in notes.items() if field in fields]


def averages(runs: Runs) -> Figure:
    """Return the averages of all tasks and of each category, without groups that have none."""
    records = []
    for name in runs.groups:
        for series in runs.series:
            if name not in series.groups:
                continue
            record = _score_record(series, name)
            record["effective"] = effective_length(series.groups[name]).brief
            record["low"], record["high"] = record["average interval"] or (None, None)
            if record["average"] is not None or record["effective"] not in ("-", ""):
                records.append(record)
    columns = [Column("group", "tasks")]
    if len(runs.series) > 1:
        columns.insert(0, MODEL)
    columns += [Column("Avg.", "average"), Column("from", "low"), Column("to", "high")]
    if not runs.has_one_length:
        columns += [Column("inc", "weighted_inc"), Column("dec", "weighted_dec")]
        if has_values(records, "threshold"):
            columns += [Column("threshold", "threshold"), Column("effective", "effective")]
        else:
            columns.append(Column("relative", "relative"))
    title = f"Averages ({_whose(runs)})"
    notes = _notes_of_columns(columns)
    if any("(" in record["effective"] for record in records):
        notes.append(BRACKETS)
    note = " ".join(notes)
    return Figure(name="averages", title=title, columns=columns, records=records, column_note=note)


def _whose(runs: Runs) -> str:
    """Return the data set, the tokenizers and the languages of the scores."""
    tokenizers = dict.fromkeys(series.tokenizer for series in runs.series)
    languages = dict.fromkeys(series.languages for series in runs.series)
    parts = [runs.dataset, *tokenizers]
    parts += [MEANS.get(name, name) for name in languages if name != "en"]
    return ", ".join(parts)


def group_name(name: str, group: GroupSummary) -> str:
    """Return the name of a row: `all 13 tasks`, `retrieval`, `vt, mean of 0 of 1 task`."""
    short = name.partition(" (")[0]
    if any(mean["tasks"] != group["tasks"] for mean in group["lengths"].values()):
        return f"{short}, {mean_name(group)}"
    return f"all {group['tasks']} tasks" if name == "all" else short


def mean_name(group: GroupSummary) -> str:
    """Return `mean of 13 tasks`, or `mean of 8 of 13 tasks` if some were not scored."""
    counts = sorted({mean["tasks"] for mean in group["lengths"].values()})
    tasks = number_of(group["tasks"], "task")
    if counts == [group["tasks"]]:
        return f"mean of {tasks}"
    scored = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"mean of {scored} of {tasks}"


def marked_means(group: GroupSummary) -> dict[str, bool]:
    """Return whether the mean at each length is over other tasks than most means."""
    max_tasks = 0
    usual: list[str] = []
    for mean in group["lengths"].values():
        if mean["tasks"] > max_tasks:
            max_tasks, usual = mean["tasks"], mean["lacking"]
    return {length: mean["lacking"] != usual for length, mean in group["lengths"].items()}


def overall_average(runs: Runs) -> float | None:
    """Return the average over the tasks and lengths that were scored, 0 … 100.

    For several tokenizers, whose rows differ, it is the lowest; None without scores.
    """
    all_averages = []
    for series in runs.series:
        lengths = series.groups["all"]["lengths"].values()
        means = [mean["score"] for mean in lengths if mean["tokens"] and mean["score"] is not None]
        if means:
            all_averages.append(sum(means) / len(means))
    return min(all_averages, default=None)


# ---- Tasks by lengths ------------------------------------------------------------------------


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
        note = OTHER_TASKS if any(marked_means(group).values()) else ""
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
    counts = count_troubles(of_length)
    texts = [f"{count:,} {TROUBLES[trouble]}" for trouble, count in counts.items()]
    rows = sum(cell["n"] for cell in of_length.values())
    return {"rows": rows, "troubles": ", ".join(texts), "is_flawed": is_doubtful(counts)}


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


# ---- The curves ------------------------------------------------------------------------------


def curves(runs: Runs) -> list[Figure]:
    """Return the curves by length of all tasks and of each category.

    With a single length there is one chart, which has a dot for each category.
    """
    columns = [LENGTH, MODEL, SCORE, INTERVAL, Column("tasks", "tasks")]
    figures = []
    all_records: list[Record] = []
    for place, name in enumerate(runs.groups):
        records = _curve_records(runs, name)
        all_records += records
        if not records or runs.has_one_length:
            continue
        title = f"Score by length, {'all tasks' if name == 'all' else name}"
        figures.append(
            Figure(
                name="curves" if place == 0 else f"curves-{place}",
                title=title,
                columns=columns,
                records=records,
                chart=_curve(runs, name, title, records, is_main=place == 0),
                width="full" if place == 0 else "half",
            )
        )
    if runs.has_one_length and all_records:
        title = f"Score at {all_records[0]['length']} by category"
        spec = dots_spec(title, all_records, "group", runs.series, [0, 100])
        columns.insert(1, Column("category", "group"))
        figures.append(
            Figure(name="curves", title=title, columns=columns, records=all_records, chart=spec)
        )
    return figures


def _curve_records(runs: Runs, group_name: str) -> list[Record]:
    """Return the means of a group at each length that has a window.

    Means over only some of the group's tasks are left out if any length has all tasks.
    """
    complete: list[Record] = []
    partial: list[Record] = []
    for length, tokens in runs.lengths.items():
        for series in runs.series:
            group = series.groups.get(group_name)
            mean = None if group is None else group["lengths"].get(length)
            if group is None or mean is None or mean["score"] is None or not tokens:
                continue
            record = record_of(
                series,
                series.configs(length, series.members.get(group_name, ())),
                f"{group_name} at {length.upper()}",
                group=group_name,
                length=length.upper(),
                tokens=tokens,
                tasks=f"{mean['tasks']} of {group['tasks']}",
                **score_fields(mean["score"], mean["interval"]),
            )
            (complete if mean["tasks"] == group["tasks"] else partial).append(record)
    return complete or partial


def _curve(
    runs: Runs, group_name: str, title: str, records: Sequence[Record], is_main: bool
) -> dict[str, Any]:
    """Return the chart of a group's scores by length; the main one is larger and labelled."""
    x = length_axis(runs.lengths)
    color, shape = by_model(runs.series)
    base = alt.Chart().encode(x=x, y=SCORE_AXIS, color=color)
    layers = []
    datasets: dict[str, list[Record]] = {}
    published = []
    for model in published_means(runs, group_name).records:
        for length, tokens in runs.lengths.items():
            score = model.get(f"at {length}")
            if tokens and score is not None:
                at_length = {"tokens": tokens, "length": length.upper(), "score": score}
                published.append({"published": model["model"], **at_length})
    if published:
        datasets["published"] = published
        point = alt.OverlayMarkDef(size=12, color=GREY)
        grey = alt.Chart(alt.NamedData("published")).encode(
            x=x,
            y=SCORE_AXIS,
            detail="published:N",
            tooltip=["published:N", "length:N", SCORE_TOOLTIP],
        )
        layers.append(grey.mark_line(color=GREY, strokeWidth=1, opacity=0.7, point=point))
    thresholds = set()
    for series in runs.series:
        if group_name in series.groups:
            thresholds.add(series.groups[group_name]["threshold"])
    known = sorted(threshold for threshold in thresholds if threshold is not None)
    if known:
        # data of their own: in the chart's they would be drawn once for each record
        datasets["thresholds"] = [{"threshold": threshold} for threshold in known]
        rules = alt.Chart(alt.NamedData("thresholds")).mark_rule(
            color=GREY, strokeDash=[6, 4], aria=False
        )
        layers.append(rules.encode(y=alt.Y("threshold:Q", scale=alt.Scale(domain=[0, 100]))))
    points = base.mark_point(filled=True, size=56, opacity=1)
    layers += [
        base.mark_area(opacity=0.16).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=2),
        points.encode(shape=shape, tooltip=["model:N", "length:N", SCORE_TOOLTIP, "interval:N"]),
    ]
    padding: int | dict[str, int] = 4
    if is_main:
        datasets["labels"] = _line_labels(records)
        names = alt.Chart(alt.NamedData("labels")).mark_text(
            align="left", dx=9, fontSize=12, limit=_MAX_LABEL_WIDTH
        )
        y = alt.Y("place:Q", scale=alt.Scale(domain=[0, 100]))
        layers.append(names.encode(x=x, y=y, text="model:N", color=color).properties(name="labels"))
        width = min(_MAX_LABEL_WIDTH, 8 * max(len(series.label) for series in runs.series))
        padding = {"left": 4, "top": 4, "bottom": 4, "right": width + 16}
    chart = alt.layer(*layers, data=RECORDS)
    height = 340 if is_main else 180
    options: dict[str, Any] = {"height": height, "padding": padding}
    if known:
        text = f"Dashed: threshold {' and '.join(f'{value:.1f}' for value in known)}"
        options["title"] = alt.Title(
            text, anchor="start", fontSize=11, fontWeight="normal", color=GREY
        )
    spec = spec_of(chart, f"{title}: lines with 95 % bands", **options)
    return {**spec, "datasets": datasets}


def _line_labels(records: Sequence[Record]) -> list[Record]:
    """Return the models' names at the ends of their lines, moved apart to avoid overlaps."""
    last = {record["model"]: record for record in records}
    labels = []
    lowest = math.inf
    for record in sorted(last.values(), key=lambda record: -record["score"]):
        lowest = min(record["score"], lowest - _LABEL_GAP)
        labels.append({**record, "place": lowest})
    if lowest < 0:
        labels = [{**label, "place": label["place"] - lowest} for label in labels]
    return labels
