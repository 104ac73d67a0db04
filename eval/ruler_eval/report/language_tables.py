"""Write the tables of `ruler analyze` for ONERULER, one for each figure of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruler_common.text import bounds, number, p_value, sentences, titled

INTERVAL = "95 % interval"
TEXTS = "The same texts under several tokenizers: mean prompt tokens"


def report(analysis: Mapping[str, Any], markdown: bool = False) -> str:
    """Return all tables that have rows, each under its title."""
    parts: list[str] = []
    for name, model in analysis["models"].items():
        parts += _model_tables(name, model, markdown)
    parts.append(_rankings(analysis["rankings"], markdown))
    if analysis["over_models"]:
        over = f"Mean over {len(analysis['models'])} models"
        parts += _tables_over_models(over, analysis["over_models"], markdown)
    parts.append(_token_table(TEXTS, analysis["prompt_tokens"], markdown))
    parts.append(_kinds_of_errors("language", analysis["errors"], markdown))
    parts.append(_kinds_of_errors("task and length", analysis["errors_by_task"], markdown))
    return "\n\n".join(filter(None, parts)) or "These results have nothing to analyze."


def text_tokens(counts: Mapping[str, Any], markdown: bool = False) -> str:
    """Return the counts of `ruler_release.api.tokens_by_tokenizer`, a column for each tokenizer."""
    title = (
        f"Mean prompt tokens of the same {counts['rows']:,} rows by tokenizer, fitted under "
        f"{counts['fitted_under']}"
    )
    return _token_table(title, counts["tokens"], markdown)


# ---- One model -----------------------------------------------------------------------------------


def _model_tables(name: str, model: Mapping[str, Any], markdown: bool) -> Iterator[str]:
    """Yield the tables of one model, in the order of the paper's figures."""
    yield from _ranked_languages(name, model, markdown)
    yield _best_and_worst(
        "The best languages ({}) and the worst ({}), chosen by these same scores: even equal "
        "languages would differ",
        model["best_and_worst"],
        markdown,
    )
    yield _best_and_worst(
        "niah_single: the largest Wikipedias ({}) and the smallest ({})",
        model["largest_and_smallest"],
        markdown,
    )
    if size := model["wikipedia"]:
        yield sentences(
            f"Correlation with the logarithm of Wikipedia's size, {size['languages']} languages: "
            f"Pearson {size['pearson']:.2f}, Spearman {size['spearman']:.2f}",
            markdown,
        )
    yield _cross_lingual(model["cross_lingual"], markdown)
    yield titled(
        "Languages of high and of low resource",
        ["length", "high", INTERVAL, "low", INTERVAL, "gap", INTERVAL],
        [
            [
                *(item["length"].upper(), *_mean(item["high"]), *_mean(item["low"])),
                *(number(item["gap"]), bounds(item["gap_interval"])),
            ]
            for item in model["resources"]
        ],
        markdown,
    )
    yield titled(
        "Languages by the script of their books",
        ["script", "length", "languages", "score", INTERVAL],
        [
            [item["script"], item["length"].upper(), _count(item["languages"]), *_mean(item)]
            for item in model["scripts"]
        ],
        markdown,
        left=(0, 1),
    )
    header = ["length", "task", "English", INTERVAL, "other high", INTERVAL, "low", INTERVAL]
    rows = []
    for item in model["tasks"]:
        means = [*_mean(item["english"]), *_mean(item["high"]), *_mean(item["low"])]
        rows.append([item["length"].upper(), item["task"], *means])
    yield titled("Tasks in English and by resource", header, rows, markdown, left=(0, 1))
    yield _none_ablation(model["none_ablation"], markdown)
    yield titled(
        "Text and instruction in two languages, by length",
        ["length", "text", "instruction", "score", INTERVAL],
        [
            [item["length"].upper(), item["text"], item["instruction"], *_mean(item)]
            for item in model["crossed"]
        ],
        markdown,
        left=(0, 1, 2),
    )
    yield titled(
        "Reasoning tokens of niah answers",
        ["length", "right answers", "wrong answers"],
        [
            [item["length"].upper(), _count(item["right"]), _count(item["wrong"])]
            for item in model["reasoning"]
        ],
        markdown,
    )
    yield _words_right(model["words_right"], markdown)


def _ranked_languages(name: str, model: Mapping[str, Any], markdown: bool) -> Iterator[str]:
    """Yield the languages by their mean, and which of them cannot be ranked."""
    rows, unranked = [], []
    for item in model["languages"]:
        articles = _count(item["articles"])
        rows.append([_count(item["rank"]), item["language"], *_mean(item), articles])
        if item["rank"] is None:
            unranked.append(f"{item['language']} ({item['cells']})")
    header = ["rank", "language", "score", INTERVAL, "Wikipedia articles"]
    yield titled(
        f"{name}: languages by their mean over the niah tasks", header, rows, markdown, left=(1,)
    )
    if unranked:
        text = "Not ranked, because their tasks and lengths differ from most languages': "
        yield sentences(text + ", ".join(unranked), markdown)


def _best_and_worst(title: str, sides: Mapping[str, Any] | None, markdown: bool) -> str:
    """Return the means of two groups of languages by length."""
    if sides is None:
        return ""
    rows = []
    for item in sides["lengths"]:
        rows.append([item["length"].upper(), *_mean(item["best"]), *_mean(item["worst"])])
    title = title.format(", ".join(sides["best"]), ", ".join(sides["worst"]))
    return titled(title, ["length", "first", INTERVAL, "last", INTERVAL], rows, markdown)


def _cross_lingual(matrix: Mapping[str, Mapping[str, float]], markdown: bool) -> str:
    """Return the scores by the text's language (rows) and the instruction's (columns)."""
    codes = sorted({code for by_instruction in matrix.values() for code in by_instruction})
    rows = []
    for text, by_instruction in matrix.items():
        rows.append([text, *(number(by_instruction.get(code)) for code in codes)])
    header = ["text \\ instruction", *codes]
    return titled("Text and instruction in two languages", header, rows, markdown)


def _none_ablation(items: Sequence[Mapping[str, Any]], markdown: bool) -> str:
    rows = []
    for item in items:
        scores = [number(item["with_none"]), number(item["without"]), f"{item['difference']:+.1f}"]
        row = [item["length"].upper(), item["languages"], *scores, bounds(item["interval"])]
        rows.append(row)
    header = ["length", "language", "none offered", "not offered", "difference", INTERVAL]
    return titled('The option to answer "none"', header, rows, markdown, left=(0, 1))


def _words_right(items: Sequence[Mapping[str, Any]], markdown: bool) -> str:
    rows = []
    for item in items:
        row = [item["length"].upper(), item["task"], _count(item["right_rows"])]
        row += [_count(item["wrong_rows"]), number(item["wrong"])]
        rows.append([*row, _count(item["truncated_rows"]), number(item["truncated"])])
    header = ["length", "task", "right rows", "wrong rows", "words right", "truncated"]
    title = "Words right of ten in cwe"
    return titled(title, [*header, "words right"], rows, markdown, left=(0, 1))


# ---- Several models ------------------------------------------------------------------------------


def _rankings(rankings: Mapping[str, Mapping[str, Any] | None], markdown: bool) -> str:
    """Return how alike each pair of models ranks the languages."""
    rows = []
    for models, item in rankings.items():
        if item is not None:
            tau = f"{item['tau']:.2f}"
            rows.append([models, _count(item["languages"]), tau, p_value(item["p"])])
    header = ["models", "languages", "Kendall's tau", "p"]
    return titled("Do two models rank the languages alike?", header, rows, markdown)


def _tables_over_models(over: str, means: Mapping[str, Any], markdown: bool) -> Iterator[str]:
    """Yield the means over models by language, by resource and by task."""
    rows = [[item["language"], *_spread(item)] for item in means["languages"]]
    header = ["language", "score", "lowest", "highest"]
    yield titled(f"{over}, and the lowest and highest of them: languages", header, rows, markdown)
    rows = []
    for item in means["resources"]:
        rows.append([item["length"].upper(), *_spread(item["high"]), *_spread(item["low"])])
    header = ["length", "high", "lowest", "highest", "low", "lowest", "highest"]
    title = f"{over}, and the lowest and highest of them: high and low resource"
    yield titled(title, header, rows, markdown)
    rows = []
    for item in means["tasks"]:
        scores = [number(item[side]["score"]) for side in ("english", "high", "low")]
        rows.append([item["length"].upper(), item["task"], *scores])
    header = ["length", "task", "English", "other high", "low"]
    yield titled(f"{over}: tasks", header, rows, markdown, left=(0, 1))


def _token_table(
    title: str, models: Mapping[str, Mapping[str, Mapping[str, float]]], markdown: bool
) -> str:
    """Return mean prompt tokens by length and language, a column for each model or tokenizer."""
    rows: dict[tuple[str, str], list[str]] = {}
    for column, by_length in enumerate(models.values(), 2):
        for length, by_language in by_length.items():
            for language, tokens in by_language.items():
                blank = [length.upper(), language, *["-"] * len(models)]
                rows.setdefault((length, language), blank)[column] = _count(tokens)
    header = ["length", "language", *models]
    return titled(title, header, list(rows.values()), markdown, left=(0, 1))


def _kinds_of_errors(
    what: str, kinds_by_name: Mapping[str, Mapping[str, int]], markdown: bool
) -> str:
    """Return the number of errors of each kind, by language, or by task and length."""
    rows = []
    for name, kinds in kinds_by_name.items():
        total = sum(kinds.values())
        for kind, count in kinds.items():
            rows.append([name, kind, str(count), f"{100 * count / total:.0f} %"])
    header = [what, "kind", "rows", "share"]
    return titled(f"Kinds of errors by {what}", header, rows, markdown, left=(0, 1))


# ---- Cells ---------------------------------------------------------------------------------------


def _count(value: float | None) -> str:
    """Return a whole number with thousands separated."""
    return "-" if value is None else f"{value:,.0f}"


def _mean(item: Mapping[str, Any]) -> list[str]:
    """Return a mean and its interval."""
    return [number(item["score"]), bounds(item["interval"])]


def _spread(item: Mapping[str, Any]) -> list[str]:
    """Return a mean over models, the lowest and the highest of them."""
    return [number(item["score"]), number(item["lowest"]), number(item["highest"])]
