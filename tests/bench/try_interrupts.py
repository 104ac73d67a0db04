"""Stop a build of two workers by Ctrl-C at random moments, many times: it must never hang.

    python -m tests.bench.try_interrupts --times 100

Each build is stopped as a terminal stops it, by SIGINT to the whole group, and must end within a
minute; at the end the same command finishes what is left and `ruler verify` proves it.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

RULER = [sys.executable, "-m", "ruler_release"]
PATIENCE = 60  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--longest", type=float, default=6.0, help="seconds before Ctrl-C")
    arguments = parser.parse_args()
    drawn = random.Random(0)
    ended: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "ruler"
        build = [*RULER, "build", str(root), "--sources", "embedded", "--lengths", "1k,2k,4k"]
        build += ["--tasks", "niah,vt,cwe,fwe", "--samples", "40", "--workers", "2"]
        for number in range(arguments.times):
            process = subprocess.Popen(
                build,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            time.sleep(drawn.uniform(0.2, arguments.longest))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            try:
                ended[process.wait(PATIENCE)] += 1
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                sys.exit(f"It hung in try {number}.")
            if (root / "manifest.json").exists():
                shutil.rmtree(root)
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*RULER, "verify", str(root)], check=True, stdout=subprocess.DEVNULL)
    print(f"{arguments.times} tries, none hung. Exit codes: {dict(ended)}.")


if __name__ == "__main__":
    main()
