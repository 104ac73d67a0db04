"""How often intervals of paired differences hold the truth: `python -m tests.bench.bench_paired`.

Two models answer the same 10 to 500 rows. Coverage in percent and mean width in points, by kind of
difference: right or wrong, where given shares of the rows are right in one model alone; partial
credit; a row's mean over six lengths, at which its failures are the same ones or are not; means
over 13 tasks; rows that share documents. Student's t and the BCa bootstrap are beside ours. A
number of trials may follow: 4000 if left out. Rows right or wrong, exactly: bench_paired_exact.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from scipy.stats import bootstrap
from scipy.stats import t as student

from ruler_eval.score.intervals import paired_interval, paired_mean

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
ROWS = (10, 15, 20, 25, 30, 50, 500)
Draw = Callable[[np.random.Generator, int], np.ndarray]
"""Differences of a number of rows, (TRIALS, rows)."""


def right_or_wrong(better: float, worse: float) -> Draw:
    """1, −1 or 0."""

    def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
        at = rng.random((TRIALS, rows))
        return np.where(at < better, 1.0, np.where(at < better + worse, -1.0, 0.0))

    return draw


def chains(a: float, b: float) -> Draw:
    """Variable tracking: a lost chain (so often in A, in B) keeps 0 to 4 of its 5 names."""

    def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
        def side(lost: float) -> np.ndarray:
            kept = rng.integers(0, 5, (TRIALS, rows)) / 5
            return np.where(rng.random((TRIALS, rows)) < lost, kept, 1.0)

        return side(a) - side(b)

    return draw


def words(gain: float) -> Draw:
    """Ten words, rows of different difficulty; A finds so large a share more."""

    def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
        easy = rng.beta(2, 2, (TRIALS, rows))
        return (rng.binomial(10, easy * (1 - gain) + gain) - rng.binomial(10, easy)) / 10

    return draw


def six_lengths(a: float, b: float, same: float) -> Draw:
    """Means over six lengths of failures, of which a share `same` is the row's at every length."""

    def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
        def side(fails: float) -> np.ndarray:
            common = rng.random((TRIALS, rows, 1)) < fails * same
            own = rng.random((TRIALS, rows, 6)) < fails * (1 - same)
            return 1.0 - (common | own).mean(2)

        return side(a) - side(b)

    return draw


KINDS: dict[str, Draw] = {
    **{
        f"{100 * up:g} % A, {100 * down:g} % B": right_or_wrong(up, down)
        for up, down in (
            *((0.02, 0.02), (0.05, 0), (0.05, 0.05), (0.1, 0.02), (0.2, 0.05)),
            *((0.3, 0.1), (0.3, 0.3), (0.5, 0.1), (0.8, 0.05)),
        )
    },
    "chains 10, 20 %": chains(0.1, 0.2),
    "chains 50, 30 %": chains(0.5, 0.3),
    "ten words": words(0.0),
    "ten words +20 %": words(0.2),
    **{
        f"6 lengths {100 * a:g}, {100 * b:g} %, {100 * same:g} % same": six_lengths(a, b, same)
        for a, b in ((0.1, 0.2), (0.02, 0.05))
        for same in (0, 0.5, 1)
    },
}


def shown(low: np.ndarray, high: np.ndarray, truth: float) -> str:
    """Coverage in percent and width in points."""
    held = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
    return f"{100 * held.mean():6.1f} {100 * (high - low).mean():6.1f}"


def by_t(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean ± Student's t times its standard error."""
    rows = drawn.shape[1]
    half = student.ppf(0.975, rows - 1) * drawn.std(1, ddof=1) / rows**0.5
    return drawn.mean(1) - half, drawn.mean(1) + half


def by_bca(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's BCa interval of 999 resamples; where no row differs, the mean alone."""
    mean = drawn.mean(1)
    with np.errstate(all="ignore"):
        found = bootstrap(
            (drawn,), np.mean, axis=1, n_resamples=999, batch=50, rng=np.random.default_rng(0)
        ).confidence_interval
    return np.nan_to_num(found.low, nan=mean), np.nan_to_num(found.high, nan=mean)


def ours(samples: list[list[np.ndarray]], labels: np.ndarray | None = None) -> np.ndarray:
    """Lower and upper bounds of samples, each a list of strata."""
    clusters = None if labels is None else [labels]
    return np.array([paired_interval(paired_mean(strata, None, clusters)) for strata in samples]).T


def one_task() -> None:
    """A mean of one task's rows: Student's t, BCa, ours."""
    print(f"{'rows that differ':28} rows   t              BCa            ours")
    for name, draw in KINDS.items():
        truth = float(np.mean([draw(np.random.default_rng(i), 500).mean() for i in range(5)]))
        if name.endswith("B"):
            up, down = (float(part.split()[0]) / 100 for part in name.split(", "))
            truth = up - down
        for rows in ROWS:
            drawn = draw(np.random.default_rng([7, rows]), rows)
            t, mine = shown(*by_t(drawn), truth), shown(*ours([[one] for one in drawn]), truth)
            few = drawn[: min(TRIALS, 1000)]
            bca = shown(*by_bca(few), truth) if rows <= 50 else " " * 13
            print(f"{name:28} {rows:4}   {t}  {bca}  {mine}")


def thirteen_tasks() -> None:
    """Means over 13 tasks, of which most hardly differ and one may have failed whole."""
    print("\nmean over 13 tasks           rows   ours")
    rates = [(0.0, 0.0)] * 5 + [(0.01, 0.0)] * 3 + [(0.05, 0.03)] * 3 + [(0.2, 0.1)]
    for name, last in (("one of them hard", (0.3, 0.3)), ("one failed whole", (1.0, 0.0))):
        every = [*rates, last]
        truth = float(np.mean([up - down for up, down in every]))
        for rows in ROWS:
            rng = np.random.default_rng([3, rows])
            drawn = [right_or_wrong(*rate)(rng, rows) for rate in every]
            found = ours([list(strata) for strata in zip(*drawn, strict=True)])
            print(f"{name:28} {rows:4}   {shown(*found, truth)}")


def documents() -> None:
    """About four rows a document that agree in part; ours with the documents known and unknown."""
    print("\nrows sharing a document      rows   known          unknown")
    for share in (0.0, 0.1, 0.3, 1.0):
        for rows in (50, 100, 500):
            rng = np.random.default_rng([5, rows])
            labels = np.arange(rows) // 4
            common = right_or_wrong(0.2, 0.1)(rng, rows)[:, labels]
            own = right_or_wrong(0.2, 0.1)(rng, rows)
            drawn = np.where(rng.random((TRIALS, rows // 4 + 1))[:, labels] < share, common, own)
            samples = [[one] for one in drawn]
            found = [shown(*ours(samples, known), 0.1) for known in (labels, None)]
            print(f"{100 * share:3.0f} % of documents agree     {rows:4}   {'  '.join(found)}")


def main() -> None:
    """Print coverage and width of each interval."""
    print(f"{TRIALS} trials; coverage % and width, in points")
    one_task()
    thirteen_tasks()
    documents()


if __name__ == "__main__":
    main()
