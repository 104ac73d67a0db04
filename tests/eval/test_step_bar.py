"""The progress bar: it hands on what it is given, and is seen on a terminal alone."""

from __future__ import annotations

import io
import sys

import pytest

from eval.step_bar import steps


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
