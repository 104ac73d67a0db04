"""The section of ONERULER's languages: the figures of its paper (analysis/languages.py)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import altair as alt

from ruler_common.names import languages_of
from ruler_common.text import bounds
from ruler_eval.analysis.languages import NIAH, analyze
from ruler_eval.prediction import ABLATION
from ruler_eval.report.page.figure import (
    GREY,
    RECORDS,
    Column,
    Figure,
    Record,
    by_model,
    difference_domain,
    dots_spec,
    score_fields,
    spec_of,
)
from ruler_eval.report.page.runs import PageInput, Series
from ruler_eval.report.page.tasks import heat_map
from ruler_eval.report.terminal import chosen

Model = tuple[Series, Mapping[str, Any]]
"""The first series of a run, and what `analyze` returns of it."""


def languages(page: PageInput) -> tuple[list[Figure], list[str]]:
    """Return the figures of languages that have data, and a sentence for each pair of models.

    The sentence says how similarly the two models rank the languages.
    """
    analyzed = analyze({run.label: run.results for run in page.runs})
    models: list[Model] = []
    for number, run in enumerate(page.runs):
        models.append((page.first_series(number), analyzed["models"][run.label]))
    series = [model[0] for model in models]
    figures = [_language_map(page, item) for item in page.series]
    figures.append(_ranking(models, series))
    figures.append(_none_ablation(models, series))
    figures += [_cross_lingual(*model) for model in models]
    figures.append(_reasoning(page, models, series))
    figures += [_resources(models), _scripts(models)]
    rankings = []
    pairs = combinations(series, 2)
    for (a, b), ranking in zip(pairs, analyzed["rankings"].values(), strict=True):
        if ranking is not None:
            rankings.append(
                f"{a.run.label} and {b.run.label} rank {ranking['languages']} languages with "
                f"Kendall’s τ = {ranking['tau']:.2f} (1: the same order, −1: the reverse; p = "
                f"{ranking['p']:.3f})."
            )
    return [figure for figure in figures if figure.records], rankings


def _configs(
    series: Series, tasks: Collection[str] = NIAH, language: str = "", length: str = ""
) -> list[str]:
    """Return the configurations of some tasks of a run, in one language and at one length if named.

    They include pairs of languages and all tokenizers, as the figures of a run do.
    """
    return [
        name
        for name, cell in series.run.results["configurations"].items()
        if cell["task"] in tasks
        and (not language or languages_of(cell) == language)
        and (not length or cell["length"] == length)
    ]


def _language_map(page: PageInput, series: Series) -> Figure:
    """Return the heat map of languages by lengths, means of the niah tasks; pairs come last."""
    configs: dict[str, list[str]] = {}
    for name, cell in chosen(series.run.results, series.tokenizer).items():
        if cell["task"] in NIAH:
            configs.setdefault(languages_of(cell), []).append(name)
    rows = {name: configs[name] for name in sorted(configs, key=lambda name: ("-" in name, name))}
    title = f"{series.label}, mean of the niah tasks"
    return heat_map(page, series, f"languages-{series.id}", title, "language", rows)


def _ranking(models: Sequence[Model], series: Sequence[Series]) -> Figure:
    title = "Languages by their mean over the niah tasks"
    records: list[Record] = []
    for item, model in models:
        for score in model["languages"]:
            records.append(
                {
                    "series": [item.id],
                    "configs": _configs(item, language=score["language"]),
                    "label": score["language"],
                    "model": item.label,
                    "language": score["language"],
                    "rank": score["rank"],
                    "articles": score["articles"],
                    **score_fields(score["score"], score["interval"]),
                }
            )
    return Figure(
        name="ranking",
        title=title,
        columns=[
            Column("rank", "rank"),
            Column("language", "language"),
            Column("model", "model"),
            Column("score", "score"),
            Column("95 % interval", "interval"),
            Column("Wikipedia articles", "articles"),
        ],
        records=records,
        spec=dots_spec(title, records, "language", series, [0, 100]),
    )


def _none_ablation(models: Sequence[Model], series: Sequence[Series]) -> Figure:
    title = "What the offer to answer “none” changes, points"
    records: list[Record] = []
    for item, model in models:
        for change in model["none_ablation"]:
            place = f"{change['languages']} {change['length'].upper()}"
            configs = _configs(
                item, ("niah_single", ABLATION), change["languages"], change["length"]
            )
            records.append(
                {
                    "series": [item.id],
                    "configs": configs,
                    "label": f"{change['languages']} at {change['length'].upper()}",
                    "model": item.label,
                    "place": place,
                    "length": change["length"].upper(),
                    "language": change["languages"],
                    "with_none": change["with_none"],
                    "without": change["without"],
                    **score_fields(change["difference"], change["interval"]),
                }
            )
    return Figure(
        name="none",
        title=title,
        columns=[
            Column("length", "length"),
            Column("language", "language"),
            Column("model", "model"),
            Column("none offered", "with_none"),
            Column("not offered", "without"),
            Column("difference", "score", "+.1f"),
            Column("95 % interval", "interval"),
        ],
        records=records,
        spec=dots_spec(title, records, "place", series, difference_domain(records)),
    )


def _cross_lingual(series: Series, model: Mapping[str, Any]) -> Figure:
    """Return the heat map of text by instruction in two languages, the mean of the niah tasks."""
    matrix = model["cross_lingual"]
    records: list[Record] = []
    for text in matrix:
        for instruction in sorted({code for row in matrix.values() for code in row}):
            language = text if text == instruction else f"{text}-{instruction}"
            configs = _configs(series, language=language)
            records.append(
                {
                    "series": [series.id],
                    "configs": configs,
                    "label": f"text {text}, instruction {instruction}",
                    "row": text,
                    "column": instruction,
                    "score": matrix[text].get(instruction),
                    "interval": "",
                    "rows": sum(series.run.results["configurations"][n]["n"] for n in configs),
                    "troubles": "",
                    "is_flawed": False,
                }
            )
    return Figure(
        name=f"cross-{series.run_number}",
        title=f"{series.run.label}: text (rows) and instruction (columns) in two languages",
        caption=f"Two languages, {series.run.label}",
        columns=[Column("text", "row"), Column("instruction", "column"), Column("score", "score")],
        records=records,
        grid="heat",
        width="half",
        rows_are="text \\ instruction",
        series=[series.id],
    )


def _reasoning(page: PageInput, models: Sequence[Model], series: Sequence[Series]) -> Figure:
    """Return the mean reasoning tokens by length, of right and of wrong answers."""
    title = "Reasoning tokens of right and of wrong answers"
    records: list[Record] = []
    for item, model in models:
        for tokens in model["reasoning"]:
            for kind in ("right", "wrong"):
                if tokens[kind] is not None:
                    records.append(
                        {
                            "series": [item.id],
                            "configs": _configs(item, length=tokens["length"]),
                            "label": f"niah at {tokens['length'].upper()}",
                            "model": item.label,
                            "length": tokens["length"].upper(),
                            "kind": kind,
                            "tokens": tokens[kind],
                        }
                    )
    answers = alt.Tooltip("kind:N", title="answers")
    tooltip = ["model:N", "length:N", answers, alt.Tooltip("tokens:Q", format=",.0f")]
    color, shape = by_model(series)
    base = alt.Chart().encode(
        x=alt.X(
            "length:N",
            sort=[length.upper() for length in page.lengths],
            title=None,
            axis=alt.Axis(labelAngle=0),
        ),
        y=alt.Y("tokens:Q", title=None),
        color=color,
        detail="kind:N",
    )
    dashes = alt.Legend(
        title=None, orient="top", symbolType="stroke", symbolSize=400, symbolStrokeColor=GREY
    )
    points = base.mark_point(filled=True, size=44, opacity=1)
    chart = alt.layer(
        base.mark_line().encode(strokeDash=alt.StrokeDash("kind:N", legend=dashes)),
        points.encode(shape=shape, tooltip=tooltip),
        data=RECORDS,
    )
    return Figure(
        name="reasoning",
        title=title,
        columns=[
            Column("length", "length"),
            Column("model", "model"),
            Column("answers", "kind"),
            Column("tokens", "tokens", ",.0f"),
        ],
        records=records,
        spec=spec_of(chart, title, height=220),
    )


def _resources(models: Sequence[Model]) -> Figure:
    """Return the table of languages of high and of low resource, by length."""
    records: list[Record] = []
    for item, model in models:
        for row in model["resources"]:
            if row["high"]["score"] is None and row["low"]["score"] is None:
                continue  # only pairs of languages were scored
            records.append(
                {
                    "model": item.label,
                    "length": row["length"].upper(),
                    "high": row["high"]["score"],
                    "high_interval": bounds(row["high"]["interval"]),
                    "low": row["low"]["score"],
                    "low_interval": bounds(row["low"]["interval"]),
                    "gap": row["gap"],
                }
            )
    return Figure(
        name="resources",
        title="Languages of high and of low resource",
        columns=[
            Column("length", "length"),
            Column("model", "model"),
            Column("high", "high"),
            Column("95 % interval", "high_interval"),
            Column("low", "low"),
            Column("95 % interval", "low_interval"),
            Column("gap", "gap"),
        ],
        records=records,
        fold="Languages of high and of low resource",
    )


def _scripts(models: Sequence[Model]) -> Figure:
    """Return the table of languages by the script of their books, and by length."""
    records: list[Record] = []
    for item, model in models:
        for row in model["scripts"]:
            records.append(
                {
                    "model": item.label,
                    "script": row["script"],
                    "length": row["length"].upper(),
                    "languages": row["languages"],
                    "score": row["score"],
                    "interval": bounds(row["interval"]),
                }
            )
    return Figure(
        name="scripts",
        title="Languages by the script of their books",
        columns=[
            Column("script", "script"),
            Column("length", "length"),
            Column("model", "model"),
            Column("languages", "languages"),
            Column("score", "score"),
            Column("95 % interval", "interval"),
        ],
        records=records,
        fold="Languages by the script of their books",
    )
