"""YAML and TOML are read strictly, and an error is one sentence."""

from __future__ import annotations

import pytest

from ruler_common.errors import RulerError
from ruler_common.files import parse_yaml, read_toml


def test_a_toml_file_that_windows_saved_as_utf16_names_the_encoding_to_save_it_in(tmp_path):
    path = tmp_path / "run.toml"
    path.write_bytes("a = 1".encode("utf-16"))
    with pytest.raises(RulerError, match=r"run\.toml' is not UTF-8 text: save it as UTF-8\.$"):
        read_toml(path)


def test_an_unreadable_toml_file_is_refused(tmp_path):
    path = tmp_path / "suite.toml"
    with pytest.raises(RulerError, match=r"There is no file or folder '.*suite\.toml'"):
        read_toml(path)
    path.write_text("a = ")
    with pytest.raises(RulerError, match="is not valid TOML"):
        read_toml(path)
    path.write_text("a = 1")
    assert read_toml(path) == {"a": 1}
    for text, message in (
        (b"a = '\xff'", "is not UTF-8 text"),
        (b"a = " + b"[" * 9999, "recursion depth"),
    ):
        path.write_bytes(text)
        with pytest.raises(RulerError, match=message):
            read_toml(path)


@pytest.mark.parametrize(
    "text",
    ["a: [", "!!python/object/apply:os.getcwd []", "[" * 500, "\0", "a: 2026-13-45"],
)
def test_invalid_yaml_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse_yaml(text)
