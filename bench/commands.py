"""Run a `ruler` command, and measure what all its processes take together.

    took = measure("verify", root, "--workers", 1)
    took.cpu, took.clock, took.memory

The memory is sampled, so that of a command of a second or two may be more.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tests.in_process import ruler_command

INTERVAL = 0.25  # seconds between two measurements of the memory


class Took(NamedTuple):
    """CPU and wall-clock seconds, and the peak memory of all processes together in GB."""

    cpu: float
    clock: float
    memory: float


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


def measure(*arguments: object) -> Took:
    """Run a `ruler` command, and return what it took."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
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
    if code:
        sys.exit(f"Exit code {code}: {' '.join(command)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(cpu, time.perf_counter() - started, peak / 1e9)
