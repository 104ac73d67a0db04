"""The numbers of the page, taken from results.json: the table, the heat maps, scores by depth.

Nothing is scored here: means and intervals are those of ruler_eval/score/aggregates.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ruler_common.names import languages_of
from ruler_eval.analysis.complexity import panels
from ruler_eval.published.published_tables import newest_tables
from ruler_eval.report.config_tables import TROUBLES
from ruler_eval.report.page.page_model import (
    NEEDLES,
    ComplexityPanel,
    DepthMap,
    Group,
    GroupRow,
    HeatCell,
    HeatMap,
    Length,
    PublishedRow,
    Series,
)
from ruler_eval.report.page.page_runs import ReportedRun
from ruler_eval.report.score_tables import chosen, effective_between, relative_name
from ruler_eval.score.aggregates import categories, combine, for_all
from ruler_eval.score.cells.depth import mean_bins
from ruler_eval.score.results_file import Cell, DepthBin, GroupSummary

COLOURS = ("#3566c4", "#d1600a", "#12866f", "#a8479b", "#8a6d00", "#c03a4b", "#4b7f1d", "#6a5fc1")
"""Of the series, in order; they have a contrast of 3 or more on white and on black."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
Cells = Mapping[str, Cell]


def all_series(runs: Sequence[ReportedRun]) -> list[Series]:
    """A series for each run and tokenizer, with the languages that stand for the whole run."""
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


def cells_of(run: ReportedRun, series: Series) -> dict[str, Cell]:
    """The configurations that a series' means are over."""
    return chosen(run.results, series["tokenizer"], series["languages"])


def all_lengths(runs: Sequence[ReportedRun]) -> list[Length]:
    """The lengths of all runs, shortest first."""
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
    """The scored tasks, in the order of the papers' tables."""
    scored = {cell["task"] for run in runs for cell in run.results["configurations"].values()}
    order = dict.fromkeys(task for run in runs for task in run.results["dataset"]["tasks"])
    return [task for task in order if task in scored] + sorted(scored - set(order))


def groups(runs: Sequence[ReportedRun], series: Sequence[Series]) -> list[Group]:
    """A table for all tasks, which comes first, and one for each category that any run has."""
    summaries = [runs[s["run"]].results["summary"][s["tokenizer"]][s["languages"]] for s in series]
    known = dict.fromkeys(name for summary in summaries for name in summary)
    names = sorted(known, key=lambda name: name != "all")
    members = {
        group.name: list(group.tasks)
        for one in series
        for group in categories(runs[one["run"]].names, cells_of(runs[one["run"]], one))
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
            "published": _published(name, series, runs),
        }
        for name in names
    ]


def _rank(row: GroupRow) -> tuple[float, float]:
    """The highest mean that weighs longer lengths more comes first, means that are none last."""
    inc, average = row["weighted_inc"]["score"], row["average"]["score"]
    return 1.0 if inc is None else -inc, 1.0 if average is None else -average


def _published(
    group: str, series: Sequence[Series], runs: Sequence[ReportedRun]
) -> list[PublishedRow]:
    """The papers' models in this group, aligned ones first, in the series' languages."""
    dataset = runs[0].results["dataset"]["name"]
    if any(run.results["dataset"]["standard"] is False for run in runs):
        return []
    languages = {one["languages"] for one in series}
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
    }


def heat_map(
    series: Series,
    cells: Cells,
    rows: Mapping[str, Sequence[str]],
    lengths: Sequence[Length],
) -> HeatMap:
    """A series' heat map; `rows` maps each row's name to its configurations."""
    return {
        "series": series["id"],
        "rows": list(rows),
        "cells": [
            [
                _cell({name: cells[name] for name in names if cells[name]["length"] == length})
                for length in (item["name"] for item in lengths)
            ]
            for names in rows.values()
        ],
    }


def task_heat_map(
    run: ReportedRun, series: Series, tasks: Sequence[str], lengths: Sequence[Length]
) -> HeatMap:
    """Tasks by lengths; where a series is over several languages a cell is their mean."""
    cells = cells_of(run, series)
    rows = {task: [name for name, cell in cells.items() if cell["task"] == task] for task in tasks}
    return heat_map(series, cells, rows, lengths)


def _cell(cells: Cells) -> HeatCell | None:
    """One cell of a heat map; None where nothing was scored."""
    score, strict, interval = combine(cells)
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


def depth_maps(run: ReportedRun, series: Series, tasks: Sequence[str]) -> list[DepthMap]:
    """Scores by depth and length of the tasks whose evidence stands somewhere."""
    maps = (_depth_map(run, series, task, [task]) for task in tasks)
    return [found for found in maps if found["lengths"]]


def needle_maps(run: ReportedRun, series: Series, tasks: Sequence[str]) -> list[DepthMap]:
    """The tasks that hide needles, together: one map, none where no needle's depth is known."""
    known = run.results["dataset"].get("parameters", {})
    needles = [
        task
        for task in tasks
        if task.startswith("niah") or "niah" in str(known.get(task, {}).get("family"))
    ]
    found = _depth_map(run, series, NEEDLES, needles)
    return [found] if found["lengths"] else []


def _depth_map(run: ReportedRun, series: Series, name: str, tasks: Sequence[str]) -> DepthMap:
    bins: dict[str, list[list[DepthBin]]] = {}
    names: dict[str, list[str]] = {}
    for config, cell in cells_of(run, series).items():
        if cell["task"] in tasks and cell["depth"]:
            bins.setdefault(cell["length"], []).append(cell["depth"])
            names.setdefault(cell["length"], []).append(config)
    lengths = {length: mean_bins(known) for length, known in bins.items()}
    return {"series": series["id"], "task": name, "lengths": lengths, "configurations": names}


def complexity(runs: Sequence[ReportedRun], series: Sequence[Series]) -> list[ComplexityPanel]:
    """Tasks that differ in one parameter alone, of runs on changed suites."""
    return [
        {
            "series": one["id"],
            "title": panel.title,
            "lines": [asdict(line) for line in panel.lines],
        }
        for one in series
        if (results := runs[one["run"]].results)["dataset"]["standard"] is False
        for panel in panels(results)
        if panel.tokenizer == one["tokenizer"]
    ]


def by_language(cells: Cells) -> dict[str, list[str]]:
    """Languages, single ones first, and their configurations."""
    found: dict[str, list[str]] = {}
    for name, cell in cells.items():
        found.setdefault(languages_of(cell), []).append(name)
    return dict(sorted(found.items(), key=lambda item: ("-" in item[0], item[0])))
