"""The figures `differences`: the points between two runs on the same rows, by task and length.

    differences(runs, pair_runs(runs))     # for the page: every pair

The sentences of `ruler compare` about them are in comparisons.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from ruler_eval.figures.charts import (
    GREY,
    RECORDS,
    ROW_HEIGHT,
    difference_domain,
    with_intervals,
)
from ruler_eval.figures.figure import COUNT, INTERVAL, Column, Figure, Record, score_fields
from ruler_eval.figures.series import Runs, Series
from ruler_eval.score.aggregates import EVERY_LANGUAGE, in_languages
from ruler_eval.score.intervals import MIN_INDEPENDENT_ROWS

FACET_WIDTHS = {2: 380, 3: 250, 4: 185, 5: 145}
"""Pixels of a length's column in the chart of differences, by the number of lengths."""
MIN_FACET_WIDTH = 120  # pixels, with more lengths
_MAX_FOR_ALL_PAIRS = 3  # runs: if there are more, each is paired only with the first
_MEAN = "mean of all"
PAGE_NOTE = (
    "The same rows answered by two models, with 95 % intervals. A difference is coloured if its "
    "interval excludes zero and its p (Holm), the exact p value adjusted for all tests of the "
    f"pair, is below 0.05. A difference over fewer than {MIN_INDEPENDENT_ROWS} rows is never "
    "coloured."
)
_TESTS = "p is for a single test; p (Holm) is adjusted for all {tests} tests of this table."
_BETTER = (
    "better: the model that is better: the 95 % interval excludes 0, p (Holm), if it is given, is "
    f"below 0.05, and there are at least {MIN_INDEPENDENT_ROWS} rows; for means at several lengths "
    "also after Holm's adjustment for their number."
)
DETECTABLE = (
    "detectable: a true difference of this size is found in 80 of 100 repetitions with the same "
    "number of rows; most smaller differences are missed."
)
_SMALLEST = "smallest: this number of right or wrong rows cannot show a smaller difference."
_COLUMNS = (
    Column("", "name"),
    Column("task", "task", is_detail=True),
    Column("length", "length", is_detail=True),
    Column("language", "language", is_detail=True),
    Column("n", "rows", COUNT),
    Column("A", "a"),
    Column("B", "b"),
    Column("A − B", "score", "+.1f"),
    INTERVAL,
    Column("better", "better"),
    Column("p", "p", "p"),
    Column("p (Holm)", "p_holm", "p"),
    Column("detectable", "detectable"),
    Column("smallest", "smallest"),
)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The first series of two runs, and their comparison; `problem` says why there is none."""

    a: Series
    b: Series
    comparison: Comparison | None
    problem: str = ""


def pair_runs(runs: Runs) -> list[Pair]:
    """Compare every pair of runs; of more than three runs, only the first with each other run."""
    pairs = []
    for number_a, number_b in combinations(range(len(runs.runs)), 2):
        if number_a > 0 and len(runs.runs) > _MAX_FOR_ALL_PAIRS:
            break
        a, b = runs.first_series(number_a), runs.first_series(number_b)
        try:
            pairs.append(Pair(a=a, b=b, comparison=compare(a.run.results, b.run.results)))
        except RulerError as error:
            pairs.append(Pair(a=a, b=b, comparison=None, problem=str(error)))
    return pairs


def differences(runs: Runs, pairs: Sequence[Pair]) -> list[Figure]:
    """Return a figure for each pair; for one that cannot be compared, a sentence that says why."""
    figures = []
    for pair in pairs:
        if pair.comparison is not None:
            figures.append(difference_figure(runs, pair, pair.comparison))
            continue
        labels = f"{pair.a.run.label} and {pair.b.run.label}"
        text = f"{labels} cannot be paired: {pair.problem}"
        figures.append(
            Figure(
                name=f"differences-{pair.a.run_number}-{pair.b.run_number}",
                title=labels,
                sentences=[text],
            )
        )
    return figures


def difference_figure(runs: Runs, pair: Pair, comparison: Comparison) -> Figure:
    """Return the differences A - B in points, with tasks as rows, lengths as columns.

    Significant differences have the colour of the better model. With several languages the chart
    shows their mean, and a list below it selects a single language.
    """
    a, b = pair.a, pair.b
    names = a.run.label, b.run.label
    results = {"a": f"{names[0]} better", "b": f"{names[1]} better", None: "not clearly different"}
    languages = _languages_of(a, comparison)
    records: list[Record] = []
    drawn_lengths = {}
    for item in _items(pair, comparison, [*languages]):
        is_drawn = bool(item.length and item.language)
        if is_drawn:
            drawn_lengths[item.length] = item.length.upper()
        record = difference_record(item.name, item.difference)
        records.append(
            {
                **record,
                "series": [a.id, b.id],
                "configs": item.configs,
                "label": _label_of(item, languages),
                "task": item.task or _MEAN,
                "length": item.length.upper() or "all",
                "language": item.language,
                "result": results[item.difference["better"]],
                "is_drawn": is_drawn,
            }
        )
    lengths = [drawn_lengths[name] for name in runs.lengths if name in drawn_lengths]
    title = f"{names[0]} minus {names[1]}, points"
    if len(lengths) == 1:
        title += f", {lengths[0]}"
    if len(languages) > 1:
        title += f"; {next(iter(languages.values()))}, or the languages chosen below"
    scale = alt.Scale(domain=list(results.values()), range=[a.colour, b.colour, GREY])
    return Figure(
        name=f"differences-{a.run_number}-{b.run_number}",
        title=title,
        caption=f"{names[0]} (A) minus {names[1]} (B), points",
        columns=_COLUMNS,
        records=records,
        column_note=_notes(records),
        chart=_chart(runs, title, records, lengths, languages, scale),
        series=[a.id, b.id],
        width="fixed" if len(lengths) > 1 else "full",
    )


def difference_record(name: str, difference: Mapping[str, Any]) -> Record:
    """Return the fields of a difference, of a configuration or of a mean over several."""
    detectable = difference["detectable"]
    return {
        "name": name,
        "rows": difference.get("n"),
        "a": difference["a"],
        "b": difference["b"],
        **score_fields(difference["difference"], difference["interval"]),
        "better": (difference.get("better") or "").upper(),
        "p": difference.get("p"),
        "p_holm": difference.get("p_holm"),
        "detectable": detectable if detectable >= 0.05 else "< 0.1",
        "smallest": difference.get("smallest"),
    }


def _notes(records: Sequence[Record]) -> str:
    """Return what the columns mean."""
    notes = [_BETTER] if any(record["better"] for record in records) else []
    tests = sum(record["p"] is not None for record in records)
    if tests > 1:
        notes.append(_TESTS.format(tests=tests))
    notes.append(DETECTABLE)
    if any(record["smallest"] is not None for record in records):
        notes.append(_SMALLEST)
    return " ".join(notes)


@dataclass(frozen=True, kw_only=True)
class _Item:
    """A difference and what it is over; task, length and language are "" in means over them."""

    name: str
    task: str
    length: str
    language: str
    configs: list[str]
    difference: Any


def _languages_of(a: Series, comparison: Comparison) -> dict[str, str]:
    """Return the labels of the languages that can be chosen, their mean first."""
    single: set[str] = set()
    pairs_of_languages: set[str] = set()
    for config in comparison["configurations"]:
        language = languages_of(a.run.results["configurations"][config])
        (pairs_of_languages if "-" in language else single).add(language)
    languages = {name: name for name in [*sorted(single), *sorted(pairs_of_languages)]}
    if len(single) > 1:
        languages = {EVERY_LANGUAGE: f"mean over {len(single)} languages", **languages}
    return languages


def _label_of(item: _Item, languages: Mapping[str, str]) -> str:
    """Return the name of what a click opens: `vt, mean over languages at 4K`."""
    name = item.task or ("mean" if item.length else "mean over all")
    if len(languages) > 1 and item.language:
        is_mean = item.language == EVERY_LANGUAGE
        name += ", mean over languages" if is_mean else f", {item.language}"
    return f"{name} at {item.length.upper()}" if item.length else name


def _items(pair: Pair, comparison: Comparison, languages: Sequence[str]) -> list[_Item]:
    """Return the differences of configurations, and the means by length, language and over all.

    A task's mean over the single languages is what the heat maps show of it.
    """
    cells = {}
    items: list[_Item] = []
    by_length: dict[str, list[str]] = {}
    for name, difference in comparison["configurations"].items():
        cell = cells[name] = pair.a.run.results["configurations"][name]
        items.append(
            _Item(
                name=name, task=cell["task"], length=cell["length"], language=languages_of(cell),
                configs=[name], difference=difference,
            )
        )  # fmt: skip
        by_length.setdefault(cell["length"], []).append(name)
    only_language = languages[0] if len(languages) == 1 else ""
    for length, mean in comparison["lengths"].items():
        items.append(
            _Item(
                name=f"mean at {length.upper()}", task="", length=length, language=only_language,
                configs=by_length[length], difference=mean,
            )
        )  # fmt: skip
    items.append(
        _Item(
            name="mean over all", task="", length="", language="", configs=list(cells),
            difference=comparison["all"],
        )
    )  # fmt: skip
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
            whose = "mean over languages" if language == EVERY_LANGUAGE else language
            items.append(
                _Item(
                    name=f"{task or 'mean'} at {length.upper()}, {whose}", task=task,
                    length=length, language=language, configs=configs,
                    difference=mean_difference(configs, rows),
                )
            )  # fmt: skip
    return items


def _chart(
    runs: Runs,
    title: str,
    records: Sequence[Record],
    lengths: Sequence[str],
    languages: dict[str, str],
    results: alt.Scale,
) -> dict[str, Any]:
    """Return the chart of the records that are drawn; `languages` have their labels as values."""
    legend = alt.Legend(orient="top", direction="vertical", title=None)
    drawn = [record for record in records if record["is_drawn"]]
    tasks = {record["task"] for record in drawn}
    order = [task for task in [*runs.tasks, _MEAN] if task in tasks]
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
