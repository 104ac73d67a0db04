"""A command that needs an extra names it before it does anything."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError

import pytest

from ruler_builder.text.sources import Store
from ruler_builder.tokens import tokenizers
from ruler_common.errors import RulerError
from ruler_eval.run.prompts import load_tokenizer


def test_a_missing_extra_is_named_before_anything_is_fetched(monkeypatch, tmp_path):
    """`.ci/wheel` tries the commands without the packages."""

    def missing(library: str) -> str:
        raise PackageNotFoundError(library)

    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(tokenizers, "version", missing)
    monkeypatch.setattr(Store, "get", lambda *_: pytest.fail("fetched"))
    with pytest.raises(RulerError, match=r"pip install 'tokenizers>=0.22' 'transformers>="):
        tokenizers.load_counter("qwen2.5", Store(None))
    with pytest.raises(RulerError, match=r"pip install 'tokenizers>=0.22' 'transformers>="):
        tokenizers.load_counter(f"mine={tmp_path}", Store(None))
    with pytest.raises(RulerError, match=r"pip install 'tokenizers>=0.22' 'transformers>="):
        load_tokenizer(str(tmp_path))
