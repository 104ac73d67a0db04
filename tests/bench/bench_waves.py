"""What waves cost a prefix cache: `python -m tests.bench.bench_waves RELEASE [LENGTH]`.

Of all rows at a length (default: the shortest), by task: the share of prompt tokens that an ideal
prefix cache holds already, where the rows of a file are sent in the order of their beginnings, and
where they are sent so within waves: that grow, and of one size (WAVE rows of a run at one length,
WAVE_OVER_LENGTHS of one over several). Common
beginnings are counted in the texts, up to the character.
"""

from __future__ import annotations

import sys

from ruler_eval.frozen_release import Release
from ruler_eval.run.work_plan import WAVE, WAVE_OVER_LENGTHS, Part, Waves, plan_rows


def main() -> None:
    """Print the shares by task, and over all."""
    release = Release.open(sys.argv[1])
    files = [*release.manifest["files"].values()]
    shortest = min(files, key=lambda file: file["max_length"])["length"]
    length = sys.argv[2] if len(sys.argv) > 2 else shortest
    configs = [file["config"] for file in files if file["length"] == length]
    parts = [Part(name, tuple(o := release.order(name)), tuple(o)) for name in configs]
    waves = {
        "no waves": None, "growing": Waves(WAVE, growing=True),
        f"of {WAVE}": Waves(WAVE), f"of {WAVE_OVER_LENGTHS}": Waves(WAVE_OVER_LENGTHS),
    }  # fmt: skip
    said = f"{length}: prompt tokens that a cache holds"
    print(f"{said:45}" + "".join(f"{name:>9}" for name in waves))
    found = [plan_rows(release, parts, 0, True, wave) for wave in waves.values()]
    for number, name in enumerate(configs):
        shares = [part.cached_tokens / sum(part.tokens) for part in (f[0][number] for f in found)]
        print(f"{name:45}" + "".join(f"{share:9.1%}" for share in shares))
    totals = [(plan.cached_tokens or 0) / plan.prompt_tokens for _, plan in found]
    print(f"{'all':45}" + "".join(f"{share:9.1%}" for share in totals))


if __name__ == "__main__":
    main()
