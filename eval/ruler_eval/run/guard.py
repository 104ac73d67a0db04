"""Run a program, and end it with all its processes when standard input ends.

    python guard.py PROGRAM ARGUMENT …

The caller holds the other end of the pipe. It ends when the caller closes it, and also when the
caller is killed, since the system then closes it. Used as a program: it imports nothing of the
project, so that it starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

GRACE_SECONDS = 20.0
"""Seconds between the request to end (SIGTERM) and the end (SIGKILL)."""


def run(command: Sequence[str]) -> int:
    """Run a command until it or standard input ends; return its exit code."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # its end is the pipe's; a child has the default
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def end_with_input() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        program.terminate()
        time.sleep(GRACE_SECONDS)
        kill_group(program.pid)

    threading.Thread(target=end_with_input, daemon=True).start()
    code = program.wait()
    kill_group(program.pid)  # what the program has started and left behind
    return code if code >= 0 else 128 - code


def kill_group(leader: int) -> None:
    """Kill all processes of a process group."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
