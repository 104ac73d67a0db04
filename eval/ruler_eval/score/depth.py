"""Score by depth: where in the context the evidence stands that an answer needs.

RULER's paper has no depth-level results (section 8, "Lack of position controlling"); the rows of a
release know where each needle stands. Depth is 0 … 1 of the context, in ten bins.

    [{"depth": [0.0, 0.1], "score": 98.0, "n": 50}, …]          # "score" is null where n is 0

Where a row has several references, each with evidence of its own (values of niah_multivalue, names
of vt), each counts at its own depth, right if it stands in the answer. Where it has one reference
(one needle), or references are alternatives (qa), the row's score counts at the mean depth of the
evidence that carries it. Rows without evidence (cwe, fwe, niah_none) count nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ruler_eval.score.results_file import DepthBin

BINS = 10


class Mark(NamedTuple):
    """A place the answer needs: its depth and the number of the reference, or None for the row."""

    depth: float
    reference: int | None


def gold(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The evidence that carries a reference, in text order."""
    return [evidence for evidence in row["evidence"] if evidence["answer"]]


def is_spread(row: Mapping[str, Any], alternatives: bool) -> bool:
    """Whether each of several references has evidence of its own; then `marks` needs `input`."""
    return not alternatives and len(row["outputs"]) > 1 and len(gold(row)) == len(row["outputs"])


def marks(row: Mapping[str, Any], alternatives: bool) -> list[Mark]:
    """Where a row's references stand; `alternatives` are references of which one is enough.

    A row `is_spread` needs its `input`: a reference belongs to the first span that holds it and
    no other's.
    """
    spans = gold(row)
    if not spans:
        return []
    if not is_spread(row, alternatives):
        return [Mark(sum(span["depth"] for span in spans) / len(spans), None)]
    left = list(range(len(spans)))
    found = []
    for span in spans:
        text = row["input"][span["start"] : span["end"]].casefold()
        held = [number for number in left if row["outputs"][number].casefold() in text]
        if not held:
            return [Mark(sum(span["depth"] for span in spans) / len(spans), None)]
        left.remove(held[0])
        found.append(Mark(span["depth"], held[0]))
    return found


def bin_of(depth: float) -> int:
    """The bin of a depth; 1.0 belongs to the last."""
    return min(BINS - 1, max(0, int(depth * BINS + 1e-6)))


def by_depth(credits: Iterable[tuple[float, float]]) -> list[DepthBin] | None:
    """Ten bins of (depth, credit 0 … 1) pairs; None without any."""
    binned: list[list[float]] = [[] for _ in range(BINS)]
    for depth, credit in credits:
        binned[bin_of(depth)].append(credit)
    return _bins([(100 * sum(values), len(values)) for values in binned]) if any(binned) else None


def _bins(sums: Iterable[tuple[float, int]]) -> list[DepthBin]:
    """The bins of (sum of scores, number of scores) pairs."""
    return [
        {"depth": [i / BINS, (i + 1) / BINS], "score": total / n if n else None, "n": n}
        for i, (total, n) in enumerate(sums)
    ]


def credits(
    places: Sequence[Mark], score: float, found: Sequence[bool] | None
) -> list[tuple[float, float]]:
    """(depth, credit) of a row's places: its score, or whether each reference was found."""
    return [
        (depth, score if number is None or found is None else float(found[number]))
        for depth, number in places
    ]


def mean_bins(several: Sequence[Sequence[DepthBin]]) -> list[DepthBin]:
    """The bins of several configurations together, each reference counting once."""
    return _bins(
        (sum((one["score"] or 0) * one["n"] for one in same), sum(one["n"] for one in same))
        for same in zip(*several, strict=True)
    )
