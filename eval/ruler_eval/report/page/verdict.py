"""The page's first lines: who leads, where the others lose, how far each holds, in sentences.

    verdict(page)    # ["Other-14B leads: 7.1 points [5.9, 8.3] above Base-7B in …", …]

Every number is in one of the page's tables. A model leads if the paired difference over all rows
excludes zero; a task is named only if its difference holds after an adjustment for all tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from ruler_eval.analysis.compare import Side
from ruler_eval.report.page.model import Difference, Group, GroupRow, PageData
from ruler_eval.report.table_parts import bounds, number
from ruler_eval.score.aggregates import EVERY_LANGUAGE, RELATIVE

_SURE = 0.05
_COUNTED = {"missing": "missing", "failed": "failed", "cut": "truncated"}


def verdict(page: PageData) -> list[str]:
    """Return the sentences, the most important first."""
    group = page["groups"][0]
    ranked = sorted(group["rows"], key=_mean, reverse=True)
    found = list(_leads(page, ranked)) or list(_alone(page, group))
    return [*found, *_holds(page, ranked), *_not_answered(page)]


def _mean(row: GroupRow) -> float:
    """Return a row's average; where no length has all tasks, that of the means that there are."""
    if row["average"]["score"] is not None:
        return row["average"]["score"]
    known = [mean["score"] for mean in row["lengths"].values() if mean["score"] is not None]
    return sum(known) / len(known) if known else -1.0


def _label(page: PageData, row: GroupRow) -> str:
    return page["series"][row["series"]]["label"]


def _alone(page: PageData, group: Group) -> Iterator[str]:
    """Of models that are not ranked: each one's score, and its lowest cell."""
    for row in group["rows"]:
        name, mean = _label(page, row), row["average"]
        if mean["score"] is not None:
            yield (
                f"{name} scores {mean['score']:.1f} {bounds(mean['interval'])} on average over "
                f"{group['tasks']} tasks."
            )
        cells = [
            (cell["score"], task, length["label"])
            for heat in page["heat_maps"]
            if heat["series"] == row["series"]
            for task, cells in zip(heat["rows"], heat["cells"], strict=True)
            for cell, length in zip(cells, page["lengths"], strict=True)
            if cell and cell["score"] is not None
        ]
        if len({score for score, *_ in cells}) > 1:  # else each is the lowest
            score, task, length = min(cells)
            yield f"Lowest score of {name}: {score:.1f}, in {task} at {length}."


def _leads(page: PageData, ranked: Sequence[GroupRow]) -> Iterator[str]:
    """Yield the first two by average, and where each other model loses most to the first."""
    if len(ranked) < 2:
        return
    first, second = ranked[:2]
    over_all = [i for i in _against(page, first, second) if i["task"] is i["length"] is None]
    if not over_all:
        every = ((_label(page, row), row["average"]) for row in ranked)
        means = [
            f"{name} {number(mean['score'])} {bounds(mean['interval'])}" for name, mean in every
        ]
        yield f"By average, not paired: {', '.join(means)}."
        return
    (item,) = over_all
    names = _label(page, first), _label(page, second)
    if item["better"] == "b":  # lengths without all tasks are in this mean, but not in the average
        item, names = _turned(item), names[::-1]
    points, interval = item["difference"], bounds(item["interval"])
    where = "in the mean over all tasks and lengths"
    if item["better"] == "a":
        yield f"{names[0]} leads: {points:.1f} points {interval} above {names[1]} {where}."
    else:
        apart = f"{points:+.1f} points {interval} {where}"
        yield f"{names[0]} and {names[1]} are not told apart: {apart}."
    for row in ranked[1:]:
        worst = _worst(_against(page, first, row))
        if worst is not None:
            where = f"in {worst['task']} at {(worst['length'] or '').upper()}"
            yield (
                f"{_label(page, row)} loses most against {_label(page, first)} {where}: "
                f"{worst['difference']:.1f} points."
            )


def _against(page: PageData, first: GroupRow, other: GroupRow) -> list[Difference]:
    """Return the first's differences to the other, whichever is A in their pair.

    None if not paired.
    """
    runs = [page["series"][row["series"]]["run"] for row in (first, other)]
    for pair in page["pairs"]:
        if [pair["a"], pair["b"]] == runs:
            return pair["differences"]
        if [pair["b"], pair["a"]] == runs:
            return [_turned(item) for item in pair["differences"]]
    return []


def _turned(item: Difference) -> Difference:
    """B − A instead of A − B."""
    low, high = item["interval"]
    better: dict[Side | None, Side | None] = {"a": "b", "b": "a", None: None}
    turned = {"difference": -item["difference"], "interval": [-high, -low]}
    return cast(Difference, {**item, **turned, "better": better[item["better"]]})


def _worst(differences: Sequence[Difference]) -> Difference | None:
    """Return the configuration in which a model's loss is largest, of those shown to be losses."""
    cells = [
        item
        for item in differences
        if item["task"] and item["length"] and item["language"] != EVERY_LANGUAGE
    ]
    lost = [item for item in cells if item["difference"] > 0 and _sure(item, len(cells))]
    return max(lost, key=lambda item: item["difference"], default=None)


def _sure(item: Difference, tests: int) -> bool:
    """Whether a difference stands among so many; where it has no p, by a wider interval."""
    from scipy.special import ndtri

    if item["better"] is None:
        return False
    if item["p_holm"] is not None:
        return item["p_holm"] < _SURE
    low, high = item["interval"]
    wider = float(ndtri(1 - _SURE / 2 / tests) / ndtri(1 - _SURE / 2))
    return abs(item["difference"]) > wider * (high - low) / 2


def _holds(page: PageData, ranked: Sequence[GroupRow]) -> Iterator[str]:
    """Yield the longest length that passes the threshold, or 85 % of the own shortest."""
    scored = [item["label"] for item in page["lengths"] if item["tokens"]]
    if len(scored) < 2:
        return
    for level in dict.fromkeys(row["threshold"] for row in ranked):
        rows = [row for row in ranked if row["threshold"] == level]
        what = f"{RELATIVE:.0%} of its own score at {scored[0]}".replace("%", " %")
        what += ", by the means only"
        if level is not None:
            what = f"the threshold of {level:.1f}"
        ends = [row["relative" if level is None else "effective"] for row in rows]
        texts = [
            f"{_label(page, row)} below {scored[0]}{_between(row, end)}"
            if end.startswith("<")
            else f"{_label(page, row)} to {end}{_between(row, end)}"
            + ", the longest scored" * (end == scored[-1])
            for row, end in zip(rows, ends, strict=True)
            if end != "-"
        ]
        if texts:
            name = "Effective length" if level is not None else "Relative length"
            yield f"{name} (at or above {what}): {'; '.join(texts)}."


def _between(row: GroupRow, end: str) -> str:
    """Return the effective lengths of the ends of the intervals, if they differ from the mean's."""
    found = row["effective_between"]
    same = row["threshold"] is None or found in ("-", end.removeprefix(">"))
    return "" if same else f" [{found} by the ends of the intervals]"


def _not_answered(page: PageData) -> Iterator[str]:
    """Rows that are missing, failed or truncated, in one sentence."""
    texts = []
    for run in page["runs"]:
        counts = ((run["counts"][key], name) for key, name in _COUNTED.items())
        if found := [f"{count:,} {name}" for count, name in counts if count]:
            texts.append(f"{run['label']} {', '.join(found)} of {run['rows']:,} rows")
    if texts:
        yield f"Not answered to the end: {'; '.join(texts)}."
