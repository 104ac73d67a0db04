"""The section of differences: two runs compared row by row (analysis/compare.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import altair as alt

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_eval.analysis.compare import (
    Comparison,
    compare,
    mean_difference,
    paired_cells,
)
from ruler_eval.report.page.figure import (
    GREY,
    RECORDS,
    ROW_HEIGHT,
    Column,
    Figure,
    Record,
    difference_domain,
    score_fields,
    with_intervals,
)
from ruler_eval.report.page.runs import PageInput
from ruler_eval.score.aggregates import EVERY_LANGUAGE, in_languages
from ruler_eval.score.results import Cell

FACET_WIDTHS = {2: 380, 3: 250, 4: 185, 5: 145}
"""Pixels of a length's column in the chart of differences, by the number of lengths."""
MIN_FACET_WIDTH = 120  # pixels, with more lengths
_MAX_FOR_ALL_PAIRS = 3  # runs: if there are more, each is paired only with the first
_MEAN = "mean of all"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two runs, by number, and their comparison; `problem` says why they cannot be paired."""

    a: int
    b: int
    comparison: Comparison | None
    problem: str = ""


def pair_runs(page: PageInput) -> list[Pair]:
    """Compare every pair of runs; of more than three runs, only the first with each other run."""
    pairs = []
    for a, b in combinations(range(len(page.runs)), 2):
        if a == 0 or len(page.runs) <= _MAX_FOR_ALL_PAIRS:
            try:
                comparison = compare(page.runs[a].results, page.runs[b].results)
                pairs.append(Pair(a=a, b=b, comparison=comparison))
            except RulerError as error:
                pairs.append(Pair(a=a, b=b, comparison=None, problem=str(error)))
    return pairs


def differences(page: PageInput, pairs: Sequence[Pair]) -> tuple[list[Figure], list[str]]:
    """Return a figure for each pair, and a sentence for each that cannot be compared."""
    figures = []
    problems = []
    for pair in pairs:
        if pair.comparison is None:
            labels = f"{page.runs[pair.a].label} and {page.runs[pair.b].label}"
            problems.append(f"{labels} cannot be paired: {pair.problem}")
        else:
            figures.append(difference_figure(page, pair, pair.comparison))
    return figures, problems


def difference_figure(page: PageInput, pair: Pair, comparison: Comparison) -> Figure:
    """Return the differences A - B in points, with tasks as rows, lengths as columns.

    Significant differences have the colour of the better model. With several languages the chart
    shows their mean, and a list below it selects a single language.
    """
    a, b = page.first_series(pair.a), page.first_series(pair.b)
    names = [page.runs[pair.a].label, page.runs[pair.b].label]
    results = {"a": f"{names[0]} better", "b": f"{names[1]} better", None: "not clearly different"}
    labels = {length.name: length.label for length in page.lengths}
    cells = {name: a.run.results["configurations"][name] for name in comparison["configurations"]}
    languages = list(dict.fromkeys(languages_of(cell) for cell in cells.values()))
    if len([name for name in languages if "-" not in name]) > 1:
        languages.append(EVERY_LANGUAGE)
    languages.sort(key=lambda name: (name != EVERY_LANGUAGE, "-" in name, name))
    items = [*_items(comparison, cells, languages)]
    if len(languages) > 1:
        items += _language_items(page, pair, cells, languages)
    records: list[Record] = []
    for task, length, language, configs, difference in items:
        name = task or ("mean" if length else "mean over all")
        if len(languages) > 1 and language:
            name += ", mean over languages" if language == EVERY_LANGUAGE else f", {language}"
        label = labels.get(length, "all")
        records.append(
            {
                "series": [a.id, b.id],
                "configs": configs,
                "label": f"{name} at {label}" if length else name,
                "name": name,
                "task": task or _MEAN,
                "length": label,
                "language": language,
                "a": difference["a"],
                "b": difference["b"],
                **score_fields(difference["difference"], difference["interval"]),
                "p": difference.get("p"),
                "p_holm": difference.get("p_holm"),
                "rows": difference.get("n"),
                "result": results[difference["better"]],
                "is_drawn": bool(length and language),
            }
        )
    drawn = [record for record in records if record["is_drawn"]]
    lengths = [item.label for item in page.lengths if item.label in {r["length"] for r in drawn}]
    title = f"{names[0]} minus {names[1]}, points"
    if len(lengths) == 1:
        title += f", {lengths[0]}"
    if len(languages) > 1:
        title += f"; {_language_labels(languages)[0]}, or the languages chosen below"
    scale = alt.Scale(domain=list(results.values()), range=[a.colour, b.colour, GREY])
    return Figure(
        name=f"differences-{pair.a}-{pair.b}",
        title=title,
        caption=f"{names[0]} minus {names[1]}",
        columns=[
            Column("task", "name"),
            Column("length", "length"),
            Column(names[0], "a"),
            Column(names[1], "b"),
            Column("difference", "score", "+.1f"),
            Column("95 % interval", "interval"),
            Column("p", "p", "p"),
            Column("p (Holm)", "p_holm", "p"),
            Column("rows", "rows"),
        ],
        records=records,
        spec=_chart(page, title, drawn, lengths, languages, scale),
        series=[a.id, b.id],
        width="own" if len(lengths) > 1 else "full",
    )


Item = tuple[str, str, str, list[str], Any]
"""The task, length and language ("" for means over them), configurations, and difference."""


def _items(
    comparison: Comparison, cells: Mapping[str, Cell], languages: Sequence[str]
) -> Iterator[Item]:
    """Yield the differences of configurations, and the means of each length and over all."""
    for name, difference in comparison["configurations"].items():
        cell = cells[name]
        yield cell["task"], cell["length"], languages_of(cell), [name], difference
    only_language = languages[0] if len(languages) == 1 else ""
    for length, mean in comparison["lengths"].items():
        configs = [name for name, cell in cells.items() if cell["length"] == length]
        yield "", length, only_language, configs, mean
    yield "", "", "", list(cells), comparison["all"]


def _language_items(
    page: PageInput, pair: Pair, cells: Mapping[str, Cell], languages: Sequence[str]
) -> Iterator[Item]:
    """Yield the mean of the tasks in each language, and over the single languages.

    A task's mean over the single languages is what the page's heat maps show of it.
    """
    pairs = paired_cells(page.runs[pair.a].results, page.runs[pair.b].results)
    for language in languages:
        groups: dict[tuple[str, str], list[str]] = {}
        for name, cell in cells.items():
            if in_languages(cell, language):
                groups.setdefault(("", cell["length"]), []).append(name)
                if language == EVERY_LANGUAGE:
                    groups.setdefault((cell["task"], cell["length"]), []).append(name)
        for (task, length), configs in groups.items():
            yield task, length, language, configs, mean_difference(configs, pairs)


def _chart(
    page: PageInput,
    title: str,
    records: Sequence[Record],
    lengths: Sequence[str],
    languages: Sequence[str],
    results: alt.Scale,
) -> dict[str, Any]:
    tasks = {record["task"] for record in records}
    order = [task for task in [*page.tasks, _MEAN] if task in tasks]
    legend = alt.Legend(orient="top", direction="vertical", title=None, labelLimit=400)
    base = alt.Chart()
    points = base.encode(
        y=alt.Y("task:N", sort=order, title=None),
        color=alt.Color("result:N", scale=results, legend=legend),
    )
    difference = alt.Tooltip("score:Q", title="difference", format="+.1f")
    tooltip = ["task:N", "length:N", difference, "interval:N"]
    layers = alt.layer(
        base.mark_rule(color=GREY, strokeDash=[2, 2], aria=False).encode(x=alt.XDatum(0)),
        *with_intervals(points, difference_domain(records), 44, tooltip=tooltip),
    )
    height = ROW_HEIGHT * len(order)
    if len(lengths) == 1:
        chart = layers.properties(width="container", height=height, data=RECORDS)
    else:
        header = alt.Header(labelAnchor="start")
        width = FACET_WIDTHS.get(len(lengths), MIN_FACET_WIDTH)
        chart = layers.properties(width=width, height=height).facet(
            column=alt.Column("length:N", sort=list(lengths), title=None, header=header),
            data=RECORDS,
            spacing=14,
        )
    chart = chart.transform_filter("datum.is_drawn")
    if len(languages) > 1:
        choice = alt.param(
            name="languages",
            value=languages[0],
            bind=alt.binding_select(
                options=list(languages),
                labels=_language_labels(languages),
                name="Languages shown: ",
            ),
        )
        chart = chart.transform_filter("datum.language === languages").add_params(choice)
    chart = chart.properties(description=f"Paired differences with 95 % intervals: {title}")
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec


def _language_labels(languages: Sequence[str]) -> list[str]:
    single = sum("-" not in name and name != EVERY_LANGUAGE for name in languages)
    mean = f"mean over {single} languages"
    return [mean if name == EVERY_LANGUAGE else name for name in languages]
