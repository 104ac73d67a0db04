"""The aggregates of a results.json: per length, over lengths, by category, by language.

    summary["tekken"]["en"]["all"] = {
        "tasks": 13,                                         # tasks that belong to it
        "lengths": {"4k": {"tokens", "score", "strict", "interval", "tasks"}},
        "average", "weighted_inc", "weighted_dec",           # {"score", "interval"} over lengths
        "threshold", "effective_length", "effective_length_name"}

Groups of ruler are `all` (Tables 3 and 12) and the four categories (Tables 13 to 16), of oneruler
`niah`, `cwe` and `all`; of a suite of one's own, its groups. A length counts in the averages and
for the effective length only if every task of the group was scored at it; `tasks` says how many
were. Where there are several languages, `*` is the mean over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from eval.score import intervals
from eval.score.effective_length import (
    ALL_TASKS,
    CATEGORIES,
    Category,
    effective_length,
    effective_length_name,
    weights,
)
from ruler_dataset import GROUPS, Names, languages_of

EVERY_LANGUAGE = "*"
Cells = Mapping[str, Mapping[str, Any]]


def summary(
    cells: Cells, names: Names, baseline: str | float = "chat", claimed: int | None = None
) -> dict[str, Any]:
    """The aggregates of scored configurations, by tokenizer, languages and group."""
    found: dict[str, Any] = {}
    for tokenizer in _values(cells, "tokenizer"):
        mine = {name: cell for name, cell in cells.items() if cell["tokenizer"] == tokenizer}
        pairs = list(dict.fromkeys(languages_of(cell) for cell in mine.values()))
        shown = [*pairs, EVERY_LANGUAGE] if len(pairs) > 1 else pairs
        found[tokenizer or "unknown"] = {
            languages: {
                category.name: group(chosen, category, baseline, claimed)
                for category in categories(names, chosen)
            }
            for languages in shown
            if (chosen := _in(mine, languages))
        }
    return found


def categories(names: Names, cells: Cells) -> list[Category]:
    """The groups to report: the paper's, or the suite's own without a threshold."""
    if names.dataset == "ruler" and set(names.tasks) == set(ALL_TASKS.tasks):
        return [Category("all", ALL_TASKS.tasks, ALL_TASKS.chat, ALL_TASKS.base), *CATEGORIES]
    groups = {"all": names.tasks} | dict(names.groups)
    if names.dataset == "oneruler":
        groups = {name: groups.get(name, tasks) for name, tasks in GROUPS["oneruler"].items()}
    scored = {cell["task"] for cell in cells.values()}
    nan = float("nan")
    found = [
        Category(name, tuple(tasks), nan, nan)
        for name, tasks in groups.items()
        if scored & set(tasks)
    ]
    if "all" not in {category.name for category in found}:  # an ablation alone is in no group
        found.insert(0, Category("all", tuple(sorted(scored)), nan, nan))
    return found


def group(
    cells: Cells, category: Category, baseline: str | float = "chat", claimed: int | None = None
) -> dict[str, Any]:
    """One group's row of a table: its mean at each length and what is made of those."""
    mine = {name: cell for name, cell in cells.items() if cell["task"] in category.tasks}
    lengths: dict[str, dict[str, Any]] = {}
    whole: list[str] = []
    pairs = {languages_of(cell) for cell in mine.values()}
    for length, tokens in sorted(_lengths(mine).items(), key=lambda item: item[1]):
        here = {name: cell for name, cell in mine.items() if cell["length"] == length}
        tasks = {cell["task"] for cell in here.values() if cell["score"] is not None}
        lengths[length] = {"tokens": tokens, **combine(here), "tasks": len(tasks)}
        scored = sum(cell["score"] is not None for cell in here.values())
        if scored == len(category.tasks) * len(pairs):
            whole.append(length)
    scores: dict[int | str, float] = {lengths[n]["tokens"]: lengths[n]["score"] for n in whole}
    name = "-"
    threshold = baseline if isinstance(baseline, float | int) else category.threshold(baseline)
    if isinstance(baseline, float | int) and category.name != "all":
        threshold = category.chat
    known = threshold == threshold  # not nan
    if known:
        name = effective_length_name(scores, threshold, claimed)
    return {
        "tasks": len(category.tasks),
        "lengths": lengths,
        "average": over_lengths(mine, whole, [1] * len(whole)),
        "weighted_inc": over_lengths(mine, whole, weights(len(whole), "inc")),
        "weighted_dec": over_lengths(mine, whole, weights(len(whole), "dec")),
        "threshold": threshold if known else None,
        "effective_length": effective_length(scores, threshold) if known else None,
        "effective_length_name": name,
    }


def over_lengths(cells: Cells, lengths: Iterable[str], weighting: Iterable[int]) -> dict[str, Any]:
    """The weighted mean over lengths of the mean over tasks, with its interval."""
    by_length = dict(zip(lengths, weighting, strict=True))
    chosen = {name: cell for name, cell in cells.items() if cell["length"] in by_length}
    found = combine(chosen, {name: by_length[cell["length"]] for name, cell in chosen.items()})
    return {"score": found["score"], "interval": found["interval"]}


def combine(cells: Cells, weighting: Mapping[str, float] | None = None) -> dict[str, Any]:
    """The weighted mean of cells and its interval; cells of a task share rows by index."""
    scored = {name: cell for name, cell in cells.items() if cell["score"] is not None}
    share = {name: 1.0 if weighting is None else float(weighting[name]) for name in scored}
    total = sum(share.values())
    if not total:
        return {"score": None, "strict": None, "interval": None}
    rows = {
        name: (
            cell["task"],
            dict(zip(cell["rows"]["index"], cell["rows"]["score"], strict=True)),
        )
        for name, cell in scored.items()
    }
    bounds = intervals.interval(*intervals.units(rows, share))
    return {
        "score": float(np.dot([c["score"] for c in scored.values()], list(share.values())) / total),
        "strict": float(
            np.dot([c["strict"] for c in scored.values()], list(share.values())) / total
        ),
        "interval": [100 * bound for bound in bounds] if bounds else None,
    }


def _in(cells: Cells, languages: str) -> dict[str, Mapping[str, Any]]:
    return {
        name: cell
        for name, cell in cells.items()
        if languages in (EVERY_LANGUAGE, languages_of(cell))
    }


def _values(cells: Cells, key: str) -> list[Any]:
    return list(dict.fromkeys(cell[key] for cell in cells.values()))


def _lengths(cells: Cells) -> dict[str, int]:
    return {cell["length"]: cell["max_length"] for cell in cells.values()}
