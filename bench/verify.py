"""Compare the cost of `ruler verify` with `ruler build`: `python -m bench.verify [ROWS]`.

Builds RULER's default release with ROWS rows per file (500) and seed 7, which is not frozen, and
verifies it by building it again, without and with the audit. Prints CPU seconds, also as a share of
the build's in the same run, and the peak memory of all processes of a command together.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tests.in_process import ruler_command

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 500
INTERVAL = 0.25  # seconds between two measurements of the memory


def memory_of(group: int) -> int:
    """Return the memory of a process group in bytes, shared pages counted once."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(process.name)) == group:
                text = (process / "smaps_rollup").read_text()
                total += 1024 * int(text.partition("\nPss:")[2].split()[0])
        except (OSError, IndexError, ValueError):  # it has ended
            continue
    return total


def ruler(*arguments: object) -> tuple[float, int]:
    """Run a command, and return its CPU seconds and peak memory in bytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ruler_command(*arguments)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    ended, peak = threading.Event(), 0
    with subprocess.Popen(command, start_new_session=True, **quiet) as process:

        def watch() -> None:
            nonlocal peak
            while not ended.wait(INTERVAL):
                peak = max(peak, memory_of(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        code = process.wait()
        ended.set()
        watcher.join()
    if code not in (0, 3):
        sys.exit(f"Exit code {code}: {' '.join(command)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak


def main() -> None:
    """Build, verify twice, print."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "ruler"
        built, _ = ruler("build", root, "--samples", ROWS, "--seed", 7, "--yes")
        print(f"build                 {built:6.0f} s of CPU")
        for name, flags in (("rebuilt", []), ("rebuilt and audited", ["--audit"])):
            seconds, peak = ruler("verify", root, *flags)
            print(f"{name:21} {seconds:6.0f} s, {seconds / built:.2f} of it, {peak / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
