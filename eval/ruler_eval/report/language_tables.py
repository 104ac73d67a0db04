"""The tables of `ruler analyze`: one for each thing that ONERULER's paper draws.

The page shows some of them too, with the rows of all models in one (MODEL_TABLES).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ruler_common.terminal import sentences
from ruler_eval.report.table_parts import bounds, number, p_value, titled

Model = Mapping[str, Any]


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
_SIDES = {
    "best_and_worst": "The best languages ({}) and the worst ({}), chosen by these same scores: "
    "equal languages would lie apart too",
    "largest_and_smallest": "niah_single: the largest Wikipedias ({}) and the smallest ({})",
}
_SPREAD = "Mean over {} models, and the lowest and highest of them"
_OVER_MODELS = {
    "languages": LanguageTable(f"{_SPREAD}: languages", ("language", "score=:spread")),
    "resources": LanguageTable(
        f"{_SPREAD}: high and low resource", ("length", "high:spread", "low:spread")
    ),
    "tasks": LanguageTable(
        "Mean over {} models: tasks",
        ("length", "task", "English=english:mean", "other high=high:mean", "low:mean"),
        names=2,
    ),
}
_RANKINGS = LanguageTable(
    "Do two models rank the languages alike?",
    ("models", "languages", "Kendall's tau=tau:.2f", "p:p"),
)


def report(found: Mapping[str, Any], markdown: bool = False) -> str:
    """All tables that have rows, each with its title and the paper's figure."""
    parts: list[str] = []
    for name, model in found["models"].items():
        parts += _of_model(name, model, markdown)
    pairs = [{"models": pair, **one} for pair, one in found["rankings"].items() if one is not None]
    parts.append(_RANKINGS.drawn(pairs, markdown))
    for key, table in _OVER_MODELS.items() if found["over_models"] else ():
        titled_table = table._replace(title=table.title.format(len(found["models"])))
        parts.append(titled_table.drawn(found["over_models"][key], markdown))
    title = "The same texts under several tokenizers: mean prompt tokens"
    parts.append(_tokens(title, found["prompt_tokens"], markdown))
    for what, key in (("language", "errors"), ("task and length", "errors_by_task")):
        rows = [
            [name, kind, str(count), f"{100 * count / sum(kinds.values()):.0f} %"]
            for name, kinds in found[key].items()
            for kind, count in kinds.items()
        ]
        header = [what, "kind", "rows", "share"]
        parts.append(titled(f"Kinds of errors by {what}", header, rows, markdown, (0, 1)))
    return "\n\n".join(filter(None, parts)) or "Nothing of this is in these results."


def instructions(matrix: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the columns of a matrix by the text's and the instruction's language."""
    return sorted({code for row in matrix.values() for code in row})


def _of_model(name: str, model: Model, markdown: bool) -> Iterator[str]:
    ranking = MODEL_TABLES["languages"]
    title = f"{name}: {ranking.title[0].lower()}{ranking.title[1:]}"
    yield ranking._replace(title=title).drawn(model["languages"], markdown)
    if other := [item for item in model["languages"] if item["rank"] is None]:
        named = ", ".join(f"{item['language']} ({item['cells']})" for item in other)
        text = f"Not ranked, scored on other tasks and lengths than most languages: {named}"
        yield sentences(text, markdown)
    for key, title in _SIDES.items():
        if (sides := model[key]) is not None:
            first, last = (", ".join(sides[side]) for side in ("best", "worst"))
            columns = ("length", "first=best:±", "last=worst:±")
            table = LanguageTable(title.format(first, last), columns)
            yield table.drawn(sides["lengths"], markdown)
    if (size := model["wikipedia"]) is not None:
        text = (
            f"Correlation with the logarithm of Wikipedia's size, {size['languages']} languages: "
            f"Pearson {size['pearson']:.2f}, Spearman {size['spearman']:.2f}"
        )
        yield sentences(text, markdown)
    codes = instructions(matrix := model["cross_lingual"])
    rows = [[text, *(number(row.get(code)) for code in codes)] for text, row in matrix.items()]
    header = ["text \\ instruction", *codes]
    yield titled("Text and instruction in two languages", header, rows, markdown)
    for key, table in MODEL_TABLES.items():
        if key != "languages":
            yield table.drawn(model[key], markdown)


def text_tokens(found: Mapping[str, Any], markdown: bool = False) -> str:
    """Return what `ruler_release.api.tokens_by_tokenizer` counted: a column for each tokenizer."""
    title = (
        f"Mean prompt tokens of the same {found['rows']:,} rows by tokenizer, fitted under "
        f"{found['fitted_under']}"
    )
    return _tokens(title, found["tokens"], markdown)


def _tokens(
    title: str, models: Mapping[str, Mapping[str, Mapping[str, float]]], markdown: bool
) -> str:
    places = dict.fromkeys(
        (length, language)
        for by_length in models.values()
        for length, by_language in by_length.items()
        for language in by_language
    )
    rows = [
        [length.upper(), language]
        + [_text(by_length.get(length, {}).get(language), ",.0f") for by_length in models.values()]
        for length, language in places
    ]
    return titled(title, ["length", "language", *models], rows, markdown, (0, 1))
