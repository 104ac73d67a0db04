"""Measure how often `ruler doctor` names the right fault, and how often it blames a sound engine.

    python -m bench.doctor [ENGINES] [SOUND] [FIRST_SEED]

Simulated engines (tests/eval/doctor/simulated.py) with a skill from 50 to 99 %, 200 rows of four
tasks at two lengths, and 2 % of the rows answered by a coin's flip: ENGINES (100) for each fault,
then SOUND (400) sound ones, in which up to a tenth of the rows are answered by a coin's flip. Exit
code 1 if a visible fault is named in less than 90 %, or anything else is blamed in more than 5 %.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np

from ruler_common.text import end_if_unread
from ruler_eval.doctor.verdict import Verdict
from tests.eval.doctor.simulated import (
    CHANGES_WITH_TIME,
    EXPECTED,
    INVISIBLE,
    SimulatedEngine,
    examination,
    plan_of,
)

MIN_NAMED, MAX_BLAMED = 0.9, 0.05
NEAR_TIES = (0.0, 0.1)
"""The share of rows answered by a coin's flip in sound engines, from the first to the last."""


def named(verdict: Verdict) -> str:
    """Return the condition that the verdict names, or the outcome."""
    if verdict.outcome != "engine":
        return verdict.outcome
    if verdict.tokens.state == "engine":
        return "tokens"
    return verdict.findings[0].name


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("engines", nargs="?", type=int, default=100)
    parser.add_argument("sound", nargs="?", type=int, default=400)
    parser.add_argument("first_seed", nargs="?", type=int, default=0)
    options = parser.parse_args()
    good, plan = True, plan_of()
    print(f"{'fault':22} {'named':>10} {'blamed':>7} {'cannot tell':>12} {'sound':>6} {'rows':>6}")
    for fault in (*EXPECTED, *INVISIBLE, ""):
        expected = EXPECTED.get(fault, "drift" if fault in CHANGES_WITH_TIME else "")
        count = options.engines if fault else options.sound
        results: Counter[str] = Counter()
        rows = []
        for number in range(count):
            seed = options.first_seed + number
            skill = float(np.random.default_rng(seed).uniform(0.5, 0.99))
            near_ties = 0.02 if fault else NEAR_TIES[1] * number / max(1, count - 1)
            engine = SimulatedEngine(seed=seed, skill=skill, fault=fault, near_ties=near_ties)
            verdict = examination(engine, plan).run()
            results[named(verdict)] += 1
            rows.append(verdict.rows)
        right, unknown, sound = (
            results.pop(name, 0) for name in (expected or "-", "unknown", "sound")
        )
        blamed = sum(results.values())
        good &= blamed <= MAX_BLAMED * count
        good &= fault not in EXPECTED or right >= MIN_NAMED * count
        print(
            f"{fault or 'none (sound)':22} {f'{right} of {count}' if expected else '-':>10} "
            f"{blamed:7} {unknown:12} {sound:6} {np.median(rows):6.0f}  {dict(results) or ''}",
            flush=True,
        )
    sys.exit(not good)


if __name__ == "__main__":
    end_if_unread(main)
