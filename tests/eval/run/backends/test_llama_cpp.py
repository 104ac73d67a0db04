"""The demonstration's model behind llama-cpp-python's own server, which reads its GGUF file.

LLAMA_CPP_PYTHON=PYTHON names an interpreter with `llama-cpp-python[server]`; passed with 0.3.36.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.records import read_lines
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run
from tests.eval.run import small_release
from tests.eval.run.tiny_model import write_tokenizer

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(find_spec("openai") is None, reason="the openai extra is not installed"),
]
CONFIG = "niah_single_1_4k"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's base URL; its window is 2,048 tokens."""
    from ruler_builder.sources.quickstart_model import model_file

    python = os.environ.get("LLAMA_CPP_PYTHON")
    if not python:
        pytest.skip("LLAMA_CPP_PYTHON names no interpreter with llama-cpp-python[server]")
    port, log = 19000 + os.getpid() % 1000, tmp_path_factory.mktemp("llama") / "log"
    command = [python, "-m", "llama_cpp.server", "--model", str(model_file()), "--n_ctx", "2048"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": ""},
        )
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1)
                break
            except OSError:
                assert process.poll() is None, log.read_text()[-2000:]
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def order(server: str, tmp_path: Path) -> RunOrder:
    data = small_release.write(tmp_path / "ruler", rows=2, lines=12, only=("niah_single_1", "cwe"))
    options = ModelOptions("m", base_url=server, concurrency=2, retries=2)
    return RunOrder(str(data), (CONFIG,), "openai", tmp_path / "RUN", options=options, quiet=True)


@pytest.mark.parametrize("mode", ["chat", "completion"])
def test_it_finds_the_needles(order: RunOrder, mode: str) -> None:
    summary = run(replace(order, mode=mode))
    assert summary.total["error"] == summary.total["does_not_fit"] == 0
    kept = json.loads((order.out / "run.json").read_text())
    assert kept["backend_version"] == "llama_cpp_python"
    wanted = {row["index"]: row["outputs"][0] for row in ruler_dataset.load(order.dataset, CONFIG)}
    found = list(read_lines(order.out / f"{CONFIG}.jsonl"))
    assert all(wanted[record["index"]] in record["prediction"] for record in found)
    assert all(record["usage"] and record["usage"]["cached_tokens"] is None for record in found)


def test_a_row_that_is_too_long_is_its_own_error(order: RunOrder) -> None:
    """The server names its window only when it is passed."""
    summary = run(replace(order, configs=("cwe_4k", CONFIG)))
    assert (summary.total["error"], sum(summary.total.values())) == (2, 4)
    assert "maximum context length is 2048 tokens" in (summary.first_error or "")


@pytest.mark.parametrize("mode", ["prefill", "completion"])
def test_token_ids_are_refused_before_a_row(order: RunOrder, tmp_path: Path, mode: str) -> None:
    write_tokenizer(tmp_path / "tokenizer")
    options = replace(order.options, tokenizer=str(tmp_path / "tokenizer"))
    with pytest.raises(RulerError, match=r"llama-cpp-python .*: use --mode chat"):
        run(replace(order, options=options, mode=mode))
