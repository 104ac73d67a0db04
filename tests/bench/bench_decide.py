"""What `ruler decide` saves and how often it errs: `python -m tests.bench.bench_decide [PLACE …]`.

Simulated first: 2,000 runs of 13 tasks of 500 rows at the exact limit, for rows right or wrong,
with partial credit, skewed (all the drop in few rows) and with one task failed whole. Both verdicts
are false there. "these rows" have the limit as their own mean, "drawn" ones that of what they are
drawn from. Three lengths too, whose rows share half of their differences by index.

Then, where places are given that run_scores.py reads, all pairs of runs of the same rows are
replayed in several random orders: how many rows it took, and whether the verdict is that of all
rows. Pairs are of one model (changed in its cache), of two models, and of one model at three
lengths together. What it saves depends on the pairs. Ends with code 1 where errors are more than
MOST_ERRORS, a verdict is the opposite, fewer than 97 % are the same, or all pairs at one length, or
at three, take more rows than MOST_ROWS and MOST_ROWS_FAR.
"""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np

from ruler_eval.analysis.compare import Verdict
from ruler_eval.gate.betting import (
    ALPHA_LAST,
    LOOK_EVERY,
    LOOKED_AT,
    THRESHOLD,
    evidence,
)
from ruler_eval.run.plan import WAVE_OVER_LENGTHS
from ruler_eval.score.intervals import paired_interval, paired_mean
from tests.bench.run_scores import Run, by_lengths, run_scores, same_model, same_rows

RUNS, TASKS, ROWS = 2000, 13, 500
BATCH = 200
MOST_ERRORS = 0.035
MOST_ROWS = {1: 15, 2: 13, 5: 8}
"""Percent of the rows, by the limit in points, of pairs that all rows decide."""
MOST_ROWS_FAR = 8
"""Percent of the rows of pairs that are a point or more from the limit."""
ORDERS = 4
"""Random orders of rows in which a pair is replayed."""


def verdicts_of(
    drops: np.ndarray, limit: float, several: bool = False
) -> list[tuple[Verdict, int]]:
    """The verdicts of rows (pairs, strata, rows) in their order, and after how many rows of each.

    `several`: over several lengths.
    """
    _, strata, rows = drops.shape
    step = WAVE_OVER_LENGTHS if several else LOOK_EVERY
    until = ROWS // 6 if several else int(rows * LOOKED_AT)
    seen = drops[:, :, : until // step * step].swapaxes(1, 2)
    smaller, larger = (
        side[:, step - 1 :: step] >= THRESHOLD
        for side in evidence(seen, limit, None if several else strata * rows)
    )
    found: list[tuple[Verdict, int]] = []
    for pair, known in enumerate(smaller | larger):
        if not known.any():
            found.append((held(drops[pair], limit, 1 - 2 * ALPHA_LAST), rows))
            continue
        look = int(known.argmax())
        found.append(("smaller" if smaller[pair, look] else "larger", (look + 1) * step))
    return found


def held(drops: np.ndarray, limit: float, confidence: float = 0.95) -> Verdict:
    """The verdict of all rows by one interval; a row's lengths are averaged first."""
    lengths = len(drops) // TASKS
    places = range(lengths)  # each length begins a sixth later
    aligned = [np.roll(drops[n * TASKS : (n + 1) * TASKS], ROWS * n // 6, 1) for n in places]
    strata = list(np.mean(aligned, axis=0)) if lengths > 1 else list(drops)
    low, high = paired_interval(paired_mean(strata), confidence)
    return "smaller" if high < limit else "larger" if low > limit else "unknown"


def right_or_wrong(rng: np.random.Generator, d: float) -> np.ndarray:
    """A tenth of the rows is lost in one model alone, in the hard tasks more."""
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


def three_lengths(rng: np.random.Generator, d: float) -> np.ndarray:
    """A third of all rows each, of which each length begins elsewhere: (3 x TASKS, ROWS)."""
    common, own = right_or_wrong(rng, d), [right_or_wrong(rng, d) for _ in range(3)]
    same = rng.random((TASKS, ROWS)) < 0.5
    mixed = [np.where(same, common, each) for each in own]
    return np.concatenate([np.roll(m, -(ROWS * n // 6), 1) for n, m in enumerate(mixed)])


ONE_LENGTH = (right_or_wrong, partial_credit, skewed, failed_whole)


def moved(rng: np.random.Generator, drops: np.ndarray, mean: float) -> np.ndarray:
    """The rows in a random order, so many of them changed that they have this mean exactly."""
    flat, order = drops.flatten(), rng.permutation(drops.size)
    lacking = mean * drops.size - flat.sum()
    room = (1 if lacking > 0 else -1) - flat[order]
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    left = lacking - before  # what is lacking when a row's turn comes
    flat[order] += np.where(
        lacking * left > 0, np.sign(lacking) * np.minimum(abs(left), abs(room)), 0
    )
    return rng.permuted(flat.reshape(drops.shape), axis=1)


def simulate() -> bool:
    """Errors at the exact limit, in percent of RUNS."""
    print(f"exactly at the limit, {RUNS} runs        d   smaller  larger   rows")
    good = True
    kinds = [(draw, own) for draw in ONE_LENGTH for own in (True, False)]
    for draw, own in [*kinds, (three_lengths, False)]:
        for d in (0.01, 0.02, 0.05):
            rng = np.random.default_rng(7)
            found = []
            for _ in range(0, RUNS, BATCH):
                runs = [draw(rng, d) for _ in range(BATCH)]
                if own:
                    runs = [moved(rng, run, d) for run in runs]
                found += verdicts_of(np.array(runs), d, draw is three_lengths)
            errors = [np.mean([v == side for v, _ in found]) for side in ("smaller", "larger")]
            rows = np.mean([rows for _, rows in found]) / ROWS
            shown = "  ".join(f"{100 * error:6.2f}" for error in errors)
            name = f"{draw.__name__}, {'these rows' if own else 'drawn'}"
            print(f"{name:36} {100 * d:3.0f}   {shown}   {100 * rows:4.0f} %", flush=True)
            good &= max(errors) <= MOST_ERRORS
    return good


def replay(runs: dict[str, Run]) -> bool:
    """Pairs of real runs: the rows it took, and whether all rows say the same."""
    one = [(a, b) for a, b in permutations(runs, 2) if same_rows(a, b)]
    one = [(a, b) for a, b in one if runs[a].keys() == runs[b].keys()]
    pairs = {
        "one model": [([runs[a]], [runs[b]]) for a, b in one if same_model(a, b)],
        "two models": [([runs[a]], [runs[b]]) for a, b in one if not same_model(a, b)],
    }
    three = [[*run.values()] for run in by_lengths(runs)]
    pairs["both"] = [*pairs["one model"], *pairs["two models"]]
    pairs["3 lengths"] = [*permutations(three, 2)]
    print(f"\n{len(runs)} runs, ordered pairs, {ORDERS} orders each")
    print("pairs             d   rows: decided  all  1 point off   same verdict  opposite")
    good = True
    for limit in (1, 2, 5):
        for name, chosen in pairs.items():
            if not chosen:
                continue
            some = np.array(
                [row for n, (a, b) in enumerate(chosen) for row in replayed(a, b, limit, n)]
            )
            decided, far = some[some[:, 1] == 1], some[some[:, 2] == 1]
            shares = [100 * np.mean(one[:, 0]) for one in (decided, some, far)]
            same, opposite = 100 * np.mean(decided[:, 3]), int(decided[:, 4].sum())
            print(
                f"{name:10} {len(chosen):5} {limit:2} {shares[0]:14.1f} {shares[1]:5.1f} "
                f"{shares[2]:10.1f} {same:15.1f} {opposite:8}",
                flush=True,
            )
            good &= bool(same >= 97 and not opposite)
            if name in ("both", "3 lengths"):
                good &= bool(shares[0] <= MOST_ROWS[limit] and shares[2] <= MOST_ROWS_FAR)
    return good


def replayed(
    a: list[Run], b: list[Run], limit: float, number: int
) -> list[tuple[float, bool, bool, bool, bool]]:
    """Share of rows, decided by all, a point or more off, same verdict, opposite; by order.

    The two runs are given by length; each begins a sixth later in the order of a task.
    """
    rng, several = np.random.default_rng(number), len(a) > 1
    drops = [
        np.array([mine[task] - other[task] for task in mine])
        for mine, other in zip(a, b, strict=True)
    ]
    mixed = []
    for _ in range(ORDERS):
        order = rng.permuted(np.tile(np.arange(ROWS), (len(drops[0]), 1)), axis=1)
        shuffled = [np.take_along_axis(one, order, 1) for one in drops]
        mixed.append(
            np.concatenate([np.roll(s, -(ROWS * n // 6), 1) for n, s in enumerate(shuffled)])
        )
    whole, far = held(mixed[0], limit / 100), abs(100 * np.mean(drops) - limit) >= 1
    return [
        (
            rows / ROWS,
            whole != "unknown",
            bool(far),
            verdict == whole,
            verdict not in (whole, "unknown"),
        )
        for verdict, rows in verdicts_of(np.array(mixed), limit / 100, several)
    ]


def main() -> None:
    """Print all figures; code 1 where one misses its limit."""
    good = simulate()
    if sys.argv[1:]:
        good &= replay(run_scores(sys.argv[1:]))
    sys.exit(not good)


if __name__ == "__main__":
    main()
