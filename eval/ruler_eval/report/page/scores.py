"""What the scores say: the first sentences, the table of each group of tasks, curves and losses.

    summary(page, pair_runs(page))  # ["Other-14B leads: 7.1 points [5.9, 8.3] above Base-7B in …"]

Every number of the sentences is in one of the page's tables. A model leads if the interval of the
paired difference over all rows excludes zero; a task is named only if its difference remains
significant after an adjustment for all tasks. Means and intervals come from score/aggregates.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt

from ruler_common.names import parse_length
from ruler_common.text import bounds, number, number_of, shortened
from ruler_eval.analysis.compare import Comparison
from ruler_eval.published.published_tables import PublishedModel, newest_tables
from ruler_eval.report.page.differences import Pair
from ruler_eval.report.page.figure import (
    GREY,
    INTERVAL,
    LENGTH,
    MODEL,
    RECORDS,
    ROWS,
    SCORE,
    SCORE_AXIS,
    SCORE_TOOLTIP,
    Column,
    Figure,
    Record,
    by_model,
    dots_spec,
    length_axis,
    record_of,
    score_fields,
    spec_of,
)
from ruler_eval.report.page.runs import PageInput, Series, count_troubles
from ruler_eval.report.terminal import TROUBLE_NAMES, Trouble, effective_between, relative_name
from ruler_eval.score.aggregates import RELATIVE
from ruler_eval.score.results import GroupSummary, Interval, Mean

UNANSWERED: tuple[Trouble, ...] = ("missing", "failed", "truncated")
_SIGNIFICANT = 0.05
_MAX_SENTENCE = 960  # characters
_LABEL_GAP = 4.6  # points of score between the names at the ends of lines
_MAX_LABEL_WIDTH = 150  # pixels of such a name


# ---- The first sentences ---------------------------------------------------------------------


def summary(page: PageInput, pairs: Sequence[Pair]) -> list[str]:
    """Return which model leads, what the others lose most in, effective lengths, and missing rows.

    Models that are not ranked have their scores instead.
    """
    ranked = sorted(page.series, key=_average, reverse=True)
    sentences = _lead_sentences(ranked, pairs) if len(ranked) > 1 else _score_sentences(ranked[0])
    if not page.has_one_length:
        sentences += _length_sentences(page, ranked)
    unanswered = []
    for run in page.runs:
        cells = run.results["configurations"]
        counts = count_troubles(cells)
        named = [f"{counts[key]:,} {TROUBLE_NAMES[key]}" for key in UNANSWERED if key in counts]
        if named:
            rows = sum(cell["rows_asked"] for cell in cells.values())
            unanswered.append(f"{run.label} {', '.join(named)} of {number_of(rows, 'row')}")
    if unanswered:
        sentences.append(f"Not answered to the end: {'; '.join(unanswered)}.")
    return [shortened(sentence, _MAX_SENTENCE) for sentence in sentences]


def _average(series: Series) -> float:
    """Return the average of a series; if no length has all tasks, the average of its means."""
    group = series.groups["all"]
    if group["average"]["score"] is not None:
        return group["average"]["score"]
    means = [mean["score"] for mean in group["lengths"].values() if mean["score"] is not None]
    return sum(means) / len(means) if means else -1.0


def _score_sentences(series: Series) -> list[str]:
    """Return a model's score and its lowest cell.

    If no length has all tasks, the scores are the means by length over the tasks that were scored.
    """
    sentences = []
    group = series.groups["all"]
    tasks = number_of(group["tasks"], "task")
    if group["average"]["score"] is not None:
        sentences.append(
            f"{series.label} scores {_with_interval(group['average'])} on average over {tasks}."
        )
    else:
        means = []
        for length, mean in group["lengths"].items():
            if mean["score"] is not None:
                place = f"at {length.upper()} ({mean['tasks']} of {tasks})"
                means.append(f"{_with_interval(mean)} {place}")
        if means:
            sentences.append(f"{series.label} scores {', '.join(means)}.")
    scores = []
    for cell in series.cells.values():
        if cell["score"] is not None:
            scores.append((cell["score"], cell["task"], cell["max_length"], cell["length"]))
    if scores and min(scores)[0] < max(scores)[0]:
        score, task, _, length = min(scores)
        sentences.append(
            f"Lowest score of {series.label}: {score:.1f}, in {task} at {length.upper()}."
        )
    return sentences


def _with_interval(mean: Mean) -> str:
    """Return a mean with its interval: `87.1 [85.2, 88.9]`; `-` if there is none."""
    return f"{number(mean['score'])} {bounds(mean['interval'])}"


def _lead_sentences(ranked: Sequence[Series], pairs: Sequence[Pair]) -> list[str]:
    """Return how the best two by average compare, and the cell in which each loses most."""
    best, second = ranked[:2]
    comparison, sign = _paired(pairs, best, second)
    if comparison is None:
        means = []
        for series in ranked:
            means.append(f"{series.label} {_with_interval(series.groups['all']['average'])}")
        return [f"By average, not paired: {', '.join(means)}."]
    over_all = comparison["all"]
    first = best
    if over_all["better"] == ("b" if sign > 0 else "a"):
        # Lengths without all tasks are in this mean, but not in the average.
        first, second, sign = second, best, -sign
    points, (low, high) = sign * over_all["difference"], over_all["interval"]
    interval = bounds([low, high] if sign > 0 else [-high, -low])
    if over_all["better"] is None:
        text = f"{first.label} and {second.label} do not differ clearly: {points:+.1f} points "
        text += interval
    else:
        text = f"{first.label} leads: {points:.1f} points {interval} above {second.label}"
    sentences = [f"{text} in the mean over all tasks and lengths."]
    for series in ranked[1:]:
        comparison, sign = _paired(pairs, best, series)
        if comparison is not None and (worst := _largest_loss(comparison, sign)):
            config, loss = worst
            cell = best.run.results["configurations"][config]
            sentences.append(
                f"{series.label} loses most against {best.label} in {cell['task']} at "
                f"{cell['length'].upper()}: {loss:.1f} points."
            )
    return sentences


def _paired(pairs: Sequence[Pair], first: Series, second: Series) -> tuple[Comparison | None, int]:
    """Return the comparison of two series' runs, and the sign of the first's lead in it."""
    for pair in pairs:
        if (pair.a.id, pair.b.id) == (first.id, second.id):
            return pair.comparison, 1
        if (pair.b.id, pair.a.id) == (first.id, second.id):
            return pair.comparison, -1
    return None, 1


def _largest_loss(comparison: Comparison, sign: int) -> tuple[str, float] | None:
    """Return the configuration of the largest significant loss of the second model, and the loss.

    A difference without a p value is checked by an interval that is wider for the number of tests.
    """
    from scipy.special import ndtri

    cells = comparison["configurations"]
    wider = float(ndtri(1 - _SIGNIFICANT / 2 / len(cells)) / ndtri(1 - _SIGNIFICANT / 2))
    worst = None
    for name, cell in cells.items():
        low, high = cell["interval"]
        is_significant = abs(cell["difference"]) > wider * (high - low) / 2
        if cell["p_holm"] is not None:
            is_significant = cell["p_holm"] < _SIGNIFICANT
        loss = sign * cell["difference"]
        if cell["better"] and is_significant and loss > (worst[1] if worst else 0):
            worst = name, loss
    return worst


def _length_sentences(page: PageInput, ranked: Sequence[Series]) -> list[str]:
    """Return the longest length that reaches the threshold, or 85 % of the shortest's score."""
    longest = [*page.lengths][-1].upper()
    by_level: dict[str, list[str]] = {}
    for series in ranked:
        group = series.groups["all"]
        if group["threshold"] is None:
            level = f"Relative length (at or above {100 * RELATIVE:.0f} % of its score at the "
            level += "shortest, by the means only)"
            end, between = relative_name(group), "-"
        else:
            level = f"Effective length (at or above the threshold of {group['threshold']:.1f})"
            end, between = group["effective_length_name"], effective_between(group)
        if end == "-":
            continue
        text = f"{series.label} below {end[1:]}" if end[0] == "<" else f"{series.label} to {end}"
        if between not in ("-", end.removeprefix(">")):
            text += f" [{between} by the ends of the intervals]"
        if end == longest:
            text += ", the longest scored"
        by_level.setdefault(level, []).append(text)
    return [f"{level}: {'; '.join(texts)}." for level, texts in by_level.items()]


# ---- The tables ------------------------------------------------------------------------------


class ScoreCell(NamedTuple):
    """A cell of the score table: its text, the value to sort by, and the small text below."""

    text: str = "–"
    value: float = -1
    small: str = ""
    note: str = ""  # in the colour of a warning
    is_passed: bool = False  # whether the score reaches the threshold


class ScoreRow(NamedTuple):
    """A row of the score table, its cells by column; `series` is None for a published model."""

    label: str
    series: Series | None
    cells: Mapping[str, ScoreCell]
    small: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """The score table of a group of tasks."""

    name: str  # of the group
    caption: str
    columns: Mapping[str, str]  # what each means, by its header
    sorted_by: str  # the column whose highest score is in the first row
    rows: Sequence[ScoreRow]  # published models last
    sources: Sequence[str]  # of the published models


def score_tables(page: PageInput) -> list[ScoreTable]:
    """Return a table of all tasks, then a table of each category."""
    columns = _columns(page)
    tables = []
    for name in page.groups:
        groups = [(series, series.groups[name]) for series in page.series if name in series.groups]
        groups.sort(key=_rank)
        rows = [ScoreRow(series.label, series, _cells(group)) for series, group in groups]
        models, sources = published_models(page, name)
        for model in models:
            cells = {
                "wAvg (inc)": _score_cell(model.inc),
                "Avg.": _score_cell(model.average),
                "wAvg (dec)": _score_cell(model.dec),
            }
            for length, score in model.scores.items():
                cells[length.upper()] = _score_cell(score)
            effective = model.effective or "-"
            cells["effective"] = ScoreCell(effective, _tokens_to_sort_by(effective, page.dataset))
            rows.append(ScoreRow(model.model, None, cells, small=f"claims {model.claimed}"))
        group = groups[0][1]
        title = caption = "all tasks" if name == "all" else name
        if name == "all" or page.dataset == "ruler":
            caption = title[0].upper() + title[1:]
        caption += f" ({number_of(group['tasks'], 'task')}), mean in percent with 95 % interval"
        if group["threshold"] is not None:
            caption += f"; threshold of effective length {group['threshold']:.1f}"
        tables.append(
            ScoreTable(
                name=title,
                caption=caption,
                columns=columns,
                sorted_by=[*columns][-1] if page.has_one_length else "wAvg (inc)",
                rows=rows,
                sources=sources,
            )
        )
    return tables


def _tokens_to_sort_by(effective_length: str, dataset: str) -> int:
    """Return the tokens of a published effective length: 4095 for `<4K`, 0 for `-`."""
    if effective_length == "-":
        return 0
    tokens = parse_length(effective_length.strip("<>"), dataset)
    if effective_length.startswith("<"):
        return tokens - 1
    return tokens + 1 if effective_length.startswith(">") else tokens


def _rank(item: tuple[Series, GroupSummary]) -> tuple[float, float]:
    """Return the key that sorts the highest wAvg (inc) first and missing averages last."""
    inc, average = item[1]["weighted_inc"]["score"], item[1]["average"]["score"]
    return 1.0 if inc is None else -inc, 1.0 if average is None else -average


def _columns(page: PageInput) -> dict[str, str]:
    """Return the columns of the tables; with one length only its scores, which no mean repeats."""
    thresholds = set()
    for series in page.series:
        for group in series.groups.values():
            thresholds.add(group["threshold"])
    columns = {"model": "Sort by name"}
    if not page.has_one_length:
        columns["wAvg (inc)"] = "Longer lengths weigh more"
    if thresholds - {None}:
        columns["effective"] = "The longest length at or above the threshold"
    for length, tokens in page.lengths.items():
        columns[length.upper()] = f"{tokens:,} tokens"
    if not page.has_one_length:
        columns["Avg."] = "Mean over the lengths at which every task was scored"
        columns["wAvg (dec)"] = "Shorter lengths weigh more"
        columns["relative"] = "The longest length with 85 % of the score at the shortest"
    return columns


def _cells(group: GroupSummary) -> dict[str, ScoreCell]:
    """Return the cells of a series' row."""
    cells = {}
    for column, mean in (
        ("wAvg (inc)", group["weighted_inc"]),
        ("Avg.", group["average"]),
        ("wAvg (dec)", group["weighted_dec"]),
    ):
        cells[column] = _score_cell(mean["score"], mean["interval"])
    name, between = group["effective_length_name"], effective_between(group)
    small = "" if between in ("-", name, name[1:]) else between.replace("-", "–")
    cells["effective"] = ScoreCell(name, group["effective_length"] or 0, small)
    tokens = group["relative_effective_length"]
    cells["relative"] = ScoreCell(relative_name(group), tokens or 0)
    for length, length_mean in group["lengths"].items():
        score, threshold = length_mean["score"], group["threshold"]
        cell = _score_cell(score, length_mean["interval"])
        if score is not None:
            if length_mean["tasks"] < group["tasks"]:
                cell = cell._replace(note=f"{length_mean['tasks']} of {group['tasks']} tasks")
            cell = cell._replace(is_passed=threshold is not None and score >= threshold)
        cells[length.upper()] = cell
    return cells


def _score_cell(score: float | None, interval: Interval | None = None) -> ScoreCell:
    if score is None:
        return ScoreCell()
    small = "" if interval is None else f"{interval[0]:.1f}–{interval[1]:.1f}"
    return ScoreCell(f"{score:.1f}", score, small)


def published_models(page: PageInput, group: str) -> tuple[list[PublishedModel], list[str]]:
    """Return the papers' models in a group, aligned ones first, and the sources of their tables."""
    languages = set()
    for series in page.series:
        languages.add(series.languages)
        if series.run.results["dataset"]["standard"] is False:
            return [], []
    models: list[PublishedModel] = []
    sources = {}
    for table in newest_tables(page.dataset, "aligned") + newest_tables(page.dataset, "base"):
        if table.group == group and table.languages in languages:
            models += table.models
            sources[f"{table.source}, {table.date}; measured on {table.measured_on}"] = True
    return models, list(sources)


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
            MODEL,
            Column("tasks", "tasks"),
            Column("lengths", "lengths"),
            Column("change", "change", "+.1f"),
            INTERVAL,
            ROWS,
        ],
        records=records,
        fold="Change from the shortest length, row by row",
    )


# ---- The curves ------------------------------------------------------------------------------


def curves(page: PageInput) -> list[Figure]:
    """Return the curves by length of all tasks and of each category.

    With a single length there is one chart, which has a dot for each category.
    """
    columns = [LENGTH, MODEL, SCORE, INTERVAL, Column("tasks", "tasks")]
    figures = []
    all_records: list[Record] = []
    for number_of_group, name in enumerate(page.groups):
        records = _mean_records(page, name)
        all_records += records
        if not records or page.has_one_length:
            continue
        title = f"Score by length, {'all tasks' if name == 'all' else name}"
        is_main = number_of_group == 0
        figures.append(
            Figure(
                name="average" if is_main else f"category-{number_of_group}",
                title=title,
                columns=columns,
                records=records,
                spec=_curve(page, name, title, records, is_main),
                width="full" if is_main else "half",
            )
        )
    if page.has_one_length and all_records:
        title = f"Score at {all_records[0]['length']} by category"
        spec = dots_spec(title, all_records, "group", page.series, [0, 100])
        columns.insert(1, Column("category", "group"))
        figures.append(
            Figure(name="average", title=title, columns=columns, records=all_records, spec=spec)
        )
    return figures


def _mean_records(page: PageInput, group_name: str) -> list[Record]:
    """Return the means of a group at each length that has a window.

    Means over only some of the group's tasks are left out if any length has all tasks.
    """
    complete: list[Record] = []
    partial: list[Record] = []
    for length, tokens in page.lengths.items():
        for series in page.series:
            group = series.groups.get(group_name)
            mean = None if group is None else group["lengths"].get(length)
            if group is None or mean is None or mean["score"] is None or not tokens:
                continue
            record = record_of(
                series,
                series.configs(length, series.members[group_name]),
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
    page: PageInput, group_name: str, title: str, records: Sequence[Record], is_main: bool
) -> dict[str, Any]:
    """Return the chart of a group's scores by length; the main one is larger and labelled."""
    x = length_axis(page.lengths)
    color, shape = by_model(page.series)
    base = alt.Chart().encode(x=x, y=SCORE_AXIS, color=color)
    layers = []
    datasets: dict[str, list[Record]] = {}
    published: list[Record] = []
    for model in published_models(page, group_name)[0]:
        for length, value in model.scores.items():
            if tokens := page.lengths.get(length):
                at_length = {"tokens": tokens, "length": length.upper(), "score": value}
                published.append({"published": model.model, **at_length})
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
    for series in page.series:
        if group_name in series.groups:
            thresholds.add(series.groups[group_name]["threshold"])
    for threshold in thresholds - {None}:
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
