"""A missing extra, file or folder is one sentence with a remedy."""

from __future__ import annotations

import errno
import os
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from ruler_builder.pinned import Store
from ruler_builder.tokens import tokenizers
from ruler_common.errors import RulerError, system_error_sentence
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


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EISDIR, "'a/b' is a folder: name a file."),
        (errno.ENOTDIR, "A part of the path 'a/b' is a file, not a folder: correct the path."),
        (errno.ENOENT, "There is no file or folder 'a/b': correct the path."),
        (errno.EEXIST, "'a/b' exists already and is not a folder: choose another path."),
        (
            errno.EACCES,
            "No permission for 'a/b': change its permissions, or choose another path.",
        ),
        (errno.ENOSPC, "No space left on device: 'a/b'. Finished work is kept."),
    ],
)
def test_an_error_of_a_file_or_folder_is_a_sentence_without_its_number(number, sentence):
    assert system_error_sentence(OSError(number, os.strerror(number), "a/b")) == sentence
