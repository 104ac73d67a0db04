"""What a verification found: the problems of every file, and what could not be checked here.

report.ok                                              # whether nothing is wrong
report.files["data/tekken/4k/vt.parquet"].problems     # the first ten
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

_KEPT = 10  # problems of a file
WHOLE_FILE = -1
"""The index of a problem that is not of one row."""


class Problem(NamedTuple):
    """What is wrong with a row, by its index, or with a WHOLE_FILE."""

    row: int
    what: str


@dataclass
class FileReport:
    """What verification found in one file: its rows, its first problems and their number."""

    config: str
    _: KW_ONLY
    rows: int = 0
    problems: list[Problem] = field(default_factory=list)
    count: int = 0

    def add(self, what: str, row: int = WHOLE_FILE) -> None:
        """Record a problem."""
        self.count += 1
        if len(self.problems) < _KEPT:
            self.problems.append(Problem(row, what))


@dataclass
class VerifyReport:
    """What verification found in a release, and whether it is still being built."""

    files: dict[str, FileReport]
    unfinished: bool
    _: KW_ONLY
    # What the user should know about how it was verified: sentences.
    notes: list[str] = field(default_factory=list)
    # Paths of the files that were built again and are the same.
    rebuilt: list[str] = field(default_factory=list)
    # Paths of the files whose rows are in the lock of their data version.
    frozen: list[str] = field(default_factory=list)
    # Why files could not be checked fully on this machine, with their paths.
    not_rebuilt: dict[str, list[str]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong and nothing is missing."""
        return not self.unfinished and not any(file.count for file in self.files.values())

    @property
    def proved(self) -> bool:
        """Whether every row is known to be the one that a build makes."""
        return self.ok and not self.not_rebuilt

    @property
    def sentence(self) -> str:
        """How many files were checked in which way, in one sentence."""
        paths = {path for several in self.not_rebuilt.values() for path in several}
        parts = [
            f"{len(self.frozen)} with frozen rows" if self.frozen else "",
            f"{len(self.rebuilt)} rebuilt and equal" if self.rebuilt else "",
            f"{len(paths)} not checked fully" if paths else "",
        ]
        return f"Files: {', '.join(part for part in parts if part) or 'none'}."


def common_length(text: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    for place, (char, other_char) in enumerate(zip(text, other, strict=False)):
        if char != other_char:
            return place
    return min(len(text), len(other))
