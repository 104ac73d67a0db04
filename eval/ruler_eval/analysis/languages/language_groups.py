"""Groups of ONERULER's languages: by task, the best against the worst, two languages, all models.

ONERULER (arXiv:2503.01996), Figures 1A, 4b, 5 and 6A, from the cells of a results.json:

    by_task(cells)[0]           # {"length": "64k", "task": "niah_none", "english": {"score": …}, …}
    over_models([analysis_of_qwen, analysis_of_llama])["languages"][0]   # {"language": "pl", …}

Scores and intervals are 0 … 100; intervals are 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from typing_extensions import TypedDict

from ruler_common.names import TASKS, languages_of
from ruler_eval.analysis.languages.language_answers import NIAH
from ruler_eval.score.aggregates import combine
from ruler_eval.score.results_file import Cell, Interval, lengths_of

Cells = Mapping[str, Cell]
BEST = 5
"""Languages among the best and among the worst, as in Figure 1A; fewer where there are fewer."""
GROUPS = ("english", "high", "low")
"""English, and the other languages of high and of low resource, as Figure 5 has them."""


class Score(TypedDict):
    """A mean (0 … 100) with its interval, None where nothing was scored; and of how many."""

    score: float | None
    interval: Interval | None
    languages: int


def in_niah(cells: Cells) -> dict[str, Cell]:
    """The cells of the niah tasks."""
    return {name: cell for name, cell in cells.items() if cell["task"] in NIAH}


def score_of(cells: Cells) -> Score:
    """The mean over cells."""
    score, _, interval = combine(cells)
    languages = len({languages_of(cell) for cell in cells.values()})
    return {"score": score, "interval": interval, "languages": languages}


def by_task(cells: Cells, groups: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each task at each length: English, and the other languages by resource (Figure 5).

    `groups` has `high` or `low` of every language.
    """
    found = []
    for length, task in product(lengths_of(cells.values()), TASKS["oneruler"]):
        here = {n: c for n, c in cells.items() if (c["length"], c["task"]) == (length, task)}
        mine = {
            group: score_of({n: c for n, c in here.items() if _group(c, groups) == group})
            for group in GROUPS
        }
        if any(one["languages"] for one in mine.values()):
            found.append({"length": length, "task": task, **mine})
    return found


def _group(cell: Cell, groups: Mapping[str, str]) -> str:
    languages = languages_of(cell)
    return "english" if languages == "en" else groups.get(languages, "crossed")


def best_and_worst(ranking: Sequence[str], cells: Cells) -> dict[str, Any] | None:
    """The first and the last languages of a ranking at each length (Figure 1A); cells of niah.

    None of fewer than two languages.
    """
    count = min(BEST, len(ranking) // 2)
    if not count:
        return None
    sides = {"best": ranking[:count], "worst": ranking[-count:]}
    lengths = []
    for length in lengths_of(cells.values()):
        here = {n: c for n, c in cells.items() if c["length"] == length}
        means = {
            side: score_of({n: c for n, c in here.items() if languages_of(c) in codes})
            for side, codes in sides.items()
        }
        lengths.append({"length": length, **means})
    return {**{side: [*codes] for side, codes in sides.items()}, "lengths": lengths}


def crossed(cells: Cells) -> list[dict[str, Any]]:
    """Text and instruction in two languages, by length (Figure 6A); cells of niah.

    With the two languages alone beside them.
    """
    both = {code for c in cells.values() for code in pair_of(c) if "-" in languages_of(c)}
    found = []
    for length, text, instruction in product(
        lengths_of(cells.values()), sorted(both), sorted(both)
    ):
        place = length, (text, instruction)
        mine = {n: c for n, c in cells.items() if (c["length"], pair_of(c)) == place}
        if (known := score_of(mine))["score"] is not None:
            found.append({"length": length, "text": text, "instruction": instruction, **known})
    return found


def pair_of(cell: Cell) -> tuple[str, str]:
    """The languages of the text and of the instruction."""
    return cell["language"], cell["instruction_language"]


def over_models(models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The means over models of what `analyze` found of each, where every model has the same.

    Without intervals: models that answer the same rows are no draws of a population. `lowest` and
    `highest` are those of single models.
    """
    found: dict[str, Any] = {}
    for name, keys, values in (
        ("languages", ("language",), ("",)),
        ("resources", ("length",), ("high", "low")),
        ("tasks", ("length", "task"), GROUPS),
    ):
        tables = [{tuple(row[key] for key in keys): row for row in one[name]} for one in models]
        found[name] = [
            {**dict(zip(keys, place, strict=True)), **_means([t[place] for t in tables], values)}
            for place in tables[0]
            if all(place in table for table in tables)
        ]
    for row in found["languages"]:
        row |= row.pop("")
    known = [row for row in found["languages"] if row["score"] is not None]
    found["languages"] = sorted(known, key=lambda row: -row["score"])
    return found


def _means(rows: Sequence[Mapping[str, Any]], values: Sequence[str]) -> dict[str, Any]:
    """The mean of each value over models; None where a model has none, or did not rank it."""
    found: dict[str, Any] = {}
    for value in values:
        scores = [(row[value] if value else row)["score"] for row in rows]
        if None in scores or any(row.get("rank", 1) is None for row in rows):
            found[value] = {"score": None, "lowest": None, "highest": None}
        else:
            mean = sum(scores) / len(scores)
            found[value] = {"score": mean, "lowest": min(scores), "highest": max(scores)}
    return found
