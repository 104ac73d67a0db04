"""What a verification found: the breaches of every file, by law.

report.ok                                              # whether every law holds
report.files["data/tekken/4k/vt.parquet"].breaches     # the first ten
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

from ruler_builder.reading.breaches import Law

_KEPT = 10  # breaches a file
_WERE, _ARE = ("was", "were"), ("is", "are")
WHOLE_FILE = -1
"""Stands for a row's index where a breach is one of the whole file."""


class Found(NamedTuple):
    """A breach of a law: the row's index (or WHOLE_FILE), the law, and what is wrong."""

    row: int
    law: Law
    what: str


class AskedDigest(NamedTuple):
    """What one row asks, in short; rows of one index and scope must ask the same."""

    scope: str
    digest: str
    depths: list[float]  # of ONERULER's needles, as shares of the context


@dataclass
class FileReport:
    """What verification found in one file: the first ten breaches, one of each law, the count."""

    config: str
    _: KW_ONLY
    rows: int = 0
    # The digest of the rows as they were read; "" if they cannot be
    rows_sha256: str = ""
    breaches: list[Found] = field(default_factory=list)
    count: int = 0
    asked: dict[int, AskedDigest] = field(default_factory=dict, repr=False)
    # What signed the Parquet file; "" where there is none that can be read.
    writer: str = ""

    def add(self, what: str, law: Law = Law.ACCOUNTED, row: int = WHOLE_FILE) -> None:
        """Record a breach of a row, or of the whole file."""
        self.count += 1
        if len(self.breaches) < _KEPT or all(law != found.law for found in self.breaches):
            self.breaches.append(Found(row, law, what))


@dataclass
class VerifyReport:
    """What verification found in a release, and how many of its files are still to be built."""

    files: dict[str, FileReport]
    unfinished: bool
    _: KW_ONLY
    notes: list[str] = field(default_factory=list)
    """What the user should know of how it was verified, and what could not be: sentences."""
    uncounted: list[str] = field(default_factory=list)
    """The tokenizers that are not here: the laws of their files' lengths are not proved."""
    rebuilt: list[str] = field(default_factory=list)
    """Paths of the files that were made anew, and are the same."""
    frozen: list[str] = field(default_factory=list)
    """Paths of the files whose rows are in the lock of their data version."""
    not_rebuilt: dict[str, list[str]] = field(default_factory=dict)
    """Why files were not made anew, though the lock does not prove them, with their paths."""

    @property
    def ok(self) -> bool:
        """Whether every law holds and nothing is missing."""
        return not self.unfinished and not any(file.count for file in self.files.values())

    @property
    def proved(self) -> bool:
        """Whether, with every law, every row is known to be the one that a build makes."""
        return self.ok and not self.not_rebuilt

    @property
    def sentence(self) -> str:
        """What proves that the rows are those of a build, in one sentence."""
        frozen, anew = len(self.frozen), len(self.rebuilt)
        left = sum(map(len, self.not_rebuilt.values()))
        said = (
            f"{frozen} hold{'s' * (frozen == 1)} frozen rows" if frozen else "",
            f"{anew} {_WERE[anew != 1]} made anew and {_ARE[anew != 1]} the same" if anew else "",
            f"{left} {_WERE[left != 1]} not made anew" if left else "",
        )
        return f"Of these files {', '.join(filter(None, said)) or 'none is'}."
