"""Bars hand on what they are given, on a terminal alone; tables are text, or Markdown."""

from __future__ import annotations

import io
import sys

import pytest

from ruler_common.terminal import bytes_bar, print_table, rows_bar, steps, table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "quiet", "shown"),
    [(Terminal(), False, True), (Terminal(), True, False), (io.StringIO(), False, False)],
)
def test_a_bar_is_shown_on_a_terminal_unless_quiet(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, quiet: bool, shown: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    assert list(steps(iter("abc"), "Counting", total=3, quiet=quiet)) == ["a", "b", "c"]
    assert ("Counting" in stream.getvalue()) is shown
    assert shown or not stream.getvalue()


def test_a_mistake_within_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)

    def fail() -> None:
        for _ in steps([1, 2], "Counting"):
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()
    assert "\x1b[?25h" in stream.getvalue()  # the cursor is seen again


def test_bars_over_rows_and_bytes_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with rows_bar("Building") as bar:
        bar.planned(2, 20, 1)
        bar.rows(20)
        bar.note("One [bold]note[/bold].")
    with bytes_bar("[red]name", 2000) as on_bytes:
        on_bytes(2000)
    shown = stream.getvalue()
    for text in (
        "Building 2 files, 1 already there",
        "20/20",
        "One [bold]note[/bold].",
        "[red]name",
    ):
        assert text in shown


def test_a_table_is_text_or_markdown() -> None:
    header, rows = ["task", "4K"], [["vt", "98.0"], ["日本", "7.5"]]
    assert table(header, rows) == "task    4K\n----  ----\nvt    98.0\n日本   7.5"
    assert table(header, [["a|b\nc", "1"]], markdown=True).splitlines() == [
        r"| task     |  4K |",
        r"| -------- | --: |",
        r"| a\|b\\nc |   1 |",
    ]


def test_numbers_of_a_printed_table_stand_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("Files", "name", "bytes", rows=[("one", 5), ("three", 12345)])
    print_table("", "name", rows=[])
    assert capsys.readouterr().out.splitlines() == [
        *("Files", "name    bytes", "one         5", "three  12,345"),
        "name",
    ]
