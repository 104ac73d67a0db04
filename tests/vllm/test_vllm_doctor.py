"""`ruler doctor` on the real vLLM, that it starts or that runs, with a tiny random model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ruler_eval.doctor.folder import read_verdict
from tests import in_process

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
ENGINE = ("--engine-arg", "enforce_eager=true", "--engine-arg", "dtype=float32")


@pytest.mark.parametrize("backend", [pytest.param("vllm", marks=pytest.mark.nightly), "openai"])
def test_a_sound_engine_is_not_called_broken(request, small, tiny, tmp_path, backend):
    """The random model answers nothing right, so that no loss could be seen: exit code 3."""
    if backend == "vllm":
        flags = ("--backend", "vllm", "--model", tiny, *ENGINE)
    else:
        url = request.getfixturevalue("server")
        flags = ("--base-url", url, "--model", "tiny", "--tokenizer", tiny)
    out = tmp_path / "doctor"
    rows = ("--dataset", small, "--configs", "vt_4k", "--rows", 3)  # all three fit the server
    done = in_process.ruler("doctor", "--quick", *rows, "--load", 2, "--out", out, *flags)
    assert done.code == 3, done.stderr
    verdict: Any = read_verdict(out)
    assert verdict["outcome"] == "unknown"
    states = {item["name"]: item["state"] for item in verdict["conditions"]}
    assert states["cache"] == states["load"] == "same"
    assert json.loads((out / "doctor.json").read_text(encoding="utf-8"))["cache_hits"]
