"""What ONERULER's paper draws of models: languages, resources, none, reasoning, words.

ONERULER (arXiv:2503.01996), sections 3 and 4, Figures 1, 3 to 6 and 17 to 25, from results.json:

    found = analyze({"qwen": load(Path("runs/qwen"))})
    found["models"]["qwen"]["languages"][0]      # {"language": "pl", "score": 88.0, …}

Scores and intervals are 0 … 100; intervals are 95 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, Literal

import numpy as np
from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_common.names import GROUPS, languages_of
from ruler_eval.analysis.paired import paired_mean, percent
from ruler_eval.score.aggregates import combine
from ruler_eval.score.config_naming import ABLATION
from ruler_eval.score.results_file import Cell, Interval, Results, lengths_of

WIKIPEDIA_ARTICLES = {
    "en": 6_961_391, "de": 2_992_863, "fr": 2_668_204, "sv": 2_605_454, "nl": 2_180_999,
    "ru": 2_031_560, "es": 2_013_009, "it": 1_906_293, "pl": 1_649_832, "zh": 1_465_839,
    "ja": 1_452_150, "uk": 1_368_238, "vi": 1_293_417, "pt": 1_144_604, "fa": 1_030_086,
    "sr": 703_048, "ko": 699_221, "no": 643_075, "fi": 589_626, "cs": 563_790, "hu": 554_772,
    "da": 306_973, "ta": 172_122, "hi": 165_001, "sw": 97_374, "st": 1_383,
}  # fmt: skip
"""Articles of each language's Wikipedia, as the paper counts them (Table 2)."""
HIGH_RESOURCE = 250_000
"""Articles from which a language counts as one of high resource (section 2)."""
NIAH = GROUPS["oneruler"]["niah"]
Cells = Mapping[str, Cell]


class LanguageScore(TypedDict):
    """A language's mean over the niah tasks and lengths, and its rank, 1 for the best."""

    language: str
    rank: int
    score: float
    interval: Interval | None
    articles: int | None


class WordsRight(TypedDict):
    """How many of the ten words a model's cwe answers held, by length; three kinds of rows apart.

    `wrong` is the mean of rows that ended by themselves and were wrong, as in Figure 23.
    """

    length: str
    right_rows: int
    wrong_rows: int
    wrong: float | None
    truncated_rows: int
    truncated: float | None


def analyze(
    results: Mapping[str, Results], errors: Iterable[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """All that the results allow, by the models' names.

    `errors` are lines of `ruler errors --out`. Raises RulerError for results of another data set.
    """
    for name, result in results.items():
        if (dataset := result["dataset"]["name"]) != "oneruler":
            raise RulerError(f"'{name}' is of {dataset}: analyze is for ONERULER.")
    rankings = {name: ranked(result["configurations"]) for name, result in results.items()}
    return {
        "format": 1,
        "models": {
            name: {
                "languages": rankings[name],
                "wikipedia": wikipedia(rankings[name]),
                "resources": resources(cells),
                "none_ablation": none_ablation(cells),
                "cross_lingual": cross_lingual(cells),
                "reasoning": reasoning(cells),
                "words_right": words_right(cells),
            }
            for name, cells in ((name, one["configurations"]) for name, one in results.items())
        },
        "rankings": {
            f"{a} | {b}": kendall(rankings[a], rankings[b]) for a, b in combinations(results, 2)
        },
        "prompt_tokens": {n: prompt_tokens(r["configurations"]) for n, r in results.items()},
        "errors": error_kinds(errors),
    }


def ranked(cells: Cells) -> list[LanguageScore]:
    """The single languages by their mean over the niah tasks and all lengths (Figure 4)."""
    found = []
    for language in dict.fromkeys(languages_of(cell) for cell in cells.values()):
        mine = {n: c for n, c in _niah(cells).items() if languages_of(c) == language}
        score, _, interval = combine(mine)
        if score is not None and "-" not in language:
            found.append((score, language, interval))
    found.sort(key=lambda item: -item[0])
    return [
        {
            "language": language,
            "rank": 1 + sum(other > score for other, *_ in found),
            "score": score,
            "interval": interval,
            "articles": WIKIPEDIA_ARTICLES.get(language),
        }
        for score, language, interval in found
    ]


def wikipedia(ranking: list[LanguageScore]) -> dict[str, float] | None:
    """Pearson's r of the scores with the logarithm of Wikipedia's size, and Spearman's with it.

    None of fewer than three languages, or where all score the same.
    """
    from scipy.stats import pearsonr, spearmanr

    known = [(item["score"], item["articles"]) for item in ranking if item["articles"]]
    scores = [score for score, _ in known]
    if len(known) < 3 or len(set(scores)) == 1:
        return None
    sizes = np.log10([float(articles) for _, articles in known if articles])
    return {
        "languages": len(known),
        "pearson": float(pearsonr(scores, sizes).statistic),
        "spearman": float(spearmanr(scores, sizes).statistic),
    }


def resources(cells: Cells) -> list[dict[str, Any]]:
    """Languages of high and of low resource by length: niah means and their gap (Figures 1, 4)."""
    found = []
    for length in lengths_of(cells.values()):
        means: dict[str, Any] = {}
        for group in ("high", "low"):
            niah = [(n, c) for n, c in _niah(cells).items() if c["length"] == length]
            mine = {name: cell for name, cell in niah if _resource(cell) == group}
            score, _, interval = combine(mine)
            languages = len({languages_of(cell) for cell in mine.values()})
            means[group] = {"score": score, "interval": interval, "languages": languages}
        high, low = means["high"]["score"], means["low"]["score"]
        gap = None if high is None or low is None else high - low
        found.append({"length": length, **means, "gap": gap})
    return found


def none_ablation(cells: Cells) -> list[dict[str, Any]]:
    """niah_single with the offer to answer "none" against the same without (Figure 1B).

    A paired difference within one model: with − without, negative where the offer hurts. Raises
    RulerError if a row of the two does not ask the same.
    """
    found = []
    twins = {_place(c): c for c in cells.values() if c["task"] == "niah_single"}
    for cell in cells.values():
        if cell["task"] != ABLATION:
            continue
        if (offered := twins.get(_place(cell))) is None:
            continue
        with_, without = (_rows(c, "score") for c in (offered, cell))
        asked, again = (_rows(c, "references") for c in (offered, cell))
        index = sorted(with_.keys() & without.keys())
        if any(asked[i] != again[i] for i in index):
            raise RulerError(
                f"The rows of niah_single and {ABLATION} at {cell['length']} in "
                f"{languages_of(cell)} do not ask the same: they cannot be paired."
            )
        differences = np.array([with_[i] - without[i] for i in index])
        found.append(
            {
                "length": cell["length"],
                "languages": languages_of(cell),
                "with_none": offered["score"],
                "without": cell["score"],
                "difference": 100 * float(differences.mean()),
                "interval": percent(paired_mean([differences])),
            }
        )
    return found


def cross_lingual(cells: Cells) -> dict[str, dict[str, float]]:
    """The niah mean by the text's language, then by the instruction's (Figure 6A)."""
    crossed = {code for c in cells.values() if "-" in languages_of(c) for code in _pair(c)}
    matrix: dict[str, dict[str, float]] = {}
    for text in sorted(crossed):
        for instruction in sorted(crossed):
            mine = {n: c for n, c in _niah(cells).items() if _pair(c) == (text, instruction)}
            score, _, _ = combine(mine)
            if score is not None:
                matrix.setdefault(text, {})[instruction] = score
    return matrix


def reasoning(cells: Cells) -> list[dict[str, Any]]:
    """Mean reasoning tokens of right and of wrong niah answers by length (Figure 20)."""
    found = []
    for length in lengths_of(cells.values()):
        tokens: dict[bool, list[int]] = {True: [], False: []}
        for cell in _niah(cells).values():
            known = cell["rows"].get("thinking_tokens")
            if cell["length"] == length and known:
                for count, score in zip(known, cell["rows"]["score"], strict=True):
                    if count is not None:
                        tokens[score == 1].append(count)
        if tokens[True] or tokens[False]:
            right, wrong = _mean(tokens[True]), _mean(tokens[False])
            found.append({"length": length, "right": right, "wrong": wrong})
    return found


def words_right(cells: Cells) -> list[WordsRight]:
    """How many of the ten words were right, by length (Figure 23)."""
    found: list[WordsRight] = []
    for length in lengths_of(cells.values()):
        words: dict[str, list[int]] = {"right": [], "wrong": [], "truncated": []}
        for cell in cells.values():
            if cell["length"] != length or not cell["task"].startswith("cwe"):
                continue
            rows, cut = cell["rows"], set(cell["rows"]["truncated"])
            columns = (rows["index"], rows["score"], rows["found"])
            for index, score, count in zip(*columns, strict=True):
                kind = "truncated" if index in cut else "right" if score == 1 else "wrong"
                words[kind].append(count)
        if any(words.values()):
            found.append(
                {
                    "length": length,
                    "right_rows": len(words["right"]),
                    "wrong_rows": len(words["wrong"]),
                    "wrong": _mean(words["wrong"]),
                    "truncated_rows": len(words["truncated"]),
                    "truncated": _mean(words["truncated"]),
                }
            )
    return found


def prompt_tokens(cells: Cells) -> dict[str, dict[str, float]]:
    """Mean prompt tokens as the model counted them, by length, then languages (Figure 24).

    Of models with several tokenizers on one release these are the same texts.
    """
    found: dict[str, dict[str, float]] = {}
    groups: dict[tuple[str, str], list[int]] = {}
    for cell in cells.values():
        known = [count for count in cell["rows"].get("prompt_tokens", []) if count]
        groups.setdefault((cell["length"], languages_of(cell)), []).extend(known)
    for (length, languages), counts in groups.items():
        if counts:
            found.setdefault(length, {})[languages] = sum(counts) / len(counts)
    return found


def error_kinds(errors: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """The kinds of errors by language (Figures 6B, 18 and 19)."""
    found: dict[str, Counter[str]] = {}
    for error in errors:
        found.setdefault(str(error["languages"]), Counter())[str(error["kind"])] += 1
    return {language: dict(kinds.most_common()) for language, kinds in sorted(found.items())}


def kendall(a: list[LanguageScore], b: list[LanguageScore]) -> dict[str, float | int] | None:
    """Kendall's tau between two models' rankings of the languages both have; None of under two."""
    from scipy.stats import kendalltau

    theirs = {item["language"]: item["score"] for item in b}
    shared = [(i["score"], theirs[i["language"]]) for i in a if i["language"] in theirs]
    if len(shared) < 2:
        return None
    found = kendalltau([x for x, _ in shared], [y for _, y in shared])
    if np.isnan(found.statistic):
        return None
    return {"languages": len(shared), "tau": float(found.statistic), "p": float(found.pvalue)}


def _niah(cells: Cells) -> dict[str, Cell]:
    return {name: cell for name, cell in cells.items() if cell["task"] in NIAH}


def _place(cell: Cell) -> tuple[str, str, str, str | None]:
    return cell["length"], *_pair(cell), cell["tokenizer"]


def _rows(cell: Cell, column: Literal["score", "references"]) -> dict[int, Any]:
    return dict(zip(cell["rows"]["index"], cell["rows"][column], strict=True))


def _pair(cell: Cell) -> tuple[str, str]:
    return cell["language"], cell["instruction_language"]


def _resource(cell: Cell) -> str:
    """`high` or `low`; `crossed` for a pair of languages."""
    if "-" in languages_of(cell):
        return "crossed"
    return "high" if WIKIPEDIA_ARTICLES[cell["language"]] >= HIGH_RESOURCE else "low"


def _mean(values: list[int]) -> float | None:
    return sum(values) / len(values) if values else None
