"""The columns of the page's tables of languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ruler_eval.report.table_parts import bounds, p_value, titled


class LanguageTable(NamedTuple):
    """A table with a row for each item that `analyze` found of a kind.

    A column is `header=key:format` of the item: the key alone where it is the header too, the
    format where it is not the usual one of such a value. A key of _MEANS' formats holds a mean, no
    key is the item itself. The first `names` columns say what a row is of.
    """

    title: str
    columns: Sequence[str]
    names: int = 1

    @property
    def header(self) -> list[str]:
        """What stands above the columns."""
        return [
            text
            for header, _, form in map(_column, self.columns)
            for text in (header, *_MEANS.get(form, ()))
        ]

    def rows(self, items: Iterable[Mapping[str, Any]]) -> list[list[str]]:
        """Return the rows of text."""
        columns = [_column(column) for column in self.columns]
        return [
            [text for _, key, form in columns for text in _shown(item, key, form)] for item in items
        ]

    def drawn(self, items: Iterable[Mapping[str, Any]], markdown: bool) -> str:
        """Return the table as `ruler analyze` prints it; nothing without items."""
        left = [i for i in range(self.names) if self.header[i] != "rank"]
        return titled(self.title, self.header, self.rows(items), markdown, left)


_MEANS = {
    "mean": {},
    "±": {"95 % interval": "interval"},
    "spread": {"lowest": "lowest", "highest": "highest"},
}
"""The formats of means: the columns beside the score."""


def _column(column: str) -> tuple[str, str, str]:
    """Its header, the key of its value, and the format."""
    header, _, value = column.partition("=")
    key, _, form = (value or header).partition(":")
    return header.partition(":")[0], key, form


def _shown(item: Mapping[str, Any], key: str, form: str) -> list[str]:
    """Return the cells of a column, or of several where it is a mean."""
    value = item[key] if key else item
    if form in _MEANS:
        return [_text(value[name]) for name in ("score", *_MEANS[form].values())]
    return [str(value).upper() if key == "length" else _text(value, form)]


def _text(value: Any, form: str = "") -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return bounds(value)
    if isinstance(value, str):
        return value
    if form == "p":
        return p_value(value)
    return format(value, form or (".1f" if isinstance(value, float) else ","))


MODEL_TABLES = {
    "languages": LanguageTable(
        "Languages by their mean over the niah tasks",
        ("rank", "language", "score=:±", "Wikipedia articles=articles"),
        names=2,
    ),
    "resources": LanguageTable(
        "Languages of high and of low resource", ("length", "high:±", "low:±", "gap")
    ),
    "scripts": LanguageTable(
        "Languages by the script of their books",
        ("script", "length", "languages", "score=:±"),
        names=2,
    ),
    "tasks": LanguageTable(
        "Tasks in English and by resource",
        ("length", "task", "English=english:±", "other high=high:±", "low:±"),
        names=2,
    ),
    "none_ablation": LanguageTable(
        'The offer to answer "none"',
        (
            *("length", "language=languages", "none offered=with_none", "not offered=without"),
            *("difference:+.1f", "95 % interval=interval"),
        ),
        names=2,
    ),
    "crossed": LanguageTable(
        "Text and instruction in two languages, by length",
        ("length", "text", "instruction", "score=:±"),
        names=3,
    ),
    "reasoning": LanguageTable(
        "Reasoning tokens of niah answers",
        ("length", "right answers=right:,.0f", "wrong answers=wrong:,.0f"),
    ),
    "words_right": LanguageTable(
        "Words right of ten in cwe",
        (
            *("length", "task", "right rows=right_rows", "wrong rows=wrong_rows"),
            *("words right=wrong", "truncated=truncated_rows", "words right=truncated"),
        ),
        names=2,
    ),
}
"""Of one model, by what `analyze` calls their rows, in the order in which they are shown."""


def instructions(matrix: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the columns of a matrix by the text's and the instruction's language."""
    return sorted({code for row in matrix.values() for code in row})
