"""Measure the runner: rows per second, tokens per second of chat templates, and memory.

The ratios are to a floor measured in the same run: reading the rows for the oracle, and the time
that the server waits for 200 requests at once. client.py measures the CPU time of a row.

python -m bench.run                       # hand-written rows of about 128k tokens
python -m bench.run --tokenizer FOLDER    # also renders with a real chat template
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import tempfile
import threading
import time
from dataclasses import replace
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path

import datasets

from ruler_common.text import end_if_unread
from ruler_eval.frozen_release import Release
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompter, load_tokenizer
from ruler_eval.run.runner import run
from tests.eval.run import small_release
from tests.eval.run.run_options import model_options
from tests.model_server import Reply, Request, answer, model_server

AT_ONCE = 200  # requests
DELAY = 0.2  # seconds before each answer of the server


def clock(name: str, started: float, amount: float, what: str, floor: float = 0) -> None:
    seconds = time.perf_counter() - started
    ratio = f", {seconds / floor:5.1f} times the floor" if floor else ""
    print(f"{name:42} {seconds:8.2f} s {amount / seconds:14,.0f} {what}/s{ratio}")


def serve(address: Connection) -> None:
    """Answer each request after DELAY seconds, and send the base URL."""

    def reply(_: Request) -> Reply:
        time.sleep(DELAY)
        return answer("x")

    with model_server(reply) as server:
        address.send(server.url)
        threading.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer")
    parser.add_argument("--rows", type=int, default=50)
    options = parser.parse_args()
    rows = options.rows
    datasets.disable_progress_bars()

    row = small_release.niah_row(random.Random(0), 5500)  # about 128k tokens
    row = small_release.full_row(row, 0, "niah_single_1", 131072)

    if options.tokenizer:
        prompter = Prompter("prefill", load_tokenizer(options.tokenizer))
        started = time.perf_counter()
        tokens = sum(len(prompter("a", row).token_ids or ()) for _ in range(5))
        clock("template and tokens, prefill", started, tokens, "tokens")

    with tempfile.TemporaryDirectory() as folder:
        root = small_release.write(
            Path(folder) / "ruler", "128k", rows, 5500, only=("niah_single_1",)
        )
        oracle = RunOptions(
            dataset=str(root), configs=("all_128k",), backend="oracle", out=Path(folder) / "A"
        )
        started = time.perf_counter()
        release = Release.open(str(root))
        for config in release.configs:
            list(release.rows(config, ("input", "outputs")))
        floor = time.perf_counter() - started
        started = time.perf_counter()
        run(oracle)
        clock(f"oracle, {rows} rows of 128k", started, rows, "rows", floor)
        started = time.perf_counter()
        run(oracle)
        clock("the same again: nothing to do", started, rows, "rows", floor)

        many = small_release.write(
            Path(folder) / "many", rows=20 * rows, lines=40, only=("niah_single_1",)
        )
        address, parent = Pipe()
        server = Process(target=serve, args=(address,), daemon=True)  # its CPU is not the runner's
        server.start()
        url = parent.recv()
        model = model_options("m", base_url=url, concurrency=AT_ONCE)
        started = time.perf_counter()
        run(
            replace(
                model,
                dataset=str(many),
                configs=("all_4k",),
                backend="openai",
                out=Path(folder) / "B",
            )
        )
        floor = math.ceil(20 * rows / AT_ONCE) * DELAY
        clock(f"openai, {20 * rows:,} short rows, 200 at once", started, 20 * rows, "rows", floor)
        server.kill()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of this process {peak:,.0f} MB")


if __name__ == "__main__":
    end_if_unread(main)
