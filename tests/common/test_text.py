"""Texts are escaped, progress bars are for terminals, and tables are text or Markdown."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import sys
import termios
import time

import pytest

from ruler_common.text import (
    markdown_text,
    number_of,
    one_line,
    plain,
    printable,
    sentences,
    steps,
    table,
    tokens_bar,
    visible,
    without_passwords,
)
from tests.in_process import Terminal


def test_invisible_characters_of_a_text_are_shown():
    assert visible("\x1b[31m\x00\x7f\ud83d") == "␛[31m␀␡\ufffd"
    assert visible("a\u202eb\u2069") == "a⟨U+202E⟩b⟨U+2069⟩"
    assert visible("a\tb\r\nc\u200fd\u200c") == "a\tb\nc\u200fd\u200c"


def test_control_characters_are_escaped_for_a_terminal():
    assert (
        plain("\x1b[31mred\u202e\u200f\ud800\ta\nb") == r"\x1b[31mred\u202e\u200f\ud800" + "\ta\nb"
    )
    assert printable("a\nb\x1b") == r"a\nb\x1b"


@pytest.mark.parametrize("text", ["a | b", "*a*", "_a_", "[a](b)", "<b>", "# a", "`a`"])
def test_markup_in_a_text_is_escaped(text):
    assert markdown_text(text).replace("\\", "") == text
    assert markdown_text(text) != text


def test_numbers_are_followed_by_singular_or_plural():
    assert [number_of(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]


def test_an_error_is_shortened_to_one_line_without_passwords():
    assert one_line(ValueError("It failed\n  here.")) == "It failed here"
    assert len(one_line("x" * 1000)) == 300
    assert without_passwords("at https://me:secret@hub.co/x") == "at https://hub.co/x"


@pytest.mark.parametrize(
    ("stream", "quiet", "has_bar"),
    [(Terminal(), False, True), (Terminal(), True, False), (io.StringIO(), False, False)],
)
def test_a_bar_is_shown_on_a_terminal_unless_quiet(monkeypatch, stream, quiet, has_bar):
    monkeypatch.setattr(sys, "stderr", stream)
    assert list(steps(iter("abc"), "Counting", total=3, quiet=quiet)) == ["a", "b", "c"]
    assert ("Counting" in stream.getvalue()) is has_bar
    assert has_bar or not stream.getvalue()


def test_an_error_clears_the_bar(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)

    def fail() -> None:
        for _ in steps([1, 2], "Counting"):
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()
    assert stream.getvalue().endswith("\r")


def test_a_bar_over_tokens_shows_their_speed(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with tokens_bar("Checking", None, quiet=False) as bar:
        bar.reset(5000)
        bar.set_description_str("Building: 1/2 files")
        bar.update(1000)
        time.sleep(0.15)  # a bar is drawn ten times a second
        bar.update(4000)
    output = stream.getvalue()
    for text in ("Checking", "Building: 1/2 files", "tokens/s"):
        assert text in output


@pytest.mark.parametrize("columns", [40, 80])
def test_the_remaining_time_is_never_cut(monkeypatch, columns):
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        for _ in steps(range(2), "A thing of a very long name, " * 4, total=2):
            pass
        output = os.read(reader, 10_000).decode()
    os.close(reader)
    lines = [line for line in re.split(r"[\r\n]", output) if "A thing" in line]
    assert lines
    for line in lines:
        assert len(line) <= columns
        assert re.search(r" (\?|\d\d:\d\d) A thing", line)


def test_a_table_is_written_as_text_or_markdown():
    header, rows = ["task", "4K"], [["vt", "98.0"], ["日本", "7.5"]]
    assert table(header, rows) == "task    4K\n----  ----\nvt    98.0\n日本   7.5"
    assert table(header, [["a|b\nc", "1"]], markdown=True).splitlines() == [
        r"| task     |  4K |",
        r"| -------- | --: |",
        r"| a\|b\\nc |   1 |",
    ]


def test_columns_are_aligned_with_wide_characters_and_long_names():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    head, _, first, second = table(["answer", "1"], [[family, "7"], ["ab", "7"]]).splitlines()
    assert first == f"{family}        7"  # two columns
    assert (head, second) == ("answer    1", "ab        7")
    name = "n" * 80
    rows = [[name, "1.0"], ["vt", "1.0"]]
    assert table(["task", "4K"], rows).splitlines() == [
        *("task   4K", "----  ---", name, "      1.0", "vt    1.0")
    ]
    assert name in table(["task", "4K"], rows, markdown=True).splitlines()[2]


def test_each_row_can_have_a_line_below_it():
    rows = [["vt", "1"], ["n" * 90, "2"]]
    lines = table(["task", "rows"], rows, below=["  one", "  two"]).splitlines()
    assert lines[2:] == ["vt       1", "  one", "n" * 90, "         2", "  two"]


def test_a_text_is_wrapped_to_the_terminal_between_words_and_escaped(monkeypatch):
    text = "A name such as a-model-of-several-parts\x1b[31m and " + "words " * 20
    (piped,) = sentences(text).splitlines()
    assert piped.count("words") == 20
    monkeypatch.setattr("sys.stdout", Terminal())
    for width in (60, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = sentences(text).splitlines()
        assert width - 8 < max(map(len, lines)) <= width
    assert "\x1b" not in lines[0]
    assert "a-model-of-several-parts" in lines[0]
    assert sentences("/a" * 60) == "/a" * 60
    assert len(sentences(f"*{text}", markdown=True).splitlines()) == 1
    assert sentences("*a*", markdown=True) == r"\*a\*"


def test_a_table_that_is_too_wide_continues_below_with_its_first_columns():
    header = ["length", "task", *(f"95 % interval {n}" for n in range(6))]
    rows = [["8K", "niah_single", *["[54.1, 100.0]"] * 6], ["32K", "cwe_easy", *["-"] * 6]]
    parts = table(header, rows, left=(0, 1)).split("\n\n")
    assert len(parts) == 2
    for part in parts:
        head, _, *lines = part.splitlines()
        assert head.startswith("length  task ")
        assert [line.split()[:2] for line in lines] == [row[:2] for row in rows]
        assert max(map(len, part.splitlines())) <= 80
