"""JSON, YAML and TOML are read strictly, and what is wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_common.parsing import MOST_DEPTH, json_value, parse_yaml, read_toml


def test_a_toml_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    with pytest.raises(RulerError, match=r"Cannot read '.*suite\.toml': No such file"):
        read_toml(path)
    path.write_text("a = ")
    with pytest.raises(RulerError, match="is not valid TOML"):
        read_toml(path)
    path.write_text("a = 1")
    assert read_toml(path) == {"a": 1}
    for text, why in ((b"a = '\xff'", "no text in UTF-8"), (b"a = " + b"[" * 9999, "deeper than")):
        path.write_bytes(text)
        with pytest.raises(RulerError, match=why):
            read_toml(path)


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (nested(MOST_DEPTH + 1), "deeper than 100 levels"),
        (nested(100_000), "deeper than 100 levels"),
        ("[" + "[]," * 3_000_000 + "[]]", "more than 5,000,000 values"),
        ('{"a": 1, "b": {"a": 2, "a": 3}}', "'a' stands there twice"),
        ("NaN", "NaN is no number"),
        ("[-Infinity]", "-Infinity is no number"),
        ("1e999", "1e999 is no number"),
        (str(2**63), "too large a number"),
        ("1" * 5000, "too large a number"),
        ("{", ""),
    ],
)
def test_a_json_text_over_the_bounds_is_a_value_error(text: str, why: str) -> None:
    for given in (text, text.encode()):
        with pytest.raises(ValueError, match=why):
            json_value(given)


def test_what_other_tools_write_is_read_where_it_may_stand() -> None:
    assert json_value(nested(MOST_DEPTH)) is not None
    assert json_value("[NaN, 1e999, 9223372036854775808]", strict=False)[1:] == [
        float("inf"),
        2**63,
    ]
    with pytest.raises(ValueError, match="twice"):
        json_value('{"a": 1, "a": 1}', strict=False)


def test_one_of_many_keys_that_stands_there_twice_is_found_at_once() -> None:
    keys = ", ".join(f'"{number}": 0' for number in [*range(200_000), 199_999])
    with pytest.raises(ValueError, match="'199999' stands there twice"):
        json_value(f"{{{keys}}}")


@pytest.mark.parametrize("text", ["a: [", "!!python/object/apply:os.getcwd []", "[" * 9999, "\0"])
def test_a_yaml_text_that_is_none_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_yaml(text)


def test_a_day_that_is_none_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="month must be"):
        parse_yaml("a: 2026-13-45")
