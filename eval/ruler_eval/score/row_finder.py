"""Find the index of a release's row by what the row asks, for answers without an index.

    rows = RowFinder(release)
    rows.find("vt_4k", question, ["VAR A"], where="predictions.csv:1")     # the index of the row

Some tools write a row's question and references but not its index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.score.values import are_free_text, read_references


class AskedRows:
    """The rows of a configuration, looked up by what they ask."""

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
        """Return the index of the first such row that has not been taken; None if none is left."""
        key = self._key(question, outputs)
        indices = self._remaining.get(key)
        if not indices:
            return None
        self._taken[key] += 1
        return indices.pop(0)

    @property
    def ambiguous(self) -> int:
        """How many rows were taken while another that asks the same thing was left."""
        return sum(count for key, count in self._taken.items() if self._remaining[key])


class RowFinder:
    """Finds rows of a release, if there is one, by what they ask."""

    def __init__(self, release: Release | None) -> None:
        self._release = release
        self._asked: dict[str, AskedRows] = {}  # by configuration

    def find(self, config: str, question: str | None, references: Any, where: str) -> int | None:
        """Return the index of the row that asks this; None if no release has the configuration.

        If several rows ask the same thing, they are returned one after another.

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
        """How many of the rows found might be another row, because both ask the same thing."""
        return sum(rows.ambiguous for rows in self._asked.values())
