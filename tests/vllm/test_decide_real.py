"""`ruler decide` with a real language model and copies of it: rounded weights, and a layer less.

The quickstart's model of 135 million parameters through transformers, on rows of 134 tokens. The
copy without a layer has lost nearly all, the one rounded to 8 bits nothing: both verdicts come from
a part of the rows.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.run.records import read_lines
from ruler_release import api

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = [pytest.mark.vllm, pytest.mark.nightly]
ROWS, MAX_DROP = 30, 30.0
RESERVE = 890
"""Tokens of the window of 1k that are left empty: short rows are enough to tell these apart."""
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
    from ruler_builder.sources.quickstart_model import model_file, model_folder
    from ruler_eval.run import demo_model

    root = tmp_path_factory.mktemp("decide")
    model = model_folder()
    if not model.is_dir():
        demo_model.convert(model_file(), model)
    (root / "short.toml").write_text(SUITE)
    release = root / "ruler"
    api.build(
        release,
        suite=root / "short.toml",
        tokenizers=f"smollm2={model}",
        lengths="1k",
        reserve=RESERVE,
        samples=ROWS,
    )
    out = root / "base"
    given = {"model": str(model), "backend": "hf", "arguments": {"dtype": "float32"}}
    api.run(dataset=release, configs="find_1k_smollm2", out=out, **given)
    api.score(out)
    return out


@pytest.fixture(scope="module")
def changed(base: Path) -> Any:
    """A copy of the model with its weights changed, by the name of the change."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from ruler_builder.sources.quickstart_model import model_folder

    def rounded(model: Any) -> None:
        with torch.no_grad():
            for weights in model.model.layers.parameters():
                step = weights.abs().amax(-1, keepdim=True) / 127
                weights.copy_((weights / step).round() * step)

    def layer_less(model: Any) -> None:
        del model.model.layers[LESS]
        model.config.num_hidden_layers -= 1
        model.config.layer_types = None

    def make(change: str) -> Path:
        folder = base.parent / change
        if not folder.exists():
            model = AutoModelForCausalLM.from_pretrained(model_folder(), dtype=torch.float32)
            {"rounded": rounded, "layer_less": layer_less}[change](model)
            model.save_pretrained(folder)
            AutoTokenizer.from_pretrained(model_folder()).save_pretrained(folder)
        return folder

    return make


def decided(base: Path, model: Path, out: Path) -> Any:
    given = {"model": str(model), "backend": "hf", "arguments": {"dtype": "float32"}}
    return api.decide(base, max_drop=MAX_DROP, out=out, **given)


@pytest.mark.parametrize(("change", "verdict"), [("rounded", "smaller"), ("layer_less", "larger")])
def test_it_stops_by_itself_with_the_right_verdict(
    base: Path, changed: Any, change: str, verdict: str
) -> None:
    found = decided(base, changed(change), base.parent / f"run-{change}")
    assert (found["verdict"], found["of"]) == (verdict, ROWS)
    assert found["rows"] < ROWS


def test_killed_in_the_middle_and_resumed_it_says_the_same(base: Path, changed: Any) -> None:
    model, out = changed("rounded"), base.parent / "run-killed"
    whole = decided(base, model, base.parent / "run-rounded")
    command = [sys.executable, "-m", "ruler_release", "decide", str(base), "--model", str(model)]
    command += ["--max-drop", str(MAX_DROP), "--backend", "hf", "--out", str(out)]
    command += ["--engine-arg", "dtype=float32"]
    process = subprocess.Popen(command, start_new_session=True)
    path = out / "find_1k_smollm2.jsonl"
    while len(list(read_lines(path))) < 4:
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert 4 <= len(list(read_lines(path))) < whole["rows"]
    again = decided(base, model, out)
    for what in ("verdict", "rows", "of", "interval"):
        assert again[what] == whole[what], what
