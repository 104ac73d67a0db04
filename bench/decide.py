"""Measure what `ruler decide` saves and how often it is wrong: `python -m bench.decide [PLACE …]`.

Simulated first: RUNS runs of 13 tasks of 500 rows whose mean drop is exactly the margin, for rows
right or wrong, with partial credit, skewed (the whole drop in few rows), with one task failed
whole, of documents of four rows that are lost together, of three lengths whose rows share half of
their differences, and of six lengths whose rows share all. An early verdict is wrong
there, whatever it says. Beside it, how often the 95 % interval for other rows like these misses
the mean that the rows were drawn from, wherever the run stopped: the worst over MARGINS times that
mean as the margin, which move the place where it stops.

Then, if places are given that run_scores.py reads, all pairs of runs of the same rows are replayed
in several random orders: how many rows it took, and how often the verdict is that of all rows. What
it saves depends on the pairs. Ends with code 1 if more than MAX_ERRORS of the verdicts are wrong at
the margin, if an interval misses more than MAX_MISSES at an end, if a replayed verdict is not that
of all rows in 1 % or more, or if pairs take more rows than MAX_ROWS and MAX_ROWS_FAR.
"""

from __future__ import annotations

import sys
from itertools import permutations
from typing import NamedTuple

import numpy as np

from bench.run_scores import Run, by_lengths, run_scores, same_model, same_rows
from ruler_common.text import end_if_unread
from ruler_eval.gate.betting import THRESHOLD, evidence, independence_of_rows
from ruler_eval.gate.plan import LOOK_EVERY, LOOK_EVERY_OVER_LENGTHS
from ruler_eval.score.intervals import Stratum, difference_interval, paired_mean

RUNS, TASKS, ROWS = 2000, 13, 500
DOCUMENT = 4
"""Rows about one document, if rows share documents."""
BATCH = 100
MARGINS = (0.5, 1.0, 1.5, 2.5)
MAX_ERRORS = 0.03
"""The 2.5 % that are proved, and simulation noise."""
MAX_MISSES = 0.05
MAX_ROWS = {1: 15, 2: 7, 5: 4}
"""Percent of the rows, by the margin in points, of all pairs."""
MAX_ROWS_FAR = 9
"""Percent of the rows of pairs whose drop is a point or more from the margin."""
ORDERS = 4
"""Random orders of rows in which a pair is replayed."""


class Verdict(NamedTuple):
    """Whether the drop is below the margin, after how many rows of each stratum, and if early."""

    is_below: bool
    rows: int
    is_early: bool


def verdicts_of(drops: np.ndarray, margin: float, step: int) -> list[Verdict]:
    """Return the verdicts of pairs of runs, of shape (pairs, strata, rows), in their order."""
    _, strata, rows = drops.shape
    looks = slice(step - 1, rows - 1, step)
    smaller, larger = (
        side[:, looks] >= THRESHOLD
        for side in evidence(drops.swapaxes(1, 2), margin, strata * rows)
    )
    verdicts = []
    for pair, decided in enumerate(smaller | larger):
        if decided.any():
            look = int(decided.argmax())
            verdicts.append(Verdict(bool(smaller[pair, look]), (look + 1) * step, True))
        else:
            verdicts.append(Verdict(bool(drops[pair].mean() < margin), rows, False))
    return verdicts


def missed(
    drops: np.ndarray, verdict: Verdict, mean: float, of_document: int = 1
) -> tuple[bool, bool]:
    """Whether the interval for other rows lies wholly below, or wholly above, their mean."""
    lengths = len(drops) // TASKS
    if verdict.is_early:
        shares = independence_of_rows(verdict.rows, lengths * of_document, ROWS)
        smaller, larger = evidence(drops[:, : verdict.rows].T, mean, independence=shares)
        return bool(smaller[-1] >= THRESHOLD), bool(larger[-1] >= THRESHOLD)
    by_row = np.mean([drops[n * TASKS : (n + 1) * TASKS] for n in range(lengths)], axis=0)
    documents = np.arange(ROWS) // of_document if of_document > 1 else None
    strata = [Stratum.from_rows(rows, clusters=documents) for rows in by_row]
    low, high = difference_interval(paired_mean(strata))
    return high < mean, low > mean


def right_or_wrong(rng: np.random.Generator, d: float) -> np.ndarray:
    """A tenth of the rows is lost by one of the two models, more of them in the hard tasks."""
    means = d * np.linspace(0, 2, TASKS)[:, None]
    at = rng.random((TASKS, ROWS))
    return np.where(at < 0.1 + means, 1.0, 0.0) - np.where(at > 0.9, 1.0, 0.0)


def partial_credit(rng: np.random.Generator, d: float) -> np.ndarray:
    """Five references a row."""
    kept = rng.binomial(5, 0.9 - d, (TASKS, ROWS)) / 5
    return rng.binomial(5, 0.9, (TASKS, ROWS)) / 5 - kept


def skewed(rng: np.random.Generator, d: float) -> np.ndarray:
    """Nothing but losses, in one task in four."""
    rates = np.where(np.arange(TASKS) % 4 == 0, d * TASKS / 4, 0.0)[:, None]
    return (rng.random((TASKS, ROWS)) < rates).astype(float)


def failed_whole(rng: np.random.Generator, d: float) -> np.ndarray:
    """One task lost to its last row; the others have won about as much, less d."""
    gain = (1 - d * TASKS) / (TASKS - 1)
    drops = -(rng.random((TASKS, ROWS)) < gain).astype(float)
    drops[0] = 1.0
    return drops


def whole_documents(rng: np.random.Generator, d: float) -> np.ndarray:
    """Nothing but losses, in one task, of all rows about a document."""
    drops = np.zeros((TASKS, ROWS))
    drops[0] = np.repeat(rng.random(ROWS // DOCUMENT) < d * TASKS, DOCUMENT)
    return drops


def three_lengths(rng: np.random.Generator, d: float) -> np.ndarray:
    """Three lengths of every task that share half of their differences: (3 x TASKS, ROWS)."""
    common, each = right_or_wrong(rng, d), [right_or_wrong(rng, d) for _ in range(3)]
    same = rng.random((TASKS, ROWS)) < 0.5
    return np.concatenate([np.where(same, common, drops) for drops in each])


def six_lengths(rng: np.random.Generator, d: float) -> np.ndarray:
    """Six lengths of every task whose rows are lost or won together: (6 x TASKS, ROWS)."""
    return np.concatenate([right_or_wrong(rng, d)] * 6)


def six_lengths_losses(rng: np.random.Generator, d: float) -> np.ndarray:
    """The same with nothing but losses."""
    return np.concatenate([skewed(rng, d)] * 6)


KINDS = (
    right_or_wrong,
    partial_credit,
    skewed,
    failed_whole,
    whole_documents,
    three_lengths,
    six_lengths,
    six_lengths_losses,
)


def moved(rng: np.random.Generator, drops: np.ndarray, mean: float) -> np.ndarray:
    """Return the rows with as few of them changed as gives them this mean exactly."""
    flat, order = drops.flatten(), rng.permutation(drops.size)
    lacking = mean * drops.size - flat.sum()
    max_change = (1 if lacking > 0 else -1) - flat[order]
    before = np.concatenate([[0.0], np.cumsum(max_change)[:-1]])
    remaining = lacking - before  # what is lacking before each row
    flat[order] += np.where(
        lacking * remaining > 0,
        np.sign(lacking) * np.minimum(abs(remaining), abs(max_change)),
        0,
    )
    return flat.reshape(drops.shape)


def simulate() -> bool:
    """Print the errors at the exact margin, and the misses of the interval, in percent of RUNS."""
    print(f"at the margin, {RUNS} runs   d   wrong: below above   misses: below above   rows")
    good = True
    for draw in KINDS:
        is_at_one_length = len(draw(np.random.default_rng(0), 0.01)) == TASKS
        of_document = DOCUMENT if draw is whole_documents else 1
        step = LOOK_EVERY if is_at_one_length else LOOK_EVERY_OVER_LENGTHS
        for d in (0.01, 0.02, 0.05):
            rng = np.random.default_rng(7)
            verdicts: list[Verdict] = []
            misses = np.zeros((len(MARGINS), 2))
            for _ in range(0, RUNS, BATCH):
                drawn = [draw(rng, d) for _ in range(BATCH)]
                exact = [rng.permuted(moved(rng, run, d), axis=1) for run in drawn]
                verdicts += verdicts_of(np.array(exact), d, step)
                mixed = np.array([rng.permuted(run, axis=1) for run in drawn])
                for place, share in enumerate(MARGINS):
                    for run, order, verdict in zip(
                        drawn, mixed, verdicts_of(mixed, share * d, step), strict=True
                    ):
                        rows = order if verdict.is_early else run
                        misses[place] += missed(rows, verdict, d, of_document)
            worst = misses.max(axis=0) / RUNS
            early = [verdict.is_below for verdict in verdicts if verdict.is_early]
            errors = [early.count(True) / RUNS, early.count(False) / RUNS]
            share = np.mean([verdict.rows for verdict in verdicts]) / ROWS
            print(
                f"{draw.__name__:22} {100 * d:3.0f}    {100 * errors[0]:10.2f} "
                f"{100 * errors[1]:5.2f}   {100 * worst[0]:20.2f} {100 * worst[1]:5.2f}   "
                f"{100 * share:4.0f} %",
                flush=True,
            )
            good &= max(errors) <= MAX_ERRORS and max(worst) <= MAX_MISSES
    return good


def replay(runs: dict[str, Run]) -> bool:
    """Print for pairs of real runs the rows it took, and how often all rows say the same."""
    comparable = [(a, b) for a, b in permutations(runs, 2) if same_rows(a, b)]
    comparable = [(a, b) for a, b in comparable if runs[a].keys() == runs[b].keys()]
    pairs = {
        "one model": [([runs[a]], [runs[b]]) for a, b in comparable if same_model(a, b)],
        "two models": [([runs[a]], [runs[b]]) for a, b in comparable if not same_model(a, b)],
    }
    three = [[*run.values()] for run in by_lengths(runs)]
    pairs["both"] = [*pairs["one model"], *pairs["two models"]]
    pairs["3 lengths"] = [*permutations(three, 2)]
    print(f"\n{len(runs)} runs, ordered pairs, {ORDERS} orders each")
    print("pairs             d   % of the rows: all   1 point off   same verdict as all rows")
    good = True
    for margin in (1, 2, 5):
        for name, chosen in pairs.items():
            if not chosen:
                continue
            outcomes = np.array(
                [row for n, (a, b) in enumerate(chosen) for row in replayed(a, b, margin, n)]
            )
            far = outcomes[outcomes[:, 1] == 1]
            rows, rows_far, same = (
                100 * values.mean() for values in (outcomes[:, 0], far[:, 0], outcomes[:, 2])
            )
            print(
                f"{name:10} {len(chosen):5} {margin:2} {rows:19.1f} {rows_far:13.1f} "
                f"{same:13.2f} %",
                flush=True,
            )
            good &= same > 99
            if name in ("both", "3 lengths"):
                good &= bool(rows <= MAX_ROWS[margin] and rows_far <= MAX_ROWS_FAR)
    return good


def replayed(
    a: list[Run], b: list[Run], margin: float, number: int
) -> list[tuple[float, bool, bool]]:
    """Return share of rows, whether a point or more off, and same verdict, for each order.

    The two runs are given by length.
    """
    rng, step = np.random.default_rng(number), LOOK_EVERY_OVER_LENGTHS if len(a) > 1 else LOOK_EVERY
    drops = np.concatenate(
        [
            np.array([first[task] - second[task] for task in first])
            for first, second in zip(a, b, strict=True)
        ]
    )
    mixed = np.array([rng.permuted(drops, axis=1) for _ in range(ORDERS)])
    is_far, is_below = abs(100 * drops.mean() - margin) >= 1, drops.mean() < margin / 100
    return [
        (verdict.rows / ROWS, bool(is_far), bool(verdict.is_below == is_below))
        for verdict in verdicts_of(mixed, margin / 100, step)
    ]


def main() -> None:
    """Print all figures; exit with code 1 if one misses its limit."""
    good = simulate()
    if sys.argv[1:]:
        good &= replay(run_scores(sys.argv[1:]))
    sys.exit(not good)


if __name__ == "__main__":
    end_if_unread(main)
