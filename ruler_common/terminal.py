"""Print to the terminal: text, progress bars, tables.

    show("[red]text[/red]")                 # as it is: control characters are written out
    for config in steps(configs, "Exporting"):
        ...
    print(table(["task", "4K"], [["vt", "98.0"]], markdown=True))

Bars are tqdm's, on stderr if that is a terminal. tqdm and rich are imported when first used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ruler_common.text import markdown_text, plain

if TYPE_CHECKING:
    from tqdm import tqdm

COLUMNS = 80  # of a terminal, which everything that is printed to be read fits
MANY = 100  # files; more are summed up instead of listed
_NAME = 24  # columns that the first one has at least, if it needs them
Step = TypeVar("Step")


# ---- Text ----------------------------------------------------------------------------------------


def show(text: object = "") -> None:
    """Print a text to stdout; control characters in it are written out."""
    print(plain(text))


def note(text: object) -> None:
    """Print a text to stderr: what a command did besides what it was asked for."""
    print(plain(text), file=sys.stderr)


def announce(text: str) -> None:
    """Say at a terminal what is done now, before work that takes seconds and has no bar."""
    if sys.stderr.isatty():
        note(f"{text} …")


def command_line(*words: object) -> str:
    """Return a command as it is typed into a shell: `command_line("ruler", "score", folder)`."""
    import shlex

    return shlex.join(str(word) for word in words)


def sentences(text: str, markdown: bool = False) -> str:
    """Return a text in lines of COLUMNS columns, its words whole, since paths are copied.

    In Markdown it is one line. Neither control characters nor markup in it have an effect.
    """
    from textwrap import fill

    line = line_of(" ".join(text.split()), markdown)
    return line if markdown else fill(line, COLUMNS, break_on_hyphens=False, break_long_words=False)


def line_of(text: str, markdown: bool = False) -> str:
    """Return a text as one line, for a table's cell or beside tables, without markup."""
    line = "\\n".join(text.splitlines())
    return markdown_text(line) if markdown else plain(line)


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: 日本 takes 4, an emoji 2."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


# ---- Progress bars -------------------------------------------------------------------------------


def progress_bar(
    description: str, total: int | None, quiet: bool = False, text: str = "", **options: Any
) -> tqdm[Any]:
    """Return a bar that vanishes when it is closed: the bar, the time left, the description.

    It is quiet if stderr is not a terminal. A narrow terminal cuts the end of the line, not the
    time.

    Args:
        description: What is done.
        total: How many steps there are, if that is known.
        quiet: Show nothing.
        text: What follows the description, with tqdm's names: `: {n:,}`.
        options: More options of tqdm.
    """
    from tqdm import tqdm

    return tqdm(
        desc=plain(description),
        total=total,
        bar_format="{bar:10} {remaining} {desc}" + text,
        disable=True if quiet else None,
        leave=False,
        dynamic_ncols=True,
        miniters=1,
        smoothing=0,  # the speed is that of the whole work, since single steps differ
        **options,
    )


def steps(
    things: Iterable[Step], label: str, total: int | None = None, quiet: bool = False
) -> Iterable[Step]:
    """Return the things one by one, and show how many are done, unless `quiet`.

    `total` is how many there are, for things that have no length.
    """
    return progress_bar(label, total, quiet, ": {n:,}/{total_fmt}", iterable=things)


class FilesBar:
    """A progress bar over files, moved on by a build or by `verify`; its unit is their tokens.

    Files differ in length by a factor of 256, so that their number says little about the time left.
    """

    def __init__(self, verb: str, bar: tqdm[Any]) -> None:
        self._verb, self._bar = verb, bar
        self._files = self._done = 0

    def planned(self, files: int, tokens: int, kept: int = 0) -> None:
        """Begin the work on `files` files of `tokens` tokens; `kept` files are made already."""
        if kept:
            self._verb += f" ({kept} already made)"
        self._files = files
        self._bar.reset(tokens)  # the speed counts from here
        self._describe()
        self._bar.refresh()

    def finished(self, tokens: int) -> None:
        """Count a file of `tokens` tokens as finished."""
        self._done += 1
        self._describe()
        self._bar.update(tokens)

    def _describe(self) -> None:
        text = f"{self._verb}: {self._done}/{self._files} files"
        self._bar.set_description_str(text, refresh=False)


@contextmanager
def files_bar(verb: str, shown: bool = True) -> Iterator[FilesBar]:
    """Give a progress bar over files, with tokens a second and the time left."""
    with progress_bar(
        "Checking", None, not shown, ", {rate_fmt}", unit=" tokens", unit_scale=True
    ) as bar:
        yield FilesBar(verb, bar)


# ---- Tables --------------------------------------------------------------------------------------


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    markdown: bool = False,
    left: Sequence[int] = (0,),
    below: Sequence[str] = (),
) -> str:
    """Return a table as text for a terminal of COLUMNS columns, or as Markdown.

    No text is cut. A first cell that is too long is put on its own line above its row. Columns that
    do not fit follow in further tables, which repeat the first columns (all of the first ones that
    are aligned to the left). Markdown is one table, whatever its width.

    rich's tables take twenty times as long (6 seconds for the 2,654 configurations of a full
    release), squeeze wide columns, and do not align Markdown.

    Args:
        header: The names of the columns.
        rows: The cells of each row. A cell is shown as one line of text without markup.
        markdown: Return Markdown.
        left: The columns that are aligned to the left; the others are aligned to the right.
        below: A line to show below each row; not in Markdown.
    """
    lines = [[line_of(cell, markdown) for cell in row] for row in (header, *rows)]
    widths = [max(3, *map(width, column)) for column in zip(*lines, strict=True)]
    if markdown:
        rule = ["-" * columns for columns in widths]
        for place in range(len(rule)):
            if place not in left:
                rule[place] = rule[place][:-1] + ":"
        lines.insert(1, rule)
        return "\n".join(f"| {' | '.join(_aligned(line, widths, left))} |" for line in lines)

    keys = 1  # the columns that every part repeats
    while keys in left and keys < len(widths) - 1:
        keys += 1
    budget = COLUMNS - min(widths[0], _NAME) - sum(2 + columns for columns in widths[1:keys])
    parts: list[list[int]] = [[]]
    used = 0
    for place in range(keys, len(widths)):
        if parts[-1] and used + 2 + widths[place] > budget:
            parts.append([])
            used = 0
        parts[-1].append(place)
        used += 2 + widths[place]
    drawn = []
    for part in parts:
        shown = [*range(min(keys, len(widths))), *part]
        drawn.append(
            _draw_part(
                [[line[place] for place in shown] for line in lines],
                [widths[place] for place in shown],
                [place for place, column in enumerate(shown) if column in left],
                below if part is parts[-1] else (),
            )
        )
    return "\n\n".join(drawn)


def _draw_part(
    lines: Sequence[Sequence[str]], widths: list[int], left: Sequence[int], below: Sequence[str]
) -> str:
    """Return the columns of a table that fit beside each other; long names go above their rows."""
    budget = COLUMNS - sum(2 + columns for columns in widths[1:])
    names = [width(line[0]) for line in lines]
    widths[0] = max([3, *(columns for columns in names if columns <= budget)])
    drawn = []
    for row, line in enumerate(lines, -1):
        cells = line
        if names[row + 1] > budget:
            drawn.append(line[0])
            cells = ["", *line[1:]]
        drawn.append("  ".join(_aligned(cells, widths, left)).rstrip())
        if row == -1:
            drawn.append("  ".join("-" * columns for columns in widths))
        elif row < len(below):
            drawn.append(below[row])
    return "\n".join(drawn)


def _aligned(line: Sequence[str], widths: Sequence[int], left: Sequence[int]) -> list[str]:
    """Return the cells of a line with the spaces that make them as wide as their columns."""
    cells = []
    for place, text in enumerate(line):
        space = " " * (widths[place] - width(text))
        cells.append(text + space if place in left else space + text)
    return cells


def print_table(
    title: str, *columns: str, rows: Sequence[Sequence[Any]], below: Sequence[str] = ()
) -> None:
    """Print a table under its title; columns of numbers are aligned to the right."""
    left = []
    for place in range(len(columns)):
        if not rows or not isinstance(rows[0][place], int | float):
            left.append(place)
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    if title:
        show(title)
    show(table(columns, cells, left=left, below=below))
