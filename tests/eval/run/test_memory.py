"""A thousand rows in flight take the same memory however many rows there are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from eval.run.records import read_lines
from tests.eval.run import small_release

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)

CODE = """
import json, resource, sys
from pathlib import Path
from eval.run.backends.backend import ModelOptions
from eval.run.run_order import RunOrder
from eval.run.runner import run
data, out, url, limit = sys.argv[1:]
options = ModelOptions("m", base_url=url, concurrency=1000)
configs = ("niah_single_1_4k",)
how = {"options": options, "limit": int(limit), "quiet": True}
order = RunOrder(data, configs, "openai", Path(out), **how)
outcome = run(order)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"states": dict(outcome.total), "megabytes": peak / 1024}))
"""


def test_a_thousand_concurrent_rows_keep_memory_flat(
    tmp_path: Path, serve: Callable[..., str], stats: Callable[[str], dict[str, object]]
) -> None:
    rows = 2000
    data = small_release.write(tmp_path / "ruler", rows=rows, lines=40, only=("niah_single_1",))
    text = rows * 40 * len(small_release.NOISE) / 1e6
    peaks = []
    for limit in (1000, rows):
        url = serve(answer="x", delay=4.0)
        out = tmp_path / f"RUN{limit}"
        done = subprocess.run(
            [sys.executable, "-c", CODE, str(data), str(out), url, str(limit)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        told = json.loads(done.stdout)
        assert told["states"] == {"stop": limit}
        found = [r["index"] for r in read_lines(out / "niah_single_1_4k.jsonl")]
        assert found == list(range(limit))
        peaks.append(told["megabytes"])
    assert int(str(stats(url)["most"])) > 900
    print(f"peak {peaks[0]:.0f} MB with 1,000 rows, {peaks[1]:.0f} MB with {rows:,}")
    assert peaks[1] - peaks[0] < 2.5 * text + 20  # the data set's own pages, and little else
