"""Measure building and verifying a release, in units of T: `python -m bench.build`.

    RULER_MIRROR=… python -m bench.build --tokenizer cl100k_base --rows 100
    python -m bench.build --sources embedded --lengths 4k --rows 20       # without a mirror

T is the CPU time in which the tokenizer's library tokenizes the built text once, in one thread; all
other times are CPU times of the same run too, so that the ratios hold on a busy machine. Only two
workers are timed by the clock. Memory is the peak of all processes of a command together. The seed
is not 0, so that `ruler verify` has to build the rows again. Tokens are counted by gigatoken, the
extra `fast`.

Bounds, for 13 tasks at 128k and 500 rows (--rows 500 --every 10; every build pays 3 s to start
and to read HotpotQA): building at most 0.25 T for cl100k_base and 0.06 T for qwen2.5, two workers
at least 1.7 times one, verifying at most 1.2 times the building, 1.5 GB a process (3 GB at 1m), an
essay file of 500 rows at most 15 MB. For the 26 languages of oneruler at 128k with a Hugging Face
tokenizer (--suite oneruler --tokenizer qwen2.5 --rows 50): building at most 1.0 T, 1.5 GB.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from bench.commands import measure
from ruler_common.text import end_if_unread

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pyarrow.parquet as pq

from ruler_builder.pinned import Store
from ruler_builder.release.folder import rows_in
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.manifest import read_manifest


def tokenize(root: Path, tokenizer: str, every: int) -> float:
    """Return T for a release, by tokenizing every N-th row."""
    counter, seconds = load_counter(tokenizer, Store()), 0.0
    for path in read_manifest(root)["files"]:
        texts = [
            row["input"] + row["answer_prefix"] for row in rows_in(pq.ParquetFile(root / path))
        ]
        started = time.process_time()
        for text in texts[::every]:
            counter.count(text)
        seconds += (time.process_time() - started) * len(texts) / len(texts[::every])
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="ruler")
    parser.add_argument("--tokenizer", default="tekken")
    parser.add_argument("--lengths", default="128k")
    parser.add_argument("--rows", default="100")
    parser.add_argument("--tasks", default="all")
    parser.add_argument("--languages", default="default")
    parser.add_argument("--sources", default="canonical")
    parser.add_argument("--every", type=int, default=1, help="tokenize every N-th row only")
    options = vars(parser.parse_args())
    every = options.pop("every")
    flags = ["--seed", "7"]
    for name, value in options.items():
        flags += [f"--{name}", value]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "one"
        one = measure("build", root, *flags, "--workers", 1)
        two = measure("build", Path(folder) / "two", *flags, "--workers", 2)
        verified = measure("verify", root, "--workers", 1)
        audited = measure("verify", root, "--workers", 1, "--audit")
        t = tokenize(root, options["tokenizer"], every)
        manifest = read_manifest(root)
    essays = [0.0]
    for entry in manifest["files"].values():
        if manifest["tasks"][entry["task"]].get("haystack") == "essay":
            essays.append(500 * entry["bytes"] / entry["rows"] / 1e6)
    print(f"{len(manifest['files'])} files, T is {t:.1f} s")
    for name, took in (("build", one), ("verify", verified), ("verify --audit", audited)):
        print(
            f"{name:14} {took.cpu:7.1f} s of CPU, {took.cpu / t:6.2f} T, {took.cpu / one.cpu:5.2f} "
            f"builds, {took.memory:5.2f} GB"
        )
    print(f"two workers are {one.clock / two.clock:.2f} times as fast, {two.memory:.2f} GB")
    print(f"the largest essay file has {max(essays):.1f} MB for 500 rows")


if __name__ == "__main__":
    end_if_unread(main)
