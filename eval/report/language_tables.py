"""The tables of `ruler analyze`: one for each thing that ONERULER's paper draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.report.score_tables import bounds, line_of, number, p_value, table


def report(found: Mapping[str, Any], markdown: bool = False) -> str:
    """All tables that have rows, each with its title and the paper's figure."""
    parts = []
    for name, model in found["models"].items():
        parts += [_of_model(name, model, markdown)]
    pairs = [
        [pair, str(value["languages"]), f"{value['tau']:.2f}", p_value(value["p"])]
        for pair, value in found["rankings"].items()
        if value is not None
    ]
    header = ["models", "languages", "Kendall's tau", "p"]
    parts.append(_titled("Do two models rank the languages alike?", header, pairs, markdown))
    parts.append(_tokens(found["prompt_tokens"], markdown))
    rows = [
        [language, kind, str(count), f"{100 * count / sum(kinds.values()):.0f} %"]
        for language, kinds in found["errors"].items()
        for kind, count in kinds.items()
    ]
    header = ["language", "kind", "rows", "share"]
    parts.append(_titled("Kinds of errors by language", header, rows, markdown, (0, 1)))
    return "\n\n".join(filter(None, parts)) or "Nothing of this is in these results."


def _of_model(name: str, model: Mapping[str, Any], markdown: bool) -> str:
    ranked = []
    for item in model["languages"]:
        articles = "-" if item["articles"] is None else f"{item['articles']:,}"
        shown = [number(item["score"]), bounds(item["interval"]), articles]
        ranked.append([str(item["rank"]), item["language"], *shown])
    header = ["rank", "language", "score", "95 % interval", "Wikipedia articles"]
    title = f"{name}: languages by their mean over the niah tasks"
    parts = [_titled(title, header, ranked, markdown, (1,))]
    if (size := model["wikipedia"]) is not None:
        parts.append(
            f"Correlation with the logarithm of Wikipedia's size, {size['languages']} languages: "
            f"Pearson {size['pearson']:.2f}, Spearman {size['spearman']:.2f}"
        )
    resources = []
    for item in model["resources"]:
        means = [item[group] for group in ("high", "low")]
        shown = [text for m in means for text in (number(m["score"]), bounds(m["interval"]))]
        resources.append([item["length"].upper(), *shown, number(item["gap"])])
    header = ["length", "high", "95 % interval", "low", "95 % interval", "gap"]
    parts.append(_titled("Languages of high and of low resource", header, resources, markdown))
    ablation = []
    for item in model["none_ablation"]:
        shown = [number(item["with_none"]), number(item["without"]), f"{item['difference']:+.1f}"]
        place = [item["length"].upper(), item["languages"]]
        ablation.append([*place, *shown, bounds(item["interval"])])
    header = ["length", "language", "none offered", "not offered", "difference", "95 % interval"]
    parts.append(_titled('The offer to answer "none"', header, ablation, markdown, (0, 1)))
    crossed = model["cross_lingual"]
    columns = sorted({column for row in crossed.values() for column in row})
    matrix = [[text, *(number(row.get(c)) for c in columns)] for text, row in crossed.items()]
    header = ["text \\ instruction", *columns]
    parts.append(_titled("Text and instruction in two languages", header, matrix, markdown))
    tokens = [
        [item["length"].upper(), _whole(item["right"]), _whole(item["wrong"])]
        for item in model["reasoning"]
    ]
    header = ["length", "right answers", "wrong answers"]
    parts.append(_titled("Reasoning tokens of niah answers", header, tokens, markdown))
    words = []
    for item in model["words_right"]:
        wrong = [str(item["wrong_rows"]), number(item["wrong"])]
        truncated = [str(item["truncated_rows"]), number(item["truncated"])]
        words.append([item["length"].upper(), str(item["right_rows"]), *wrong, *truncated])
    header = ["length", "right rows", "wrong rows", "words right", "truncated rows", "words right"]
    parts.append(_titled("Words right of ten in cwe", header, words, markdown))
    return "\n\n".join(filter(None, parts))


def _tokens(models: Mapping[str, Mapping[str, Mapping[str, float]]], markdown: bool) -> str:
    places = dict.fromkeys(
        (length, language)
        for by_length in models.values()
        for length, by_language in by_length.items()
        for language in by_language
    )
    rows = [
        [length.upper(), language]
        + [_whole(by_length.get(length, {}).get(language)) for by_length in models.values()]
        for length, language in places
    ]
    title = "The same texts under several tokenizers: mean prompt tokens"
    return _titled(title, ["length", "language", *models], rows, markdown, (0, 1))


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _titled(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    markdown: bool,
    left: Sequence[int] = (0,),
) -> str:
    text = table(header, rows, markdown, left)
    return f"{line_of(title, markdown)}\n\n{text}" if rows else ""
