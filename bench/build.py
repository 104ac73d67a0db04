"""Measure the time and memory of building and verifying a release, in units of T.

T is the time in which the tokenizer's library tokenizes the built text once, in one thread. All
times are CPU times of one run, so that the ratios hold on a busy machine; only two workers are
timed by the clock. Memory is the peak of the largest process. Tokens are counted by gigatoken, the
extra `fast`.

    RULER_MIRROR=… python -m bench.build --tokenizer cl100k_base --samples 100

Without a mirror: --tokenizer tekken --sources embedded. Bounds, for 13 tasks at 128k and 500 rows
(--samples 500 --every 10; every build pays 4 s to start and to read HotpotQA): building at most
0.25 T for cl100k_base and 0.06 T for qwen2.5, two workers at least 1.7 times one, verifying at
most twice the building, 1.5 GB a process (3 GB at 1m), an essay file of 500 rows at most 15 MB. For
the 26 languages of oneruler at 128k with a Hugging Face tokenizer: building at most 1.0 T, 1.5 GB:

    … --suite oneruler --tokenizer qwen2.5 --samples 50 --every 10 --build-only
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pyarrow.parquet as pq

from ruler_builder.pinned import Store
from ruler_builder.release.folder import rows_of, write_rows
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.manifest import read_manifest
from ruler_common.names import parse_length
from tests.in_process import ruler_command


class Timed(NamedTuple):
    """CPU and wall-clock seconds, and the peak memory of the largest process in GB."""

    processor: float
    clock: float
    memory: float


def timed(*arguments: str) -> Timed:
    """Run a `ruler` command and time it."""
    command = ["/usr/bin/time", "-v", *ruler_command(*arguments)]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    clock = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    (peak,) = re.findall(r"Maximum resident set size \(kbytes\): (\d+)", done.stderr)
    spent = re.findall(r"(?:User|System) time \(seconds\): ([\d.]+)", done.stderr)
    return Timed(sum(map(float, spent)), clock, int(peak) / 1e6)


def floor(root: Path, folder: Path, level: dict[str, int]) -> float:
    """Return the seconds that writing and compressing the rows takes."""
    seconds = 0.0
    for path, entry in read_manifest(root)["files"].items():
        rows = list(rows_of(pq.ParquetFile(root / path)))
        start = time.process_time()
        write_rows(folder / path, rows, entry["max_length"], level.get(entry["task"], 9))
        seconds += time.process_time() - start
    return seconds


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", default="cl100k_base")
    parser.add_argument("--length", default="128k")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--sources", default="")
    parser.add_argument("--tasks", default="all")
    parser.add_argument("--suite", default="ruler")
    parser.add_argument("--languages", default="all")
    parser.add_argument("--every", type=int, default=1, help="use every N-th row only")
    parser.add_argument("--build-only", action="store_true", help="neither two workers nor verify")
    parser.add_argument("--one-worker", action="store_true", help="do not time two workers")
    options = parser.parse_args()
    counter = load_counter(options.tokenizer, Store(None))
    how = ["--sources", options.sources] if options.sources else []
    how += ["--tokenizer", options.tokenizer, "--lengths", options.length]
    how += ["--samples", str(options.samples), "--tasks", options.tasks]
    if options.suite == "oneruler":
        how += ["--suite", "oneruler", "--languages", options.languages]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        single = timed("build", str(folder / "one"), *how)
        if not (options.build_only or options.one_worker):
            double = timed("build", str(folder / "two"), *how, "--workers", "2")
        t, megabytes = 0.0, 0.0
        manifest = read_manifest(folder / "one")
        for path in manifest["files"]:
            rows = rows_of(pq.ParquetFile(folder / "one" / path))
            texts = [row["input"] + row["answer_prefix"] for row in rows]
            megabytes += sum(map(len, texts)) / 1e6
            start = time.process_time()
            for text in texts[:: options.every]:
                counter.count(text)
            seconds = time.process_time() - start
            t += seconds * len(texts) / len(texts[:: options.every])
        others = dict.fromkeys(("cwe", "fwe", "qa_1", "qa_2", "cwe_easy", "cwe_hard"), 5)
        floor_seconds = floor(folder / "one", folder / "floor", others)
        if not options.build_only:
            checked = timed("verify", str(folder / "one"))
        essays = max(
            (
                entry["bytes"] / entry["rows"]
                for entry in manifest["files"].values()
                if manifest["tasks"][entry["task"]].get("haystack") == "essay"
            ),
            default=0.0,
        )
    tokens, files = parse_length(options.length, options.suite), len(manifest["files"])
    print(f"{options.tokenizer}, {files} files x {options.samples} rows x {tokens} tokens")
    print(f"  T                       {t:8.1f} s   ({megabytes:.0f} MB of text)")
    print(f"  build, one worker       {single.processor / t:8.2f} T   peak {single.memory:.2f} GB")
    print(f"  floor: write, compress  {floor_seconds / t:8.2f} T")
    if not (options.build_only or options.one_worker):
        print(f"  two workers             {single.clock / double.clock:8.2f} times as fast")
    if not options.build_only:
        builds = checked.processor / single.processor
        print(f"  verify, one worker      {checked.processor / t:8.2f} T   {builds:.2f} builds")
        print(f"  verify, peak            {checked.memory:8.2f} GB")
    if essays:
        print(f"  largest essay file      {500 * essays / 1e6:8.1f} MB for 500 rows")


if __name__ == "__main__":
    main()
