"""The numbers of the page, taken from results.json: the table, the heat maps, scores by depth.

Nothing is scored here: means and intervals are those of ruler_eval/score/aggregates.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, cast

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_eval.analysis.compare import compare, mean_difference, paired_cells
from ruler_eval.analysis.complexity import panels
from ruler_eval.analysis.languages import analyze, in_niah
from ruler_eval.published.published_tables import newest_tables
from ruler_eval.report.page.model import (
    NEEDLES,
    ComplexityPanel,
    DepthMap,
    Difference,
    Group,
    GroupRow,
    HeatCell,
    HeatMap,
    Languages,
    Length,
    Pair,
    PublishedRow,
    Series,
)
from ruler_eval.report.page.runs import ReportedRun
from ruler_eval.report.terminal import TROUBLES, chosen, effective_between, relative_name
from ruler_eval.score.aggregates import EVERY_LANGUAGE, categories, combine, for_all, in_languages
from ruler_eval.score.results import Cell, DepthBin, GroupSummary
from ruler_eval.score.scoring import mean_bins

COLOURS = ("#3566c4", "#d1600a", "#12866f", "#a8479b", "#8a6d00", "#c03a4b", "#4b7f1d", "#6a5fc1")
"""Of the series, in order; they have a contrast of 3 or more on white and on black."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
Cells = Mapping[str, Cell]
Line = tuple[Series, ReportedRun]
"""A series and its run."""
_OF_A_MEAN = ("a", "b", "difference", "interval", "n", "p", "p_holm", "better")
_MOST_FOR_ALL_PAIRS = 3  # runs: if there are more, each is paired only with the first


def all_series(runs: Sequence[ReportedRun]) -> list[Series]:
    """Return a series for each run and tokenizer, with the languages that its means are over."""
    named = [
        (number, run.label, tokenizer, run.results["summary"])
        for number, run in enumerate(runs)
        for tokenizer in run.results["summary"]
    ]
    return [
        {
            "id": place,
            "run": number,
            "label": label if len(summary) == 1 else f"{label} · {tokenizer}",
            "tokenizer": tokenizer,
            "languages": for_all(summary[tokenizer]),
            "colour": COLOURS[place % len(COLOURS)],
            "shape": SHAPES[place % len(SHAPES)],
        }
        for place, (number, label, tokenizer, summary) in enumerate(named)
    ]


def cells_of(series: Series, run: ReportedRun) -> dict[str, Cell]:
    """Return the configurations that a series' means are over."""
    return chosen(run.results, series["tokenizer"], series["languages"])


def all_lengths(runs: Sequence[ReportedRun]) -> list[Length]:
    """Return the lengths of all runs, shortest first."""
    tokens = {
        cell["length"]: cell["max_length"]
        for run in runs
        for cell in run.results["configurations"].values()
    }
    return [
        {"name": name, "tokens": tokens[name], "label": name.upper()}
        for name in sorted(tokens, key=lambda name: tokens[name])
    ]


def all_tasks(runs: Sequence[ReportedRun]) -> list[str]:
    """Return the scored tasks, in the order of the papers' tables."""
    scored = {cell["task"] for run in runs for cell in run.results["configurations"].values()}
    order = dict.fromkeys(task for run in runs for task in run.results["dataset"]["tasks"])
    return [task for task in order if task in scored] + sorted(scored - set(order))


def groups(lines: Sequence[Line]) -> list[Group]:
    """Return a table for all tasks, then one for each category that any run has."""
    summaries = [run.results["summary"][s["tokenizer"]][s["languages"]] for s, run in lines]
    known = dict.fromkeys(name for summary in summaries for name in summary)
    names = sorted(known, key=lambda name: name != "all")
    members = {
        group.name: list(group.tasks)
        for one, run in lines
        for group in categories(run.names, cells_of(one, run))
    }
    return [
        {
            "name": name,
            "members": members.get(name, []),
            "tasks": max(found[name]["tasks"] for found in summaries if name in found),
            "rows": sorted(
                (_row(i, found[name]) for i, found in enumerate(summaries) if name in found),
                key=_rank,
            ),
            "published": _published(name, lines),
        }
        for name in names
    ]


def _rank(row: GroupRow) -> tuple[float, float]:
    """Return the key by which rows are sorted: the highest wAvg (inc) first, none last."""
    inc, average = row["weighted_inc"]["score"], row["average"]["score"]
    return 1.0 if inc is None else -inc, 1.0 if average is None else -average


def _published(group: str, lines: Sequence[Line]) -> list[PublishedRow]:
    """Return the papers' models in this group, aligned ones first, in the series' languages."""
    if any(run.results["dataset"]["standard"] is False for _, run in lines):
        return []
    dataset = lines[0][1].results["dataset"]["name"]
    languages = {one["languages"] for one, _ in lines}
    return [
        {
            "model": model.model,
            "lengths": dict(model.scores),
            "average": model.average,
            "weighted_inc": model.inc,
            "weighted_dec": model.dec,
            "effective": model.effective or "-",
            "claimed": model.claimed,
            "source": f"{table.source}, {table.date}; measured on {table.measured_on}",
        }
        for kind in ("aligned", "base")
        for table in newest_tables(dataset, kind)
        if table.group == group and table.languages in languages
        for model in table.models
    ]


def _row(series: int, group: GroupSummary) -> GroupRow:
    return {
        "series": series,
        "lengths": {
            name: {
                "score": mean["score"],
                "interval": mean["interval"],
                "tasks": mean["tasks"],
                "of": group["tasks"],
            }
            for name, mean in group["lengths"].items()
        },
        "average": group["average"],
        "weighted_inc": group["weighted_inc"],
        "weighted_dec": group["weighted_dec"],
        "effective": group["effective_length_name"],
        "effective_tokens": group["effective_length"],
        "effective_between": effective_between(group),
        "threshold": group["threshold"],
        "relative": relative_name(group),
        "relative_tokens": group["relative_effective_length"],
        "losses": group["losses"],
    }


def heat_map(
    series: Series,
    run: ReportedRun,
    cells: Cells,
    rows: Mapping[str, Sequence[str]],
    lengths: Sequence[Length],
) -> HeatMap:
    """Return a series' heat map; `rows` maps each row's name to its configurations."""
    return {
        "series": series["id"],
        "rows": list(rows),
        "cells": [
            [
                _cell(run, {n: cells[n] for n in names if cells[n]["length"] == length})
                for length in (item["name"] for item in lengths)
            ]
            for names in rows.values()
        ],
    }


def task_heat_map(
    series: Series, run: ReportedRun, tasks: Sequence[str], lengths: Sequence[Length]
) -> HeatMap:
    """Tasks by lengths; where a series is over several languages a cell is their mean."""
    cells = cells_of(series, run)
    rows = {task: [name for name, cell in cells.items() if cell["task"] == task] for task in tasks}
    return heat_map(series, run, cells, rows, lengths)


def _cell(run: ReportedRun, cells: Cells) -> HeatCell | None:
    """One cell of a heat map; None where nothing was scored."""
    score, strict, interval = combine(cells, run.rows)
    if not cells:
        return None
    return {
        "score": score,
        "strict": strict,
        "interval": interval,
        "n": sum(cell["n"] for cell in cells.values()),
        "troubles": {
            name: count
            for name in TROUBLES
            if (count := sum(cell[name] for cell in cells.values()))
        },
        "configurations": list(cells),
    }


def depth_maps(lines: Sequence[Line], tasks: Sequence[str]) -> list[DepthMap]:
    """Scores by depth and length of the tasks whose evidence stands somewhere."""
    maps = (_depth_map(*line, task, [task]) for line in lines for task in tasks)
    return [found for found in maps if found["lengths"]]


def needle_maps(lines: Sequence[Line], tasks: Sequence[str]) -> list[DepthMap]:
    """Return the tasks that hide needles, together.

    A map a series, where a needle's depth is known.
    """
    maps = (_depth_map(*line, NEEDLES, _of_needles(line[1], tasks)) for line in lines)
    return [found for found in maps if found["lengths"]]


def _of_needles(run: ReportedRun, tasks: Sequence[str]) -> list[str]:
    known = run.results["dataset"].get("parameters", {})
    family = {task: str(known.get(task, {}).get("family")) for task in tasks}
    return [task for task in tasks if task.startswith("niah") or "niah" in family[task]]


def _depth_map(series: Series, run: ReportedRun, name: str, tasks: Sequence[str]) -> DepthMap:
    bins: dict[str, list[list[DepthBin]]] = {}
    names: dict[str, list[str]] = {}
    for config, cell in cells_of(series, run).items():
        if cell["task"] in tasks and cell["depth"]:
            bins.setdefault(cell["length"], []).append(cell["depth"])
            names.setdefault(cell["length"], []).append(config)
    lengths = {length: mean_bins(known) for length, known in bins.items()}
    return {"series": series["id"], "task": name, "lengths": lengths, "configurations": names}


def complexity(lines: Sequence[Line]) -> list[ComplexityPanel]:
    """Return the tasks that differ in one parameter only, of runs on changed suites."""
    return [
        {"series": one["id"], "title": panel.title, "lines": [asdict(line) for line in panel.lines]}
        for one, run in lines
        if run.results["dataset"]["standard"] is False
        for panel in panels(run.results)
        if panel.tokenizer == one["tokenizer"]
    ]


def languages(
    runs: Sequence[ReportedRun], lines: Sequence[Line], lengths: Sequence[Length]
) -> Languages | None:
    """Languages by lengths (means over the niah tasks) and the analyses; None for RULER."""
    if runs[0].results["dataset"]["name"] != "oneruler":
        return None
    found = analyze({run.label: run.results for run in runs})
    pairs = combinations(range(len(runs)), 2)
    rankings = [
        {"runs": list(pair), **value}
        for pair, value in zip(pairs, found["rankings"].values(), strict=True)
        if value is not None
    ]
    models = [{"run": number, **found["models"][run.label]} for number, run in enumerate(runs)]
    maps = []
    for one, run in lines:
        cells = in_niah(chosen(run.results, one["tokenizer"]))
        maps.append(heat_map(one, run, cells, _by_language(cells), lengths))
    return {"heat_maps": maps, "models": models, "rankings": rankings}


def _by_language(cells: Cells) -> dict[str, list[str]]:
    """Languages, single ones first, and their configurations."""
    found: dict[str, list[str]] = {}
    for name, cell in cells.items():
        found.setdefault(languages_of(cell), []).append(name)
    return dict(sorted(found.items(), key=lambda item: ("-" in item[0], item[0])))


def pairs(runs: Sequence[ReportedRun]) -> list[Pair]:
    """Every pair of runs; of more than three, the first with each other."""
    every = combinations(range(len(runs)), 2)
    return [_pair(runs, a, b) for a, b in every if not a or len(runs) <= _MOST_FOR_ALL_PAIRS]


def shown_languages(pair: Pair) -> list[str]:
    """Return the languages that a pair's differences are of.

    The mean over them first, pairs last.
    """
    known = {item["language"] for item in pair["differences"]} - {""}
    return sorted(known, key=lambda name: (name != EVERY_LANGUAGE, "-" in name, name))


def _pair(runs: Sequence[ReportedRun], a: int, b: int) -> Pair:
    try:
        found = compare(runs[a].results, runs[b].results)
    except RulerError as error:
        return {"a": a, "b": b, "differences": [], "problem": str(error)}
    cells = {name: runs[a].results["configurations"][name] for name in found["configurations"]}
    differences = [*_differences(found, cells), *_language_differences(runs[a], runs[b], cells)]
    return {"a": a, "b": b, "differences": differences, "problem": None}


def _differences(found: Mapping[str, Any], cells: Mapping[str, Cell]) -> Iterator[Difference]:
    for name, mean in found["configurations"].items():
        cell = cells[name]
        yield _difference(mean, cell["task"], cell["length"], languages_of(cell))
    for length, mean in found["lengths"].items():
        yield _difference(mean, None, length)
    yield _difference(found["all"])


def _language_differences(
    a: ReportedRun, b: ReportedRun, cells: Mapping[str, Cell]
) -> Iterator[Difference]:
    """Where there are several languages: the mean of the tasks in each, and over all single ones.

    A task's mean over the single languages is what the page's heat maps show of it.
    """
    languages = list(dict.fromkeys(map(languages_of, cells.values())))
    if len(languages) == 1:
        return
    single = [name for name in languages if "-" not in name]
    pairs = paired_cells(a.results, b.results)
    for shown in [EVERY_LANGUAGE] * (len(single) > 1) + languages:
        groups: dict[tuple[str, str | None], list[str]] = {}
        for name, cell in cells.items():
            if in_languages(cell, shown):
                groups.setdefault((cell["length"], None), []).append(name)
                if shown == EVERY_LANGUAGE:
                    groups.setdefault((cell["length"], cell["task"]), []).append(name)
        for (length, task), names in groups.items():
            yield _difference(mean_difference(names, pairs), task, length, shown)


def _difference(
    mean: Mapping[str, Any], task: str | None = None, length: str | None = None, language: str = ""
) -> Difference:
    known = {name: mean.get(name) for name in _OF_A_MEAN}
    return cast(Difference, {"task": task, "length": length, "language": language, **known})
