"""Texts from anywhere are shown, and can do nothing but be read."""

from __future__ import annotations

import pytest

from ruler_common.text import (
    markdown_text,
    number_of,
    one_line,
    plain,
    printable,
    visible,
    without_passwords,
)


def test_every_character_of_a_text_is_shown():
    assert visible("\x1b[31m\x00\x7f\ud83d") == "␛[31m␀␡\ufffd"
    assert visible("a\u202eb\u2069") == "a⟨U+202E⟩b⟨U+2069⟩"
    assert visible("a\tb\r\nc\u200fd\u200c") == "a\tb\nc\u200fd\u200c"


def test_a_terminal_is_shown_what_it_would_obey():
    assert (
        plain("\x1b[31mred\u202e\u200f\ud800\ta\nb") == r"\x1b[31mred\u202e\u200f\ud800" + "\ta\nb"
    )
    assert printable("a\nb\x1b") == r"a\nb\x1b"


@pytest.mark.parametrize("text", ["a | b", "*a*", "_a_", "[a](b)", "<b>", "# a", "`a`"])
def test_nothing_in_a_text_makes_markup(text):
    assert markdown_text(text).replace("\\", "") == text
    assert markdown_text(text) != text


def test_one_is_not_many():
    assert [number_of(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]


def test_an_error_is_one_short_line_without_passwords():
    assert one_line(ValueError("It failed\n  here.")) == "It failed here"
    assert len(one_line("x" * 1000)) == 300
    assert without_passwords("at https://me:secret@hub.co/x") == "at https://hub.co/x"
