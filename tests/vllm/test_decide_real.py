"""`ruler decide` with a real language model and copies of it: rounded weights, and a layer less.

A model of 135 million parameters through transformers, on rows of 134 tokens. The
copies rounded to 8 bits, and to 4 in groups of 64 weights, have lost nothing or little; those with
4 bits and one scale a row of weights, and without a layer, half and nearly all: every verdict comes
from a part of the rows.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.run.records import read_records
from ruler_release import api
from tests.in_process import ruler_command

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = [pytest.mark.vllm, pytest.mark.nightly]
ROWS, MAX_DROP = 120, 20.0
RESERVE = 890
"""Tokens of the window of 1k that are left empty: short rows are enough for these verdicts."""
SUITE = """
dataset = "ruler"

[tasks.find]
family = "niah"
haystack = "noise"
max_new_tokens = 16
"""
LESS = 0
"""The layer that is taken out, of 30: without the first the model has lost all."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored run of the model itself."""
    from tests.real_model import model_folder

    root = tmp_path_factory.mktemp("decide")
    model = model_folder()
    (root / "short.toml").write_text(SUITE)
    release = root / "ruler"
    api.build(
        release,
        suite=root / "short.toml",
        tokenizers=f"smollm2={model}",
        lengths="1k",
        reserve=RESERVE,
        rows=ROWS,
    )
    out = root / "base"
    options = {"model": str(model), "backend": "hf", "engine_args": {"dtype": "float32"}}
    api.run(dataset=release, configs="find_1k_smollm2", out=out, **options)
    api.score(out)
    return out


@pytest.fixture(scope="module")
def changed(base: Path) -> Any:
    """A copy of the model with its weights changed, by the name of the change."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tests.real_model import model_folder

    def round_weights(model: Any, bits: int, group: int | None) -> None:
        with torch.no_grad():
            for weights in model.model.layers.parameters():
                scaled = weights.view(-1, group or weights.shape[-1])
                step = scaled.abs().amax(-1, keepdim=True) / (2 ** (bits - 1) - 1)
                scaled.copy_((scaled / step).round() * step)

    def remove_layer(model: Any) -> None:
        del model.model.layers[LESS]
        model.config.num_hidden_layers -= 1
        model.config.layer_types = None

    def make(change: str) -> Path:
        folder = base.parent / change
        if not folder.exists():
            model = AutoModelForCausalLM.from_pretrained(model_folder(), dtype=torch.float32)
            if change == "layer less":
                remove_layer(model)
            else:
                bits = 8 if change == "8 bits" else 4
                round_weights(model, bits, 64 if change == "4 bits in groups" else None)
            model.save_pretrained(folder)
            AutoTokenizer.from_pretrained(model_folder()).save_pretrained(folder)
        return folder

    return make


def decided(base: Path, model: Path, out: Path) -> Any:
    options = {"model": str(model), "backend": "hf", "engine_args": {"dtype": "float32"}}
    return api.decide(base, max_drop=MAX_DROP, out=out, **options)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ("8 bits", "smaller"),
        ("4 bits in groups", "smaller"),
        ("4 bits", "larger"),
        ("layer less", "larger"),
    ],
)
def test_it_stops_early_with_the_right_verdict(base, changed, change, verdict):
    decision = decided(base, changed(change), base.parent / f"run-{change}")
    assert (decision["verdict"], decision["of"]) == (verdict, ROWS)
    assert decision["rows"] < ROWS


def test_a_killed_decision_resumes_to_the_same_verdict(base, changed):
    model, out = changed("8 bits"), base.parent / "run-killed"
    whole = decided(base, model, base.parent / "run-8 bits")
    command = ruler_command("decide", base, "--model", model)
    command += ["--max-drop", str(MAX_DROP), "--backend", "hf", "--out", str(out)]
    command += ["--engine-arg", "dtype=float32"]
    process = subprocess.Popen(command, start_new_session=True)
    path = out / "answers.jsonl"
    while len(list(read_records(path))) < 4:
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert 4 <= len(list(read_records(path))) < ROWS
    resumed = decided(base, model, out)
    for field in ("verdict", "rows", "of", "interval"):
        assert resumed[field] == whole[field], field
