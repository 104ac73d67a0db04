"""A thousand rows in flight take the same memory however many rows there are."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from importlib.util import find_spec

import pytest

from ruler_eval.run.records import read_lines
from tests.eval.run import small_release
from tests.model_server import Reply, Request, answer, model_server

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)

CODE = """
import json, resource, sys, threading, time
from pathlib import Path
from ruler_eval.run.options import RunOptions
from ruler_eval.run.runner import run
data, out, url, at_once = sys.argv[1:]
peaks = []

def peak():
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

def peak_at_the_first_answer():
    answers = Path(out, "niah_single_1_4k.jsonl")
    while not answers.exists() or not answers.stat().st_size:
        time.sleep(0.05)
    peak()

threading.Thread(target=peak_at_the_first_answer, daemon=True).start()
options = RunOptions(data, configs="niah_single_1_4k", backend="openai", out=out, model="m",
                     base_url=url, concurrency=int(at_once))
outcome = run(options)
peak()
print(json.dumps({"states": dict(outcome.total), "megabytes": peaks}))
"""


@pytest.mark.nightly
def test_a_thousand_concurrent_rows_keep_memory_flat(tmp_path):
    """The first answer comes when a thousand requests wait; after a thousand more, compare."""
    at_once, lines = 1000, 40
    rows, out = 2 * at_once, tmp_path / "RUN"
    data = small_release.write(tmp_path / "ruler", rows=rows, lines=lines, only=("niah_single_1",))
    gate = threading.Barrier(at_once)

    def reply(_: Request) -> Reply:
        gate.wait(60)
        return answer("x")

    with model_server(reply) as server:
        done = subprocess.run(
            [sys.executable, "-c", CODE, str(data), str(out), server.url, str(at_once)],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    output = json.loads(done.stdout)
    assert output["states"] == {"stop": rows}
    records = [r["index"] for r in read_lines(out / "niah_single_1_4k.jsonl")]
    assert records == list(range(rows))
    assert server.max_in_flight == at_once
    first, last = output["megabytes"]
    print(f"peak {first:.0f} MB with {at_once:,} rows, {last:.0f} MB with {rows:,}")
    assert last - first < 5  # the rows that came later are larger
