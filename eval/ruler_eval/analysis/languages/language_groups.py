"""Groups of ONERULER's languages: by task, the best against the worst, two languages, all models.

ONERULER (arXiv:2503.01996), Figures 1A, 4b, 5 and 6A, from the cells of a results.json:

    by_task(cells)[0]           # {"length": "64k", "task": "niah_none", "english": {"score": …}, …}
    over_models([analysis_of_qwen, analysis_of_llama])["languages"][0]   # {"language": "pl", …}

Scores and intervals are 0 … 100; intervals are 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from typing import Any

from typing_extensions import TypedDict

from ruler_common.languages import LanguageFacts
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


NOTHING: Score = {"score": None, "interval": None, "languages": 0}


def means_by(cells: Cells, key: Callable[[Cell], Hashable]) -> dict[Any, Score]:
    """The mean over the cells of each key."""
    groups: dict[Hashable, dict[str, Cell]] = {}
    for name, cell in cells.items():
        groups.setdefault(key(cell), {})[name] = cell
    return {place: _mean_over(mine) for place, mine in groups.items()}


def _mean_over(cells: Cells) -> Score:
    score, _, interval = combine(cells)
    languages = len({languages_of(cell) for cell in cells.values()})
    return {"score": score, "interval": interval, "languages": languages}


def by_task(cells: Cells, resource: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each task at each length: English, and the other languages by resource (Figure 5).

    `resource` has `high` or `low` of every language.
    """
    groups = {**resource, "en": "english"}
    means = means_by(cells, lambda c: (c["length"], c["task"], groups.get(languages_of(c))))
    found = []
    for length, task in product(lengths_of(cells.values()), TASKS["oneruler"]):
        mine = {group: means.get((length, task, group), NOTHING) for group in GROUPS}
        if any(one["languages"] for one in mine.values()):
            found.append({"length": length, "task": task, **mine})
    return found


def resources(cells: Cells, resource: Mapping[str, str]) -> list[dict[str, Any]]:
    """Languages of high and of low resource by length: niah means and their gap (Figures 1, 4).

    `resource` has `high` or `low` of every language; pairs of languages are left out.
    """
    means = means_by(in_niah(cells), lambda c: (c["length"], resource.get(languages_of(c))))
    found = []
    for length in lengths_of(cells.values()):
        both = {group: means.get((length, group), NOTHING) for group in ("high", "low")}
        high, low = both["high"]["score"], both["low"]["score"]
        gap = None if high is None or low is None else high - low
        found.append({"length": length, **both, "gap": gap})
    return found


def scripts(cells: Cells, about: Mapping[str, LanguageFacts]) -> list[dict[str, Any]]:
    """The languages by the script of their books and by length: niah means."""
    single = {n: c for n, c in in_niah(cells).items() if "-" not in languages_of(c)}
    means = means_by(single, lambda c: (about[c["language"]].script, c["length"]))
    names = sorted({script for script, _ in means})
    return [
        {"script": script, "length": length, **means[script, length]}
        for script, length in product(names, lengths_of(single.values()))
        if (script, length) in means
    ]


def best_and_worst(ranking: Sequence[str], cells: Cells) -> dict[str, Any] | None:
    """The first and the last languages of a ranking at each length (Figure 1A); cells of niah.

    None of fewer than two languages.
    """
    count = min(BEST, len(ranking) // 2)
    if not count:
        return None
    sides = {"best": [*ranking[:count]], "worst": [*ranking[-count:]]}
    side_of = {code: side for side, codes in sides.items() for code in codes}
    means = means_by(cells, lambda c: (c["length"], side_of.get(languages_of(c))))
    lengths = [
        {"length": length, **{side: means.get((length, side), NOTHING) for side in sides}}
        for length in lengths_of(cells.values())
    ]
    return {**sides, "lengths": lengths}


def crossed(cells: Cells) -> list[dict[str, Any]]:
    """Text and instruction in two languages, by length (Figure 6A); cells of niah.

    With the two languages alone beside them.
    """
    means, codes = means_by(cells, lambda c: (c["length"], *pair_of(c))), _in_pairs(cells)
    return [
        {"length": length, "text": text, "instruction": instruction, **known}
        for length, text, instruction in product(lengths_of(cells.values()), codes, codes)
        if (known := means.get((length, text, instruction), NOTHING))["score"] is not None
    ]


def cross_lingual(cells: Cells) -> dict[str, dict[str, float]]:
    """The mean by the text's language, then by the instruction's (Figure 6A); cells of niah."""
    matrix: dict[str, dict[str, float]] = {}
    means = means_by(cells, pair_of)
    for text, instruction in product(_in_pairs(cells), repeat=2):
        score = means.get((text, instruction), NOTHING)["score"]
        if score is not None:
            matrix.setdefault(text, {})[instruction] = score
    return matrix


def _in_pairs(cells: Cells) -> list[str]:
    """The languages that stand in pairs of two."""
    pairs = [pair_of(cell) for cell in cells.values() if "-" in languages_of(cell)]
    return sorted({code for pair in pairs for code in pair})


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
