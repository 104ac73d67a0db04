"""Models ranked by the averages of RULER's tables, and which ranks their rows leave possible.

    ranks({"qwen": load(Path("runs/qwen")), "llama": …})["average"][0]
    # {"model": "qwen", "score": 91.2, "rank": 1, "ranks": [1, 2]}

A model's rank lies, with 95 % confidence, between 1 + the models that are surely better and the
number of models less those surely worse, by paired intervals (analysis/paired.py) of all its pairs
together: 1 - 0.05 / pairs each (Mogstad, Romano, Shaikh and Wilhelm, 2024). Averages are over the
configurations that all models share: the mean at each length, then over lengths, weighted alike,
rising (inc) or falling (dec) with the length.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import Pairs, paired_cells, paired_over
from ruler_eval.analysis.paired import bounds
from ruler_eval.score.effective_length import WEIGHTINGS, weights
from ruler_eval.score.evidence_alone import is_alone
from ruler_eval.score.intervals import CONFIDENCE, FEWEST_ROWS
from ruler_eval.score.results_file import Results, lengths_of
from ruler_eval.score.trust.stopped import refuse_stopped


class Ranked(TypedDict):
    """A model's average (0 … 100), its rank, 1 for the best, and its first and last possible."""

    model: str
    score: float
    rank: int
    ranks: list[int]


def ranks(results: Mapping[str, Results]) -> dict[str, list[Ranked]]:
    """By `average`, `weighted_inc` and `weighted_dec`: the models, best first.

    Raises RulerError if they share no configuration, or as `compare` does for two of them.
    """
    first, *others = results.values()
    for each in results.values():
        refuse_stopped(each)
    names = [
        name
        for name, cell in first["configurations"].items()
        if not is_alone(cell) and all(name in other["configurations"] for other in others)
    ]
    if not names:
        raise RulerError("The results share no configuration: score them on the same rows.")
    pairs = {
        (a, b): {n: c for n, c in paired_cells(results[a], results[b]).items() if n in names}
        for a, b in combinations(results, 2)
    }
    cells = {name: first["configurations"][name] for name in names}
    lengths = lengths_of(cells.values())
    counts = {length: sum(c["length"] == length for c in cells.values()) for length in lengths}
    found = {}
    for key in ("average", *(f"weighted_{weighting}" for weighting in WEIGHTINGS)):
        weighting = key.rpartition("_")[2]
        alike = key == "average"
        weighed = [1] * len(lengths) if alike else weights(len(lengths), weighting)
        by_length = dict(zip(lengths, weighed, strict=True))
        shares = {n: by_length[c["length"]] / counts[c["length"]] for n, c in cells.items()}
        found[key] = _ranked(results, shares, pairs)
    return found


def _ranked(
    results: Mapping[str, Results],
    shares: Mapping[str, float],
    pairs: Mapping[tuple[str, str], Pairs],
) -> list[Ranked]:
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(results) - 1)
    better = dict.fromkeys(results, 0)
    worse = dict.fromkeys(results, 0)
    for (a, b), cells in pairs.items():
        found = paired_over(cells, results[a], shares)
        low, high = bounds(found, confidence)
        if found.rows >= FEWEST_ROWS and not low <= 0 <= high:
            winner, loser = (a, b) if low > 0 else (b, a)
            better[loser] += 1
            worse[winner] += 1
    total = sum(shares.values())
    scores = {
        model: sum(
            share * 100 * float(np.mean(result["configurations"][name]["rows"]["score"]))
            for name, share in shares.items()
        )
        / total
        for model, result in results.items()
    }
    return [
        {
            "model": model,
            "score": scores[model],
            "rank": 1 + sum(other > scores[model] for other in scores.values()),
            "ranks": [1 + better[model], len(results) - worse[model]],
        }
        for model in sorted(scores, key=lambda model: -scores[model])
    ]
