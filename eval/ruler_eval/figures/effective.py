"""The effective length of a group of tasks in words: the only place that knows how it is written.

    effective_length(group)                    # EffectiveLength("32K", "16K to 32K")
    effective_length(group).brief              # "32K (16K–32K)"

RULER (arXiv:2404.06654), section 4. The interval has the effective lengths by the lower and by the
upper ends of the scores' intervals (score/aggregates.py).
"""

from __future__ import annotations

from typing import NamedTuple

from ruler_eval.score.aggregates import written
from ruler_eval.score.results import GroupSummary


class EffectiveLength(NamedTuple):
    """An effective length as in the paper's tables, and its interval in words.

    The name is `32K`, `<4K`, `>128K` if the model claims more, or `-` if there is none. The
    interval is `16K to 32K` or `below 4K to 8K`, and empty if both ends give the same length.
    """

    name: str
    between: str

    @property
    def brief(self) -> str:
        """Both in few characters: `32K (16K–32K)`, `4K (<4K–8K)`."""
        if not self.between:
            return self.name
        between = self.between.replace("below ", "<").replace("more than ", ">")
        return f"{self.name} ({between.replace(' to ', '–')})"


def effective_length(group: GroupSummary) -> EffectiveLength:
    """Return the effective length of a group."""
    name, ends = group["effective_length_name"], group["effective_length_interval"]
    if name == "-" or ends is None or ends[0] == ends[1]:
        return EffectiveLength(name, "")
    low, high = (_in_words(group, tokens) for tokens in ends)
    if name == f">{high}":
        high = f"more than {high}"
    return EffectiveLength(name, f"{low} to {high}")


def relative_length(group: GroupSummary) -> str:
    """Return the longest length with 85 % of the score at the shortest, by its column's name."""
    tokens = group["relative_effective_length"]
    return "-" if tokens is None else _in_words(group, tokens)


def _in_words(group: GroupSummary, tokens: int | None) -> str:
    """Return a length by the name of its column; None is below the shortest that has all tasks."""
    for length, mean in group["lengths"].items():
        if tokens is None and mean["tokens"] and not mean["lacking"]:
            return f"below {length.upper()}"
        if tokens is not None and mean["tokens"] == tokens:
            return length.upper()
    return "-" if tokens is None else written(tokens)
