"""ONERULER's languages ranked by a model's scores, and what the ranks go with.

ranking = ranked(cells, about)                # Figure 4
ranking[0]                                    # {"language": "pl", "rank": 1, "score": 88.0, …}
wikipedia(ranking), kendall(ranking, another)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from typing_extensions import TypedDict

from ruler_common.languages import LanguageFacts
from ruler_common.names import languages_of
from ruler_eval.analysis.languages.language_groups import Cells, in_niah
from ruler_eval.score.aggregates import combine
from ruler_eval.score.results_file import Interval

About = Mapping[str, LanguageFacts]
"""What is known of each language, by its code."""


class LanguageScore(TypedDict):
    """A language's mean over the niah tasks and lengths, and its rank, 1 for the best.

    `rank` is None where it was scored on other tasks and lengths (`cells` of them) than most.
    """

    language: str
    rank: int | None
    cells: int
    score: float
    interval: Interval | None
    articles: int


def ranked(cells: Cells, about: About) -> list[LanguageScore]:
    """The single languages by their mean over the niah tasks and all lengths (Figure 4).

    Languages are ranked where they were scored on the same tasks and lengths as most; the others
    stand behind them, without a rank.
    """
    found = []
    for language in dict.fromkeys(languages_of(cell) for cell in cells.values()):
        mine = {n: c for n, c in in_niah(cells).items() if languages_of(c) == language}
        score, _, interval = combine(mine)
        if score is not None and "-" not in language:
            scored = [c for c in mine.values() if c["score"] is not None]
            on = frozenset((c["task"], c["length"], c["tokenizer"]) for c in scored)
            found.append((score, language, interval, on))
    sets = Counter(on for *_, on in found)
    usual = max(sets, key=lambda on: (sets[on], len(on)), default=frozenset())
    found.sort(key=lambda item: (item[3] != usual, -item[0]))
    return [
        {
            "language": language,
            "rank": 1 + sum(o > score for o, *_, u in found if u == usual) if on == usual else None,
            "cells": len(on),
            "score": score,
            "interval": interval,
            "articles": about[language].wikipedia_articles,
        }
        for score, language, interval, on in found
    ]


def ranked_codes(ranking: Iterable[LanguageScore]) -> list[str]:
    """The languages that have a rank, the best first."""
    return [item["language"] for item in ranking if item["rank"] is not None]


def wikipedia(ranking: list[LanguageScore]) -> dict[str, float] | None:
    """Pearson's r of the scores with the logarithm of Wikipedia's size, and Spearman's with it.

    None of fewer than three languages, or where all score the same.
    """
    from scipy.stats import pearsonr, spearmanr

    known = [(item["score"], item["articles"]) for item in ranking if item["rank"]]
    scores = [score for score, _ in known]
    if len(known) < 3 or len(set(scores)) == 1:
        return None
    sizes = np.log10([float(articles) for _, articles in known])
    return {
        "languages": len(known),
        "pearson": float(pearsonr(scores, sizes).statistic),
        "spearman": float(spearmanr(scores, sizes).statistic),
    }


def kendall(a: list[LanguageScore], b: list[LanguageScore]) -> dict[str, float | int] | None:
    """Kendall's tau between two models' rankings of the languages both have; None of under two."""
    from scipy.stats import kendalltau

    theirs = {item["language"]: item["score"] for item in b if item["rank"]}
    mine = [item for item in a if item["rank"]]
    shared = [(i["score"], theirs[i["language"]]) for i in mine if i["language"] in theirs]
    if len(shared) < 2:
        return None
    found = kendalltau([x for x, _ in shared], [y for _, y in shared])
    if np.isnan(found.statistic):
        return None
    return {"languages": len(shared), "tau": float(found.statistic), "p": float(found.pvalue)}
