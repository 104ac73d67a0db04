"""What waves cost the reader: CPU a row, row groups decoded and peak memory, with and without.

    python -m tests.bench.bench_row_groups DATASET CONFIGS
    python -m tests.bench.bench_row_groups out all_128k --rows 50

The oracle answers the same rows twice, in processes of their own: as `ruler run` sends them, and
file after file. `decoded` is how often each row group was read for prompts, on average; the ratio
is that of the CPU of a row.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

CODE = """
import json, resource, sys, tempfile
from pathlib import Path
from ruler_eval.run import runner
from ruler_eval.run.preparing.row_reader import RowReader
from ruler_eval.run.run_order import RunOrder
dataset, configs, rows, way = sys.argv[1:]
if way == "files":
    runner._wave = lambda ready, parts: None
read, decoded = RowReader._read, []
def counted(self, config, file, number, columns):
    if "answer_prefix" in columns:
        decoded.append((config, number))
    return read(self, config, file, number, columns)
RowReader._read = counted
with tempfile.TemporaryDirectory() as folder:
    order = RunOrder(dataset, tuple(configs.split(",")), "oracle", Path(folder) / "RUN",
                     limit=int(rows), quiet=True)
    done = runner.run(order).total.total()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([(used.ru_utime + used.ru_stime) / done, used.ru_maxrss / 1024,
                  len(decoded) / max(1, len({*decoded})), done]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("configs")
    parser.add_argument("--rows", type=int, default=50)
    asked = parser.parse_args()
    first = None
    for way in ("files", "waves"):
        command = [sys.executable, "-c", CODE, asked.dataset, asked.configs, str(asked.rows), way]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        row, megabytes, decoded, rows = json.loads(done.stdout.splitlines()[-1])
        first = first or row
        print(
            f"{way}: {rows:,} rows, {1000 * row:6.1f} ms of CPU a row, {megabytes:5.0f} MB, each "
            f"row group decoded {decoded:5.2f} times, {row / first:5.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
