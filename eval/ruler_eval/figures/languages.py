"""The languages of ONERULER: `languages`, `niah`, `ranking`, and the paper's other figures.

    language_scores(runs)                  # languages by lengths, the models side by side
    language_figures(runs, analyzed)       # Figures 1, 3 to 6 and 17 to 25 (analysis/languages.py)

ONERULER (arXiv:2503.01996), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import altair as alt

from ruler_common.names import GROUPS, languages_of
from ruler_common.text import number
from ruler_eval.figures.charts import GREY, RECORDS, by_model, difference_domain, dots_spec, spec_of
from ruler_eval.figures.figure import (
    COUNT,
    DIFFERENCE,
    INTERVAL,
    LANGUAGE,
    LENGTH,
    MODEL,
    ROWS,
    SCORE,
    TASK,
    Column,
    Figure,
    Pivot,
    Record,
    record_of,
    score_fields,
    score_text,
)
from ruler_eval.figures.scores import MEANS, marked_means, other_tasks
from ruler_eval.figures.series import Runs, Series, chosen, complete_lengths
from ruler_eval.figures.task_scores import heat_map
from ruler_eval.prediction import ABLATION

NIAH = GROUPS["oneruler"]["niah"]
TEXTS = "The same texts under several tokenizers: mean prompt tokens"
Model = tuple[Series, Mapping[str, Any]]
"""The first series of a run, and what `analyze` returns of it."""


# ---- Languages by lengths ------------------------------------------------------------------------


def language_scores(runs: Runs, with_intervals: bool = True) -> Figure:
    """Return the mean of the tasks for each language and length, the models side by side.

    Single languages come first, those with the best scores at the top, then pairs and means. It is
    empty if every run has a single language.
    """
    records: list[Record] = []
    for length in runs.lengths:
        for series in runs.series:
            records += _language_records(runs, series, length, with_intervals)
    sums: dict[str, list[float]] = {}  # the means of each language, for the order
    for record in records:
        if runs.lengths[record["length"].lower()]:
            sums.setdefault(record["code"], []).append(record["score"])
    if not runs.has_one_length:
        records += _averages_of_languages(runs)

    def place(code: str) -> tuple[bool, bool, float]:
        scores = sums.get(code, [0.0])
        return code in MEANS, "-" in code, -sum(scores) / len(scores)

    codes = sorted({record["code"] for record in records}, key=place)
    records.sort(key=lambda record: codes.index(record["code"]))
    intervals = ", with 95 % intervals" if with_intervals else ""
    return Figure(
        name="languages",
        title=f"Languages by lengths: mean of the tasks in percent{intervals}",
        columns=[LANGUAGE, LENGTH, MODEL, SCORE, INTERVAL],
        records=records if len(codes) > 1 else [],
        note=other_tasks(runs) if any(record["mark"] for record in records) else "",
        pivot=Pivot(LANGUAGE, "column", Column("score", "cell", mark="mark")),
        fold="Languages by lengths, the models side by side",
        is_open=True,
    )


def _language_records(
    runs: Runs, series: Series, length: str, with_intervals: bool
) -> list[Record]:
    """Return the means of one model at one length, for each language."""
    records = []
    header = length.upper() if len(runs.series) == 1 else f"{length.upper()} {series.label}"
    by_language = series.run.results["summary"][series.tokenizer]
    for language, groups in by_language.items():
        mean = groups["all"]["lengths"].get(length)
        if mean is None or mean["score"] is None:
            continue
        name = MEANS.get(language, language)
        cells = chosen(series.run.results, series.tokenizer, language)
        configs = [config for config, cell in cells.items() if cell["length"] == length]
        fields = {"language": name, "length": length.upper(), "column": header, "code": language}
        fields["mark"] = "*" if marked_means(groups["all"])[length] else ""
        record = record_of(series, configs, f"{name} at {length.upper()}", **fields)
        record |= score_fields(mean["score"], mean["interval"])
        record["cell"] = score_text(record) if with_intervals else record["score"]
        records.append(record)
    return records


def _averages_of_languages(runs: Runs) -> list[Record]:
    """Return the average over the lengths of each language that was scored at all of them."""
    records = []
    lengths = [length for length, tokens in runs.lengths.items() if tokens]
    for series in runs.series:
        by_language = series.run.results["summary"][series.tokenizer]
        for language, groups in by_language.items():
            if {*complete_lengths(groups["all"])} != {*lengths}:
                continue
            average = groups["all"]["average"]
            name = MEANS.get(language, language)
            column = "Avg." if len(runs.series) == 1 else f"Avg. {series.label}"
            fields = {"language": name, "length": "Avg.", "column": column, "mark": ""}
            fields |= {"code": language, "cell": number(average["score"])}
            record = record_of(series, (), f"{name}, average", **fields)
            records.append({**record, **score_fields(average["score"], average["interval"])})
    return records


# ---- The figures of the paper --------------------------------------------------------------------


def language_figures(runs: Runs, analyzed: Mapping[str, Any]) -> list[Figure]:
    """Return the figures of languages that have data, from what `analyze` returns of the runs."""
    models: list[Model] = []
    for place, run in enumerate(runs.runs):
        if run.label in analyzed["models"]:
            models.append((runs.first_series(place), analyzed["models"][run.label]))
    series = [model[0] for model in models]
    figures = [_language_map(runs, item) for item in runs.series if item in series]
    figures.append(_ranking(models, series, analyzed))
    figures += _extremes(models)
    figures += [_none_ablation(models, series)]
    figures += [_cross_lingual(*model) for model in models]
    figures += [_crossed(models), _reasoning(runs, models, series)]
    figures += [_resources(models), _scripts(models), _tasks_by_resource(models)]
    figures += [_words_right(models)]
    figures += _over_models(analyzed, len(models))
    figures.append(token_figure(TEXTS, analyzed["prompt_tokens"]))
    figures.append(_kinds_of_errors("language", analyzed["errors"]))
    figures.append(_kinds_of_errors("task and length", analyzed["errors_by_task"]))
    return [figure for figure in figures if not figure.is_empty]


def _of_models(models: Sequence[Model], *columns: Column) -> list[Column]:
    """Return columns, without that of the model if there is one model."""
    return [column for column in columns if column != MODEL or len(models) > 1]


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


def _language_map(runs: Runs, series: Series) -> Figure:
    """Return the heat map of languages by lengths, means of the niah tasks; pairs come last."""
    configs: dict[str, list[str]] = {}
    for name, cell in chosen(series.run.results, series.tokenizer).items():
        if cell["task"] in NIAH:
            configs.setdefault(languages_of(cell), []).append(name)
    rows = {name: configs[name] for name in sorted(configs, key=lambda name: ("-" in name, name))}
    title = f"{series.label}, mean of the niah tasks"
    return heat_map(runs, series, f"niah-{series.id}", title, "language", rows)


def _ranking(
    models: Sequence[Model], series: Sequence[Series], analyzed: Mapping[str, Any]
) -> Figure:
    """Return the languages by their mean, and how alike each pair of models ranks them."""
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
    articles = Column("Wikipedia articles", "articles", COUNT)
    columns = [Column("rank", "rank", COUNT), LANGUAGE, MODEL, SCORE, INTERVAL, articles]
    return Figure(
        name="ranking",
        title=title,
        columns=_of_models(models, *columns),
        records=records,
        note=" ".join(_about_ranks(models, analyzed)),
        chart=dots_spec(title, records, "language", series, [0, 100]),
    )


def _about_ranks(models: Sequence[Model], analyzed: Mapping[str, Any]) -> Iterator[str]:
    """Yield which languages have no rank, and how ranks go with Wikipedia's size and each other."""
    for item, model in models:
        whose = f" ({item.run.label})" if len(models) > 1 else ""
        unranked = []
        for score in model["languages"]:
            if score["rank"] is None:
                unranked.append(f"{score['language']} ({score['cells']})")
        if unranked:
            yield (
                "Not ranked, because their tasks and lengths differ from most languages': "
                f"{', '.join(unranked)}{whose}."
            )
        if size := model["wikipedia"]:
            yield (
                f"Correlation with the logarithm of Wikipedia's size, {size['languages']} "
                f"languages{whose}: Pearson {size['pearson']:.2f}, Spearman "
                f"{size['spearman']:.2f}."
            )
    labels = [item.run.label for item, _ in models]
    rankings = [item for item in analyzed["rankings"].items() if item[1] is not None]
    if rankings:
        yield "Do two models rank the languages alike?"
    for (a, b), name in zip(combinations(labels, 2), analyzed["rankings"], strict=True):
        ranking = analyzed["rankings"][name]
        if ranking is not None:
            yield (
                f"{a} and {b} rank {ranking['languages']} languages with Kendall’s τ = "
                f"{ranking['tau']:.2f} (1: the same order, −1: the reverse; p = "
                f"{ranking['p']:.3f})."
            )


def _extremes(models: Sequence[Model]) -> Iterator[Figure]:
    """Yield the means of the best and the worst languages, and of the largest Wikipedias."""
    titles = {
        "best_and_worst": "The best languages ({}) and the worst ({}), chosen by these same "
        "scores: even equal languages would differ",
        "largest_and_smallest": "niah_single: the largest Wikipedias ({}) and the smallest ({})",
    }
    for place, (item, model) in enumerate(models):
        for name, title in titles.items():
            sides = model[name]
            if sides is None:
                continue
            whose = f"{item.run.label}: " if len(models) > 1 else ""
            records = []
            for row in sides["lengths"]:
                first, last = _mean("first", row["best"]), _mean("last", row["worst"])
                records.append({"length": row["length"].upper(), **first, **last})
            if name == "best_and_worst" and all(row["first"] == row["last"] for row in records):
                continue  # no language is better than another
            text = title.format(", ".join(sides["best"]), ", ".join(sides["worst"]))
            yield Figure(
                name=f"extremes-{name.partition('_')[0]}-{place}",
                title=whose + text,
                columns=[LENGTH, *_mean_columns("first", "last")],
                records=records,
                fold=whose + text,
            )


def _mean(field: str, item: Mapping[str, Any]) -> Record:
    """Return the fields of a mean and of its interval."""
    return {field: item["score"], f"{field} interval": item["interval"]}


def _mean_columns(*fields: str) -> list[Column]:
    """Return the columns of means and of their intervals."""
    columns = []
    for field in fields:
        columns.append(Column(field, field))
        columns.append(Column(f"{field} 95 % interval", f"{field} interval", "interval"))
    return columns


def _none_ablation(models: Sequence[Model], series: Sequence[Series]) -> Figure:
    title = "The option to answer “none”: what offering it changes, in points"
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
        columns=_of_models(models, LENGTH, LANGUAGE, MODEL, *offered, DIFFERENCE, INTERVAL),
        records=records,
        chart=dots_spec(title, records, "place", series, difference_domain(records)),
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
            record = record_of(
                series,
                configs,
                f"text {text}, instruction {instruction}",
                row=text,
                column=instruction,
                rows=sum(series.run.results["configurations"][name]["n"] for name in configs),
                troubles="",
                is_flawed=False,
            )
            records.append({**record, **score_fields(scores.get(instruction), None)})
    rows_are = Column("text \\ instruction", "row")
    return Figure(
        name=f"cross-{series.run_number}",
        title=f"{series.run.label}: Text and instruction in two languages",
        columns=[Column("text", "row"), Column("instruction", "column"), SCORE],
        records=records,
        pivot=Pivot(rows_are, "column", SCORE),
        grid="heat",
        width="half",
        series=[series.id],
    )


def _crossed(models: Sequence[Model]) -> Figure:
    """Return the means of pairs of languages by length."""
    records: list[Record] = []
    for item, model in models:
        for row in model["crossed"]:
            fields = {"model": item.label, "length": row["length"].upper()}
            pair = {"text": row["text"], "instruction": row["instruction"]}
            records.append({**fields, **pair, **score_fields(row["score"], row["interval"])})
    title = "Text and instruction in two languages, by length"
    text, instruction = Column("text", "text"), Column("instruction", "instruction")
    return Figure(
        name="crossed",
        title=title,
        columns=_of_models(models, LENGTH, text, instruction, MODEL, SCORE, INTERVAL),
        records=records,
        fold=title,
    )


def _reasoning(runs: Runs, models: Sequence[Model], series: Sequence[Series]) -> Figure:
    """Return the mean reasoning tokens by length, of right and of wrong answers."""
    title = "Reasoning tokens of niah answers, right and wrong ones"
    records: list[Record] = []
    for item, model in models:
        for tokens in model["reasoning"]:
            length = tokens["length"].upper()
            configs = _configs(item, length=tokens["length"])
            for kind in ("right", "wrong"):
                if tokens[kind] is not None:
                    fields = {"length": length, "kind": kind, "tokens": tokens[kind]}
                    records.append(record_of(item, configs, f"niah at {length}", **fields))
    answers = Column("answers", "kind")
    columns = [LENGTH, answers, MODEL, Column("tokens", "tokens", ",.0f")]
    return Figure(
        name="reasoning",
        title=title,
        columns=_of_models(models, *columns),
        records=records,
        chart=_reasoning_chart(runs, title, series),
    )


def _reasoning_chart(runs: Runs, title: str, series: Sequence[Series]) -> dict[str, Any]:
    lengths = [length.upper() for length in runs.lengths]
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
    return spec_of(chart, title, height=220)


def _resources(models: Sequence[Model]) -> Figure:
    """Return the table of languages of high and of low resource, by length."""
    records: list[Record] = []
    for item, model in models:
        for row in model["resources"]:
            if row["high"]["score"] is None and row["low"]["score"] is None:
                continue  # only pairs of languages were scored
            means = {**_mean("high", row["high"]), **_mean("low", row["low"])}
            gap = {"gap": row["gap"], "gap interval": row["gap_interval"]}
            place = {"model": item.label, "length": row["length"].upper()}
            records.append({**place, **means, **gap})
    title = "Languages of high and of low resource"
    return Figure(
        name="resources",
        title=title,
        columns=_of_models(models, LENGTH, MODEL, *_mean_columns("high", "low", "gap")),
        records=records,
        fold=title,
    )


def _scripts(models: Sequence[Model]) -> Figure:
    """Return the table of languages by the script of their books, and by length."""
    records: list[Record] = []
    for item, model in models:
        for row in model["scripts"]:
            records.append({**row, "model": item.label, "length": row["length"].upper()})
    title = "Languages by the script of their books"
    languages = Column("languages", "languages", COUNT)
    columns = [Column("script", "script"), LENGTH, MODEL, languages, SCORE, INTERVAL]
    return Figure(
        name="scripts",
        title=title,
        columns=_of_models(models, *columns),
        records=records,
        fold=title,
    )


def _tasks_by_resource(models: Sequence[Model]) -> Figure:
    """Return the tasks in English, in other high-resource and in low-resource languages."""
    names = {"english": "English", "high": "other high", "low": "low"}
    records: list[Record] = []
    for item, model in models:
        for row in model["tasks"]:
            record = {"model": item.label, "length": row["length"].upper(), "task": row["task"]}
            for key, name in names.items():
                record |= _mean(name, row[key])
            if any(record[name] is not None for name in names.values()):
                records.append(record)
    title = "Tasks in English and by resource"
    columns = [LENGTH, TASK, MODEL, *_mean_columns(*names.values())]
    return Figure(
        name="resourcetasks",
        title=title,
        columns=_of_models(models, *columns),
        records=records,
        fold=title,
    )


def _words_right(models: Sequence[Model]) -> Figure:
    records: list[Record] = []
    for item, model in models:
        for row in model["words_right"]:
            records.append({**row, "model": item.label, "length": row["length"].upper()})
    title = "Words right of ten in cwe"
    columns = [
        LENGTH,
        TASK,
        MODEL,
        Column("right rows", "right_rows", COUNT),
        Column("wrong rows", "wrong_rows", COUNT),
        Column("words right", "wrong"),
        Column("truncated", "truncated_rows", COUNT),
        Column("words right in truncated", "truncated"),
    ]
    return Figure(
        name="cwewords",
        title=title,
        columns=_of_models(models, *columns),
        records=records,
        fold=title,
    )


# ---- Several models ------------------------------------------------------------------------------


def _over_models(analyzed: Mapping[str, Any], count: int) -> Iterator[Figure]:
    """Yield the means over models by language, by resource and by task."""
    means = analyzed["over_models"]
    if not means:
        return
    over = f"Mean over {count} models, and the lowest and highest of them"
    spread = [SCORE, Column("lowest", "lowest"), Column("highest", "highest")]
    title = f"{over}: languages"
    yield Figure(
        name="overmodels-languages",
        title=title,
        columns=[LANGUAGE, *spread],
        records=means["languages"],
        fold=title,
    )
    records = []
    columns = [LENGTH]
    for side in ("high", "low"):
        columns.append(Column(side, side))
        columns += [Column(f"{end} {side}", f"{side} {end}") for end in ("lowest", "highest")]
    for row in means["resources"]:
        record = {"length": row["length"].upper()}
        for side in ("high", "low"):
            record[side] = row[side]["score"]
            record |= {f"{side} {end}": row[side][end] for end in ("lowest", "highest")}
        records.append(record)
    title = f"{over}: high and low resource"
    yield Figure(
        name="overmodels-resources", title=title, columns=columns, records=records, fold=title
    )
    records = []
    for row in means["tasks"]:
        scores = {side: row[side]["score"] for side in ("english", "high", "low")}
        if any(score is not None for score in scores.values()):
            records.append({"length": row["length"].upper(), "task": row["task"], **scores})
    title = f"Mean over {count} models: tasks"
    columns = [LENGTH, TASK, Column("English", "english")]
    columns += [Column("other high", "high"), Column("low", "low")]
    yield Figure(name="overmodels-tasks", title=title, columns=columns, records=records, fold=title)


def text_tokens(counts: Mapping[str, Any]) -> Figure:
    """Return the counts of `ruler_release.api.tokens_by_tokenizer`, a column for each tokenizer."""
    title = (
        f"Mean prompt tokens of the same {counts['rows']:,} rows by tokenizer, fitted under "
        f"{counts['fitted_under']}"
    )
    return token_figure(title, counts["tokens"])


def token_figure(title: str, models: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Return mean prompt tokens by length and language, a column for each model or tokenizer."""
    records: dict[tuple[str, str], Record] = {}
    for model, by_length in models.items():
        for length, by_language in by_length.items():
            for language, tokens in by_language.items():
                place = {"length": length.upper(), "language": language}
                records.setdefault((length, language), place)[f"of {model}"] = tokens
    columns = [LENGTH, LANGUAGE, *(Column(model, f"of {model}", ",.0f") for model in models)]
    return Figure(
        name="tokens", title=title, columns=columns, records=list(records.values()), fold=title
    )


def _kinds_of_errors(what: str, kinds_by_name: Mapping[str, Mapping[str, int]]) -> Figure:
    """Return the number of errors of each kind, by language, or by task and length."""
    records = []
    for name, kinds in kinds_by_name.items():
        total = sum(kinds.values())
        for kind, count in kinds.items():
            record = {"place": name, "kind": kind, "rows": count, "share": 100 * count / total}
            records.append(record)
    title = f"Kinds of errors by {what}"
    return Figure(
        name=f"kinds-{what.replace(' ', '-')}",
        title=title,
        columns=[
            Column(what, "place"),
            Column("kind", "kind"),
            ROWS,
            Column("share", "share", "percent"),
        ],
        records=records,
        fold=title,
    )
