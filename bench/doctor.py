"""Measure how often `ruler doctor` names the right fault, and how often it blames a sound engine.

    python -m bench.doctor [ENGINES] [SOUND] [FIRST_SEED]

Ten kinds of faults, each with ENGINES engines (20) of a skill from 50 to 99 %, which lose 10 points
where the fault strikes, 200 rows; then SOUND sound but noisy engines (200), in which up to a tenth
of the rows are answered by a coin's flip. Engines have the seeds from FIRST_SEED (0) on. Exit code
1 if a kind is named in less than 95 %, or a sound engine is accused in more than 5 %.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from ruler_eval.doctor.examine import Examination
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.doctor.sending import Sender
from ruler_eval.doctor.verdict import Verdict
from ruler_eval.frozen_release import Release
from tests.eval.doctor.faulty_engine import (
    EXPECTED,
    FaultyBackend,
    FaultyEngine,
    WordPrompter,
    write_release,
)

MIN_NAMED, MAX_ACCUSED = 0.95, 0.05
NEAR_TIES = (0.0, 0.1)
"""The share of rows answered by a coin's flip in sound engines, from the first to the last."""


def examine(root: Path, engine: FaultyEngine, rows: int = 200) -> Verdict:
    """Examine an engine in this process."""
    sender = Sender(FaultyBackend(engine), WordPrompter("completion"), "salt", salt_field=True)
    sender.server = FaultyBackend(engine, "chat")
    with tempfile.TemporaryDirectory() as out:
        options = DoctorOptions(
            dataset=str(root), out=Path(out), model="m", base_url="-", rows=rows
        )
        return Examination(options, sender).run()


def named(verdict: Verdict) -> str:
    """Return the condition that the verdict names, or the verdict."""
    return verdict.findings[0].name if verdict.outcome == "engine" else verdict.outcome


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("engines", nargs="?", type=int, default=20)
    parser.add_argument("sound", nargs="?", type=int, default=200)
    parser.add_argument("first_seed", nargs="?", type=int, default=0)
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        root = write_release(Path(folder) / "ruler")
        release = Release.open(str(root))
        values = {
            row["index"]: row["outputs"][0]
            for row in release.rows("niah_single_1_4k", ("index", "outputs"))
        }
        print("fault        named right   rows (median)   others named")
        for fault, expected in EXPECTED.items() if options.engines else ():
            names: Counter[str] = Counter()
            rows = []
            for number, skill in enumerate(np.linspace(0.5, 0.99, options.engines)):
                engine = FaultyEngine(
                    values,
                    seed=options.first_seed + number,
                    skill=float(skill),
                    fault=fault,
                    near_ties=0.02,
                )
                verdict = examine(root, engine)
                names[named(verdict)] += 1
                rows.append(verdict.rows)
            right = names.pop(expected, 0)
            good &= right >= MIN_NAMED * options.engines
            others = ", ".join(f"{name} {count}" for name, count in names.items())
            share = f"{right} of {options.engines}"
            print(f"{fault:12} {share:>11} {np.median(rows):15.0f}   {others}", flush=True)
        outcomes: Counter[str] = Counter()
        accused: Counter[str] = Counter()
        for number, near_ties in enumerate(np.linspace(*NEAR_TIES, options.sound)):
            seed = options.first_seed + number
            skill = float(np.random.default_rng(seed).uniform(0.5, 0.99))
            engine = FaultyEngine(values, seed=seed, skill=skill, near_ties=float(near_ties))
            verdict = examine(root, engine)
            outcomes[verdict.outcome] += 1
            if verdict.outcome == "engine":
                accused[verdict.findings[0].name] += 1
        good &= outcomes["engine"] <= MAX_ACCUSED * options.sound
        print(f"\n{options.sound} sound engines: {dict(outcomes)}, accused: {dict(accused)}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
