"""The rows of a release by what they ask, for answers that have no index.

    rows = RowFinder(release)
    rows.find("vt_4k", question, ["VAR A"], where="predictions.csv:1")     # the index of the row

Some tools write the question and the references of a row, and not its index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.score.values import are_free_text, read_references


class AskedRows:
    """The rows of a configuration by what they ask."""

    def __init__(self, rows: Iterable[PartialRow], knows_questions: bool) -> None:
        self._knows_questions = knows_questions
        self._remaining: dict[tuple[str | None, tuple[str, ...]], list[int]] = {}
        for row in rows:
            self._remaining.setdefault(self._key(row["question"], row["outputs"]), []).append(
                row["index"]
            )
        self._taken: Counter[tuple[str | None, tuple[str, ...]]] = Counter()

    def _key(
        self, question: str | None, outputs: Iterable[str]
    ) -> tuple[str | None, tuple[str, ...]]:
        return (question if self._knows_questions else None), tuple(outputs)

    def take(self, question: str | None, outputs: Iterable[str]) -> int | None:
        """Return the first row that asks this and was not taken before."""
        key = self._key(question, outputs)
        indices = self._remaining.get(key)
        if not indices:
            return None
        self._taken[key] += 1
        return indices.pop(0)

    @property
    def ambiguous(self) -> int:
        """The number of rows taken for which another row that asks the same was not taken."""
        return sum(count for key, count in self._taken.items() if self._remaining[key])


class RowFinder:
    """The rows of all configurations of a release, if there is one, by what they ask."""

    def __init__(self, release: Release | None) -> None:
        self._release = release
        self._asked: dict[str, AskedRows] = {}  # by configuration

    def find(self, config: str, question: str | None, references: Any, where: str) -> int | None:
        """Return the row with a question and references; None if there is no release.

        Rows that ask the same are taken in their order.

        Args:
            config: the configuration.
            question: the question; None if only the references are known.
            references: the references, as the file has them.
            where: the place of the record, for messages.

        Raises RulerError if no row is left that asks this.
        """
        if self._release is None or config not in self._release.configs:
            return None
        if config not in self._asked:
            rows = self._release.rows(config, ("index", "question", "outputs"))
            self._asked[config] = AskedRows(rows, knows_questions=question is not None)
        outputs = read_references(references, are_free_text(config)) or ()
        index = self._asked[config].take(question, outputs)
        if index is None:
            raise RulerError(
                f"'{where}' has a question or references that no other row of {config} in "
                f"'{self._release.source}' has: leave --dataset out to score it by its own "
                "references."
            )
        return index

    @property
    def ambiguous(self) -> int:
        """The number of rows found that may be another one, which asks the same."""
        return sum(rows.ambiguous for rows in self._asked.values())
