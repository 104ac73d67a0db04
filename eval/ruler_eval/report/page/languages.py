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
    DIFFERENCE,
    GREY,
    INTERVAL,
    LANGUAGE,
    LENGTH,
    MODEL,
    RECORDS,
    SCORE,
    Column,
    Figure,
    Record,
    by_model,
    difference_domain,
    dots_spec,
    record_of,
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
    names = []
    for name, cell in series.run.results["configurations"].items():
        is_language = not language or languages_of(cell) == language
        is_length = not length or cell["length"] == length
        if cell["task"] in tasks and is_language and is_length:
            names.append(name)
    return names


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
            language = score["language"]
            records.append(
                record_of(
                    item,
                    _configs(item, language=language),
                    language,
                    language=language,
                    rank=score["rank"],
                    articles=score["articles"],
                    **score_fields(score["score"], score["interval"]),
                )
            )
    articles = Column("Wikipedia articles", "articles")
    return Figure(
        name="ranking",
        title=title,
        columns=[Column("rank", "rank"), LANGUAGE, MODEL, SCORE, INTERVAL, articles],
        records=records,
        spec=dots_spec(title, records, "language", series, [0, 100]),
    )


def _none_ablation(models: Sequence[Model], series: Sequence[Series]) -> Figure:
    title = "What the offer to answer “none” changes, points"
    tasks = ("niah_single", ABLATION)
    records: list[Record] = []
    for item, model in models:
        for change in model["none_ablation"]:
            language, length = change["languages"], change["length"].upper()
            records.append(
                record_of(
                    item,
                    _configs(item, tasks, language, change["length"]),
                    f"{language} at {length}",
                    place=f"{language} {length}",
                    length=length,
                    language=language,
                    with_none=change["with_none"],
                    without=change["without"],
                    **score_fields(change["difference"], change["interval"]),
                )
            )
    offered = [Column("none offered", "with_none"), Column("not offered", "without")]
    return Figure(
        name="none",
        title=title,
        columns=[LENGTH, LANGUAGE, MODEL, *offered, DIFFERENCE, INTERVAL],
        records=records,
        spec=dots_spec(title, records, "place", series, difference_domain(records)),
    )


def _cross_lingual(series: Series, model: Mapping[str, Any]) -> Figure:
    """Return the heat map of text by instruction in two languages, the mean of the niah tasks."""
    matrix = model["cross_lingual"]
    instructions = sorted({code for row in matrix.values() for code in row})
    records: list[Record] = []
    for text, scores in matrix.items():
        for instruction in instructions:
            language = text if text == instruction else f"{text}-{instruction}"
            configs = _configs(series, language=language)
            records.append(
                record_of(
                    series,
                    configs,
                    f"text {text}, instruction {instruction}",
                    row=text,
                    column=instruction,
                    score=scores.get(instruction),
                    interval="",
                    rows=sum(series.run.results["configurations"][name]["n"] for name in configs),
                    troubles="",
                    is_flawed=False,
                )
            )
    return Figure(
        name=f"cross-{series.run_number}",
        title=f"{series.run.label}: text (rows) and instruction (columns) in two languages",
        caption=f"Two languages, {series.run.label}",
        columns=[Column("text", "row"), Column("instruction", "column"), SCORE],
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
            length = tokens["length"].upper()
            configs = _configs(item, length=tokens["length"])
            for kind in ("right", "wrong"):
                if tokens[kind] is not None:
                    fields = {"length": length, "kind": kind, "tokens": tokens[kind]}
                    records.append(record_of(item, configs, f"niah at {length}", **fields))
    lengths = [length.upper() for length in page.lengths]
    answers = alt.Tooltip("kind:N", title="answers")
    tooltip = ["model:N", "length:N", answers, alt.Tooltip("tokens:Q", format=",.0f")]
    color, shape = by_model(series)
    base = alt.Chart().encode(
        x=alt.X("length:N", sort=lengths, title=None, axis=alt.Axis(labelAngle=0)),
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
        columns=[LENGTH, MODEL, Column("answers", "kind"), Column("tokens", "tokens", ",.0f")],
        records=records,
        spec=spec_of(chart, title, height=220),
    )


def _resources(models: Sequence[Model]) -> Figure:
    """Return the table of languages of high and of low resource, by length."""
    records: list[Record] = []
    for item, model in models:
        for row in model["resources"]:
            high, low = row["high"], row["low"]
            if high["score"] is None and low["score"] is None:
                continue  # only pairs of languages were scored
            records.append(
                {
                    "model": item.label,
                    "length": row["length"].upper(),
                    "high": high["score"],
                    "high_interval": bounds(high["interval"]),
                    "low": low["score"],
                    "low_interval": bounds(low["interval"]),
                    "gap": row["gap"],
                    "gap_interval": bounds(row["gap_interval"]),
                }
            )
    high_columns = [Column("high", "high"), Column("95 % interval", "high_interval")]
    low_columns = [Column("low", "low"), Column("95 % interval", "low_interval")]
    gap_columns = [Column("gap", "gap"), Column("95 % interval", "gap_interval")]
    title = "Languages of high and of low resource"
    return Figure(
        name="resources",
        title=title,
        columns=[LENGTH, MODEL, *high_columns, *low_columns, *gap_columns],
        records=records,
        fold=title,
    )


def _scripts(models: Sequence[Model]) -> Figure:
    """Return the table of languages by the script of their books, and by length."""
    records: list[Record] = []
    for item, model in models:
        for row in model["scripts"]:
            length, interval = row["length"].upper(), bounds(row["interval"])
            records.append({**row, "model": item.label, "length": length, "interval": interval})
    title = "Languages by the script of their books"
    languages_column = Column("languages", "languages")
    return Figure(
        name="scripts",
        title=title,
        columns=[Column("script", "script"), LENGTH, MODEL, languages_column, SCORE, INTERVAL],
        records=records,
        fold=title,
    )
