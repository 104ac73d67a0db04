"""The sections of scores: the table of each group of tasks, the curves by length, and the losses.

Means and intervals come from ruler_eval/score/aggregates.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt

from ruler_common.text import bounds
from ruler_eval.published.published_tables import PublishedModel, newest_tables
from ruler_eval.report.page.figure import (
    GREY,
    RECORDS,
    SCORE_AXIS,
    Column,
    Figure,
    Record,
    by_colour,
    by_shape,
    dots_spec,
    length_axis,
    score_fields,
    spec_of,
)
from ruler_eval.report.page.runs import PageInput, Series
from ruler_eval.report.terminal import effective_between, relative_name
from ruler_eval.score.results import GroupSummary, Interval

_LABEL_GAP = 4.6  # points of score between the names at the ends of lines
_MAX_LABEL_WIDTH = 150  # pixels of such a name


class ScoreCell(NamedTuple):
    """A cell of the score table: its text, the value to sort by, and the small text below."""

    text: str
    value: float
    small: str = ""
    note: str = ""  # in the colour of a warning
    is_passed: bool = False  # whether the score reaches the threshold


class ScoreRow(NamedTuple):
    """A row of the score table; `series` is None for a published model."""

    label: str
    series: Series | None
    cells: list[ScoreCell]
    small: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """The score table of a group of tasks."""

    name: str  # of the group
    caption: str
    columns: Sequence[tuple[str, str]]  # the header and what it means
    rows: Sequence[ScoreRow]
    published: Sequence[ScoreRow]
    sources: Sequence[str]  # of the published models


def score_tables(page: PageInput) -> list[ScoreTable]:
    """Return a table of all tasks, then a table of each category."""
    has_threshold = any(
        group["threshold"] is not None for series in page.series for group in series.groups.values()
    )
    columns = [("model", "Sort by name")]
    if not page.has_one_length:
        columns.append(("wAvg (inc)", "Longer lengths weigh more"))
    if has_threshold:
        columns.append(("effective", "The longest length at or above the threshold"))
    columns += [(length.label, f"{length.tokens:,} tokens") for length in page.lengths]
    if not page.has_one_length:
        columns += [
            ("Avg.", "Mean over the lengths at which every task was scored"),
            ("wAvg (dec)", "Shorter lengths weigh more"),
            ("relative", "The longest length with 85 % of the score at the shortest"),
        ]
    tables = []
    for name in page.groups:
        groups = [(series, series.groups[name]) for series in page.series if name in series.groups]
        groups.sort(key=_rank)
        published, sources = _published(page, name)
        tables.append(
            ScoreTable(
                name="all tasks" if name == "all" else name,
                caption=_caption(page, name, groups[0][1]),
                columns=columns,
                rows=[
                    ScoreRow(series.label, series, _cells(page, group, has_threshold))
                    for series, group in groups
                ],
                published=[_published_row(page, model, has_threshold) for model in published],
                sources=sources,
            )
        )
    return tables


def _rank(item: tuple[Series, GroupSummary]) -> tuple[float, float]:
    """Return the key that sorts the highest wAvg (inc) first and missing averages last."""
    inc, average = item[1]["weighted_inc"]["score"], item[1]["average"]["score"]
    return 1.0 if inc is None else -inc, 1.0 if average is None else -average


def _caption(page: PageInput, name: str, group: GroupSummary) -> str:
    title = "All tasks" if name == "all" else name
    if page.dataset == "ruler":
        title = title[0].upper() + title[1:]
    tasks = "1 task" if group["tasks"] == 1 else f"{group['tasks']} tasks"
    text = f"{title} ({tasks}), mean in percent with 95 % interval"
    if group["threshold"] is not None:
        text += f"; threshold of effective length {group['threshold']:.1f}"
    return text


def _cells(page: PageInput, group: GroupSummary, has_threshold: bool) -> list[ScoreCell]:
    """Return the cells of a series' row, without its name."""
    cells = []
    if not page.has_one_length:
        cells.append(_score_cell(group["weighted_inc"]["score"], group["weighted_inc"]["interval"]))
    if has_threshold:
        name, between = group["effective_length_name"], effective_between(group)
        small = "" if between in ("-", name, name[1:]) else between.replace("-", "–")
        cells.append(ScoreCell(name, group["effective_length"] or 0, small))
    for length in page.lengths:
        mean = group["lengths"].get(length.name)
        if mean is None:
            cells.append(ScoreCell("–", -1))
            continue
        cell = _score_cell(mean["score"], mean["interval"])
        if mean["score"] is not None and mean["tasks"] < group["tasks"]:
            cell = cell._replace(note=f"{mean['tasks']} of {group['tasks']} tasks")
        if mean["score"] is not None and group["threshold"] is not None:
            cell = cell._replace(is_passed=mean["score"] >= group["threshold"])
        cells.append(cell)
    if not page.has_one_length:
        for average in (group["average"], group["weighted_dec"]):
            cells.append(_score_cell(average["score"], average["interval"]))
        tokens = group["relative_effective_length"]
        cells.append(ScoreCell(relative_name(group), tokens or 0))
    return cells


def _score_cell(score: float | None, interval: Interval | None = None) -> ScoreCell:
    if score is None:
        return ScoreCell("–", -1)
    small = "" if interval is None else f"{interval[0]:.1f}–{interval[1]:.1f}"
    return ScoreCell(f"{score:.1f}", score, small)


def _published(page: PageInput, group: str) -> tuple[list[PublishedModel], list[str]]:
    """Return the papers' models in a group, aligned ones first, and the sources of their tables."""
    if any(run.results["dataset"]["standard"] is False for run in page.runs):
        return [], []
    languages = {series.languages for series in page.series}
    models: list[PublishedModel] = []
    sources = []
    for table in newest_tables(page.dataset, "aligned") + newest_tables(page.dataset, "base"):
        if table.group == group and table.languages in languages:
            models += table.models
            sources.append(f"{table.source}, {table.date}; measured on {table.measured_on}")
    return models, list(dict.fromkeys(sources))


def _published_row(page: PageInput, model: PublishedModel, has_threshold: bool) -> ScoreRow:
    cells = []
    if not page.has_one_length:
        cells.append(_score_cell(model.inc))
    if has_threshold:
        name = model.effective or "-"
        tokens = 1024 * int("0" + name.strip("<>K-"))
        cells.append(ScoreCell(name, tokens + name.startswith(">") - name.startswith("<")))
    cells += [_score_cell(model.scores.get(length.name)) for length in page.lengths]
    if not page.has_one_length:
        cells += [_score_cell(model.average), _score_cell(model.dec), ScoreCell("–", 0)]
    return ScoreRow(model.model, None, cells, small=f"claims {model.claimed}")


def losses(page: PageInput) -> Figure:
    """Return the table of how each group's mean changes from its shortest to each longer length."""
    records: list[Record] = []
    for name in page.groups:
        for series in page.series:
            for loss in series.groups[name]["losses"] if name in series.groups else ():
                records.append(
                    {
                        "model": series.label,
                        "tasks": "all tasks" if name == "all" else name,
                        "lengths": f"{loss['shorter'].upper()} to {loss['longer'].upper()}",
                        "change": loss["difference"],
                        "interval": bounds(loss["interval"]),
                        "rows": loss["rows"],
                    }
                )
    return Figure(
        name="losses",
        title="Change with length in points, paired by row, with 95 % intervals",
        columns=[
            Column("model", "model"),
            Column("tasks", "tasks"),
            Column("lengths", "lengths"),
            Column("change", "change", "+.1f"),
            Column("95 %", "interval"),
            Column("rows", "rows"),
        ],
        records=records,
        fold="Change from the shortest length, row by row",
    )


def curves(page: PageInput) -> list[Figure]:
    """Return the curves by length of all tasks and of each category.

    With a single length there is one chart, which has a dot for each category.
    """
    columns = [
        Column("length", "length"),
        Column("model", "model"),
        Column("score", "score"),
        Column("95 % interval", "interval"),
        Column("tasks", "tasks"),
    ]
    by_group = {name: _mean_records(page, name) for name in page.groups}
    if page.has_one_length:
        records = [record for group in by_group.values() for record in group]
        if not records:
            return []
        title = f"Score at {records[0]['length']} by category"
        spec = dots_spec(title, records, "group", page.series, [0, 100])
        columns.insert(1, Column("category", "group"))
        return [Figure(name="average", title=title, columns=columns, records=records, spec=spec)]
    figures = []
    for number, (name, records) in enumerate(by_group.items()):
        if records:
            title = f"Score by length, {'all tasks' if name == 'all' else name}"
            figures.append(
                Figure(
                    name="average" if number == 0 else f"category-{number}",
                    title=title,
                    columns=columns,
                    records=records,
                    spec=_curve(page, name, title, records, is_main=number == 0),
                    width="full" if number == 0 else "half",
                )
            )
    return figures


def _mean_records(page: PageInput, group_name: str) -> list[Record]:
    """Return the means of a group at each length that has a window.

    Means over only some of the group's tasks are left out if any length has all tasks.
    """
    complete: list[Record] = []
    partial: list[Record] = []
    for length in page.lengths:
        for series in page.series:
            group = series.groups.get(group_name)
            mean = None if group is None else group["lengths"].get(length.name)
            if group is None or mean is None or mean["score"] is None or not length.tokens:
                continue
            record: Record = {
                "series": [series.id],
                "model": series.label,
                "group": group_name,
                "label": f"{group_name} at {length.label}",
                "length": length.label,
                "tokens": length.tokens,
                **score_fields(mean["score"], mean["interval"]),
                "tasks": f"{mean['tasks']} of {group['tasks']}",
                "configs": series.configs(length.name, series.members[group_name]),
            }
            (complete if mean["tasks"] == group["tasks"] else partial).append(record)
    return complete or partial


def _curve(
    page: PageInput, group_name: str, title: str, records: Sequence[Record], is_main: bool
) -> dict[str, Any]:
    """Return the chart of a group's scores by length; the main one is larger and labelled."""
    x = length_axis(page.lengths)
    color = by_colour(page.series)
    base = alt.Chart().encode(x=x, y=SCORE_AXIS, color=color)
    score = alt.Tooltip("score:Q", format=".1f")
    tooltip = ["model:N", "length:N", score, "interval:N"]
    layers = []
    datasets: dict[str, list[Record]] = {}
    labels = {length.name: length for length in page.lengths if length.tokens}
    published = [
        {
            "published": model.model,
            "tokens": labels[name].tokens,
            "length": labels[name].label,
            "score": value,
        }
        for model in _published(page, group_name)[0]
        for name, value in model.scores.items()
        if name in labels
    ]
    if published:
        datasets["published"] = published
        point = alt.OverlayMarkDef(size=12, color=GREY)
        grey = alt.Chart(alt.NamedData("published")).encode(
            x=x, y=SCORE_AXIS, detail="published:N", tooltip=["published:N", "length:N", score]
        )
        layers.append(grey.mark_line(color=GREY, strokeWidth=1, opacity=0.7, point=point))
    groups = [series.groups[group_name] for series in page.series if group_name in series.groups]
    for threshold in {group["threshold"] for group in groups if group["threshold"]}:
        rule = alt.Chart().encode(y=alt.YDatum(threshold))
        text = f"threshold {threshold:.1f}"
        layers += [
            rule.mark_rule(color=GREY, strokeDash=[6, 4], aria=False),
            rule.mark_text(
                align="left", baseline="top", dx=4, dy=4, fontSize=11, color=GREY, text=text
            ).encode(x=alt.XValue(0)),
        ]
    points = base.mark_point(filled=True, size=56, opacity=1)
    layers += [
        base.mark_area(opacity=0.16).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=2),
        points.encode(shape=by_shape(page.series), tooltip=tooltip),
    ]
    padding: int | dict[str, int] = 4
    if is_main:
        datasets["labels"] = _line_labels(records)
        names = alt.Chart(alt.NamedData("labels")).mark_text(
            align="left", dx=9, fontSize=12, limit=_MAX_LABEL_WIDTH
        )
        y = alt.Y("place:Q", scale=alt.Scale(domain=[0, 100]))
        layers.append(names.encode(x=x, y=y, text="model:N", color=color).properties(name="labels"))
        width = min(_MAX_LABEL_WIDTH, 8 * max(len(series.label) for series in page.series))
        padding = {"left": 4, "top": 4, "bottom": 4, "right": width + 16}
    chart = alt.layer(*layers, data=RECORDS)
    height = 340 if is_main else 180
    spec = spec_of(chart, f"{title}: lines with 95 % bands", height=height, padding=padding)
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
