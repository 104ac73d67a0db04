"""What the runner itself takes for a whole release: `python -m tests.bench.bench_oracle RELEASE`.

The oracle answers every row of every configuration, in a process of its own: rows, seconds of CPU,
and the most memory that it held. `--limit N` takes the first N rows of each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from ruler_eval.frozen_release import Release

RUN = """
import json, resource, sys, tempfile
from pathlib import Path
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run
dataset, configs, limit = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
with tempfile.TemporaryDirectory() as folder:
    order = RunOrder(dataset, tuple(configs), "oracle", Path(folder), limit=limit, quiet=True)
    total = run(order).total
used = resource.getrusage(resource.RUSAGE_SELF)
print(f"{total.total():,} rows, {used.ru_utime + used.ru_stime:.0f} s of CPU, "
      f"{used.ru_maxrss / 1024:.0f} MB")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--limit", type=int)
    asked = parser.parse_args()
    configs = [file["config"] for file in Release.open(asked.dataset).manifest["files"].values()]
    order = [asked.dataset, json.dumps(configs), json.dumps(asked.limit)]
    subprocess.run([sys.executable, "-c", RUN, *order], check=True)


if __name__ == "__main__":
    main()
