"""Paired differences of the page's runs, by ruler_eval/analysis/compare.py, in the model's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_eval.analysis.compare import compare
from ruler_eval.report.page.page_model import Difference, Pair
from ruler_eval.report.page.page_runs import ReportedRun
from ruler_eval.score.results_file import Cell

_MOST_FOR_ALL_PAIRS = 3  # runs: of more, each is paired with the first alone


def pairs(runs: Sequence[ReportedRun]) -> list[Pair]:
    """Every pair of runs; of more than three, the first with each other."""
    every = combinations(range(len(runs)), 2)
    return [_pair(runs, a, b) for a, b in every if not a or len(runs) <= _MOST_FOR_ALL_PAIRS]


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
        yield _difference(mean, cell["task"], cell["length"], languages_of(cell))
    for length, mean in found["lengths"].items():
        yield _difference(mean, None, length)
    yield _difference(found["all"])


def _difference(
    mean: Mapping[str, Any], task: str | None = None, length: str | None = None, language: str = ""
) -> Difference:
    return {
        "task": task,
        "length": length,
        "language": language,
        "a": mean["a"],
        "b": mean["b"],
        "difference": mean["difference"],
        "interval": mean["interval"],
        "n": mean.get("n"),
        "p": mean.get("p"),
        "p_holm": mean.get("p_holm"),
        "better": mean["better"],
    }
