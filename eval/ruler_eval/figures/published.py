"""The models of the papers: the figures `published`, and the grey rows and lines of the page.

    published(runs)[0]            # the run, and the ten published models with the nearest averages

Published models were measured on other rows: they show the level of well-known models, and a
difference of a few points means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ruler_common.frozen import are_frozen
from ruler_common.names import parse_length
from ruler_eval.figures.figure import MODEL, Column, Figure, Record
from ruler_eval.figures.series import Runs, Series, complete_lengths
from ruler_eval.published.published_tables import (
    ModelKind,
    PublishedModel,
    PublishedTable,
    newest_tables,
)
from ruler_eval.score.results import describe_rows, tokenizer_of

MAX_MODELS = 10
NOTE = (
    "Published models were measured on other rows, by their authors' own runs: {rows}. An average "
    "is over the lengths of its row."
)


# ---- On the page ---------------------------------------------------------------------------------


def published_means(runs: Runs, group: str) -> Figure:
    """Return the models of the newest table of a group, as records of the table of scores."""
    languages = {series.languages for series in runs.series}
    records = []
    sources = {}
    for table in _tables(runs):
        if table.group == group and table.languages in languages:
            records += [_published_record(model, runs.dataset) for model in table.models]
            sources[f"{table.source}, {table.date}; measured on {table.measured_on}."] = True
    return Figure(
        name="published", title="Published models", records=records, sentences=list(sources)
    )


def _tables(runs: Runs, of_tasks: bool = False) -> list[PublishedTable]:
    """Return the newest tables of models of the runs' kind; none for a custom suite."""
    if any(run.results["dataset"]["standard"] is False for run in runs.runs):
        return []
    thresholds = {run.results["options"]["threshold"] for run in runs.runs}
    kind: ModelKind = "base" if thresholds == {"base"} else "aligned"
    return newest_tables(runs.dataset, kind, of_tasks)


def _published_record(model: PublishedModel, dataset: str) -> Record:
    effective = model.effective or "-"
    record: Record = {
        "model": model.model,
        "published": model.model,
        "claimed": f"claims {model.claimed}",
        "average": model.average,
        "weighted_inc": model.inc,
        "weighted_dec": model.dec,
        "effective": effective,
        "effective_tokens": _tokens_to_sort_by(effective, dataset),
    }
    for length, score in model.scores.items():
        record[f"at {length}"] = score
    return record


def _tokens_to_sort_by(effective: str, dataset: str) -> int:
    """Return the tokens of a published effective length: 4095 for `<4K`, 0 for `-`."""
    if effective == "-":
        return 0
    tokens = parse_length(effective.strip("<>"), dataset)
    if effective.startswith("<"):
        return tokens - 1
    return tokens + 1 if effective.startswith(">") else tokens


# ---- In the terminal -----------------------------------------------------------------------------


def published(runs: Runs, all_tables: bool = False) -> list[Figure]:
    """Return a run and the published models nearest to it, for each table that matches.

    Without `all_tables` it is the table of all tasks, if it exists, else those of the groups.
    """
    tables = _tables(runs)
    overall = [table for table in tables if table.group == "all"]
    chosen = [*tables, *_tables(runs, of_tasks=True)] if all_tables else overall or tables
    figures: list[Figure] = []
    for series in runs.series:
        for table in chosen:
            own = _own_record(series, table)
            if own is not None:
                figures.append(_table(series, table, own, len(figures)))
    if not figures:
        text = f"No published results match these scores of {runs.dataset}."
        return [Figure(name="published", title="Published models", sentences=[text])]
    if overall and not all_tables:
        more = "The tables of groups of tasks and of single tasks: --all."
        figures[-1] = replace(figures[-1], note=f"{figures[-1].note} {more}")
    return figures


def _own_record(series: Series, table: PublishedTable) -> Record | None:
    """Return the scores of a run in a table's group or task; None if it has none of them."""
    model = f"own: {series.label}"
    if table.is_task:
        scores = {}
        for cell in series.run.results["configurations"].values():
            in_language = cell["language"] == cell["instruction_language"] == table.languages
            of_tokenizer = tokenizer_of(cell) == series.tokenizer
            if cell["task"] == table.group and in_language and of_tokenizer:
                scores[cell["length"]] = cell["score"]
        if scores.keys().isdisjoint(table.lengths):
            return None
        return _task_record(model, scores, table.lengths)
    by_language = series.run.results["summary"][series.tokenizer]
    group = by_language.get(table.languages, {}).get(table.group)
    if group is None or group["lengths"].keys().isdisjoint(table.lengths):
        return None
    record: Record = {"model": model, "effective": group["effective_length_name"]}
    if {*complete_lengths(group)} <= {*table.lengths}:  # else they are over other lengths too
        record["average"] = group["average"]["score"]
        record["weighted_inc"] = group["weighted_inc"]["score"]
        record["weighted_dec"] = group["weighted_dec"]["score"]
    for length, mean in group["lengths"].items():
        record[f"at {length}"] = mean["score"]
        if length in table.lengths and mean["tasks"] < group["tasks"]:
            record["tasks"] = f"{mean['tasks']} of {group['tasks']}"
    return record


def _task_record(model: str, scores: Mapping[str, float | None], lengths: Sequence[str]) -> Record:
    """Return the scores of a task by length, and their mean if every length was scored."""
    values = [score for score in map(scores.get, lengths) if score is not None]
    record: Record = {f"at {length}": scores.get(length) for length in lengths}
    average = sum(values) / len(values) if len(values) == len(lengths) else None
    return {"model": model, "average": average, **record}


def _table(series: Series, table: PublishedTable, own: Record, number: int) -> Figure:
    """Return the table of a run and of the published models nearest to it."""
    records = [own]
    sources: list[str] = []
    for model in _nearest(own, table):
        record = _published_record(model, table.dataset)
        if model.source:
            if model.source not in sources:
                sources.append(model.source)
            record["model"] = f"{model.model} [{sources.index(model.source) + 1}]"
        records.append(record)
    rows = describe_rows(series.run.results)
    relation = "Beside" if are_frozen(rows) else "Not comparable with"
    names = [table.group, series.tokenizer]
    if table.dataset == "oneruler" and not table.is_task:
        names.insert(1, table.languages)
    title = f"{relation} published models ({', '.join(names)}): {table.source}, {table.date}"
    note = [NOTE.format(rows=table.measured_on)]
    if not are_frozen(rows):
        note.append(f"They are not comparable, because these are {rows}.")
    if len(table.models) > MAX_MODELS:
        note.append(f"The {MAX_MODELS} of {len(table.models)} models nearest to the run.")
    if sources:
        cited = ", ".join(f"[{place}] {source}" for place, source in enumerate(sources, 1))
        note.append(f"{cited}.")
    columns = [MODEL, Column("tasks", "tasks")]
    columns += [Column(length.upper(), f"at {length}") for length in table.lengths]
    columns += [Column("Avg.", "average"), Column("effective", "effective")]
    columns += [Column("wAvg (inc)", "weighted_inc"), Column("wAvg (dec)", "weighted_dec")]
    return Figure(
        name="published" if number == 0 else f"published-{number}",
        title=title,
        columns=columns,
        records=records,
        note=" ".join(note),
    )


def _nearest(own: Record, table: PublishedTable) -> list[PublishedModel]:
    """Return the models with the nearest means over the lengths that a run shares with them.

    They are in the order of the table.
    """
    distances = {}
    for place, model in enumerate(table.models):
        gaps = []
        for length, score in model.scores.items():
            if own.get(f"at {length}") is not None:
                gaps.append(score - own[f"at {length}"])
        distances[place] = abs(sum(gaps) / len(gaps)) if gaps else float("inf")
    nearest = sorted(distances, key=distances.__getitem__)[:MAX_MODELS]
    return [table.models[place] for place in sorted(nearest)]
