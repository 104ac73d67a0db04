"""What a row costs the client: CPU seconds against a server that answers at once, and memory.

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
    found = Release.open(dataset).rows(config, ("input", "answer_prefix"))
    return [row["input"] + row["answer_prefix"] for row in islice(found, int(rows))]

before = 0.0
"""
OURS = """
own = None if way in ("text", "stream") else tokenizer
with tempfile.TemporaryDirectory() as folder:
    options = RunOptions(dataset, configs=config, backend="openai", out=Path(folder) / "RUN",
                         model="m", base_url=url, tokenizer=own, stream=way == "stream",
                         mode="completion", limit=int(rows))
    assert run(options).total == {"stop": int(rows)}
"""
THEIRS = """
from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI
model = LocalCompletionsAPI(base_url=url + "/completions", model="m", tokenizer=tokenizer,
                            num_concurrent=32, max_length=10**7, batch_size=1)
asked = [Instance("generate_until", {}, (text, {"until": [], "max_gen_toks": 128}), 0)
         for text in texts()]
before = cpu()
assert len(model.generate_until(asked)) == int(rows)
"""
TOKENIZER = """
ids, sent = TokenIds(load_tokenizer(tokenizer)), texts()
before = cpu()
for text in sent:
    ids(text, special_tokens=True)
"""
USED = """
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([cpu() - before, most]))
"""


def used(code: str, *arguments: str) -> tuple[float, float]:
    """CPU seconds and peak MB of a process that runs the code."""
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
    """Answer at once: what remains is the client."""
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
    asked = parser.parse_args()
    few = 2
    ways = [
        ("ids", OURS),
        ("tokenizer", TOKENIZER),
        ("text", OURS),
        ("stream", OURS),
    ]
    ways += [("lm-eval ids", THEIRS)] if asked.lm_eval else []
    first = None
    with model_server(reply, [{**VLLM, "max_model_len": 10**8}]) as server:
        for way, code in ways:
            same = (asked.dataset, asked.config, server.url, asked.tokenizer, way)
            start, _ = used(code, *same, str(few))
            whole, megabytes = used(code, *same, str(asked.rows))
            row = (whole - start) / (asked.rows - few)
            first = first or row
            print(
                f"{way:12} {row:7.4f} s of CPU a row, {megabytes:5.0f} MB, {row / first:6.2f} of "
                f"ids; {CORES} cores: {CORES / row:7.1f} rows per second",
                flush=True,
            )


if __name__ == "__main__":
    main()
