"""Paired differences of the page's runs, by eval/analysis/compare.py, in the model's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from eval.analysis.compare import compare
from eval.report.page.page_model import Difference, Pair
from eval.report.page.page_runs import ReportedRun
from eval.score.results_file import Cell
from ruler_dataset import RulerError, languages_of

_MOST_FOR_ALL_PAIRS = 3
"""Runs: of more, each is paired with the first alone."""


def pairs(runs: Sequence[ReportedRun]) -> list[Pair]:
    """Every pair of runs; of more than three, the first with each other."""
    numbers = range(len(runs))
    chosen = (
        list(combinations(numbers, 2))
        if len(runs) <= _MOST_FOR_ALL_PAIRS
        else [(0, other) for other in numbers if other]
    )
    return [_pair(runs, a, b) for a, b in chosen]


def _pair(runs: Sequence[ReportedRun], a: int, b: int) -> Pair:
    try:
        found = compare(runs[a].results, runs[b].results)
    except RulerError as error:
        return {"a": a, "b": b, "differences": [], "problem": str(error)}
    cells = runs[a].results["configurations"]
    return {"a": a, "b": b, "differences": list(_differences(found, cells)), "problem": None}


def _differences(found: Mapping[str, Any], cells: Mapping[str, Cell]) -> Iterator[Difference]:
    for name, mean in found["configurations"].items():
        cell = cells[name]
        yield {
            **_numbers(mean),
            "task": cell["task"],
            "length": cell["length"],
            "language": languages_of(cell),
        }
    for length, mean in found["lengths"].items():
        yield {**_numbers(mean), "task": None, "length": length}
    yield {**_numbers(found["all"]), "task": None, "length": None}


def _numbers(mean: Mapping[str, Any]) -> Difference:
    return {
        "task": None,
        "length": None,
        "language": "",
        "a": mean["a"],
        "b": mean["b"],
        "difference": mean["difference"],
        "interval": mean["interval"],
        "n": mean.get("n"),
        "p": mean.get("p"),
    }
