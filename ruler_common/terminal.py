"""What commands print with: two consoles, one set of progress bars, one table printer.

    out.print("A text is a text: no markup, no signs that a terminal obeys.")
    for config in steps(configs, "Exporting"): …
    print(table(["task", "4K"], [["vt", "98.0"]], markdown=True))

Bars are on stderr, where that is a terminal. rich is imported at the first use: it takes a while.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ruler_common.text import markdown_text, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

COLUMNS = 80  # of a terminal, which what is printed to be read fits
_NAME = 24  # columns that the first one has at least, if it needs them
_ALL_THE_TIME = 1e9  # seconds: the speed is that of the whole work, since files take long
MANY = 100  # files; more are summed up instead of listed
Step = TypeVar("Step")


class _Terminal:
    """A console to which texts are texts: neither markup nor signs that a terminal obeys."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._made: tuple[object, Console] | None = None

    @property
    def console(self) -> Console:
        """The console of rich, made anew where the stream is another: it looks at it once."""
        from rich.console import Console

        stream = sys.stderr if self._options.get("stderr") else sys.stdout
        if self._made is None or self._made[0] is not stream:
            self._made = stream, Console(markup=False, emoji=False, **self._options)
        return self._made[1]

    @property
    def is_terminal(self) -> bool:
        """Whether somebody may be looking."""
        return self.console.is_terminal

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does."""
        shown = [plain(one) if isinstance(one, str) else one for one in objects]
        self.console.print(*shown, **options)


out = _Terminal(soft_wrap=True)
err = _Terminal(stderr=True)


def note(text: str) -> None:
    """Print a line to stderr: what a command did besides what it was asked for."""
    print(plain(text), file=sys.stderr)


def progress(*columns: Any, quiet: bool | None = None, **options: Any) -> Progress:
    """A progress bar of these columns; `quiet` as it is given, or where stderr is no terminal."""
    from rich.progress import Progress

    disable = not err.is_terminal if quiet is None else quiet
    return Progress(*columns, console=err.console, disable=disable, **options)


def _bar(*more: Any, quiet: bool = False, **options: Any) -> Progress:
    """A bar behind its description, and more columns behind it."""
    from rich.progress import BarColumn, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *more)
    return progress(*columns, quiet=True if quiet else None, transient=True, **options)


class FilesBar:
    """A progress bar over files, moved on by a build or by `verify`; its unit is their tokens.

    Files differ in length by a factor of 256, so that their number says little about the time left.
    """

    def __init__(self, verb: str, progress: Progress) -> None:
        self._verb, self._progress = verb, progress
        self._task = progress.add_task("Checking", total=None, done=0, files=0)

    def planned(self, files: int, tokens: int, kept: int = 0) -> None:
        """Begin the work on `files` files of `tokens` tokens; `kept` files are not made again."""
        kept_too = f", {kept} already made" if kept else ""
        description = f"{self._verb} {files} files{kept_too}"
        self._progress.reset(
            self._task, description=description, total=tokens or None, done=0, files=files
        )
        self._progress.advance(self._task, 0)  # the speed counts from here

    def finished(self, tokens: int) -> None:
        """Count a file of `tokens` tokens as finished."""
        done = self._progress.tasks[self._task].fields["done"] + 1
        self._progress.update(self._task, advance=tokens, done=done)


@contextmanager
def files_bar(verb: str, shown: bool = True) -> Iterator[FilesBar]:
    """A progress bar over files, with the tokens a second and the time left, unless not `shown`."""
    from rich.progress import ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} tokens/s" if task.speed else "")

    columns = (
        TextColumn("{task.fields[done]}/{task.fields[files]}"),
        Speed(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with _bar(*columns, quiet=not shown, speed_estimate_period=_ALL_THE_TIME) as bar:
        yield FilesBar(verb, bar)


@contextmanager
def bytes_bar(verb: str, total: int | None) -> Iterator[Callable[..., None]]:
    """A progress bar over bytes; call it with the bytes there so far, and the size once known."""
    from rich.progress import DownloadColumn, TimeRemainingColumn

    with _bar(DownloadColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task(plain(verb), total=total)
        yield lambda done, size=None: bar.update(task, completed=done, total=size)


def steps(
    things: Iterable[Step], label: str, total: int | None = None, quiet: bool = False
) -> Iterator[Step]:
    """Yield the things one by one, and show how many are done, unless `quiet`.

    `total` is how many there are, for things that have no length.
    """
    if quiet:
        yield from things
        return
    from rich.progress import MofNCompleteColumn, TimeRemainingColumn

    with _bar(MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        yield from bar.track(things, total, description=label)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    markdown: bool = False,
    left: Sequence[int] = (0,),
) -> str:
    """A table; the columns `left` start left, the others right; wide characters count as two.

    A cell is one line of text, whatever it holds: names and answers make no markup.
    """
    lines = [[line_of(text, markdown) for text in line] for line in (header, *rows)]
    widths = [max(3, *(width(line[i]) for line in lines)) for i in range(len(header))]
    sides = [i in left for i in range(len(header))]
    end = ":" if markdown else "-"
    rule = ["-" * w if side else "-" * (w - 1) + end for w, side in zip(widths, sides, strict=True)]
    between = " | " if markdown else "  "
    shown = [lines[0], rule, *lines[1:]]
    drawn = (
        between.join(
            text + " " * (w - width(text)) if side else " " * (w - width(text)) + text
            for text, w, side in zip(line, widths, sides, strict=True)
        )
        for line in shown
    )
    return "\n".join(f"| {line} |" if markdown else line.rstrip() for line in drawn)


def narrow_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    markdown: bool = False,
    left: Sequence[int] = (0,),
    below: Sequence[str] = (),
) -> str:
    """A table in COLUMNS columns, nothing of it cut; `below` has a line to stand below each row.

    A first cell that is too long stands whole on a line of its own, above its row; columns that are
    too many follow in tables of their own, with the first cells again (all first ones that start
    `left`). In Markdown it is one table as any other, without what stands below.
    """
    lines = [[line_of(cell) for cell in row] for row in rows]
    if markdown:
        return table(header, lines, markdown, left)
    columns = zip(map(line_of, header), *lines, strict=True)
    widths = [max(3, *map(width, column)) for column in columns]
    keys = next((i for i in range(1, len(widths) - 1) if i not in left), len(widths) - 1) or 1
    room = COLUMNS - min(widths[0], _NAME) - sum(2 + wide for wide in widths[1:keys])
    parts: list[list[int]] = [[]]
    for place, wide in enumerate(widths[keys:], keys):
        if parts[-1] and sum(2 + widths[i] for i in parts[-1]) + 2 + wide > room:
            parts.append([])
        parts[-1].append(place)
    drawn = []
    for part in parts:
        shown = (*range(keys), *part)
        head, *cut = ([line[i] for i in shown] for line in ([*map(line_of, header)], *lines))
        sides = [place for place, i in enumerate(shown) if i in left]
        drawn.append(_with_long_names(head, cut, sides, below if part == parts[-1] else ()))
    return "\n\n".join(drawn)


def _with_long_names(
    header: list[str], rows: list[list[str]], left: Sequence[int], below: Sequence[str]
) -> str:
    """A table whose first cells stand above their rows where these would be too wide."""
    widths = [max(3, *map(width, column)) for column in zip(header, *rows, strict=True)]
    room = COLUMNS - sum(2 + one for one in widths[1:])
    long = [width(row[0]) > room for row in rows]
    short = [["", *row[1:]] if over else row for row, over in zip(rows, long, strict=True)]
    first, rule, *drawn = table(header, short, left=left).split("\n")
    shown = [first, rule]
    for place, line in enumerate(drawn):
        shown += [rows[place][0]] * long[place] + [line] + list(below[place : place + 1])
    return "\n".join(shown)


def sentences(text: str, markdown: bool = False) -> str:
    """A text in lines of COLUMNS columns, its words whole, for paths are copied.

    In Markdown it is one line. No sign of either is obeyed.
    """
    from textwrap import fill

    line = line_of(" ".join(text.split()), markdown)
    return line if markdown else fill(line, COLUMNS, break_on_hyphens=False, break_long_words=False)


def print_table(
    title: str, *columns: str, rows: Sequence[Sequence[Any]], below: Sequence[str] = ()
) -> None:
    """Print a table under its title; columns of numbers stand right, `below` each row its line."""
    cells = [[f"{one:,}" if isinstance(one, int) else str(one) for one in row] for row in rows]
    numbers = [bool(rows) and isinstance(rows[0][i], int | float) for i in range(len(columns))]
    left = [i for i, number in enumerate(numbers) if not number]
    if title:
        out.print(title, highlight=False)
    out.print(narrow_table(columns, cells, left=left, below=below), highlight=False)


def line_of(text: str, markdown: bool = False) -> str:
    """A text as one line beside tables, or a cell of them: names and answers make no markup."""
    line = "\\n".join(text.splitlines())
    return markdown_text(line) if markdown else plain(line)


def width(text: str) -> int:
    """Columns of a text on a terminal."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)
