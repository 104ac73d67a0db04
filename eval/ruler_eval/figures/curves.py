"""The curves: a model's scores by length, with those of published models and the threshold.

curves(runs)[0]       # all tasks; one for each category follows
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

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
from ruler_eval.figures.figure import (
    INTERVAL,
    LENGTH,
    MODEL,
    SCORE,
    Column,
    Figure,
    Record,
    record_of,
    score_fields,
)
from ruler_eval.figures.published import published_means
from ruler_eval.figures.series import Runs

_LABEL_GAP = 4.6  # points of score between the names at the ends of lines
_MAX_LABEL_WIDTH = 150  # pixels of such a name


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
    points = base.mark_point(filled=True, size=56, opacity=1)
    lines = [
        base.mark_area(opacity=0.16).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=2),
        points.encode(shape=shape, tooltip=["model:N", "length:N", SCORE_TOOLTIP, "interval:N"]),
    ]
    datasets: dict[str, list[Record]] = {}
    behind, in_front = [], []
    published = _published_points(runs, group_name)
    if published:
        datasets["published"] = published
        behind.append(_published_lines(x))
    thresholds = _thresholds(runs, group_name)
    if thresholds:
        # data of their own: in the chart's they would be drawn once for each record
        datasets["thresholds"] = [{"threshold": threshold} for threshold in thresholds]
        behind.append(_threshold_rules())
    options: dict[str, Any] = {"height": 180, "padding": 4}
    if is_main:
        datasets["labels"] = _line_labels(records)
        in_front.append(_label_texts(x, color))
        width = min(_MAX_LABEL_WIDTH, 8 * max(len(series.label) for series in runs.series))
        padding = {"left": 4, "top": 4, "bottom": 4, "right": width + 16}
        options = {"height": 340, "padding": padding}
    if thresholds:
        text = f"Dashed: threshold {' and '.join(f'{value:.1f}' for value in thresholds)}"
        options["title"] = alt.Title(
            text, anchor="start", fontSize=11, fontWeight="normal", color=GREY
        )
    chart = alt.layer(*behind, *lines, *in_front, data=RECORDS)
    spec = spec_of(chart, f"{title}: lines with 95 % bands", **options)
    return {**spec, "datasets": datasets}


def _published_points(runs: Runs, group_name: str) -> list[Record]:
    """Return the scores of published models at the lengths that have a window."""
    points: list[Record] = []
    for model in published_means(runs, group_name).records:
        for length, tokens in runs.lengths.items():
            score = model.get(f"at {length}")
            if tokens and score is not None:
                at_length = {"tokens": tokens, "length": length.upper(), "score": score}
                points.append({"published": model["model"], **at_length})
    return points


def _published_lines(x: Any) -> Any:
    """Return the layer of the published models: thin grey lines."""
    grey = alt.Chart(alt.NamedData("published")).encode(
        x=x,
        y=SCORE_AXIS,
        detail="published:N",
        tooltip=["published:N", "length:N", SCORE_TOOLTIP],
    )
    point = alt.OverlayMarkDef(size=12, color=GREY)
    return grey.mark_line(color=GREY, strokeWidth=1, opacity=0.7, point=point)


def _thresholds(runs: Runs, group_name: str) -> list[float]:
    """Return the thresholds of a group, of which runs may have different ones."""
    thresholds = set()
    for series in runs.series:
        if group_name in series.groups:
            thresholds.add(series.groups[group_name]["threshold"])
    return sorted(threshold for threshold in thresholds if threshold is not None)


def _threshold_rules() -> Any:
    """Return the layer of the thresholds: dashed lines."""
    rules = alt.Chart(alt.NamedData("thresholds")).mark_rule(
        color=GREY, strokeDash=[6, 4], aria=False
    )
    return rules.encode(y=alt.Y("threshold:Q", scale=alt.Scale(domain=[0, 100])))


def _label_texts(x: Any, color: Any) -> Any:
    """Return the layer of the models' names at the ends of their lines."""
    names = alt.Chart(alt.NamedData("labels")).mark_text(
        align="left", dx=9, fontSize=12, limit=_MAX_LABEL_WIDTH
    )
    y = alt.Y("place:Q", scale=alt.Scale(domain=[0, 100]))
    return names.encode(x=x, y=y, text="model:N", color=color).properties(name="labels")


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
