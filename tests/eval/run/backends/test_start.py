"""What a backend lacks is said before anything of the model is read."""

from __future__ import annotations

import sys

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.backends import start as starting
from ruler_eval.run.backends.backend import ModelOptions


def test_vllm_is_named_before_what_its_tokenizer_needs(monkeypatch):
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    monkeypatch.setattr(starting, "find_spec", lambda name: None)
    with pytest.raises(RulerError, match=r"needs the package 'vllm': pip install .*\[vllm\]"):
        starting.start("vllm", ModelOptions(model="nowhere/none"))
