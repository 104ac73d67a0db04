"""Measure how often `ruler doctor --against` calls equal deployments different, and finds others.

    python -m bench.same_model [EXAMINATIONS]             # simulated answers
    python -m bench.same_model --replay A.csv B.csv       # published answers (kvpress)
    python -m bench.same_model --replay RUN_A RUN_B       # runs of `ruler run`

Simulated: EXAMINATIONS (400) of 300 rows. Both deployments are noisy alike, so that the server's
own repeats differ in 0 to 10 % of the rows; in a share of the rows that are steady B has another
answer. Exit code 1 if equal deployments are called different more often than chance allows at
2.5 %, or deployments that differ in 5 % beyond the noise of coins are found in less than 95 %. The
kinds of noise:

coins     some rows are answered by the flip of a coin, the others are steady
unequal   every row has its own share of other answers, from none to all, and a thousand of them
drift     coins, but only in the second half of the rows, twice as many; and at some moment all
          answers of both deployments change, also in the middle of a wave

Replay: the rows of two sets of answers in 200 random orders, A's answers taken twice; how many rows
until the verdict, for all tasks and for each.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from ruler_common.text import end_if_unread
from ruler_eval.doctor.against import DeploymentComparison
from ruler_eval.doctor.answers import Answer, Key
from ruler_eval.doctor.plan import RowPlan
from ruler_eval.doctor.same_model import (
    A_AGAIN,
    FIRST_SIDES,
    FRESH_SIDES,
    A,
    B,
    judge_tally,
    tally_rows,
)

ROWS, LOAD, ORDERS = 300, 32, 200
NOISE = (0.0, 0.02, 0.05, 0.1)
"""The shares of rows in which the server's own repeats differ."""
DIFFERENCES = (0.0, 0.05, 0.15)
"""The shares of rows in which B's answers differ beyond that."""
KINDS = ("coins", "unequal", "drift")
"""Of noise."""
MAX_FALSE, MIN_FOUND = 0.025, 0.95


@dataclass(frozen=True)
class SimulatedRow:
    """How a row is answered by both deployments."""

    noise: float
    """The share of answers that are not the usual one."""
    others: int
    """How many other answers there are."""
    differs: bool
    """Whether B's usual answer is another one."""


class SimulatedSide:
    """A side whose answers are drawn."""

    def __init__(self, clock: Iterator[int], rng: random.Random, is_b: bool, change: int) -> None:
        self._clock, self._rng, self._is_b, self._change = clock, rng, is_b, change
        self.rows: Mapping[Key, SimulatedRow] = {}
        self.answers: dict[Key, Answer] = {}

    def answer(self, keys: Sequence[Key]) -> None:
        """Draw the answers to rows."""
        for key in keys:
            row = self.rows[key]
            text = "another" if row.differs and self._is_b else "answer"
            if self._rng.random() < row.noise:
                text = f"other {self._rng.randrange(row.others)}"
            if next(self._clock) >= self._change:
                text = f"{text}, changed"
            self.answers[key] = Answer(score=1.0, text=text)


def simulated_rows(
    rng: random.Random, kind: str, noise: float, difference: float
) -> list[SimulatedRow]:
    """Draw rows whose repeated answers differ in a share of `noise` on average."""
    rows = []
    # If the share is u ** m with u uniform, two answers differ in 2 / (m + 1) - 1 / (2 m + 1).
    power = brentq(lambda m: 2 / (m + 1) - 1 / (2 * m + 1) - noise, 1, 1e6) if noise else 0.0
    for place in range(ROWS):
        if kind == "unequal":
            share, others = rng.random() ** power if noise else 0.0, 1000
            differs = rng.random() < difference
        else:
            coins = 2 * noise
            if kind == "drift":
                coins = 2 * coins if place >= ROWS / 2 else 0.0
            share, others = 0.5 if rng.random() < coins else 0.0, 1
            differs = not share and rng.random() < difference / (1 - coins)
        rows.append(SimulatedRow(share, others, differs))
    return rows


def simulate(
    seed: int, noise: float, difference: float, stored: bool, kind: str = "coins"
) -> tuple[str, int]:
    """Return the outcome of an examination, and its rows."""
    rng = random.Random(seed)
    keys = [("cwe_4k", index) for index in range(ROWS)]
    rows = dict(zip(keys, simulated_rows(rng, kind, noise, difference), strict=True))
    names = FIRST_SIDES if stored else (*FIRST_SIDES, *FRESH_SIDES)
    change = rng.randrange(ROWS * len(FIRST_SIDES)) if kind == "drift" else sys.maxsize
    clock = itertools.count()
    sides = {name: SimulatedSide(clock, rng, name.startswith("b"), change) for name in names}
    for side in sides.values():
        side.rows = rows
    plan = RowPlan(configs=("cwe_4k",), keys=tuple(keys), reserve={}, rows={}, facts={})
    comparison = DeploymentComparison(plan, sides, LOAD, str(seed), stored).run()
    return comparison.outcome, comparison.tally.rows


def read_texts(path: Path) -> dict[Key, str]:
    """Return the answers of a kvpress predictions.csv, or of a run folder, by task and row."""
    texts: dict[Key, str] = {}
    if path.is_dir():
        for line in (path / "answers.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["finish_reason"] in ("stop", "length"):
                texts[record["config"], record["index"]] = record["prediction"].strip()
        return texts
    csv.field_size_limit(sys.maxsize)
    counts: Counter[str] = Counter()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            texts[row["task"], counts[row["task"]]] = row["predicted_answer"].strip()
            counts[row["task"]] += 1
    return texts


def rows_until_different(keys: Sequence[Key], a: Mapping[Key, str], b: Mapping[Key, str]) -> int:
    """Return the rows after which two deployments are called different; 0 if they never are."""
    sides = {
        name: {key: Answer(score=1.0, text=texts[key]) for key in keys}
        for name, texts in ((A, a), (A_AGAIN, a), (B, b))
    }
    odd = [place for place, key in enumerate(keys, 1) if a[key] != b[key]]
    for place in odd[:20]:  # with no noise the verdict changes only at a differing row
        tally = tally_rows(sides, keys[:place], stored=True)
        if judge_tally(tally, complete=False).outcome == "different":
            return place
    return 0


def replay(path_a: Path, path_b: Path) -> None:
    """Print how many rows two sets of published answers need."""
    a, b = read_texts(path_a), read_texts(path_b)
    common = sorted(a.keys() & b.keys())
    tasks = sorted({task for task, _ in common})
    differ = np.mean([a[key] != b[key] for key in common])
    print(f"{len(common)} rows, texts differ in {100 * differ:.1f} %")
    print(f"{'rows of':24} {'differ':>7} {'rows until different: median':>29} {'90 %':>6}")
    for task in ("all", *tasks):
        keys = [key for key in common if task in ("all", key[0])]
        needed = []
        for seed in range(ORDERS):
            order = list(keys)
            random.Random(seed).shuffle(order)
            needed.append(rows_until_different(order, a, b))
        found = sorted(rows or len(keys) + 1 for rows in needed)
        share = 100 * np.mean([a[key] != b[key] for key in keys])
        middle, most = found[len(found) // 2], found[len(found) * 9 // 10]
        shown = [f"{rows}" if rows <= len(keys) else "never" for rows in (middle, most)]
        print(f"{task:24} {share:6.1f}% {shown[0]:>29} {shown[1]:>6}", flush=True)


def main() -> None:
    """Print the error rates, or replay two sets of answers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("examinations", nargs="?", type=int, default=400)
    parser.add_argument("--replay", nargs=2, type=Path)
    options = parser.parse_args()
    if options.replay:
        replay(*options.replay)
        return
    good = True
    head = f"{'B':7} {'noise':8} {'repeats differ':>14} {'beyond':>7}"
    print(f"{head} {'different':>10} {'same':>6} {'neither':>7} {'rows (median)':>14}")
    for stored, kind, difference, noise in cases():
        outcomes: Counter[str] = Counter()
        rows = []
        for seed in range(options.examinations):
            outcome, count = simulate(seed, noise, difference, stored, kind)
            outcomes[outcome] += 1
            rows.append(count)
        share = outcomes["different"] / options.examinations
        max_false = binom.ppf(0.99, options.examinations, MAX_FALSE)
        good &= bool(difference) or outcomes["different"] <= max_false
        good &= stored or kind != "coins" or not difference or share >= MIN_FOUND
        print(
            f"{'stored' if stored else 'server':7} {kind:8} {100 * noise:13.0f}% "
            f"{100 * difference:6.0f}% {100 * share:9.2f}% {outcomes['same']:6} "
            f"{outcomes['noisy'] + outcomes['few']:7} {np.median(rows):14.0f}",
            flush=True,
        )
    sys.exit(not good)


def cases() -> Iterator[tuple[bool, str, float, float]]:
    """Yield what is simulated: stored answers or a server, kind of noise, difference, noise."""
    for stored, kind in itertools.product((False, True), KINDS):
        if stored and kind == "drift":
            continue  # if all answers change after they were stored, the deployment is another one
        for difference, noise in itertools.product(DIFFERENCES, NOISE):
            if noise or kind != "unequal":  # no noise is the same as no coins
                yield stored, kind, difference, noise


if __name__ == "__main__":
    end_if_unread(main)
