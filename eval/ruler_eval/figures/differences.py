"""Models compared: the figures `differences`, `seeds` and `ranks`, and the verdicts about them.

    differences(runs, pair_runs(runs))     # for the page: every pair
    comparison_figures(comparison)         # for `ruler compare`: one pair, its verdict first

Two runs have paired differences (analysis/compare.py), two seeds unpaired ones (seeds.py), and
three or more runs ranks (ranks.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import altair as alt

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_common.text import bounds, number, number_of, shortened, some_of
from ruler_eval.analysis.compare import (
    ComparedModel,
    Comparison,
    Decision,
    Side,
    Verdict,
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
from ruler_eval.figures.figure import COUNT, INTERVAL, MODEL, Column, Figure, Record, score_fields
from ruler_eval.figures.runs import Trouble, troubles_in_words
from ruler_eval.figures.series import Runs, Series
from ruler_eval.score.aggregates import EVERY_LANGUAGE, in_languages
from ruler_eval.score.intervals import MIN_INDEPENDENT_ROWS

if TYPE_CHECKING:
    from ruler_eval.analysis.ranks import Ranking
    from ruler_eval.analysis.seeds import SeedComparison

FACET_WIDTHS = {2: 380, 3: 250, 4: 185, 5: 145}
"""Pixels of a length's column in the chart of differences, by the number of lengths."""
MIN_FACET_WIDTH = 120  # pixels, with more lengths
_MAX_FOR_ALL_PAIRS = 3  # runs: if there are more, each is paired only with the first
_MEAN = "mean of all"
_MAX_SETTING = 40  # characters
PAGE_NOTE = (
    "The same rows answered by two models, with 95 % intervals. A difference is coloured if its "
    "interval excludes zero and its p (Holm), the exact p value adjusted for all tests of the "
    f"pair, is below 0.05. A difference over fewer than {MIN_INDEPENDENT_ROWS} rows is never "
    "coloured."
)
_TESTS = "p is for a single test; p (Holm) is adjusted for all {tests} tests of this table."
_BETTER = (
    "better: the model that is better: the 95 % interval excludes 0, p (Holm), if it is given, is "
    "below 0.05, and there are at least 10 rows; for means at several lengths also after Holm's "
    "adjustment for their number."
)
_VERDICTS: dict[Verdict, str] = {
    "smaller": "which is below",
    "larger": "which is above",
    "unknown": "which does not show whether it is below",
}
_TASK_VERDICTS: dict[Verdict, str] = {
    "smaller": "--max-task-drop {margin:g}: every configuration lost less (97.5 % confidence).",
    "larger": "--max-task-drop {margin:g}: at least one lost more (97.5 % confidence).",
    "unknown": "--max-task-drop {margin:g}: there are too few rows to tell whether each lost less.",
}
_ONE_LOOK = (
    "Not every row of the release has an answer. This verdict is valid for a single look, at rows "
    "chosen in advance: running more rows and comparing again is a second look, which its 95 % do "
    "not cover. Use `ruler decide` to look more than once."
)
_DETECTABLE = (
    "detectable: a true difference of this size is found in 80 of 100 repetitions with the same "
    "number of rows; most smaller differences are missed."
)
_SMALLEST = "smallest: this number of right or wrong rows cannot show a smaller difference."
_WEIGHTS = (
    "inc, dec: averages in which longer, and in which shorter, lengths weigh more. 95 %: the ranks "
    "that are possible with this number of rows."
)
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


# ---- The differences of two runs -----------------------------------------------------------------


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
        record = _difference_record(item.name, item.difference)
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


def _difference_record(name: str, difference: Mapping[str, Any]) -> Record:
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
    notes.append(_DETECTABLE)
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


# ---- The verdict of `ruler compare` --------------------------------------------------------------


def comparison_figures(comparison: Comparison, figure: Figure) -> list[Figure]:
    """Return the verdict about two runs, then the models, then the table of their differences."""
    verdict = Figure(name="verdict", title="", sentences=comparison_verdict(comparison))
    models = Figure(name="models", title="", sentences=_models(comparison))
    return [verdict, models, figure]


def comparison_verdict(result: Comparison) -> list[str]:
    """Return the overall lead, the decision of `--max-drop`, and the number of leads of each."""
    mean = result["all"]
    a = f"{result['a']['model'] or 'unnamed'} (A)"
    b = f"{result['b']['model'] or 'unnamed'} (B)"
    over = f"over {number_of(mean['configurations'], 'configuration')}"
    low, high = mean["interval"]
    if mean["better"] == "a":
        text = f"{a} leads {b} by {mean['difference']:.1f} points {over}"
    elif mean["better"] == "b":
        text = f"{b} leads {a} by {-mean['difference']:.1f} points {over}"
        low, high = -high, -low
    else:
        text = (
            f"{a} and {b} do not differ clearly {over}: A − B is {mean['difference']:+.1f} points"
        )
    lines = [f"{text}, 95 % interval {bounds((low, high))}."]
    if "decision" in result:
        lines += decision_sentences(result["decision"])
        lines += _worst_configuration(result)
    if unpaired := unpaired_rows(result):
        lines.append(f"Not compared: {unpaired}.")
    if unanswered := unanswered_rows(result):
        lines.append(unanswered)
    if mean["configurations"] > 1:
        better = {"a": 0, "b": 0}
        for cell in result["configurations"].values():
            if cell["better"] is not None:
                better[cell["better"]] += 1
        text = f"A is better in {number_of(better['a'], 'configuration')} and B in {better['b']}"
        tests = sum(cell["p"] is not None for cell in result["configurations"].values())
        if tests:
            text += f", after Holm's adjustment for {number_of(tests, 'test')}"
        lines.append(f"{text}.")
    return lines


def decision_sentences(result: Decision) -> list[str]:
    """Return the sentences of `ruler compare --max-drop`; the interval is that of the lead."""
    mean = result["mean"]
    text = (
        f"--max-drop {result['max_drop']:g}: over these rows B lost {result['drop']:.1f} points; "
        f"over other rows like these {bounds(result['interval'])} (95 % interval), "
        f"{_VERDICTS[mean]} {result['max_drop']:g} points"
    )
    text += "." if mean == "unknown" else " (97.5 % confidence)."
    sentences = [text if result["whole"] else f"{text} {_ONE_LOOK}"]
    if "tasks" in result:
        sentences.append(_TASK_VERDICTS[result["tasks"]].format(margin=result["max_task_drop"]))
    return sentences


def _worst_configuration(result: Comparison) -> list[str]:
    """Return the configuration in which B lost most, with the bounds of that loss."""
    cells = result["configurations"]
    if len(cells) < 2:
        return []
    name = max(cells, key=lambda name: cells[name]["difference"])
    return [
        f"Largest loss of a configuration: {name}, {cells[name]['difference']:.1f} points "
        f"{bounds(cells[name]['task_interval'])} (intervals that hold for all {len(cells)} "
        "configurations together, 95 %)."
    ]


def unpaired_rows(result: Comparison) -> str:
    """Return how many rows of each model the other does not have, or ""."""
    texts = []
    sides: tuple[tuple[Side, Side], ...] = (("a", "b"), ("b", "a"))
    for side, other in sides:
        if count := result["unpaired"][side]:
            text = f"{number_of(count, 'row')} of {side.upper()} that {other.upper()} does not have"
            if names := result["unpaired_configurations"][side]:
                text += f" (all rows of {some_of(names)})"
            texts.append(text)
    return " and ".join(texts)


def unanswered_rows(result: Comparison) -> str:
    """Return how the rows of both models ended, and the verdict without unanswered rows."""
    text = _ends_of_rows({"A": result["a"], "B": result["b"]})
    if "answered" not in result:
        return text
    text += " "
    mean = result["answered"]
    if mean is None:
        return text + "No row was answered by both models."
    text += (
        f"Without the {number_of(mean['unanswered'], 'row')} that failed or are missing, "
        f"A − B is {mean['difference']:+.1f} points, {bounds(mean['interval'])}"
    )
    if "decision" in result:
        verdict = _VERDICTS[result["decision"]["answered"]]
        text += f", {verdict} {result['decision']['max_drop']:g}"
    return f"{text}."


def _ends_of_rows(models: Mapping[str, ComparedModel]) -> str:
    """Return how the rows of models ended; "" if all were answered completely."""
    lines = {name: counts_line(model) for name, model in models.items()}
    if not any(lines.values()):
        return ""
    sentences = [f"Rows of {name}: {line or 'all answered'}." for name, line in lines.items()]
    unanswered = 0
    for model in models.values():
        counts = model["counts"]
        unanswered += counts["failed"] + counts["missing"] + counts["does_not_fit"]
    if unanswered:
        sentences.append("A row that failed or is missing counts as wrong.")
    return " ".join(sentences)


def counts_line(model: ComparedModel) -> str:
    """Return the counts of rows without a whole answer: `3 failed, 1 truncated`, or ""."""
    counts = model["counts"]
    troubles: dict[Trouble, int] = {
        "failed": counts["failed"],
        "missing": counts["missing"],
        "truncated": counts["truncated"],
        "does_not_fit": counts["does_not_fit"],
    }
    return ", ".join(troubles_in_words(troubles))


def _models(
    result: Comparison | SeedComparison, seeds: Mapping[Side, int] | None = None
) -> list[str]:
    """Return a line with seed, model and rows for each side, and the settings that differ."""
    a, b = _model(result["a"]), _model(result["b"])
    if seeds is not None:
        a, b = f"seed {seeds['a']}, {a}", f"seed {seeds['b']}, {b}"
    lines = [f"A: {a}", f"B: {b}"]
    settings = []
    for name, values in result["settings"].items():
        a, b = shortened(values[0], _MAX_SETTING), shortened(values[1], _MAX_SETTING)
        settings.append(f"{name} {a} / {b}")
    if settings:
        lines.append(f"Settings that differ: {'; '.join(settings)}.")
    return lines


def _model(model: ComparedModel) -> str:
    """Return the model, its rows, and the warnings about its scores."""
    return ", ".join([model["model"] or "unnamed model", model["rows"], *model["warnings"]])


# ---- Two seeds -----------------------------------------------------------------------------------


def seed_figures(result: SeedComparison) -> list[Figure]:
    """Return the difference between two seeds in a sentence, the models, and the table."""
    text = "No configuration has different questions under the two seeds."
    if mean := result["all"]:
        text = (
            f"Seed {result['seeds']['a']} minus seed {result['seeds']['b']}: "
            f"{mean['difference']:.1f} {bounds(mean['interval'])}, "
            f"{mean['configurations']} configurations."
        )
    items: dict[str, Mapping[str, Any]] = {}
    is_marked = False
    for name, cell in result["configurations"].items():
        is_marked = is_marked or cell["same_questions"]
        items[f"{name} *" if cell["same_questions"] else name] = cell
    for length, of_length in result["lengths"].items():
        items[f"mean at {length.upper()}"] = of_length
    if mean:
        items["mean over all"] = mean
    records = []
    for name, difference in items.items():
        records.append(
            {
                **_difference_record(name, difference),
                "n_a": difference.get("n_a"),
                "n_b": difference.get("n_b"),
                "higher": (difference.get("higher") or "").upper(),
            }
        )
    note = _DETECTABLE
    if is_marked:
        note += " * same questions under both seeds: not in any mean, no sign of known rows."
    table = Figure(
        name="seeds",
        title="Differences between the seeds, in points",
        columns=[
            Column("", "name"),
            Column("n A", "n_a", COUNT),
            Column("n B", "n_b", COUNT),
            Column("A", "a"),
            Column("B", "b"),
            Column("A − B", "score", "+.1f"),
            INTERVAL,
            Column("higher", "higher"),
            Column("detectable", "detectable"),
        ],
        records=records,
        column_note=note,
    )
    sentences = [text, _ends_of_rows({"A": result["a"], "B": result["b"]})]
    verdict = Figure(name="verdict", title="", sentences=[*filter(None, sentences)])
    models = Figure(name="models", title="", sentences=_models(result, result["seeds"]))
    return [verdict, models, table]


# ---- Three runs or more --------------------------------------------------------------------------


def rank_figures(result: Ranking) -> list[Figure]:
    """Return the best model, the models, and their averages with ranks and possible ranks."""
    records: dict[str, Record] = {}
    weightings = {
        "average": result["average"],
        "inc": result["weighted_inc"],
        "dec": result["weighted_dec"],
    }
    columns = [MODEL]
    for (field, models), header in zip(weightings.items(), ("Avg.", "inc", "dec"), strict=True):
        of = "" if field == "average" else f" ({header})"
        columns += [
            Column(header, field),
            Column(f"rank{of}", f"{field} rank", COUNT),
            Column(f"95 %{of}", f"{field} ranks"),
        ]
        for ranked in models:
            first, last = ranked["ranks"]
            record = records.setdefault(ranked["model"], {"model": ranked["model"]})
            record |= {
                field: ranked["score"],
                f"{field} rank": ranked["rank"],
                f"{field} ranks": str(first) if first == last else f"{first}-{last}",
            }
    best, *rest = result["average"]
    rivals = [ranked["model"] for ranked in rest if ranked["ranks"][0] == 1]
    text = f"{best['model']} has the highest average, {number(best['score'])}; "
    if rivals:
        text += f"{', '.join(rivals)} may also be first (95 %)."
    else:
        text += "no other model can be first (95 %)."
    ends = _ends_of_rows({model["model"] or "unnamed model": model for model in result["models"]})
    return [
        Figure(name="verdict", title="", sentences=[*filter(None, [text, ends])]),
        Figure(name="models", title="", sentences=[_model(model) for model in result["models"]]),
        Figure(
            name="ranks",
            title="Models by their averages over the rows that all share",
            columns=columns,
            records=list(records.values()),
            column_note=_WEIGHTS,
        ),
    ]
