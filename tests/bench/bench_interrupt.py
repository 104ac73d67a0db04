"""How long Ctrl-C takes while prompts of a length are tokenised, sent and waited for.

    python -m tests.bench.bench_interrupt DATASET CONFIG TOKENIZER
    python -m tests.bench.bench_interrupt out niah_single_2_128k Qwen/Qwen2.5-0.5B-Instruct

A run is stopped at several moments, as a terminal stops it; the server never answers. Seconds until
the process has ended, and its exit code, which is 130.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import instant_server

MOMENTS = (0.0, 1.0, 3.0, 8.0)
"""Seconds after the run folder is there."""


def main() -> None:
    dataset, config, tokenizer = sys.argv[1:]
    with instant_server.started(delay=3600) as url:
        for moment in MOMENTS:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "RUN"
                flags = ["--dataset", dataset, "--configs", config, "--backend", "openai"]
                flags += ["--model", "m", "--base-url", url, "--tokenizer", tokenizer]
                flags += ["--mode", "prefill", "--out", str(out)]
                process = subprocess.Popen(
                    [sys.executable, "-m", "ruler_release", "run", *flags],
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                while not (out / "run.json").exists() and process.poll() is None:
                    time.sleep(0.05)
                time.sleep(moment)
                os.killpg(process.pid, signal.SIGINT)
                began = time.monotonic()
                code = process.wait()
            seconds = time.monotonic() - began
            print(f"stopped {moment:4.1f} s after its start: {seconds:5.2f} s, exit code {code}")


if __name__ == "__main__":
    main()
