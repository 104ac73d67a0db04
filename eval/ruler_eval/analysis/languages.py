"""Compute the figures of ONERULER's paper from results.json.

ONERULER (arXiv:2503.01996), sections 3 and 4, Figures 1, 3 to 6 and 17 to 25:

    figures = analyze({"qwen": load(Path("runs/qwen"))})
    figures["models"]["qwen"]["languages"][0]      # {"language": "pl", "score": 88.0, …}

Scores and intervals are 0 … 100; intervals are 95 %. Every figure groups one of two tables: one has
a row for each configuration (`table_of_cells`), the other a row for each answer (`table_of_rows`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_common.languages import LanguageFacts
from ruler_common.names import GROUPS, TASKS, languages_of
from ruler_eval.frozen_release import ReleaseLanguages
from ruler_eval.prediction import ABLATION
from ruler_eval.score.aggregates import combine
from ruler_eval.score.intervals import Stratum, paired_interval, paired_mean
from ruler_eval.score.results import (
    Cell,
    Interval,
    Results,
    RowsByConfig,
    lengths_of,
    row_values,
    rows_by_config,
    tokenizer_of,
)

Cells = Mapping[str, Cell]
NIAH, CWE = GROUPS["oneruler"]["niah"], GROUPS["oneruler"]["cwe"]
HIGH_RESOURCE = 250_000
"""A language with at least this many Wikipedia articles (Table 2) is high-resource (section 2)."""
BEST = 5
"""The number of languages among the best and among the worst in Figure 1A, if there are enough."""
RESOURCES = ("english", "high", "low")
"""The groups of Figure 5: English, other high-resource languages, low-resource languages."""


class Score(TypedDict):
    """A mean over configurations."""

    score: float | None  # 0 … 100; None if nothing was scored
    interval: Interval | None
    languages: int  # the number of languages in the mean


NO_SCORE: Score = {"score": None, "interval": None, "languages": 0}


class LanguageScore(TypedDict):
    """A language's mean over the niah tasks and lengths, and its rank."""

    language: str
    rank: int | None
    """1 for the best; None if it was scored on other tasks and lengths than most languages."""
    cells: int  # the number of tasks and lengths at which it was scored
    score: float
    interval: Interval | None
    articles: int  # in its Wikipedia


class WordsRight(TypedDict):
    """How many of the ten words a model's cwe answers had, for three kinds of rows."""

    length: str
    task: str
    right_rows: int
    wrong_rows: int  # not truncated
    wrong: float | None  # the mean number of words in wrong rows (Figure 23)
    truncated_rows: int
    truncated: float | None  # the mean number of words in truncated rows


def analyze(
    results: Mapping[str, Results],
    errors: Iterable[Mapping[str, Any]] | None = None,
    lengths: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return all figures for which the results have data.

    Args:
        results: the results of each model, by its name.
        errors: the lines of `ruler errors --out` for each of the results; None to leave them out.
        lengths: the lengths to use; None for all. A model without results at them is left out.

    Raises:
        RulerError: for a length that no results have, and for errors that are not those of all the
            results together.
    """
    chosen = _chosen_cells(results, lengths)
    places = {
        config: (cell["task"], cell["length"])
        for result in results.values()
        for config, cell in result["configurations"].items()
    }
    chosen_errors = []
    if errors is not None:
        errors = list(errors)
        _check_errors(errors, results.values())
        for error in errors:
            if not lengths or places[error["config"]][1] in lengths:
                chosen_errors.append(error)
    about = _described_languages(results, chosen)
    models = {name: _model(results[name], cells, about) for name, cells in chosen.items()}
    return {
        "format": 1,
        "models": models,
        "over_models": over_models([*models.values()]) if len(models) > 1 else None,
        "rankings": {
            f"{a} | {b}": kendall(models[a]["languages"], models[b]["languages"])
            for a, b in combinations(models, 2)
        },
        "prompt_tokens": {
            name: prompt_tokens(table_of_rows(results[name], cells))
            for name, cells in chosen.items()
        },
        "errors": _count_kinds((str(e["languages"]), e) for e in chosen_errors),
        "errors_by_task": _count_kinds((" ".join(places[e["config"]]), e) for e in chosen_errors),
    }


def _chosen_cells(
    results: Mapping[str, Results], lengths: Collection[str] | None
) -> dict[str, dict[str, Cell]]:
    """Return the cells of each model that has any at these lengths; None for all lengths.

    Raises RulerError for a length that no results have.
    """
    if lengths:
        scored = lengths_of(
            cell for result in results.values() for cell in result["configurations"].values()
        )
        unknown = [length for length in lengths if length not in scored]
        if unknown:
            raise RulerError(
                f"There are no results at {unknown[0]}: choose --lengths from {', '.join(scored)}."
            )
    chosen = {}
    for name, result in results.items():
        cells_at_lengths = {
            config: cell
            for config, cell in result["configurations"].items()
            if not lengths or cell["length"] in lengths
        }
        if cells_at_lengths:
            chosen[name] = cells_at_lengths
    return chosen


def _described_languages(
    results: Mapping[str, Results], chosen: Mapping[str, Cells]
) -> dict[str, LanguageFacts]:
    """Return the facts on the 26 languages and the custom ones of the results.

    Raises RulerError if a language of the chosen cells has no description.
    """
    languages = ReleaseLanguages.joined(
        result["dataset"].get("languages", {}) for result in results.values()
    )
    about = {code: languages.facts(code) for code in languages}
    used_languages = {
        code
        for cells in chosen.values()
        for cell in cells.values()
        for code in languages_of(cell).split("-")
    }
    undescribed = sorted(used_languages - about.keys())
    if undescribed:
        raise RulerError(
            f"The results have rows in '{undescribed[0]}' but no description of that language: "
            "score the run again with `ruler score`."
        )
    return about


def _model(results: Results, cells: Cells, about: Mapping[str, LanguageFacts]) -> dict[str, Any]:
    """Return the figures of one model, from these cells of its results."""
    table, rows = table_of_cells(cells, about), table_of_rows(results, cells)
    means = Means(cells, rows_by_config(results))
    niah = table[table.is_niah]
    ranking = ranked(niah, means, about)
    best_first = [item["language"] for item in ranking if item["rank"] is not None]
    largest_first = sorted(best_first, key=lambda code: -about[code].wikipedia_articles)
    single = table[table.task == "niah_single"]
    return {
        "languages": ranking,
        "best_and_worst": best_and_worst(best_first, niah, means),
        "largest_and_smallest": best_and_worst(largest_first, single, means),
        "tasks": by_task(table, means),
        "crossed": crossed(niah, means),
        "wikipedia": wikipedia(ranking),
        "resources": resources(table, means),
        "scripts": scripts(niah, means),
        "none_ablation": none_ablation(results, cells),
        "cross_lingual": cross_lingual(niah, means),
        "reasoning": reasoning(rows, cells),
        "words_right": words_right(rows, cells),
    }


def table_of_cells(cells: Cells, about: Mapping[str, LanguageFacts]) -> pd.DataFrame:
    """Return a row for each configuration, with the columns by which the figures group them.

    `resource` and `script` are None for pairs of two languages.
    """
    rows = []
    for name, cell in cells.items():
        languages, facts = languages_of(cell), about.get(languages_of(cell))
        resource = None
        if facts is not None:
            resource = "high" if facts.wikipedia_articles >= HIGH_RESOURCE else "low"
        row = {
            "config": name,
            "task": cell["task"],
            "length": cell["length"],
            "max_length": cell["max_length"],
            "tokenizer": tokenizer_of(cell),
            "languages": languages,
            "text": cell["language"],
            "instruction": cell["instruction_language"],
            "resource": resource,
            "group": "english" if languages == "en" else resource,
            "script": facts.script if facts is not None else None,
            "is_niah": cell["task"] in NIAH,
            "is_pair": "-" in languages,
            "is_scored": cell["score"] is not None,
        }
        rows.append(row)
    return pd.DataFrame(rows)


def table_of_rows(results: Results, names: Collection[str]) -> pd.DataFrame:
    """Return a row for each answer to these configurations, from the table in results.json."""
    table = pd.DataFrame({**results["rows"]})
    tokens = {"thinking_tokens": "Int64", "prompt_tokens": "Int64"}
    return table[table.config.isin([*names])].astype(tokens)


@dataclass(frozen=True)
class Means:
    """Computes means over a model's configurations, with their intervals."""

    cells: Cells
    rows: RowsByConfig

    def by(self, table: pd.DataFrame, columns: Sequence[str]) -> dict[Any, Score]:
        """Return the mean of each group of configurations, by the group's values of `columns`."""
        means: dict[Any, Score] = {}
        for group, part in table.groupby([*columns], sort=False):
            cells = {name: self.cells[name] for name in part.config}
            score, _, interval = combine(cells, self.rows)
            languages = part.languages.nunique()
            means[group] = {"score": score, "interval": interval, "languages": languages}
        return means


# Languages by rank, resource and script


def ranked(
    niah: pd.DataFrame, means: Means, about: Mapping[str, LanguageFacts]
) -> list[LanguageScore]:
    """Rank the single languages by their mean over the niah tasks and all lengths (Figure 4).

    Only languages that were scored on the same tasks and lengths as most others are comparable and
    have a rank; the others come after them.
    """
    scored = niah[~niah.is_pair & niah.is_scored]
    by_language = means.by(scored, ["languages"])
    places: dict[str, frozenset[Any]] = {}  # the tasks and lengths of each language
    scores: dict[str, float] = {}
    for language, part in scored.groupby("languages", sort=False):
        score = by_language[(language,)]["score"]
        if score is not None:
            scores[str(language)] = score
            places[str(language)] = frozenset(
                zip(part.task, part.length, part.tokenizer, strict=True)
            )
    counts = Counter(places.values())
    usual = max(counts, key=lambda place: (counts[place], len(place)), default=frozenset())
    usual_scores = [score for language, score in scores.items() if places[language] == usual]
    ranking: list[LanguageScore] = []
    for language in sorted(scores, key=lambda code: (places[code] != usual, -scores[code])):
        rank = None
        if places[language] == usual:
            rank = 1 + sum(score > scores[language] for score in usual_scores)
        ranking.append(
            {
                "language": language,
                "rank": rank,
                "cells": len(places[language]),
                "score": scores[language],
                "interval": by_language[(language,)]["interval"],
                "articles": about[language].wikipedia_articles,
            }
        )
    return ranking


def wikipedia(ranking: Sequence[LanguageScore]) -> dict[str, float] | None:
    """Correlate scores with the logarithm of Wikipedia's size by Pearson's r and Spearman's rho.

    Returns None for fewer than three languages, or if all have the same score.
    """
    from scipy.stats import pearsonr, spearmanr

    items = [item for item in ranking if item["rank"]]
    scores = [item["score"] for item in items]
    if len(items) < 3 or len(set(scores)) == 1:
        return None
    sizes = np.log10([float(item["articles"]) for item in items])
    return {
        "languages": len(items),
        "pearson": float(pearsonr(scores, sizes).statistic),
        "spearman": float(spearmanr(scores, sizes).statistic),
    }


def kendall(
    a: Sequence[LanguageScore], b: Sequence[LanguageScore]
) -> dict[str, float | int] | None:
    """Return Kendall's tau between two models' rankings of the languages that both have.

    Returns None for fewer than two shared languages.
    """
    from scipy.stats import kendalltau

    scores_a = {item["language"]: item["score"] for item in a if item["rank"]}
    scores_b = {item["language"]: item["score"] for item in b if item["rank"]}
    shared = [language for language in scores_a if language in scores_b]
    if len(shared) < 2:
        return None
    test = kendalltau([scores_a[name] for name in shared], [scores_b[name] for name in shared])
    if np.isnan(test.statistic):
        return None
    return {"languages": len(shared), "tau": float(test.statistic), "p": float(test.pvalue)}


def best_and_worst(
    ranking: Sequence[str], table: pd.DataFrame, means: Means
) -> dict[str, Any] | None:
    """Return the means of the first and of the last languages of a ranking by length (Figure 1A).

    Returns None for fewer than two languages.
    """
    count = min(BEST, len(ranking) // 2)
    if not count:
        return None
    sides = {"best": [*ranking[:count]], "worst": [*ranking[-count:]]}
    side_of = {code: side for side, codes in sides.items() for code in codes}
    sided = table.assign(side=table.languages.map(side_of))
    by_group = means.by(sided, ["length", "side"])
    lengths = [
        {"length": length, **{side: by_group.get((length, side), NO_SCORE) for side in sides}}
        for length in _lengths(table)
    ]
    return {**sides, "lengths": lengths}


def by_task(table: pd.DataFrame, means: Means) -> list[dict[str, Any]]:
    """Return the means of the groups in RESOURCES by length and task (Figure 5)."""
    by_group = means.by(table, ["length", "task", "group"])
    rows = []
    for length, task in product(_lengths(table), TASKS["oneruler"]):
        groups = {group: by_group.get((length, task, group), NO_SCORE) for group in RESOURCES}
        if any(mean["languages"] for mean in groups.values()):
            rows.append({"length": length, "task": task, **groups})
    return rows


def resources(table: pd.DataFrame, means: Means) -> list[dict[str, Any]]:
    """Return the niah means of high- and low-resource languages by length (Figures 1 and 4)."""
    niah = table[table.is_niah]
    by_group = means.by(niah, ["length", "resource"])
    rows = []
    for length in _lengths(table):
        both = {group: by_group.get((length, group), NO_SCORE) for group in ("high", "low")}
        high, low = both["high"]["score"], both["low"]["score"]
        gap = None if high is None or low is None else high - low
        interval = _gap_interval(niah[niah.length == length], means)
        rows.append({"length": length, **both, "gap": gap, "gap_interval": interval})
    return rows


def _gap_interval(niah: pd.DataFrame, means: Means) -> Interval | None:
    """Return the 95 % interval of the gap between high- and low-resource languages at one length.

    Rows with the same index ask the same in every language, so the gap is computed row by row. The
    interval is about other rows in the same languages. None if a task lacks a group, if the tasks
    have different languages, or if no row was scored in all of them.
    """
    strata, languages = [], set()
    for _, task in niah[niah.resource.notna() & niah.is_scored].groupby("task", sort=False):
        rows = {name: means.rows.scores[name] for name in task.config}
        shared = sorted(set.intersection(*[{*by_index} for by_index in rows.values()]))
        languages.add(tuple(sorted(zip(task.languages, task.tokenizer, strict=True))))
        sides = []
        for group in ("high", "low"):
            names = task.config[task.resource == group]
            scores = [[rows[name][index] for index in shared] for name in names]
            sides.append(np.mean(scores, axis=0) if scores and shared else None)
        if sides[0] is None or sides[1] is None:
            return None
        strata.append(Stratum.from_rows(sides[0] - sides[1]))
    if len(languages) != 1:
        return None
    low, high = paired_interval(paired_mean(strata))
    return [100 * low, 100 * high]


def scripts(niah: pd.DataFrame, means: Means) -> list[dict[str, Any]]:
    """Return the niah means of the languages of each script, by length."""
    single = niah[~niah.is_pair]
    by_group = means.by(single, ["script", "length"])
    return [
        {"script": script, "length": length, **by_group[script, length]}
        for script, length in product(sorted({*single.script}), _lengths(single))
        if (script, length) in by_group
    ]


def _lengths(table: pd.DataFrame) -> list[str]:
    """Return the lengths of a table's configurations, shortest first."""
    return list(table.sort_values("max_length", kind="stable").length.unique())


# Text and instruction in two languages


def crossed(niah: pd.DataFrame, means: Means) -> list[dict[str, Any]]:
    """Return the niah means of pairs of languages by length (Figure 6A).

    The languages of the pairs are also listed with text and instruction in the same language.
    """
    by_group = means.by(niah, ["length", "text", "instruction"])
    codes = _codes_in_pairs(niah)
    rows = []
    for length, text, instruction in product(_lengths(niah), codes, codes):
        mean = by_group.get((length, text, instruction), NO_SCORE)
        if mean["score"] is not None:
            place = {"length": length, "text": text, "instruction": instruction}
            rows.append({**place, **mean})
    return rows


def cross_lingual(niah: pd.DataFrame, means: Means) -> dict[str, dict[str, float]]:
    """Return the niah mean by the text's language, then by the instruction's (Figure 6A)."""
    matrix: dict[str, dict[str, float]] = {}
    by_group = means.by(niah, ["text", "instruction"])
    for text, instruction in product(_codes_in_pairs(niah), repeat=2):
        score = by_group.get((text, instruction), NO_SCORE)["score"]
        if score is not None:
            matrix.setdefault(text, {})[instruction] = score
    return matrix


def _codes_in_pairs(table: pd.DataFrame) -> list[str]:
    """Return the languages that are part of a pair."""
    pairs = table[table.is_pair]
    return sorted({*pairs.text, *pairs.instruction})


# The option to answer "none"


def none_ablation(results: Results, cells: Cells) -> list[dict[str, Any]]:
    """Compare niah_single with and without the option to answer "none" (Figure 1B).

    The difference is with − without, over the rows that both tasks have, paired; it is negative if
    the option lowers the score.

    Raises:
        RulerError: if a row does not ask the same in both tasks.
    """
    comparisons = []
    scores, references = row_values(results, "score"), row_values(results, "references")
    offered = {_place(cell): name for name, cell in cells.items() if cell["task"] == "niah_single"}
    for name, cell in cells.items():
        if cell["task"] != ABLATION or _place(cell) not in offered:
            continue
        twin = offered[_place(cell)]
        with_none, without = scores[twin], scores[name]
        index = sorted(with_none.keys() & without.keys())
        if any(references[twin][i] != references[name][i] for i in index):
            raise RulerError(
                f"The rows of niah_single and {ABLATION} at {cell['length']} in "
                f"{languages_of(cell)} do not ask the same, so they cannot be paired: run both "
                "tasks of one release."
            )
        if not index:  # partial results without a shared row
            continue
        scores_with = np.array([with_none[i] for i in index])
        scores_without = np.array([without[i] for i in index])
        differences = scores_with - scores_without
        low, high = paired_interval(paired_mean([Stratum.from_rows(differences)]))
        comparisons.append(
            {
                "length": cell["length"],
                "languages": languages_of(cell),
                "with_none": 100 * float(scores_with.mean()),
                "without": 100 * float(scores_without.mean()),
                "difference": 100 * float(differences.mean()),
                "interval": [100 * low, 100 * high],
            }
        )
    return comparisons


def _place(cell: Cell) -> tuple[str, str, str, str | None]:
    return cell["length"], cell["language"], cell["instruction_language"], cell["tokenizer"]


# Answers


def reasoning(rows: pd.DataFrame, cells: Cells) -> list[dict[str, Any]]:
    """Return the mean reasoning tokens of right and wrong niah answers by length (Figure 20)."""
    counted = rows[rows.task.isin(NIAH) & rows.thinking_tokens.notna()]
    means = counted.groupby(["length", counted.score == 1]).thinking_tokens.mean()
    return [
        {
            "length": length,
            "right": _number(means.get((length, True))),
            "wrong": _number(means.get((length, False))),
        }
        for length in lengths_of(cells.values())
        if length in {*counted.length}
    ]


def words_right(rows: pd.DataFrame, cells: Cells) -> list[WordsRight]:
    """Return how many of the ten words were right, by length and task (Figure 23)."""
    is_truncated = rows.state == "truncated"
    kind = np.where(is_truncated, "truncated", np.where(rows.score == 1, "right", "wrong"))
    groups = rows.groupby(["length", "task", kind]).found.agg(["size", "mean"])
    counts, means = groups["size"].to_dict(), groups["mean"].to_dict()
    counted: list[WordsRight] = []
    for length, task in product(lengths_of(cells.values()), CWE):
        sizes = {}
        for name in ("right", "wrong", "truncated"):
            sizes[name] = int(counts.get((length, task, name), 0))
        if any(sizes.values()):
            counted.append(
                {
                    "length": length,
                    "task": task,
                    "right_rows": sizes["right"],
                    "wrong_rows": sizes["wrong"],
                    "wrong": _number(means.get((length, task, "wrong"))),
                    "truncated_rows": sizes["truncated"],
                    "truncated": _number(means.get((length, task, "truncated"))),
                }
            )
    return counted


def prompt_tokens(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the mean prompt tokens as the model counted them, by length and language (Figure 24).

    Models with different tokenizers count the same texts if they ran on the same release.
    """
    means: dict[str, dict[str, float]] = {}
    counted = rows[rows.prompt_tokens.fillna(0) > 0]
    for place, part in counted.groupby(["length", "language"], sort=False):
        length, languages = map(str, place)
        means.setdefault(length, {})[languages] = float(part.prompt_tokens.mean())
    return means


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _check_errors(errors: Iterable[Mapping[str, Any]], results: Collection[Results]) -> None:
    """Raise RulerError unless the errors are those of all results together.

    A row must have an error for each result in which it is wrong, and may have one for each in
    which it is right with something extra (`ruler errors --strict`) or was not counted.
    """
    remedy = "written with `ruler errors RUN --out FILE`"
    counts = Counter((str(error.get("config")), error["index"]) for error in errors)
    possible = _possible_errors(results, counts)
    for (config, index), count in counts.items():
        if not any(config in result["configurations"] for result in results):
            raise RulerError(
                f"The errors are in '{config}', which no results have: give the errors of the same "
                "runs."
            )
        if not possible[config, index]:
            raise RulerError(
                f"The errors have row {index} of '{config}', which is right in the results: give "
                f"the errors of the same runs, {remedy}."
            )
        if count > possible[config, index]:
            raise RulerError(
                f"The errors have row {index} of '{config}' more often than it is wrong in the "
                f"results: give the file of each run once, {remedy}."
            )
    for (config, index), count in _certain_errors(results).items():
        if counts[config, index] < count:
            raise RulerError(
                f"The errors lack row {index} of '{config}', which is wrong in the results: give "
                f"the whole file of each run, {remedy}."
            )


def _possible_errors(
    results: Iterable[Results], rows: Collection[tuple[str, int]]
) -> Counter[tuple[str, int]]:
    """Return in how many of the results each row may have an error."""
    counts: Counter[tuple[str, int]] = Counter()
    for result in results:
        scores = row_values(result, "score")
        for config, index in rows:
            cell = result["configurations"].get(config)
            if cell is None:
                continue
            if scores[config].get(index) != 1 or cell["strict"] != cell["score"]:
                counts[config, index] += 1
    return counts


def _certain_errors(results: Iterable[Results]) -> Counter[tuple[str, int]]:
    """Return in how many of the results no sample of each row is right."""
    counts: Counter[tuple[str, int]] = Counter()
    for result in results:
        for config, rows in row_values(result, "right").items():
            counts.update((config, index) for index, right in rows.items() if not right)
    return counts


def _count_kinds(errors: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, int]]:
    """Count the kinds of errors by language or task (Figures 6B, 18 and 19)."""
    counts: dict[str, Counter[str]] = {}
    for place, error in errors:
        counts.setdefault(place, Counter())[str(error["kind"])] += 1
    return {place: dict(kinds.most_common()) for place, kinds in sorted(counts.items())}


# Several models


def over_models(models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the means over models of the figures that every model has.

    They have no intervals, because models that answer the same rows are not draws from a
    population. `lowest` and `highest` are the scores of single models.
    """
    languages = []
    for (language,), rows in _shared_rows(models, "languages", ("language",)):
        if all(row["rank"] is not None for row in rows):
            languages.append({"language": language, **_mean_of([row["score"] for row in rows])})
    figures: dict[str, Any] = {
        "languages": sorted(languages, key=lambda row: -row["score"]),
        "resources": [],
        "tasks": [],
    }
    for (length,), rows in _shared_rows(models, "resources", ("length",)):
        means = {group: _mean_of([row[group]["score"] for row in rows]) for group in RESOURCES[1:]}
        figures["resources"].append({"length": length, **means})
    for (length, task), rows in _shared_rows(models, "tasks", ("length", "task")):
        means = {group: _mean_of([row[group]["score"] for row in rows]) for group in RESOURCES}
        figures["tasks"].append({"length": length, "task": task, **means})
    return figures


def _shared_rows(
    models: Sequence[Mapping[str, Any]], figure: str, keys: Sequence[str]
) -> list[tuple[tuple[str, ...], list[Mapping[str, Any]]]]:
    """Return the rows of a figure that every model has, by their keys."""
    tables = [{tuple(row[key] for key in keys): row for row in model[figure]} for model in models]
    return [
        (place, [table[place] for table in tables])
        for place in tables[0]
        if all(place in table for table in tables)
    ]


def _mean_of(scores: Sequence[float | None]) -> dict[str, Any]:
    """Return the mean over models, the lowest and the highest; None if a model has no score."""
    present = [score for score in scores if score is not None]
    if len(present) < len(scores):
        return {"score": None, "lowest": None, "highest": None}
    return {"score": sum(present) / len(present), "lowest": min(present), "highest": max(present)}
