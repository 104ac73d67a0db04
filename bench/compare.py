"""Measure how often `ruler compare` and score intervals are wrong: `python -m bench.compare`.

Simulated are kinds of rows that strain an interval: whole documents lost, one small task beside
large ones, rare whole losses beside frequent small gains, and equal models. Rows (for qa_1:
documents) are drawn independently, which is what the intervals assume. Printed, in percent of RUNS:

- limit: how often the interval of a difference ends below a drop of exactly the limit (a wrong
  "below --max-drop", nominal 2.5), the worst over limits;
- score: how often the interval of a score misses the score (nominal 5), the worst over scores;
- leads: how often one of two equal models leads, or is marked at a length (nominal 5);
- losses: how often the interval of the loss from one length to another covers the loss (nominal
  95), the least and the most over kinds of rows.

Ends with code 1 if a figure is above its nominal value and MAX_NOISE, or a limit below.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from ruler_common.text import end_if_unread
from ruler_eval.score.intervals import (
    CONFIDENCE,
    Stratum,
    difference_interval,
    difference_p,
    holm,
    interval,
    paired_interval,
    paired_mean,
)

RUNS = 2000
MAX_NOISE = 1.0
"""Percentage points: two standard errors of 5 % of 2,000 runs."""
MAX_MISSED_SCORES = 7.0
"""Percent: 5 %, and more if one task of 13 has nearly all the losses."""
MIN_COVERED_LOSSES = 92.0
DOCUMENTS = np.repeat(np.arange(132), [5] * 55 + [4] * 24 + [3] * 33 + [2] * 10 + [1] * 10)
"""The documents of 500 rows, with as many rows each as in qa_1: 132 documents, at most 5 rows."""
LIMITS = (0.003, 0.005, 0.01, 0.02, 0.05)
SCORES = (0.93, 0.96, 0.98, 0.99, 0.995, 0.999)
Draw = Callable[[np.random.Generator, float], list[Stratum]]
"""Draws the strata of a comparison whose true drop is the number."""


def lost(rng: np.random.Generator, rows: int, share: float) -> np.ndarray:
    """Return rows of which a share is lost whole."""
    return (rng.random(rows) < share).astype(float)


def lost_documents(rng: np.random.Generator, share: float) -> Stratum:
    """Return rows whose documents are lost whole."""
    return Stratum.from_rows(lost(rng, 132, share)[DOCUMENTS], clusters=DOCUMENTS)


def one_task(rng: np.random.Generator, d: float) -> list[Stratum]:
    """500 independent rows."""
    return [Stratum.from_rows(lost(rng, 500, d))]


def documents(rng: np.random.Generator, d: float) -> list[Stratum]:
    """qa_1 alone: whole documents are lost."""
    return [lost_documents(rng, d)]


def documents_of_13(rng: np.random.Generator, d: float) -> list[Stratum]:
    """qa_1 among 13 tasks: only its documents are lost."""
    others = [Stratum.from_rows(np.zeros(500)) for _ in range(12)]
    return [*others, lost_documents(rng, min(1.0, 13 * d))]


def documents_and_gains(rng: np.random.Generator, d: float) -> list[Stratum]:
    """qa_1 alone: whole documents are lost, and single rows gained."""
    gained = lost(rng, 500, 0.02)
    rows = np.where(lost(rng, 132, d + 0.02)[DOCUMENTS] > 0, 1.0, 0.0) - gained
    return [Stratum.from_rows(np.clip(rows, -1, 1), clusters=DOCUMENTS)]


def small_task(rows: int, other: float = 0.0) -> Draw:
    """Return 12 tasks of 500 rows and one of few, which has the whole drop.

    In the others both models lose a share of `other` of the rows.
    """

    def draw(rng: np.random.Generator, d: float) -> list[Stratum]:
        large = [
            Stratum.from_rows(lost(rng, 500, other) - lost(rng, 500, other)) for _ in range(12)
        ]
        return [*large, Stratum.from_rows(lost(rng, rows, min(1.0, 13 * d)))]

    return draw


def uneven_losses(rng: np.random.Generator, d: float) -> list[Stratum]:
    """13 tasks of 20 to 500 rows, all with the same losses."""
    sizes = np.linspace(20, 500, 13).astype(int)
    return [Stratum.from_rows(lost(rng, int(rows), d)) for rows in sizes]


def skewed(rng: np.random.Generator, d: float) -> list[Stratum]:
    """13 tasks of 500 rows: rare whole losses beside frequent gains of a tenth."""
    strata = []
    for _ in range(13):
        gains = 0.1 * lost(rng, 500, 0.05)
        strata.append(Stratum.from_rows(lost(rng, 500, d + 0.005) - gains))
    return strata


DROPS: dict[str, Draw] = {
    "500 rows": one_task,
    "qa_1, documents lost": documents,
    "qa_1 of 13 tasks": documents_of_13,
    "qa_1, rows gained": documents_and_gains,
    "12 x 500 and 20": small_task(20),
    "12 x 500 and 50": small_task(50),
    "12 x 500 and 20, noise": small_task(20, 0.05),
    "13 x 20 to 500": uneven_losses,
    "13 x 500, small gains": skewed,
}


def wrong_limits(draw: Draw) -> float:
    """Return the worst share of runs, over LIMITS, whose interval ends below the true drop."""
    worst = 0
    for d in LIMITS:
        rng = np.random.default_rng(1)
        wrong = sum(
            difference_interval(paired_mean(draw(rng, d)))[1] < d - 1e-12 for _ in range(RUNS)
        )
        worst = max(worst, wrong)
    return 100 * worst / RUNS


def missed_scores(draw: Draw) -> float:
    """Return the worst share of runs, over SCORES, whose interval misses the score."""
    worst = 0
    for score in SCORES:
        rng = np.random.default_rng(2)
        missed = 0
        for _ in range(RUNS):
            strata = [
                Stratum.from_rows(1 - stratum.values, clusters=stratum.clusters)
                for stratum in draw(rng, 1 - score)
            ]
            low, high = interval(strata) or (0.0, 1.0)
            missed += not low - 1e-12 <= score <= high + 1e-12
        worst = max(worst, missed)
    return 100 * worst / RUNS


RIGHT_OR_WRONG: dict[str, Draw] = {
    "500 rows": one_task,
    "qa_1, documents lost": documents,
    "qa_1 of 13 tasks": documents_of_13,
    "12 x 500 and 20": small_task(20),
    "13 x 20 to 500": uneven_losses,
}
"""Whose rows are 0 or 1."""


def equal_rows(rng: np.random.Generator, rows: int, kind: str) -> np.ndarray:
    """Return differences with the mean 0."""
    if kind == "right or wrong":
        return lost(rng, rows, 0.05) - lost(rng, rows, 0.05)
    whole = rng.choice([0.002, 0.004])  # rare whole losses, frequent gains of a tenth
    return lost(rng, rows, whole) - 0.1 * lost(rng, rows, 10 * whole)


def false_leads(kind: str, tasks: int, rows: int, lengths: int) -> tuple[float, float]:
    """Return how often one of two equal models leads, and how often it is marked at a length."""
    rng = np.random.default_rng(3)
    leads = marks = 0
    for _ in range(RUNS // 2):
        strata = [
            [Stratum.from_rows(equal_rows(rng, rows, kind)) for _ in range(tasks)]
            for _ in range(lengths)
        ]
        all_rows = [
            Stratum.from_rows(np.mean([at_length[task].values for at_length in strata], axis=0))
            for task in range(tasks)
        ]
        leads += difference_p(paired_mean(all_rows)) < 1 - CONFIDENCE
        marks += min(marks_of(strata)) < 1 - CONFIDENCE
    return 200 * leads / RUNS, 200 * marks / RUNS


def marks_of(strata: Sequence[Sequence[Stratum]]) -> list[float]:
    """Return the adjusted p of each length."""
    return holm([difference_p(paired_mean(at_length)) for at_length in strata])


def covered_losses(tasks: int, rows: int) -> tuple[float, float]:
    """Return the least and the highest coverage of the loss between two lengths."""
    coverage = []
    for before, after, paired in ((0.95, 0.9, 0.9), (0.9, 0.6, 0.5), (0.6, 0.5, 0.0), (1, 0.98, 1)):
        rng = np.random.default_rng(4)
        covered = 0
        for _ in range(RUNS):
            strata = []
            for _ in range(tasks):
                at = rng.random(rows)  # how hard a row is, at both lengths if it is paired
                other = np.where(rng.random(rows) < paired, at, rng.random(rows))
                differences = (other < after).astype(float) - (at < before)
                strata.append(Stratum.from_rows(differences))
            low, high = paired_interval(paired_mean(strata))
            covered += low <= after - before <= high
        coverage.append(100 * covered / RUNS)
    return min(coverage), max(coverage)


def main() -> None:
    """Print all figures; exit with code 1 if one is above its nominal value."""
    good = True
    print(f"{RUNS} runs, percent                      limit (2.5)   score (5)")
    for name, draw in DROPS.items():
        wrong = wrong_limits(draw)
        missed = missed_scores(draw) if name in RIGHT_OR_WRONG else 0.0
        shown = f"{missed:11.2f}" if name in RIGHT_OR_WRONG else ""
        print(f"{name:37} {wrong:11.2f} {shown}", flush=True)
        good &= wrong <= 2.5 + MAX_NOISE and missed <= MAX_MISSED_SCORES
    print("\nequal models                            leads (5)   marks (5)")
    for kind in ("right or wrong", "rare and frequent"):
        for tasks, rows, lengths in ((13, 500, 3), (13, 500, 6), (13, 50, 6), (1, 500, 6)):
            leads, marks = false_leads(kind, tasks, rows, lengths)
            what = f"{kind}, {tasks} x {rows}, {lengths} lengths"
            print(f"{what:37} {leads:11.2f} {marks:11.2f}", flush=True)
            good &= max(leads, marks) <= 5 + 2 * MAX_NOISE
    print("\nlosses between lengths                  covered (95): least, most")
    for tasks, rows in ((1, 20), (1, 50), (1, 500), (13, 20), (13, 500)):
        least, most = covered_losses(tasks, rows)
        print(f"{tasks} x {rows:<34} {least:11.2f} {most:11.2f}", flush=True)
        good &= least >= MIN_COVERED_LOSSES
    sys.exit(not good)


if __name__ == "__main__":
    end_if_unread(main)
