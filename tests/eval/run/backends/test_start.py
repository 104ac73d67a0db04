"""What a backend lacks is said before anything of the model is read."""

from __future__ import annotations

import sys

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.backends import start
from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run


def test_vllm_is_named_before_what_its_tokenizer_needs(small, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    monkeypatch.setattr(start, "find_spec", lambda name: None)
    options = ModelOptions("./nowhere")
    order = RunOrder(str(small), ("all_4k",), "vllm", tmp_path / "RUN", options=options, quiet=True)
    with pytest.raises(RulerError, match=r"needs the package 'vllm': pip install .*\[vllm\]"):
        run(order)
