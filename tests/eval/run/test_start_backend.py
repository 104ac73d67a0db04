"""Missing packages of a backend are named before the model is read."""

from __future__ import annotations

import sys

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.runner import run
from tests.eval.run.run_options import model_options


def test_missing_vllm_is_named_before_the_model_is_read(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setenv("PATH", "")
    options = model_options("./nowhere", "vllm", dataset=small, out=tmp_path / "RUN")
    with pytest.raises(
        RulerError,
        match=r"The vllm backend needs packages that are not installed \(extra `vllm`\): .*'vllm>=",
    ):
        run(options)
