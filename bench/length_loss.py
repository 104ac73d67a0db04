"""How often the interval of a loss holds the truth, and what pairing saves.

    python -m bench.length_loss [TRIALS]
    python -m bench.length_loss results.json …      # of real runs at several lengths

Simulated: 13 tasks at two lengths. A row's difficulty is drawn once for its index and shared by
both lengths (or not, `shared 0`, as in rows of other generators); its scores are right or wrong, or
partial. Coverage in percent of the paired interval (score/aggregates.py, `length_loss`) and of the
one of two unpaired means; the mean half widths in points; and the share of rows that pairing saves
for the same width, 1 − (paired width / unpaired width)².

Real: for each length after the first, the variance of the paired and of the unpaired difference, by
task and over all, and the rows saved.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from ruler_eval.score.aggregates import length_loss
from ruler_eval.score.intervals import Stratum, interval
from ruler_eval.score.results import RowsByConfig, load, row_values

TASKS = 13
ROWS = (20, 50, 500)
CASES = {
    "right or wrong": 1,
    "5 references": 5,
    "10 references": 10,
}


def scores(
    rng: np.random.Generator, level: np.ndarray, easy: np.ndarray, own: np.ndarray, parts: int
) -> np.ndarray:
    """Scores of rows: the share of `parts` that are right, each with the row's probability."""
    chances = 1 / (1 + np.exp(-(level[:, None] + easy + own)))
    return rng.binomial(parts, chances) / parts


def simulate(trials: int) -> None:
    """Print a line for each case, number of rows, and share of what is shared."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    print("case              rows  shared   paired  unpaired   ± paired  ± unpaired  rows saved")
    for name, parts in CASES.items():
        for rows in ROWS:
            for shared in (0.0, 0.5, 0.9):
                rng = np.random.default_rng(0)
                held = np.zeros(2)
                widths = np.zeros(2)
                for _ in range(trials):
                    levels = rng.normal(2, 1.5, TASKS)
                    drop = rng.exponential(0.8)
                    easy = rng.normal(0, 2, (TASKS, rows)) * shared**0.5
                    owns = [rng.normal(0, 2, (TASKS, rows)) * (1 - shared) ** 0.5 for _ in "ab"]
                    short = scores(rng, levels, easy, owns[0], parts)
                    long = scores(rng, levels - drop, easy, owns[1], parts)
                    true = [_mean_score(at, points, weights) for at in (levels, levels - drop)]
                    truth = 100 * (true[1] - true[0])
                    paired = _paired(short, long)
                    for place, (low, high) in enumerate((paired, _unpaired(short, long))):
                        held[place] += low <= truth <= high
                        widths[place] += (high - low) / 2
                held, widths = 100 * held / trials, widths / trials
                saved = 100 * (1 - (widths[0] / widths[1]) ** 2)
                print(
                    f"{name:17} {rows:4} {shared:7} {held[0]:8.1f} {held[1]:9.1f} "
                    f"{widths[0]:10.2f} {widths[1]:11.2f} {saved:9.0f} %"
                )


def _mean_score(levels: np.ndarray, points: np.ndarray, weights: np.ndarray) -> float:
    """The expected score over tasks: the logistic of a normal with standard deviation 2."""
    chances = 1 / (1 + np.exp(-(levels[:, None] + 2 * points)))
    return float((chances @ weights / weights.sum()).mean())


def _paired(short: np.ndarray, long: np.ndarray) -> tuple[float, float]:
    cells: dict[str, Any] = {}
    rows: dict[str, dict[int, float]] = {}
    for length, table in (("4k", short), ("32k", long)):
        for number, values in enumerate(table):
            name = f"task{number}_{length}"
            places = {"language": "en", "instruction_language": "en"}
            cells[name] = {"task": f"task{number}", "length": length, **places}
            rows[name] = dict(enumerate(values.tolist()))
    found = length_loss(cells, RowsByConfig(rows, {}), "4k", "32k")
    assert found is not None
    assert found["interval"] is not None
    low, high = found["interval"]
    return low, high


def _unpaired(short: np.ndarray, long: np.ndarray) -> tuple[float, float]:
    """The difference of two independent means, from their own intervals (Zou and Donner, 2008)."""
    ends = []
    for table in (short, long):
        bounds = interval([Stratum.from_rows(rows) for rows in table])
        assert bounds
        ends.append((float(table.mean()), *bounds))
    (one, low_one, high_one), (other, low_other, high_other) = ends
    low = other - one - float(np.hypot(other - low_other, high_one - one))
    high = other - one + float(np.hypot(high_other - other, one - low_one))
    return 100 * low, 100 * high


def measure(path: Path) -> None:
    """Print what pairing saves in a real run."""
    results = load(path)
    by_task: dict[str, dict[int, str]] = defaultdict(dict)
    for name, cell in results["configurations"].items():
        if cell["max_length"]:
            by_task[cell["task"]][cell["max_length"]] = name
    values, asked = row_values(results, "score"), row_values(results, "references")
    print(f"{path}: variances in points² of one row's difference")
    totals = np.zeros(2)
    for names in by_task.values():
        first, *others = [names[length] for length in sorted(names)]
        for name in others:
            index = sorted(values[first].keys() & values[name].keys())
            short = np.array([values[first][i] for i in index])
            long = np.array([values[name][i] for i in index])
            same = np.mean([asked[first][i] == asked[name][i] for i in index])
            apart, paired = short.var() + long.var(), (long - short).var()
            totals += [paired, apart]
            print(
                f"  {first} to {name}: {len(index)} rows, {100 * same:.0f} % ask the same; "
                f"{1e4 * paired:.0f} paired, {1e4 * apart:.0f} unpaired"
                + (f": {100 * (1 - paired / apart):.0f} % fewer rows" if apart else "")
            )
    if totals[1]:
        print(f"  over all: {100 * (1 - totals[0] / totals[1]):.0f} % fewer rows")


def main(arguments: list[str]) -> None:
    """Simulate, or measure the results that are named."""
    if arguments and not arguments[0].isdecimal():
        for name in arguments:
            measure(Path(name))
    else:
        simulate(int(arguments[0]) if arguments else 1000)


if __name__ == "__main__":
    main(sys.argv[1:])
