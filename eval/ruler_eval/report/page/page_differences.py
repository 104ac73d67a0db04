"""Paired differences of the page's runs, by ruler_eval/analysis/compare.py, in the model's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, cast

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_eval.analysis.compare import compare, mean_difference, paired_cells
from ruler_eval.report.page.page_model import Difference, Pair
from ruler_eval.report.page.page_runs import ReportedRun
from ruler_eval.score.aggregates import EVERY_LANGUAGE, in_languages
from ruler_eval.score.results_file import Cell

_OF_A_MEAN = ("a", "b", "difference", "interval", "n", "p", "p_holm", "better")
_MOST_FOR_ALL_PAIRS = 3  # runs: of more, each is paired with the first alone


def pairs(runs: Sequence[ReportedRun]) -> list[Pair]:
    """Every pair of runs; of more than three, the first with each other."""
    every = combinations(range(len(runs)), 2)
    return [_pair(runs, a, b) for a, b in every if not a or len(runs) <= _MOST_FOR_ALL_PAIRS]


def shown_languages(pair: Pair) -> list[str]:
    """The languages that a pair's differences are of: the mean over them first, pairs last."""
    known = {item["language"] for item in pair["differences"]} - {""}
    return sorted(known, key=lambda name: (name != EVERY_LANGUAGE, "-" in name, name))


def _pair(runs: Sequence[ReportedRun], a: int, b: int) -> Pair:
    try:
        found = compare(runs[a].results, runs[b].results)
    except RulerError as error:
        return {"a": a, "b": b, "differences": [], "problem": str(error)}
    cells = {name: runs[a].results["configurations"][name] for name in found["configurations"]}
    differences = [*_differences(found, cells), *_by_language(runs[a], runs[b], cells)]
    return {"a": a, "b": b, "differences": differences, "problem": None}


def _differences(found: Mapping[str, Any], cells: Mapping[str, Cell]) -> Iterator[Difference]:
    for name, mean in found["configurations"].items():
        cell = cells[name]
        yield _difference(mean, cell["task"], cell["length"], languages_of(cell))
    for length, mean in found["lengths"].items():
        yield _difference(mean, None, length)
    yield _difference(found["all"])


def _by_language(a: ReportedRun, b: ReportedRun, cells: Mapping[str, Cell]) -> Iterator[Difference]:
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
            yield _difference(mean_difference(names, pairs, a.results), task, length, shown)


def _difference(
    mean: Mapping[str, Any], task: str | None = None, length: str | None = None, language: str = ""
) -> Difference:
    known = {name: mean.get(name) for name in _OF_A_MEAN}
    return cast(Difference, {"task": task, "length": length, "language": language, **known})
