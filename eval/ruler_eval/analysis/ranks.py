"""Rank three models or more by their averages over the rows that all of them share.

    ranks({"qwen": …, "llama": …, "phi": …})["average"][0]

With 95 % confidence, the rank of a model is between 1 + the number of models shown to be better and
the number of models minus those shown to be worse. They are shown by paired intervals, with a
confidence of 1 − 0.05 / (the model's pairs) each (Mogstad, Romano, Shaikh and Wilhelm, 2024).
Averages are over the rows that all models share: the mean at each length, then over lengths, with
equal weights, or with weights that rise (inc) or fall (dec) with the length, as in RULER's tables.
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
    PairedRows,
    Pairs,
    model_of,
    paired_cells,
    paired_over,
    refuse_stopped,
)
from ruler_eval.score.aggregates import weights
from ruler_eval.score.intervals import CONFIDENCE, MIN_INDEPENDENT_ROWS, difference_interval
from ruler_eval.score.results import Cell, Results, is_control, lengths_of, row_values


class Ranked(TypedDict):
    """A model's average and rank."""

    model: str
    score: float  # 0 … 100
    rank: int  # 1 is the best
    ranks: list[int]  # the first and last rank that are possible at 95 %


class Ranking(TypedDict):
    """The models by each average, the best first; `models` has them in the order of the results."""

    average: list[Ranked]
    weighted_inc: list[Ranked]
    weighted_dec: list[Ranked]
    models: list[ComparedModel]


def ranks(results: Mapping[str, Results]) -> Ranking:
    """Rank models by their averages over the rows that all of them share.

    Raises RulerError if they share no rows, and as `compare` does.
    """
    for result in results.values():
        refuse_stopped(result)
    scores = {model: row_values(result, "score") for model, result in results.items()}
    first = next(iter(results.values()))
    cells: dict[str, Cell] = {}
    shared_rows: dict[str, list[int]] = {}
    means: dict[str, dict[str, float]] = {model: {} for model in results}  # over shared rows, 0 … 1
    for name, cell in first["configurations"].items():
        shared = set.intersection(*[set(rows.get(name, ())) for rows in scores.values()])
        if shared and not is_control(cell):
            cells[name] = cell
            shared_rows[name] = sorted(shared)
            for model, rows in scores.items():
                means[model][name] = float(np.mean([rows[name][i] for i in shared_rows[name]]))
    if not cells:
        raise RulerError("The results share no rows: score them on the same configurations.")
    pairs = {}
    for a, b in combinations(results, 2):
        pairs[a, b] = _of_rows(paired_cells(results[a], results[b]), shared_rows)
    lengths = lengths_of(cells.values())
    counts = Counter(cell["length"] for cell in cells.values())

    def ranked(length_weights: Sequence[int]) -> list[Ranked]:
        by_length = dict(zip(lengths, length_weights, strict=True))
        shares = {}
        for name, cell in cells.items():
            shares[name] = by_length[cell["length"]] / counts[cell["length"]]
        return _ranked(means, shares, pairs)

    return {
        "average": ranked(weights(len(lengths), "equal")),
        "weighted_inc": ranked(weights(len(lengths), "inc")),
        "weighted_dec": ranked(weights(len(lengths), "dec")),
        "models": [model_of(result, cells) for result in results.values()],
    }


def _of_rows(pairs: Pairs, chosen: Mapping[str, Sequence[int]]) -> Pairs:
    """Return the pairs of these rows of each configuration only."""
    kept = {}
    for name, indices in chosen.items():
        rows = pairs.rows[name]
        is_kept = np.isin(rows.index, indices)
        columns = (rows.index, rows.a, rows.b, rows.is_answered)
        kept[name] = PairedRows(*(column[is_kept] for column in columns))
    return Pairs(kept, pairs.cells, pairs.documents)


def _ranked(
    means: Mapping[str, Mapping[str, float]],
    shares: Mapping[str, float],
    pairs: Mapping[tuple[str, str], Pairs],
) -> list[Ranked]:
    """Rank the models by one weighting of the configurations."""
    total = sum(shares.values())
    scores = {}
    for model, by_config in means.items():
        scores[model] = 100 * sum(s * by_config[name] for name, s in shares.items()) / total
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(means) - 1)
    better, worse = dict.fromkeys(means, 0), dict.fromkeys(means, 0)
    for (a, b), rows in pairs.items():
        estimate = paired_over(rows, [*shares], shares)
        low, high = difference_interval(estimate, confidence)
        if estimate.rows >= MIN_INDEPENDENT_ROWS and not low <= 0 <= high:
            winner, loser = (a, b) if low > 0 else (b, a)
            better[loser] += 1
            worse[winner] += 1
    return [
        {
            "model": model,
            "score": scores[model],
            "rank": 1 + sum(score > scores[model] for score in scores.values()),
            "ranks": [1 + better[model], len(means) - worse[model]],
        }
        for model in sorted(scores, key=lambda model: -scores[model])
    ]
