"""The section of differences: two runs compared row by row (analysis/compare.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import altair as alt

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_eval.analysis.compare import Comparison, compare, mean_difference, paired_cells
from ruler_eval.report.page.figure import (
    DIFFERENCE,
    GREY,
    INTERVAL,
    LENGTH,
    RECORDS,
    ROW_HEIGHT,
    ROWS,
    Column,
    Figure,
    Record,
    difference_domain,
    score_fields,
    with_intervals,
)
from ruler_eval.report.page.runs import PageInput, Series
from ruler_eval.score.aggregates import EVERY_LANGUAGE, in_languages

FACET_WIDTHS = {2: 380, 3: 250, 4: 185, 5: 145}
"""Pixels of a length's column in the chart of differences, by the number of lengths."""
MIN_FACET_WIDTH = 120  # pixels, with more lengths
_MAX_FOR_ALL_PAIRS = 3  # runs: if there are more, each is paired only with the first
_MEAN = "mean of all"
Item = tuple[str, str, str, list[str], Any]
"""The task, length and language ("" for means over them), configurations, and difference."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The first series of two runs, and their comparison; `problem` says why there is none."""

    a: Series
    b: Series
    comparison: Comparison | None
    problem: str = ""


def pair_runs(page: PageInput) -> list[Pair]:
    """Compare every pair of runs; of more than three runs, only the first with each other run."""
    pairs = []
    for number_a, number_b in combinations(range(len(page.runs)), 2):
        if number_a > 0 and len(page.runs) > _MAX_FOR_ALL_PAIRS:
            break
        a, b = page.first_series(number_a), page.first_series(number_b)
        try:
            pairs.append(Pair(a=a, b=b, comparison=compare(a.run.results, b.run.results)))
        except RulerError as error:
            pairs.append(Pair(a=a, b=b, comparison=None, problem=str(error)))
    return pairs


def differences(page: PageInput, pairs: Sequence[Pair]) -> tuple[list[Figure], list[str]]:
    """Return a figure for each pair, and a sentence for each that cannot be compared."""
    figures = []
    problems = []
    for pair in pairs:
        if pair.comparison is None:
            labels = f"{pair.a.run.label} and {pair.b.run.label}"
            problems.append(f"{labels} cannot be paired: {pair.problem}")
        else:
            figures.append(difference_figure(page, pair, pair.comparison))
    return figures, problems


def difference_figure(page: PageInput, pair: Pair, comparison: Comparison) -> Figure:
    """Return the differences A - B in points, with tasks as rows, lengths as columns.

    Significant differences have the colour of the better model. With several languages the chart
    shows their mean, and a list below it selects a single language.
    """
    a, b = pair.a, pair.b
    names = [a.run.label, b.run.label]
    results = {"a": f"{names[0]} better", "b": f"{names[1]} better", None: "not clearly different"}
    single: set[str] = set()
    pairs_of_languages: set[str] = set()
    for config in comparison["configurations"]:
        language = languages_of(a.run.results["configurations"][config])
        (pairs_of_languages if "-" in language else single).add(language)
    languages = {name: name for name in [*sorted(single), *sorted(pairs_of_languages)]}
    if len(single) > 1:
        languages = {EVERY_LANGUAGE: f"mean over {len(single)} languages", **languages}
    records: list[Record] = []
    drawn_lengths = {}
    for task, length, language, configs, difference in _items(pair, comparison, [*languages]):
        name = task or ("mean" if length else "mean over all")
        if len(languages) > 1 and language:
            name += ", mean over languages" if language == EVERY_LANGUAGE else f", {language}"
        is_drawn = bool(length and language)
        if is_drawn:
            drawn_lengths[length] = length.upper()
        records.append(
            {
                "series": [a.id, b.id],
                "configs": configs,
                "label": f"{name} at {length.upper()}" if length else name,
                "name": name,
                "task": task or _MEAN,
                "length": length.upper() or "all",
                "language": language,
                "a": difference["a"],
                "b": difference["b"],
                **score_fields(difference["difference"], difference["interval"]),
                "p": difference.get("p"),
                "p_holm": difference.get("p_holm"),
                "rows": difference.get("n"),
                "result": results[difference["better"]],
                "is_drawn": is_drawn,
            }
        )
    lengths = [drawn_lengths[name] for name in page.lengths if name in drawn_lengths]
    title = f"{names[0]} minus {names[1]}, points"
    if len(lengths) == 1:
        title += f", {lengths[0]}"
    if len(languages) > 1:
        title += f"; {next(iter(languages.values()))}, or the languages chosen below"
    scale = alt.Scale(domain=list(results.values()), range=[a.colour, b.colour, GREY])
    return Figure(
        name=f"differences-{a.run_number}-{b.run_number}",
        title=title,
        caption=f"{names[0]} minus {names[1]}",
        columns=[
            Column("task", "name"),
            LENGTH,
            Column(names[0], "a"),
            Column(names[1], "b"),
            DIFFERENCE,
            INTERVAL,
            Column("p", "p", "p"),
            Column("p (Holm)", "p_holm", "p"),
            ROWS,
        ],
        records=records,
        spec=_chart(page, title, records, lengths, languages, scale),
        series=[a.id, b.id],
        width="fixed" if len(lengths) > 1 else "full",
    )


def _items(pair: Pair, comparison: Comparison, languages: Sequence[str]) -> list[Item]:
    """Return the differences of configurations, and the means by length, language and over all.

    A task's mean over the single languages is what the page's heat maps show of it.
    """
    cells = {}
    items: list[Item] = []
    by_length: dict[str, list[str]] = {}
    for name, difference in comparison["configurations"].items():
        cell = cells[name] = pair.a.run.results["configurations"][name]
        items.append((cell["task"], cell["length"], languages_of(cell), [name], difference))
        by_length.setdefault(cell["length"], []).append(name)
    only_language = languages[0] if len(languages) == 1 else ""
    for length, mean in comparison["lengths"].items():
        items.append(("", length, only_language, by_length[length], mean))
    items.append(("", "", "", list(cells), comparison["all"]))
    if len(languages) == 1:
        return items
    rows = paired_cells(pair.a.run.results, pair.b.run.results)
    for language in languages:
        groups: dict[tuple[str, str], list[str]] = {}
        for name, cell in cells.items():
            if in_languages(cell, language):
                groups.setdefault(("", cell["length"]), []).append(name)
                if language == EVERY_LANGUAGE:
                    groups.setdefault((cell["task"], cell["length"]), []).append(name)
        for (task, length), configs in groups.items():
            items.append((task, length, language, configs, mean_difference(configs, rows)))
    return items


def _chart(
    page: PageInput,
    title: str,
    records: Sequence[Record],
    lengths: Sequence[str],
    languages: dict[str, str],
    results: alt.Scale,
) -> dict[str, Any]:
    """Return the chart of the records that are drawn; `languages` have their labels as values."""
    legend = alt.Legend(orient="top", direction="vertical", title=None, labelLimit=400)
    drawn = [record for record in records if record["is_drawn"]]
    tasks = {record["task"] for record in drawn}
    order = [task for task in [*page.tasks, _MEAN] if task in tasks]
    base = alt.Chart()
    points = base.encode(
        y=alt.Y("task:N", sort=order, title=None),
        color=alt.Color("result:N", scale=results, legend=legend),
    )
    difference = alt.Tooltip("score:Q", title="difference", format="+.1f")
    tooltip = ["task:N", "length:N", difference, "interval:N"]
    layers = alt.layer(
        base.mark_rule(color=GREY, strokeDash=[2, 2], aria=False).encode(x=alt.XDatum(0)),
        *with_intervals(points, difference_domain(drawn), 44, tooltip=tooltip),
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
        codes, labels = list(languages), list(languages.values())
        choice = alt.param(
            name="languages",
            value=codes[0],
            bind=alt.binding_select(options=codes, labels=labels, name="Languages shown: "),
        )
        chart = chart.transform_filter("datum.language === languages").add_params(choice)
    chart = chart.properties(description=f"Paired differences with 95 % intervals: {title}")
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec
