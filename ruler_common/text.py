r"""Format text for people: sentences, tables and numbers, safe to show, and progress bars.

    plain("\x1b[31mred")                   # "\\x1b[31mred", for a terminal
    visible("\x1b[31mred")                 # "␛[31mred", for a page
    shortened("word " * 1000, 20)          # "word word word … (5,000 characters)"
    number_of(1, "row")                    # "1 row"
    show("\x1b[31mred")                    # prints it, escaped
    for config in steps(configs, "Exporting"):
        ...
    print(table(["task", "4K"], [["vt", number(98.04)]], markdown=True))     # 98.0

The returned texts have no control characters, whatever a model wrote or a file contains. Bars are
tqdm's, on stderr if that is a terminal. tqdm and rich are imported when first used. Scores are
rounded here and nowhere else.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm  # type: ignore[import-untyped]

TERMINAL_WIDTH = 80  # width of a terminal that does not tell its own
_MIN_COLUMNS = 40
MANY = 100  # files; more are summed up instead of listed
_MIN_NAME_WIDTH = 24  # of the first column of a table, if its texts are that long
SIGPIPE_EXIT = 141
"""The exit code if the output has no reader: 128 + 13, the number of SIGPIPE."""
Step = TypeVar("Step")

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_BIDIRECTIONAL = r"\u202a-\u202e\u2066-\u2069"
_ACTED_ON_BY_TERMINALS = re.compile(rf"[{_CONTROL}{_BIDIRECTIONAL}\u061c\u200e\u200f]")
_INVISIBLE = re.compile(rf"[{_CONTROL}{_BIDIRECTIONAL}]")
_MARKUP = re.compile(
    r"[\\`*~|<&]|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^(?:#|>|[-+](?= ))"
)
_PASSWORD = re.compile(r"(?<=://)[^/\s@]*@")


def plain(text: object) -> str:
    """Return a text that is safe to print on a terminal, with its lines as they are.

    Escaped are the characters that a terminal would act on, such as those of colours and of the
    writing direction, and lone surrogates.
    """
    return _ACTED_ON_BY_TERMINALS.sub(lambda match: _escaped(match[0]), str(text))


def printable(text: str) -> str:
    """Return a text on one line, with unprintable characters escaped."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def number_of(count: int, noun: str) -> str:
    """Return `1 row`, or `1,200 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def some_of(names: Iterable[str], max_names: int = 4) -> str:
    """Return names separated by commas, or the first and the number of the others: `and 3 more`."""
    names = list(names)
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + more


def one_line(error: object, max_chars: int = 300) -> str:
    """Return the text of an error on one line, shortened, without its full stop."""
    return " ".join(str(error).split())[:max_chars].rstrip(".")


def markdown_text(text: object) -> str:
    """Return a text for a line or table cell of Markdown, with its markup escaped.

    Each run of white space becomes one space.
    """
    return _MARKUP.sub(r"\\\g<0>", plain(" ".join(str(text).split())))


def without_passwords(text: object) -> str:
    """Return a text without the user name and password of any address in it."""
    return _PASSWORD.sub("", str(text))


def visible(text: str) -> str:
    """Return a text in which every character is visible; tabs and line ends stay.

    Control characters become Unicode's pictures of them (␛), characters that change the writing
    direction become their code (⟨U+202E⟩), and lone surrogates the replacement character.
    """
    return _INVISIBLE.sub(_picture, text.replace("\r\n", "\n").replace("\r", "\n"))


def shortened(text: str, max_chars: int) -> str:
    """Return a visible text, or its first `max_chars` characters and its length if it is longer."""
    if len(text) <= max_chars:
        return visible(text)
    return f"{visible(text[:max_chars])} … ({len(text):,} characters)"


def _escaped(char: str) -> str:
    return repr(char)[1:-1]


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if re.match(f"[{_BIDIRECTIONAL}]", match[0]):
        return f"⟨U+{code:04X}⟩"
    return "\u2421" if code == 0x7F else "\ufffd"


# ---- On the terminal -----------------------------------------------------------------------------


def show(text: object = "") -> None:
    """Print a text to stdout, with control characters escaped."""
    print(plain(text))


def note(text: object) -> None:
    """Print a text to stderr, for anything that is not the result of a command."""
    print(plain(text), file=sys.stderr)


def announce(text: str) -> None:
    """Print what a command does, before work that takes seconds and has no progress bar."""
    if shows_progress() and sys.stderr.isatty():
        note(f"{text} …")


def end_if_unread(act: Callable[[], None]) -> None:
    """Call a program's main function; end quietly if the reader of its output ends (`| head -1`).

    The exit code is then that of a program that SIGPIPE ended, and none that a verdict has.
    """
    try:
        try:
            act()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's own flush
        sys.exit(SIGPIPE_EXIT)


def command_line(*words: object) -> str:
    """Return a command as it is typed into a shell: `command_line("ruler", "score", folder)`."""
    import shlex

    return shlex.join(map(str, words))


def columns() -> int:
    """Return the width of the terminal: COLUMNS of the environment, the terminal's, or 80."""
    from shutil import get_terminal_size

    return max(_MIN_COLUMNS, get_terminal_size((TERMINAL_WIDTH, 24)).columns)


def sentences(text: str, markdown: bool = False) -> str:
    """Return a text wrapped to the width of the terminal; words, such as paths, are not split.

    In Markdown, in a pipe and in a file it is one line. Control characters and markup are escaped.
    """
    from textwrap import fill

    line = line_of(" ".join(text.split()), markdown)
    if markdown or not sys.stdout.isatty():
        return line
    return fill(line, columns(), break_on_hyphens=False, break_long_words=False)


def line_of(text: str, markdown: bool = False) -> str:
    """Return a text on one line, with control characters and markup escaped."""
    line = "\\n".join(text.splitlines())
    return markdown_text(line) if markdown else plain(line)


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: 日本 takes 4, an emoji 2."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


# ---- Progress bars -------------------------------------------------------------------------------


_progress_is_shown = True


def hide_progress() -> None:
    """Show no progress in this process from now on (`--quiet`)."""
    global _progress_is_shown
    _progress_is_shown = False


def shows_progress() -> bool:
    """Return whether progress is shown."""
    return _progress_is_shown


def progress_bar(
    description: str, total: int | None, quiet: bool = False, text: str = "", **options: Any
) -> tqdm:
    """Return a progress bar: the bar, the time left, the description. It vanishes when closed.

    Without a terminal it shows nothing. On a narrow terminal the end of the line is cut off.

    Args:
        description: What is being done.
        total: The number of steps, if it is known.
        quiet: Show nothing.
        text: The text after the description, in tqdm's format: `: {n:,}`.
        options: Further options of tqdm.
    """
    from tqdm import tqdm

    return tqdm(
        desc=plain(description),
        total=total,
        bar_format="{bar:10} {remaining} {desc}" + text,
        disable=True if quiet or not shows_progress() else None,
        leave=False,
        dynamic_ncols=True,
        miniters=1,
        smoothing=0,  # the average speed so far, since single steps differ
        **options,
    )


def steps(
    things: Iterable[Step], label: str, total: int | None = None, quiet: bool = False
) -> Iterator[Step]:
    """Yield the things one by one, with a progress bar unless `quiet`.

    `total` is their number, for an iterable without a length.
    """
    yield from progress_bar(label, total, quiet, ": {n:,}/{total_fmt}", iterable=things)


def tokens_bar(description: str, total: int | None, quiet: bool) -> tqdm:
    """Return a progress bar that counts tokens, not files, with tokens per second.

    Files differ in length by up to a factor of 256, so their number says little about the time.
    """
    rate = ", {rate_fmt}"
    return progress_bar(description, total, quiet, rate, unit=" tokens", unit_scale=True)


# ---- Tables --------------------------------------------------------------------------------------


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    markdown: bool = False,
    left: Collection[int] = (0,),
    below: Sequence[str] = (),
) -> str:
    """Return a table as text for the width of the terminal, or as Markdown.

    No text is cut. A first cell that is too long gets its own line above its row. Columns that do
    not fit follow in further tables, which repeat the leading left-aligned columns. Markdown is one
    table, whatever its width.

    rich's tables are not used: they take twenty times as long (6 seconds for the 2,654
    configurations of a full release), squeeze wide columns, and do not align Markdown.

    Args:
        header: The names of the columns.
        rows: The cells of each row. A cell is shown as one line of text without markup.
        markdown: Return Markdown.
        left: The left-aligned columns; the others are right-aligned.
        below: A line to show below each row; not in Markdown.
    """
    lines: list[list[str]] = []
    widths = [3] * len(header)
    for row in (header, *rows):
        line = []
        for place, cell in enumerate(row):
            text = line_of(cell, markdown)
            widths[place] = max(widths[place], width(text))
            line.append(text)
        lines.append(line)
    if markdown:
        return _markdown_table(lines, widths, left)
    keys = 1  # the columns that every part repeats
    while keys in left and keys < len(widths) - 1:
        keys += 1
    budget = columns() - min(widths[0], _MIN_NAME_WIDTH)
    for taken in widths[1:keys]:
        budget -= 2 + taken
    parts = [list(range(min(keys, len(widths))))]
    used = 0
    for place in range(keys, len(widths)):
        if used and used + 2 + widths[place] > budget:
            parts.append(list(range(keys)))
            used = 0
        parts[-1].append(place)
        used += 2 + widths[place]
    drawn = []
    for part in parts:
        drawn += _draw_columns(lines, part, widths, left, below if part is parts[-1] else ())
        drawn.append("")
    return "\n".join(drawn[:-1])


def _markdown_table(
    lines: Sequence[Sequence[str]], widths: Sequence[int], left: Collection[int]
) -> str:
    drawn = []
    for row, line in enumerate(lines):
        cells = [_aligned(text, widths[place], place in left) for place, text in enumerate(line)]
        drawn.append(f"| {' | '.join(cells)} |")
        if row == 0:
            rule = ["-" * n if i in left else "-" * (n - 1) + ":" for i, n in enumerate(widths)]
            drawn.append(f"| {' | '.join(rule)} |")
    return "\n".join(drawn)


def _draw_columns(
    lines: Sequence[Sequence[str]],
    places: Sequence[int],
    widths: Sequence[int],
    left: Collection[int],
    below: Sequence[str],
) -> list[str]:
    """Return the lines of a table of these columns; long names go above their rows."""
    budget = columns()
    for place in places[1:]:
        budget -= 2 + widths[place]
    name_width = 3
    for line in lines:
        if name_width < width(line[0]) <= budget:
            name_width = width(line[0])
    drawn = []
    for row, line in enumerate(lines, -1):
        name = line[0]
        if width(name) > budget:
            drawn.append(name)
            name = ""
        cells, rule = [_aligned(name, name_width, 0 in left)], ["-" * name_width]
        for place in places[1:]:
            cells.append(_aligned(line[place], widths[place], place in left))
            rule.append("-" * widths[place])
        drawn.append("  ".join(cells).rstrip())
        if row == -1:
            drawn.append("  ".join(rule))
        elif row < len(below):
            drawn.append(below[row])
    return drawn


def _aligned(text: str, width_of_column: int, left: bool) -> str:
    """Return a cell padded to the width of its column."""
    space = " " * (width_of_column - width(text))
    return text + space if left else space + text


# ---- Numbers -------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Return a score with one decimal, as the papers print it."""
    return "-" if value is None else f"{value:.1f}"


def bounds(interval: Sequence[float] | None) -> str:
    """Return an interval with one decimal."""
    return "-" if interval is None else f"[{interval[0]:.1f}, {interval[1]:.1f}]"


def p_value(value: float | None) -> str:
    """Return a p-value with three decimals, but `< 0.001` instead of 0.000."""
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
