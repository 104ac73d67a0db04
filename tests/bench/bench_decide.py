"""What `ruler decide` saves and how often it errs: `python -m tests.bench.bench_decide [ROWS.npz]`.

Simulated first: 2,000 runs of 13 tasks of 500 rows whose mean drop is exactly the limit, for rows
right or wrong, with partial credit, skewed (all the drop in few rows) and with one task failed
whole. A verdict "smaller" is false there, and so is "larger". Three lengths too, whose rows share
half of their differences by index.

Then, where a file of row scores is given (arrays `run|task`, scores 0 … 1), all pairs of its runs
with the same model and length are replayed in several random orders: how many rows it took, and
whether the verdict is that of all rows. What it saves depends on the pairs: where they hardly
differ it takes about 11 % of the rows at 1 point, 7 at 2, 3 at 5. Ends with code 1 where errors are
more than MOST_ERRORS, a verdict is the opposite, or fewer than 97 % are the same.
"""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np

from ruler_eval.analysis.decide import Verdict
from ruler_eval.analysis.paired import bounds, paired_mean
from ruler_eval.analysis.sequential.betting import ALPHA, LEAST, Bets
from ruler_eval.run.work_plan import WAVE, WAVE_OVER_LENGTHS

RUNS, TASKS, ROWS = 2000, 13, 500
BATCH = 200
MOST_ERRORS = 0.035
ORDERS = 4
"""Random orders of rows in which a pair is replayed."""


def verdicts_of(
    drops: np.ndarray, limit: float, wave: int, distinct: int
) -> list[tuple[Verdict, int]]:
    """The verdicts of rows (pairs, strata, rows) in their order, and after how many rows of each.

    `distinct` rows of each are looked at in waves, then all.
    """
    pairs, _, rows = drops.shape
    bets = Bets(limit)
    found: dict[int, tuple[Verdict, int]] = {}
    for begin in range(0, min(distinct, rows - 1) // wave * wave, wave):
        bets.add(drops[:, :, begin : begin + wave].reshape(pairs, -1))
        smaller, larger = bets.evidence()
        for pair in np.flatnonzero(smaller >= LEAST):
            found.setdefault(pair, ("smaller", begin + wave))
        for pair in np.flatnonzero(larger >= LEAST):
            found.setdefault(pair, ("larger", begin + wave))
    for pair in {*range(pairs)} - {*found}:
        found[pair] = held(drops[pair], limit, 1 - 2 * ALPHA), rows
    return [found[pair] for pair in range(pairs)]


def held(drops: np.ndarray, limit: float, confidence: float = 0.95) -> Verdict:
    """The verdict of all rows by one interval; a row's lengths are averaged first."""
    lengths = len(drops) // TASKS
    places = range(lengths)  # each length begins a sixth later
    aligned = [np.roll(drops[n * TASKS : (n + 1) * TASKS], ROWS * n // 6, 1) for n in places]
    strata = list(np.mean(aligned, axis=0)) if lengths > 1 else list(drops)
    low, high = bounds(paired_mean(strata), confidence)
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


def simulate() -> bool:
    """Errors at the exact limit, in percent of RUNS."""
    print(f"exactly at the limit, {RUNS} runs    d   smaller  larger   rows")
    good = True
    for draw in (right_or_wrong, partial_credit, skewed, failed_whole, three_lengths):
        for d in (0.01, 0.02, 0.05):
            rng, lengths = np.random.default_rng(7), draw is three_lengths
            looks = (WAVE_OVER_LENGTHS, ROWS // 6) if lengths else (WAVE, ROWS)
            found = [
                one
                for _ in range(0, RUNS, BATCH)
                for one in verdicts_of(np.array([draw(rng, d) for _ in range(BATCH)]), d, *looks)
            ]
            errors = [np.mean([v == side for v, _ in found]) for side in ("smaller", "larger")]
            rows = np.mean([rows for _, rows in found]) / ROWS
            shown = "  ".join(f"{100 * error:6.2f}" for error in errors)
            print(f"{draw.__name__:32} {100 * d:3.0f}   {shown}   {100 * rows:4.0f} %", flush=True)
            good &= max(errors) <= MOST_ERRORS
    return good


def replay(path: str) -> bool:
    """Pairs of real runs: the rows it took, and whether all rows say the same."""
    runs: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path) as file:
        for key in file.files:
            run, _, task = key.rpartition("|")
            runs.setdefault(run, {})[task] = file[key].astype(float)
    pairs = [
        (a, b) for a, b in permutations(runs, 2)
        if runs[a].keys() == runs[b].keys() and a.split("__")[:4] == b.split("__")[:4]
    ]  # fmt: skip
    print(f"\n{len(pairs)} ordered pairs of {len(runs)} runs, {ORDERS} orders each")
    print(" d   rows: decided  all  1 point off   same verdict  opposite")
    good = True
    for limit in (1, 2, 5):
        every, decided, far, same, opposite = [], [], [], [], 0
        for number, (a, b) in enumerate(pairs):
            rng = np.random.default_rng(number)
            drops = np.array([runs[a][task] - runs[b][task] for task in runs[a]])
            whole = held(drops, limit / 100)
            mixed = np.array([rng.permuted(drops, axis=1) for _ in range(ORDERS)])
            for found, rows in verdicts_of(mixed, limit / 100, WAVE, drops.shape[1]):
                share = rows / drops.shape[1]
                every.append(share)
                if whole != "unknown":
                    decided.append(share)
                    same.append(found == whole)
                    opposite += found not in (whole, "unknown")
                if abs(100 * drops.mean() - limit) >= 1:
                    far.append(share)
        shares = [100 * float(np.mean(some)) for some in (decided, every, far, same)]
        print("{:2} {:14.1f} {:5.1f} {:10.1f} {:15.1f} {:8}".format(limit, *shares, opposite))
        good &= shares[3] >= 97 and not opposite
    return good


def main() -> None:
    """Print all figures; code 1 where one misses its limit."""
    good = [simulate()] + [replay(path) for path in sys.argv[1:]]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
