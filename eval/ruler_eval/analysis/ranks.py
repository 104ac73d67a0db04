"""Models ranked by the averages of RULER's tables, and which ranks their rows leave possible.

    ranks({"qwen": load(Path("runs/qwen")), "llama": …})["average"][0]
    # {"model": "qwen", "score": 91.2, "rank": 1, "ranks": [1, 2]}

A model's rank lies, with 95 % confidence, between 1 + the models that are surely better and the
number of models less those surely worse, by paired intervals (analysis/paired.py) of all its pairs
together: 1 - 0.05 / pairs each (Mogstad, Romano, Shaikh and Wilhelm, 2024). Averages are over the
rows that all models share: the mean at each length, then over lengths, weighted alike, rising (inc)
or falling (dec) with the length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import (
    ComparedModel,
    Pairs,
    model_of,
    paired_cells,
    paired_over,
)
from ruler_eval.analysis.paired import bounds
from ruler_eval.score.effective_length import weights
from ruler_eval.score.evidence_alone import is_alone
from ruler_eval.score.intervals import CONFIDENCE, FEWEST_ROWS
from ruler_eval.score.results_file import Results, lengths_of, scores_of
from ruler_eval.score.trust.stopped import refuse_stopped


class Ranked(TypedDict):
    """A model's average (0 … 100), its rank, 1 for the best, and its first and last possible."""

    model: str
    score: float
    rank: int
    ranks: list[int]


class Ranking(TypedDict):
    """The models by each average, the best first, and whose results they are, as given."""

    average: list[Ranked]
    weighted_inc: list[Ranked]
    weighted_dec: list[Ranked]
    models: list[ComparedModel]


def ranks(results: Mapping[str, Results]) -> Ranking:
    """The models by their averages.

    Raises RulerError if they share no rows, or as `compare` does for two of them.
    """
    for each in results.values():
        refuse_stopped(each)
    first = next(iter(results.values()))
    scores = {model: scores_of(one) for model, one in results.items()}
    shared = {
        name: rows
        for name, cell in first["configurations"].items()
        if not is_alone(cell)
        and (rows := set.intersection(*({*one.get(name, ())} for one in scores.values())))
    }
    if not shared:
        raise RulerError("The results share no rows: score them on the same configurations.")
    pairs = {
        (a, b): {n: c for n, c in paired_cells(results[a], results[b]).items() if n in shared}
        for a, b in combinations(results, 2)
    }
    cells = {name: first["configurations"][name] for name in shared}
    lengths = lengths_of(cells.values())
    counts = Counter(cell["length"] for cell in cells.values())

    def ranked(weighed: Sequence[int]) -> list[Ranked]:
        by_length = dict(zip(lengths, weighed, strict=True))
        shares = {n: by_length[c["length"]] / counts[c["length"]] for n, c in cells.items()}
        means = {
            model: sum(
                share * 100 * float(np.mean([mine[name][index] for index in shared[name]]))
                for name, share in shares.items()
            )
            / sum(shares.values())
            for model, mine in scores.items()
        }
        return _ranked(results, means, shares, pairs)

    return {
        "average": ranked([1] * len(lengths)),
        "weighted_inc": ranked(weights(len(lengths), "inc")),
        "weighted_dec": ranked(weights(len(lengths), "dec")),
        "models": [model_of(one, shared) for one in results.values()],
    }


def _ranked(
    results: Mapping[str, Results],
    scores: Mapping[str, float],
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
    return [
        {
            "model": model,
            "score": scores[model],
            "rank": 1 + sum(other > scores[model] for other in scores.values()),
            "ranks": [1 + better[model], len(results) - worse[model]],
        }
        for model in sorted(scores, key=lambda model: -scores[model])
    ]
