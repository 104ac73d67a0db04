"""JSON, YAML and TOML are read strictly, and what is wrong is one sentence."""

from __future__ import annotations

import pytest

from ruler_common.errors import RulerError
from ruler_common.files import parse_yaml, read_toml


def test_a_toml_file_that_cannot_be_read_is_one_sentence(tmp_path):
    path = tmp_path / "suite.toml"
    with pytest.raises(RulerError, match=r"There is no file or folder '.*suite\.toml'"):
        read_toml(path)
    path.write_text("a = ")
    with pytest.raises(RulerError, match="is not valid TOML"):
        read_toml(path)
    path.write_text("a = 1")
    assert read_toml(path) == {"a": 1}
    for text, why in (
        (b"a = '\xff'", "can't decode byte"),
        (b"a = " + b"[" * 9999, "recursion depth"),
    ):
        path.write_bytes(text)
        with pytest.raises(RulerError, match=why):
            read_toml(path)


@pytest.mark.parametrize("text", ["a: [", "!!python/object/apply:os.getcwd []", "[" * 500, "\0"])
def test_a_yaml_text_that_is_none_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse_yaml(text)


def test_a_day_that_is_none_is_a_value_error():
    with pytest.raises(ValueError, match="month must be"):
        parse_yaml("a: 2026-13-45")
