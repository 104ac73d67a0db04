"""The tables of `ruler analyze`: one for each thing that ONERULER's paper draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruler_common.terminal import narrow_table, sentences
from ruler_eval.analysis.languages.language_groups import GROUPS
from ruler_eval.report.score_tables import bounds, number, p_value

Model = Mapping[str, Any]
_SIDES = {
    "best_and_worst": "The best languages ({}) and the worst ({}), chosen by these same scores: "
    "equal languages would lie apart too",
    "largest_and_smallest": "niah_single: the largest Wikipedias ({}) and the smallest ({})",
}


def report(found: Mapping[str, Any], markdown: bool = False) -> str:
    """All tables that have rows, each with its title and the paper's figure."""
    parts: list[str] = []
    for name, model in found["models"].items():
        parts += _of_model(name, model, markdown)
    pairs = [
        [pair, str(value["languages"]), f"{value['tau']:.2f}", p_value(value["p"])]
        for pair, value in found["rankings"].items()
        if value is not None
    ]
    header = ["models", "languages", "Kendall's tau", "p"]
    parts.append(_titled("Do two models rank the languages alike?", header, pairs, markdown))
    if found["over_models"]:
        parts += _of_all(found["over_models"], len(found["models"]), markdown)
    title = "The same texts under several tokenizers: mean prompt tokens"
    parts.append(_tokens(title, found["prompt_tokens"], markdown))
    for what, key in (("language", "errors"), ("task and length", "errors_by_task")):
        rows = [
            [name, kind, str(count), f"{100 * count / sum(kinds.values()):.0f} %"]
            for name, kinds in found[key].items()
            for kind, count in kinds.items()
        ]
        header = [what, "kind", "rows", "share"]
        parts.append(_titled(f"Kinds of errors by {what}", header, rows, markdown, (0, 1)))
    return "\n\n".join(filter(None, parts)) or "Nothing of this is in these results."


def ranking(model: Model) -> list[list[str]]:
    """Of each language rank, name, score, interval and Wikipedia's articles."""
    return [
        [str(item["rank"] or "-"), item["language"], *_mean(item), whole(item["articles"])]
        for item in model["languages"]
    ]


def resources(model: Model) -> list[list[str]]:
    """Of each length the means and intervals of high and of low resource, and the gap."""
    return [
        [item["length"].upper(), *_mean(item["high"]), *_mean(item["low"]), number(item["gap"])]
        for item in model["resources"]
    ]


def scripts(model: Model) -> list[list[str]]:
    """Of each script and length the languages, and their mean with its interval."""
    return [
        [item["script"], item["length"].upper(), str(item["languages"]), *_mean(item)]
        for item in model["scripts"]
    ]


def none_ablation(model: Model) -> list[list[str]]:
    """Of each length and language the scores with and without the offer, and their difference."""
    return [
        [
            *(item["length"].upper(), item["languages"], number(item["with_none"])),
            *(number(item["without"]), f"{item['difference']:+.1f}", bounds(item["interval"])),
        ]
        for item in model["none_ablation"]
    ]


def reasoning(model: Model) -> list[list[str]]:
    """Of each length the tokens of right and of wrong answers."""
    return [
        [item["length"].upper(), whole(item["right"]), whole(item["wrong"])]
        for item in model["reasoning"]
    ]


def instructions(matrix: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The columns of a matrix by the text's and the instruction's language."""
    return sorted({code for row in matrix.values() for code in row})


def whole(value: float | None) -> str:
    """A number of tokens or articles."""
    return "-" if value is None else f"{value:,.0f}"


def _of_model(name: str, model: Model, markdown: bool) -> Iterator[str]:
    header = ["rank", "language", "score", "95 % interval", "Wikipedia articles"]
    title = f"{name}: languages by their mean over the niah tasks"
    yield _titled(title, header, ranking(model), markdown, (1,))
    if other := [item for item in model["languages"] if item["rank"] is None]:
        named = ", ".join(f"{item['language']} ({item['cells']})" for item in other)
        text = f"Not ranked, scored on other tasks and lengths than most languages: {named}"
        yield sentences(text, markdown)
    for key, title in _SIDES.items():
        if (sides := model[key]) is None:
            continue
        rows = [
            [side["length"].upper(), *_mean(side["best"]), *_mean(side["worst"])]
            for side in sides["lengths"]
        ]
        first, last = (", ".join(sides[side]) for side in ("best", "worst"))
        header = ["length", "first", "95 % interval", "last", "95 % interval"]
        yield _titled(title.format(first, last), header, rows, markdown)
    if (size := model["wikipedia"]) is not None:
        text = (
            f"Correlation with the logarithm of Wikipedia's size, {size['languages']} languages: "
            f"Pearson {size['pearson']:.2f}, Spearman {size['spearman']:.2f}"
        )
        yield sentences(text, markdown)
    header = ["length", "high", "95 % interval", "low", "95 % interval", "gap"]
    yield _titled("Languages of high and of low resource", header, resources(model), markdown)
    header = ["script", "length", "languages", "score", "95 % interval"]
    yield _titled(
        "Languages by the script of their books", header, scripts(model), markdown, (0, 1)
    )
    header = ["length", "task", "English", "95 % interval", "other high", "95 % interval"]
    header += ["low", "95 % interval"]
    rows = [
        [
            *(item["length"].upper(), item["task"]),
            *(shown for group in GROUPS for shown in _mean(item[group])),
        ]
        for item in model["tasks"]
    ]
    yield _titled("Tasks in English and by resource", header, rows, markdown, (0, 1))
    header = ["length", "language", "none offered", "not offered", "difference", "95 % interval"]
    yield _titled('The offer to answer "none"', header, none_ablation(model), markdown, (0, 1))
    columns = instructions(crossed := model["cross_lingual"])
    matrix = [[text, *(number(row.get(c)) for c in columns)] for text, row in crossed.items()]
    header = ["text \\ instruction", *columns]
    yield _titled("Text and instruction in two languages", header, matrix, markdown)
    rows = [
        [item["length"].upper(), item["text"], item["instruction"], *_mean(item)]
        for item in model["crossed"]
    ]
    header = ["length", "text", "instruction", "score", "95 % interval"]
    yield _titled(
        "Text and instruction in two languages, by length", header, rows, markdown, (0, 1, 2)
    )
    header = ["length", "right answers", "wrong answers"]
    yield _titled("Reasoning tokens of niah answers", header, reasoning(model), markdown)
    words = [
        [
            *(item["length"].upper(), item["task"], str(item["right_rows"])),
            *(str(item["wrong_rows"]), number(item["wrong"])),
            *(str(item["truncated_rows"]), number(item["truncated"])),
        ]
        for item in model["words_right"]
    ]
    header = ["length", "task", "right rows", "wrong rows", "words right", "truncated"]
    header += ["words right"]
    yield _titled("Words right of ten in cwe", header, words, markdown, (0, 1))


def _of_all(found: Mapping[str, Any], models: int, markdown: bool) -> Iterator[str]:
    """The means over models, of what every one was scored on."""
    title = f"Mean over {models} models, and the lowest and highest of them"
    spread = ["score", "lowest", "highest"]
    rows = [[item["language"], *_spread(item)] for item in found["languages"]]
    yield _titled(f"{title}: languages", ["language", *spread], rows, markdown)
    rows = [
        [item["length"].upper(), *(shown for g in ("high", "low") for shown in _spread(item[g]))]
        for item in found["resources"]
    ]
    header = ["length", "high", *spread[1:], "low", *spread[1:]]
    yield _titled(f"{title}: high and low resource", header, rows, markdown)
    rows = [
        [item["length"].upper(), item["task"], *(number(item[g]["score"]) for g in GROUPS)]
        for item in found["tasks"]
    ]
    header = ["length", "task", "English", "other high", "low"]
    yield _titled(f"Mean over {models} models: tasks", header, rows, markdown, (0, 1))


def _spread(item: Mapping[str, Any]) -> list[str]:
    return [number(item[name]) for name in ("score", "lowest", "highest")]


def text_tokens(found: Mapping[str, Any], markdown: bool = False) -> str:
    """What `ruler_release.api.tokens_by_tokenizer` counted: a column for each tokenizer."""
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
        + [whole(by_length.get(length, {}).get(language)) for by_length in models.values()]
        for length, language in places
    ]
    return _titled(title, ["length", "language", *models], rows, markdown, (0, 1))


def _mean(mean: Mapping[str, Any]) -> tuple[str, str]:
    return number(mean["score"]), bounds(mean["interval"])


def _titled(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    markdown: bool,
    left: Sequence[int] = (0,),
) -> str:
    text = narrow_table(header, rows, markdown, left)
    return f"{sentences(title, markdown)}\n\n{text}" if rows else ""
