"""The scores of models by lengths: `scores`, `groups`, `averages`.

    scores(runs)[0]       # Table 3 of RULER (arXiv:2404.06654): models, lengths, averages

Means and intervals come from score/aggregates.py. In the table of models a dagger marks a score
that is lower than the first model's: the same rows are compared (analysis/compare.py), and the p
values are adjusted for all tests of the table by Holm's method.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_common.text import number_of, some_of
from ruler_eval.analysis.compare import Pairs, paired_cells, paired_over
from ruler_eval.figures.effective import effective_length, relative_length
from ruler_eval.figures.figure import (
    MODEL,
    Column,
    Figure,
    Record,
    has_values,
    record_of,
)
from ruler_eval.figures.published import published_means
from ruler_eval.figures.series import Runs, Series, complete_lengths
from ruler_eval.score.aggregates import EVERY_LANGUAGE, EVERY_PAIR
from ruler_eval.score.intervals import (
    CONFIDENCE,
    MIN_INDEPENDENT_ROWS,
    difference_p,
    holm,
)
from ruler_eval.score.results import GroupSummary, LengthMean

MEANS = {EVERY_LANGUAGE: "mean over languages", EVERY_PAIR: "mean over pairs of languages"}
AVERAGES: tuple[tuple[Literal["weighted_inc", "average", "weighted_dec"], str], ...] = (
    ("average", "Avg."),
    ("weighted_inc", "wAvg (inc)"),
    ("weighted_dec", "wAvg (dec)"),
)
"""The averages over the lengths, and the headers of their columns."""
BELOW = "†"
FEWER = "‡"
WEIGHTS = "inc, dec: averages in which longer, and in which shorter, lengths weigh more."
EFFECTIVE = "effective: the longest length with a score at or above the threshold."
BRACKETS = "In brackets: by the lower and by the upper ends of the scores' intervals."
RELATIVE = "relative: the longest length with 85 % of the score at the shortest."


def scores(runs: Runs, with_published: bool = False) -> list[Figure]:
    """Return the table of models by lengths for all tasks, then for each category.

    With `with_published` the models of the papers follow the runs, for the page to show or hide.
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
        note.append(other_tasks(runs))
    widest, others = _mark_other_tasks(runs, records, name)
    note += others
    return Figure(
        name="scores" if place == 0 else f"categories-{place}",
        title=_title_of_group(runs, name, widest.groups[name], thresholds),
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
    columns = [Column("group", "tasks"), *columns[2:]]
    if len(runs.series) > 1:
        columns.insert(0, MODEL)
    notes = [other_tasks(runs)] if any(record["is_partial"] for record in records) else []
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
    scored = max((mean["tasks"] for mean in group["lengths"].values()), default=0)
    tasks = number_of(group["tasks"], "task")
    title += f" ({tasks if scored == group['tasks'] else f'{scored} of {tasks}'}), mean in percent"
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
    effective = effective_length(group)
    record = record_of(
        series,
        [config for config, cell in series.cells.items() if cell["task"] in tasks],
        name,
        tasks=group_name(name, group),
        threshold=group["threshold"],
        effective=effective.name,
        between=effective.between,
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


def _mark_other_tasks(runs: Runs, records: Sequence[Record], name: str) -> tuple[Series, list[str]]:
    """Mark models whose means are over other tasks or languages than those of the one with most.

    Returns that model, and what the marks mean.
    """
    by_id = {series.id: series for series in runs.series}
    shown = [by_id[record["series"][0]] for record in records]
    covered = {series.id: _covered(series, name) for series in shown}
    widest = max(shown, key=lambda series: len(covered[series.id]))
    others = []
    for series, record in zip(shown, records, strict=True):
        if covered[series.id] in (covered[widest.id], set()):
            continue
        tasks = {task for task, _ in covered[series.id]}
        languages = {language for _, language in covered[series.id]}
        text = number_of(len(tasks), "task")
        if languages != {language for _, language in covered[widest.id]}:
            text += f" in {some_of(sorted(languages))}"
        others.append(f"{series.label} ({text})")
        for length, mean in series.groups[name]["lengths"].items():
            if mean["score"] is not None:
                record[f"at {length} mark"] += FEWER
    if not others:
        return widest, []
    return widest, [
        f"{FEWER} means over other tasks or languages than those of {widest.label}, which cannot "
        f"be compared: {', '.join(others)}."
    ]


def _covered(series: Series, name: str) -> set[tuple[str, str]]:
    """Return the tasks of a group with their languages, at the length that has the most of them."""
    by_length: dict[str, set[tuple[str, str]]] = {}
    for cell in series.cells.values():
        if cell["task"] in series.members[name] and cell["score"] is not None:
            by_length.setdefault(cell["length"], set()).add((cell["task"], languages_of(cell)))
    return max(by_length.values(), key=len, default=set())


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
            group = series.groups[name]
            record = _score_record(series, name)
            record["effective"] = effective_length(group).brief
            if record["average"] is not None:
                record["tasks"] = _name_of_average(name, group)
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
    is_shown = columns[-1].field == "effective"
    if is_shown and any("(" in record["effective"] for record in records):
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
    return _whole_name(name, group)


def _name_of_average(name: str, group: GroupSummary) -> str:
    """Return the name of averages over lengths: `all 13 tasks`; `all 13 tasks, at 4K` if only some.

    They are over the lengths at which every task was scored.
    """
    lengths = [length for length, mean in group["lengths"].items() if mean["tokens"]]
    complete = complete_lengths(group)
    whole = _whole_name(name, group)
    if len(complete) == len(lengths):
        return whole
    return f"{whole}, at {', '.join(length.upper() for length in complete)}"


def _whole_name(name: str, group: GroupSummary) -> str:
    """Return the name of a group of which every task was scored."""
    return f"all {group['tasks']} tasks" if name == "all" else name.partition(" (")[0]


def mean_name(group: GroupSummary) -> str:
    """Return `mean of 13 tasks`, or `mean of 8 of 13 tasks` if some were not scored."""
    counts = sorted({mean["tasks"] for mean in group["lengths"].values()})
    tasks = number_of(group["tasks"], "task")
    if counts == [group["tasks"]]:
        return f"mean of {tasks}"
    scored = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"mean of {scored} of {tasks}"


def other_tasks(runs: Runs) -> str:
    """Return what the mark of `marked_means` means."""
    what = "tasks or languages" if runs.dataset == "oneruler" else "tasks"
    return f"* a mean over different {what} than the other means of this row."


def marked_means(group: GroupSummary) -> dict[str, bool]:
    """Return whether the mean at each length is over other tasks or languages than most means."""
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
