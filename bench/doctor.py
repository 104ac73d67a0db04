"""How often `ruler doctor` names the right fault, and how often it accuses a sound engine.

    python -m bench.doctor [SEEDS] [SOUND]

Ten kinds of faults, each with SEEDS engines (20) of a skill from 50 to 99 %, which lose 10 points
where the fault strikes, 200 rows; then SOUND sound but noisy engines (200), in which up to a tenth
of the rows are answered by a coin's flip. Exit code 1 if a kind is named in less than 95 %, or a
sound engine is accused in more than 5 %.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from ruler_eval.doctor.asking import Asker
from ruler_eval.doctor.examine import Examination
from ruler_eval.doctor.judge import Verdict
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.frozen_release import Release
from tests.eval.doctor.sick_engine import (
    EXPECTED,
    SickBackend,
    SickEngine,
    WordPrompter,
    write_release,
)

MIN_NAMED, MAX_ACCUSED = 0.95, 0.05
NEAR_TIES = (0.0, 0.1)
"""The share of rows answered by a coin's flip in sound engines, from the first to the last."""


def examine(root: Path, engine: SickEngine, rows: int = 200) -> Verdict:
    """Examine an engine in this process."""
    asker = Asker(SickBackend(engine), WordPrompter("completion"), "salt", salt_field=True)
    asker.server = SickBackend(engine, "chat")
    with tempfile.TemporaryDirectory() as out:
        options = DoctorOptions(
            dataset=str(root), out=Path(out), model="m", base_url="-", rows=rows, quiet=True
        )
        return Examination(options, asker).run()


def named(verdict: Verdict) -> str:
    """Return the condition that the verdict names, or the verdict."""
    return verdict.findings[0].name if verdict.outcome == "engine" else verdict.outcome


def main() -> None:
    """Print both tables."""
    seeds, sound = (int(text) for text in (*sys.argv[1:], *("20", "200")[len(sys.argv) - 1 :]))
    good = True
    with tempfile.TemporaryDirectory() as folder:
        root = write_release(Path(folder) / "ruler")
        release = Release.open(str(root))
        values = {
            row["index"]: row["outputs"][0]
            for row in release.rows("niah_single_1_4k", ("index", "outputs"))
        }
        print("fault        named right   rows (median)   others named")
        for fault, expected in EXPECTED.items():
            found: Counter[str] = Counter()
            rows = []
            for seed in range(seeds):
                skill = float(np.linspace(0.5, 0.99, seeds)[seed]) if seeds > 1 else 0.9
                engine = SickEngine(values, seed=seed, skill=skill, fault=fault, near_ties=0.02)
                verdict = examine(root, engine)
                found[named(verdict)] += 1
                rows.append(verdict.rows)
            share = found.pop(expected, 0) / seeds
            good &= share >= MIN_NAMED
            others = ", ".join(f"{name} {count}" for name, count in found.items())
            print(f"{fault:12} {share:11.0%} {np.median(rows):15.0f}   {others}", flush=True)
        outcomes: Counter[str] = Counter()
        accused: Counter[str] = Counter()
        for seed in range(sound):
            near_ties = float(np.linspace(*NEAR_TIES, sound)[seed])
            skill = float(np.random.default_rng(seed).uniform(0.5, 0.99))
            engine = SickEngine(values, seed=seed, skill=skill, near_ties=near_ties)
            verdict = examine(root, engine)
            outcomes[verdict.outcome] += 1
            if verdict.outcome == "engine":
                accused[verdict.findings[0].name] += 1
        share = outcomes["engine"] / max(1, sound)
        good &= share <= MAX_ACCUSED
        print(f"\n{sound} sound engines: {dict(outcomes)}, accused {share:.1%} {dict(accused)}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
