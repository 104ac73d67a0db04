"""Aggregates of RULER's tables (arXiv:2404.06654, section 4): pure functions of scores in percent.

    by_length = {4096: 96.7, 8192: 95.8, 16384: 96.0, 32768: 95.9, 65536: 95.9, 131072: 94.4}
    weighted_average(by_length, "inc")           # 95.5
    effective_length(by_length, 85.6)            # 131072

Lengths are tokens, or names such as `128k`. Held against Tables 3 and 12–16 in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from ruler_dataset import GROUPS, RulerError, length_name, parse_length


@dataclass(frozen=True)
class Category:
    """A category of tasks and Llama-2-7B's score in it at 4K: the threshold of effective length."""

    name: str
    tasks: tuple[str, ...]
    chat: float
    base: float

    def threshold(self, baseline: str) -> float:
        """The threshold for `chat` (aligned) or `base` models."""
        return self.base if baseline == "base" else self.chat


_RULER = GROUPS["ruler"]
ALL_TASKS = Category("all 13 tasks", _RULER["all"], 85.6, 79.4)
"""Tables 3 and 12."""
CATEGORIES = (
    Category("retrieval (NIAH)", _RULER["niah"], 96.9, 90.9),
    Category("multi-hop tracing (VT)", ("vt",), 89.7, 58.8),
    Category("aggregation (CWE/FWE)", _RULER["ag"], 84.8, 73.1),
    Category("question answering", _RULER["qa"], 49.7, 48.6),
)
"""Tables 13 to 16."""
WEIGHTINGS = ("inc", "dec")


def mean_over_tasks(scores: Mapping[str, float]) -> float:
    """The plain mean of the tasks' scores; nan without any."""
    return sum(scores.values()) / len(scores) if scores else float("nan")


def average(scores_by_length: Mapping[int | str, float]) -> float:
    """The plain mean over lengths (Avg.); nan without any."""
    return _weighted([1.0] * len(scores_by_length), list(scores_by_length.values()))


def weights(lengths: int, weighting: str) -> list[int]:
    """The weights of so many lengths, shortest first: 1, 2, … (`inc`) or …, 2, 1 (`dec`)."""
    if weighting not in WEIGHTINGS:
        raise RulerError(f"Unknown weighting '{weighting}': it is inc or dec.")
    return list(range(1, lengths + 1))[:: 1 if weighting == "inc" else -1]


def weighted_average(scores_by_length: Mapping[int | str, float], weighting: str) -> float:
    """wAvg.(inc) weights the lengths, shortest first, by 1, 2, 3, …; wAvg.(dec) the other way."""
    ordered = [score for _, score in _by_length(scores_by_length)]
    return _weighted([float(weight) for weight in weights(len(ordered), weighting)], ordered)


def effective_length(scores_by_length: Mapping[int | str, float], threshold: float) -> int | None:
    """The longest length, in tokens, whose score is at or above the threshold; None if none is.

    Shorter lengths may lie below it: this, and no stricter rule, gives every row of the tables.
    """
    passed = [tokens for tokens, score in _by_length(scores_by_length) if score >= threshold]
    return max(passed, default=None)


def effective_length_name(
    scores_by_length: Mapping[int | str, float], threshold: float, claimed: int | None = None
) -> str:
    """As the tables write it: `32K`, `<4K` below the shortest, `>128K` where more was claimed."""
    lengths = [tokens for tokens, _ in _by_length(scores_by_length)]
    if not lengths:
        return "-"
    found = effective_length(scores_by_length, threshold)
    if found is None:
        return f"<{written(lengths[0])}"
    more = found == lengths[-1] and claimed is not None and claimed > found
    return f"{'>' if more else ''}{written(found)}"


def written(tokens: int) -> str:
    """A length as the tables write it: 131072 and 128000 are 128K, 1048576 is 1M."""
    named = []
    for dataset in ("ruler", "oneruler"):
        with suppress(RulerError):
            named.append(length_name(tokens, dataset).upper())
    named.sort(key=lambda name: int(name[:-1]).bit_count())  # 128000 is 128K before 125K
    return named[0] if named else str(tokens)


def rank(
    models: Mapping[str, float] | Mapping[str, Mapping[int | str, float]], weighting: str = "inc"
) -> dict[str, int]:
    """Each model's rank, 1 for the best; equal scores share the better rank.

    `models` maps names to scores, or to scores by length, which are ranked by their weighted
    average, unrounded.
    """
    scores = {
        name: weighted_average(value, weighting) if isinstance(value, Mapping) else float(value)
        for name, value in models.items()
    }
    return {
        name: 1 + sum(other > score for other in scores.values()) for name, score in scores.items()
    }


def _by_length(scores_by_length: Mapping[int | str, float]) -> list[tuple[int, float]]:
    tokens = {
        (parse_length(length) if isinstance(length, str) else int(length)): score
        for length, score in scores_by_length.items()
    }
    return sorted(tokens.items())


def _weighted(weights: list[float], scores: list[float]) -> float:
    total = sum(weights)
    if not total:
        return float("nan")
    return sum(w * score for w, score in zip(weights, scores, strict=True)) / total
