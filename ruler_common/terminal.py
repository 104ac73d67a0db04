"""Print to the terminal: text, progress bars, tables.

    out.print("[red]text[/red]")            # as it is: neither markup nor control characters
    for config in steps(configs, "Exporting"):
        ...
    print(table(["task", "4K"], [["vt", "98.0"]], markdown=True))

Bars are shown on stderr if that is a terminal. rich is imported at its first use, which is slow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ruler_common.text import markdown_text, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task

COLUMNS = 80  # of a terminal, which what is printed to be read fits
BAR_WIDTH = 10
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
        """The console of rich; another one if the stream changed, since rich looks at it once."""
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


def command_line(*words: object) -> str:
    """Return a command as it is typed into a shell: `command_line("ruler", "score", folder)`."""
    import shlex

    return shlex.join(str(word) for word in words)


def note(text: str) -> None:
    """Print a line to stderr: what a command did besides what it was asked for."""
    print(plain(text), file=sys.stderr)


def announce(text: str) -> None:
    """Say at a terminal what is done now, before work that takes seconds and has no bar."""
    if err.is_terminal:
        note(f"{text} …")


def progress(text: Callable[[Task], str], quiet: bool | None = None, **options: Any) -> Progress:
    """Return a progress bar: the bar, the time left, then `text`; on no terminal it is quiet.

    They are one column, of which a narrow terminal cuts the end: rich's columns would each be cut,
    the time too.
    """
    from rich.progress import Progress, ProgressColumn, TimeRemainingColumn
    from rich.text import Text

    left = TimeRemainingColumn(elapsed_when_finished=True)

    class Line(ProgressColumn):
        def render(self, task: Task) -> Text:
            done = round(BAR_WIDTH * task.percentage / 100) if task.total else 0
            bar = "━" * done + "╌" * (BAR_WIDTH - done)
            line = f"{bar} {left.render(task)} {text(task)}"
            return Text(line, no_wrap=True, overflow="ellipsis")

    disable = not err.is_terminal if quiet is None else quiet
    return Progress(Line(), console=err.console, disable=disable, **options)


def _bar(text: Callable[[Task], str], quiet: bool = False, **options: Any) -> Progress:
    """Return a bar that goes when it is done."""
    return progress(text, quiet=True if quiet else None, transient=True, **options)


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
    """Give a progress bar over files, with tokens a second and the time left."""

    def text(task: Task) -> str:
        speed = f", {task.speed:,.0f} tokens/s" if task.speed else ""
        return f"{task.description}: {task.fields['done']}/{task.fields['files']}{speed}"

    with _bar(text, quiet=not shown, speed_estimate_period=_ALL_THE_TIME) as bar:
        yield FilesBar(verb, bar)


@contextmanager
def bytes_bar(verb: str, total: int | None) -> Iterator[Callable[..., None]]:
    """Give a progress bar over bytes.

    Call it with the bytes there so far, and the size once known.
    """
    from rich.filesize import decimal

    def text(task: Task) -> str:
        size = "?" if task.total is None else decimal(int(task.total))
        return f"{task.description}: {decimal(int(task.completed))} of {size}"

    with _bar(text) as bar:
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

    def text(task: Task) -> str:
        of = "" if task.total is None else f"/{int(task.total):,}"
        return f"{task.description}: {int(task.completed):,}{of}"

    with _bar(text) as bar:
        yield from bar.track(things, total, description=label)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    markdown: bool = False,
    left: Sequence[int] = (0,),
) -> str:
    """Return a table as text for a terminal, or as Markdown.

    rich's own tables take twenty times as long (6 seconds for the 2,654 configurations of a full
    release), squeeze wide columns, and do not align Markdown.

    Args:
        header: The names of the columns.
        rows: The cells of each row. A cell is shown as one line of text without markup.
        markdown: Return Markdown.
        left: The columns that are aligned to the left; the others are aligned to the right.
    """
    lines = [[line_of(cell, markdown) for cell in row] for row in (header, *rows)]
    widths = _column_widths(lines)
    rule = []
    for place, columns in enumerate(widths):
        to_the_right = markdown and place not in left
        rule.append("-" * (columns - 1) + ":" if to_the_right else "-" * columns)
    drawn = []
    for line in (lines[0], rule, *lines[1:]):
        cells = []
        for place, text in enumerate(line):
            space = " " * (widths[place] - width(text))
            cells.append(text + space if place in left else space + text)
        drawn.append(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells).rstrip())
    return "\n".join(drawn)


def narrow_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    markdown: bool = False,
    left: Sequence[int] = (0,),
    below: Sequence[str] = (),
) -> str:
    """Return a table that fits COLUMNS columns without cutting any text.

    A first cell that is too long is put on its own line above its row. Columns that do not fit
    follow in further tables, which repeat the first columns (all of the first ones that are aligned
    to the left). Markdown is one table, whatever its width.

    Args:
        header: The names of the columns.
        rows: The cells of each row.
        markdown: Return Markdown.
        left: The columns that are aligned to the left.
        below: A line to show below each row; not in Markdown.
    """
    lines = [[line_of(cell) for cell in row] for row in rows]
    if markdown:
        return table(header, lines, markdown, left)
    names = [line_of(name) for name in header]
    widths = _column_widths([names, *lines])
    keys = 1  # the columns that every part repeats
    while keys in left and keys < len(widths) - 1:
        keys += 1
    parts = _parts_that_fit(widths, keys)
    drawn = []
    for part in parts:
        shown = [*range(min(keys, len(widths))), *part]
        drawn.append(
            _with_long_names(
                [names[place] for place in shown],
                [[line[place] for place in shown] for line in lines],
                [place for place, column in enumerate(shown) if column in left],
                below if part is parts[-1] else (),
            )
        )
    return "\n\n".join(drawn)


def _parts_that_fit(widths: Sequence[int], keys: int) -> list[list[int]]:
    """Return the columns after the first `keys`, in parts that fit beside these."""
    budget = COLUMNS - min(widths[0], _NAME) - sum(2 + columns for columns in widths[1:keys])
    parts: list[list[int]] = [[]]
    used = 0
    for place in range(keys, len(widths)):
        columns = 2 + widths[place]
        if parts[-1] and used + columns > budget:
            parts.append([])
            used = 0
        parts[-1].append(place)
        used += columns
    return parts


def _with_long_names(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[int],
    below: Sequence[str],
) -> str:
    """Return a table; a first cell that would make it too wide is put above its row."""
    budget = COLUMNS - sum(2 + columns for columns in _column_widths([header, *rows])[1:])
    is_long = [width(row[0]) > budget for row in rows]
    short = [["", *row[1:]] if long else list(row) for row, long in zip(rows, is_long, strict=True)]
    head, rule, *drawn = table(header, short, left=left).split("\n")
    shown = [head, rule]
    for place, line in enumerate(drawn):
        if is_long[place]:
            shown.append(rows[place][0])
        shown.append(line)
        if place < len(below):
            shown.append(below[place])
    return "\n".join(shown)


def _column_widths(lines: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns of a terminal that each column of a table takes, at least 3."""
    return [max(3, *(width(text) for text in column)) for column in zip(*lines, strict=True)]


def sentences(text: str, markdown: bool = False) -> str:
    """Return a text in lines of COLUMNS columns, its words whole, for paths are copied.

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
    """Return a text as one line beside tables, or a cell of them.

    Names and answers make no markup.
    """
    line = "\\n".join(text.splitlines())
    return markdown_text(line) if markdown else plain(line)


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: 日本 takes 4, an emoji 2."""
    from rich.cells import cell_len

    return cell_len(text)
