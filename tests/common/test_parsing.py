"""TOML is read on every Python, and what is wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_common.parsing import read_toml


def test_a_toml_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    with pytest.raises(RulerError, match=r"Cannot read '.*suite\.toml': No such file"):
        read_toml(path)
    path.write_text("a = ")
    with pytest.raises(RulerError, match="is not valid TOML"):
        read_toml(path)
    path.write_text("a = 1")
    assert read_toml(path) == {"a": 1}
