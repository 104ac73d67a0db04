"""What every command of the builder prints with: consoles, progress bars, tables (rich)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from ruler_dataset import plain

MANY = 100
"""Files; more are summed up instead of listed."""


class _Terminal(Console):
    """A console to which texts are texts: neither markup nor signs that a terminal obeys."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        shown = [plain(one) if isinstance(one, str) else one for one in objects]
        super().print(*shown, **options)


out = _Terminal(soft_wrap=True)
err = _Terminal(stderr=True)


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f} rows/s" if task.speed else "")


class RowsBar:
    """A progress bar over rows, moved on by a build or by `verify`."""

    def __init__(self, verb: str, progress: Progress) -> None:
        self._verb, self._progress = verb, progress
        self._task = progress.add_task("Checking", total=None)

    def planned(self, files: int, rows: int, kept: int) -> None:
        """So many files and rows to make."""
        kept_too = f", {kept} already there" if kept else ""
        self._progress.update(
            self._task, description=f"{self._verb} {files} files{kept_too}", total=rows or None
        )

    def total(self, rows: int) -> None:
        """So many rows in all."""
        self._progress.update(self._task, description=self._verb, total=rows)

    def rows(self, count: int) -> None:
        """So many more rows are done."""
        self._progress.advance(self._task, count)

    def note(self, text: str) -> None:
        """Print a sentence above the bar."""
        self._progress.console.print(text, highlight=False)


@contextmanager
def rows_bar(verb: str) -> Iterator[RowsBar]:
    """A progress bar over rows with speed and time left."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        _Speed(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as bar:
        yield RowsBar(verb, bar)


@contextmanager
def bytes_bar(name: str, size: int | None) -> Iterator[Callable[..., None]]:
    """A progress bar over bytes; call it with the bytes there so far, and the size once known."""
    columns = (
        TextColumn(plain(name), markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(name, total=size)
        yield lambda done, size=None: bar.update(task, completed=done, total=size)


@contextmanager
def steps_bar(verb: str, steps: int) -> Iterator[Callable[[], None]]:
    """A progress bar over so many steps; call it after each."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(verb, total=steps)
        yield lambda: bar.advance(task)


def table(title: str, *columns: str, rows: list[tuple[Any, ...]]) -> None:
    """Print a table; columns of numbers stand right."""
    shown = Table(title=plain(title), title_justify="left", box=None, pad_edge=False)
    for place, column in enumerate(columns):
        number = bool(rows) and isinstance(rows[0][place], int | float)
        shown.add_column(column, justify="right" if number else "left")
    for row in rows:
        shown.add_row(*(_cell(value) for value in row))
    out.print(shown)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else plain(value)
