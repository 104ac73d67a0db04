"""The effective length of a model, its thresholds and the weights of RULER's averages over lengths.

RULER (arXiv:2404.06654), section 4. Lengths in tokens, scores 0 … 100:

    by_length = {4096: 96.7, 8192: 95.8, 16384: 96.0, 32768: 95.9, 65536: 95.9, 131072: 94.4}
    effective_length(by_length, 85.6)            # 131072
    weights(6, "inc")                            # [1, 2, 3, 4, 5, 6]: wAvg.(inc)

The tests hold what becomes of these in a results.json against Tables 3 and 12 to 16.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, cast

from ruler_common.errors import RulerError
from ruler_common.names import GROUPS, in_tokens, length_name

Baseline = Literal["chat", "base"] | float
"""Whose score at 4K is the threshold of effective length, or the threshold itself."""


@dataclass(frozen=True)
class Category:
    """A category of tasks and Llama-2-7B's score in it at 4K: the threshold of effective length."""

    name: str
    tasks: tuple[str, ...]
    chat: float | None = None
    base: float | None = None

    def threshold(self, baseline: Baseline) -> float | None:
        """The threshold for `chat` (aligned) or `base` models, or the number that all tasks get.

        None where there is none: in a suite of one's own, and in ONERULER.
        """
        if isinstance(baseline, str):
            return self.base if baseline == "base" else self.chat
        return baseline if self.name in ("all", ALL_TASKS.name) else self.chat


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
RELATIVE = 0.85
"""The share of its score at the shortest length that a model has to keep."""


def parse_baseline(threshold: str | float) -> Baseline:
    """Read `chat`, `base` or a number (0 … 100). Raises RulerError for anything else."""
    if threshold in ("chat", "base"):
        return cast(Baseline, threshold)
    with suppress(ValueError):
        if 0 <= (number := float(threshold)) <= 100:
            return number
    raise RulerError(f"--threshold '{threshold}' is not chat, base or a score from 0 to 100.")


def weights(lengths: int, weighting: str) -> list[int]:
    """The weights of so many lengths, shortest first: 1, 2, … (`inc`) or …, 2, 1 (`dec`)."""
    if weighting not in WEIGHTINGS:
        raise RulerError(f"Unknown weighting '{weighting}': it is inc or dec.")
    return list(range(1, lengths + 1))[:: 1 if weighting == "inc" else -1]


def area_weights(tokens: Sequence[int]) -> list[float]:
    """What each length, shortest first, weighs in the area under the scores over log2 of lengths.

    By the trapezoidal rule: a length weighs half the way between its neighbours. One alone: 1.
    """
    places = [math.log2(length) for length in tokens]
    if len(places) == 1:
        return [1.0]
    ends = [*places[:1], *places, *places[-1:]]
    return [(after - before) / 2 for before, after in zip(ends, ends[2:], strict=False)]


def effective_length(scores_by_length: Mapping[int, float], threshold: float) -> int | None:
    """The longest length, in tokens, whose score is at or above the threshold; None if none is.

    Shorter lengths may lie below it: this, and no stricter rule, gives every row of the tables.
    """
    passed = [tokens for tokens, score in scores_by_length.items() if score >= threshold]
    return max(passed, default=None)


def relative_effective_length(scores_by_length: Mapping[int, float]) -> int | None:
    """The longest length whose score is RELATIVE of the model's own at the shortest, or more.

    It measures how a model holds its own level, where the paper's measures one fixed level. None
    without scores, and for a model that has no level to hold: 0 at the shortest.
    """
    own = scores_by_length[min(scores_by_length)] if scores_by_length else 0.0
    return effective_length(scores_by_length, RELATIVE * own) if own else None


def effective_length_interval(
    intervals_by_length: Mapping[int, Sequence[float]], threshold: float | None
) -> list[int | None] | None:
    """The effective lengths of the lower and of the upper ends of the scores' 95 % intervals.

    None for an end at which no length reaches the threshold, and where there is none to reach.
    How often the true one lies between them: tests/bench/bench_effective.py.
    """
    if threshold is None or not intervals_by_length:
        return None
    ends = ({n: bounds[end] for n, bounds in intervals_by_length.items()} for end in (0, 1))
    return [effective_length(scores, threshold) for scores in ends]


def effective_length_name(
    scores_by_length: Mapping[int, float],
    threshold: float | None,
    claimed: int | None = None,
    names: Mapping[int, str] | None = None,
) -> str:
    """As the tables write it: `32K`, `<4K` below the shortest, `>128K` where more was claimed.

    A dash without scores, or without a threshold. `names` are what the lengths are called in the
    columns beside it.
    """
    lengths = sorted(scores_by_length)
    if not lengths or threshold is None:
        return "-"
    found = effective_length(scores_by_length, threshold)
    if found is None:
        return f"<{written(lengths[0], names)}"
    more = found == lengths[-1] and claimed is not None and claimed > found
    return f"{'>' if more else ''}{written(found, names)}"


def written(tokens: int, names: Mapping[int, str] | None = None) -> str:
    """A length by its name in `names`, else as the papers: 131072 and 128000 are 128K."""
    if names and tokens in names:
        return names[tokens].upper()
    for dataset in ("ruler", "oneruler"):
        with suppress(RulerError):
            if not in_tokens(name := length_name(tokens, dataset)):  # 128000 is 128K here
                return name.upper()
    return str(tokens)
