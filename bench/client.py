"""Measure the client's CPU time and memory for a row, with a server that answers at once.

    python -m bench.client DATASET CONFIG --tokenizer FOLDER
    python -m bench.client out niah_single_2_128k --rows 48 --lm-eval --tokenizer FOLDER

Each line is the difference between two processes, of a few rows and of many, so that start, plan
and imports do not count; memory is the peak of the larger. `text` sends the prompt as text, `ids`
as token ids; `stream` sends text and takes an answer of 128 tokens in as many pieces.
`tokenizer` is the time of that library: exact ids cannot take less. With --lm-eval,
lm-evaluation-harness' local-completions answers as many requests of the same prompts, also as token
ids; its reading of rows is not counted. The last columns: the CPU per row as a share of that of
`ids`, and the rows per second of CORES cores by extrapolation, as many seconds of CPU per second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from ruler_common.text import end_if_unread
from tests.model_server import VLLM, Reply, Request, answer, events, model_server

CORES = 8
PIECES = 128
PIECE = {"index": 0, "text": " 4", "logprobs": None, "finish_reason": None}
STREAM = events(
    *[{"choices": [PIECE]}] * (PIECES - 1), {"choices": [{**PIECE, "finish_reason": "stop"}]}
)
BEGIN = """
import json, resource, sys, tempfile
from itertools import islice
from pathlib import Path
from ruler_eval.frozen_release import Release
from ruler_eval.run.prompts import TokenIds, load_tokenizer
from ruler_eval.run.options import RunOptions
from ruler_eval.run.runner import run
dataset, config, url, tokenizer, way, rows = sys.argv[1:]

def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

def texts():
    selected = islice(Release.open(dataset).rows(config, ("input", "answer_prefix")), int(rows))
    return [row["input"] + row["answer_prefix"] for row in selected]

before = 0.0
"""
OURS = """
used_tokenizer = None if way in ("text", "stream") else tokenizer
with tempfile.TemporaryDirectory() as folder:
    options = RunOptions(dataset, configs=config, backend="openai", out=Path(folder) / "RUN",
                         model="m", base_url=url, tokenizer=used_tokenizer, stream=way == "stream",
                         mode="completion", limit=int(rows))
    assert run(options).total == {"stop": int(rows)}
"""
THEIRS = """
from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI
model = LocalCompletionsAPI(base_url=url + "/completions", model="m", tokenizer=tokenizer,
                            num_concurrent=32, max_length=10**7, batch_size=1)
requests = [Instance("generate_until", {}, (text, {"until": [], "max_gen_toks": 128}), 0)
         for text in texts()]
before = cpu()
assert len(model.generate_until(requests)) == int(rows)
"""
TOKENIZER = """
ids, prompts = TokenIds(load_tokenizer(tokenizer)), texts()
before = cpu()
for text in prompts:
    ids(text, special_tokens=True)
"""
USED = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([cpu() - before, peak]))
"""


def used(code: str, *arguments: str) -> tuple[float, float]:
    """Return the CPU seconds and peak MB of a process that runs the code."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code + USED, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes


def reply(request: Request) -> Reply:
    """Answer at once, so that only the client takes time."""
    if request.body.get("stream"):
        return Reply(200, STREAM, {"Content-Type": "text/event-stream"})
    return answer(" 42")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("config")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--rows", type=int, default=34)
    parser.add_argument("--lm-eval", action="store_true")
    options = parser.parse_args()
    few_rows = 2
    ways = [
        ("ids", OURS),
        ("tokenizer", TOKENIZER),
        ("text", OURS),
        ("stream", OURS),
    ]
    ways += [("lm-eval ids", THEIRS)] if options.lm_eval else []
    first = None
    with model_server(reply, [{**VLLM, "max_model_len": 10**8}]) as server:
        for way, code in ways:
            arguments = (options.dataset, options.config, server.url, options.tokenizer, way)
            start, _ = used(code, *arguments, str(few_rows))
            total, megabytes = used(code, *arguments, str(options.rows))
            row = (total - start) / (options.rows - few_rows)
            first = first or row
            print(
                f"{way:12} {row:7.4f} s of CPU a row, {megabytes:5.0f} MB, {row / first:6.2f} of "
                f"ids; {CORES} cores: {CORES / row:7.1f} rows per second",
                flush=True,
            )


if __name__ == "__main__":
    end_if_unread(main)
