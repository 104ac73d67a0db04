"""The aggregates of a results.json: per length, over lengths, by category, by language.

    summary["tekken"]["en"]["all"] = {
        "tasks": 13,                                         # tasks that belong to it
        "lengths": {"4k": {"tokens", "score", "strict", "interval", "tasks", "lacking"}},
        "average", "weighted_inc", "weighted_dec", "area",   # {"score", "interval"} over lengths
        "threshold", "effective_length", "effective_length_interval", "effective_length_name",
        "relative_effective_length"}

Groups of ruler are `all` (Tables 3 and 12) and the four categories (Tables 13 to 16), of oneruler
`niah`, `cwe` and `all` (of pairs of two languages, which have no cwe, the niah tasks); of a custom
suite, its groups. A length counts in the averages and for the effective length only if every task
of the group was scored at it; `tasks` says how many were. If there are several languages, `*` is
the mean over them; pairs of two languages are apart from it, and `*-*` is the mean over those.
`area` is the area under the scores over the logarithm of the length, in percent of that of a model
which is right everywhere.

The control `0k` counts in no average: there a row is its evidence alone, so a low score says that
the task is not understood, and a score that falls from there that the length is the cause. If it
was scored, a length has `relative_to_0k`, its mean in percent of that at `0k`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ruler_common.names import GROUPS, Names, languages_of
from ruler_eval.score import intervals
from ruler_eval.score.effective_length import (
    ALL_TASKS,
    CATEGORIES,
    Baseline,
    Category,
    area_weights,
    effective_length,
    effective_length_interval,
    effective_length_name,
    relative_effective_length,
    weights,
)
from ruler_eval.score.results_file import (
    Cell,
    GroupSummary,
    LengthMean,
    Mean,
    Summary,
    is_alone,
    lengths_of,
    scores_in,
)

EVERY_LANGUAGE = "*"
EVERY_PAIR = "*-*"
Cells = Mapping[str, Cell]


def summary(
    cells: Cells,
    names: Names,
    standard: bool = True,
    baseline: Baseline = "chat",
    claimed: int | None = None,
) -> Summary:
    """The aggregates of scored configurations, by tokenizer, languages and group.

    `standard` is False for a suite whose tasks have other parameters than the paper's: its scores
    have no threshold.
    """
    found: Summary = {}
    for tokenizer in dict.fromkeys(cell["tokenizer"] for cell in cells.values()):
        mine = {name: cell for name, cell in cells.items() if cell["tokenizer"] == tokenizer}
        pairs = list(dict.fromkeys(languages_of(cell) for cell in mine.values()))
        shown = pairs + [EVERY_LANGUAGE] * (sum("-" not in pair for pair in pairs) > 1)
        shown += [EVERY_PAIR] * (sum("-" in pair for pair in pairs) > 1)
        found[tokenizer or "unknown"] = {
            languages: {
                category.name: group(chosen, category, baseline, claimed)
                for category in categories(names, chosen, standard)
            }
            for languages in shown
            if (chosen := {n: cell for n, cell in mine.items() if in_languages(cell, languages)})
        }
    return found


def categories(names: Names, cells: Cells, standard: bool = True) -> list[Category]:
    """The groups to report: the paper's, or the suite's own without a threshold."""
    if standard and names.dataset == "ruler" and set(names.tasks) == set(ALL_TASKS.tasks):
        return [Category("all", ALL_TASKS.tasks, ALL_TASKS.chat, ALL_TASKS.base), *CATEGORIES]
    groups = {"all": names.tasks} | dict(names.groups)
    if names.dataset == "oneruler":
        groups = {name: groups.get(name, tasks) for name, tasks in GROUPS["oneruler"].items()}
    scored = {cell["task"] for cell in cells.values()}
    if names.dataset == "oneruler" and all("-" in languages_of(cell) for cell in cells.values()):
        lacking = {*GROUPS["oneruler"]["cwe"]} - scored
        groups["all"] = tuple(task for task in groups["all"] if task not in lacking)
    found = [Category(name, tuple(tasks)) for name, tasks in groups.items() if scored & set(tasks)]
    if "all" not in {category.name for category in found}:  # an ablation alone is in no group
        found.insert(0, Category("all", tuple(sorted(scored))))
    return found


def group(
    cells: Cells, category: Category, baseline: Baseline = "chat", claimed: int | None = None
) -> GroupSummary:
    """One group's row of a table: its mean at each length and what is made of those."""
    mine = {name: cell for name, cell in cells.items() if cell["task"] in category.tasks}
    lengths: dict[str, LengthMean] = {}
    whole: list[str] = []
    pairs = {languages_of(cell) for cell in mine.values()}
    for length in lengths_of(mine.values()):
        here = {name: cell for name, cell in mine.items() if cell["length"] == length}
        tokens = max(cell["max_length"] for cell in here.values())
        tasks = {cell["task"] for cell in here.values() if cell["score"] is not None}
        score, strict, interval = combine(here)
        lengths[length] = {
            "tokens": tokens,
            "score": score,
            "strict": strict,
            "interval": interval,
            "tasks": len(tasks),
            "lacking": [task for task in category.tasks if task not in tasks],
        }
        if (relative := _mean_relative(here, mine)) is not None:
            lengths[length]["relative_to_0k"] = relative
        scored = sum(cell["score"] is not None for cell in here.values())
        if tokens and scored == len(category.tasks) * len(pairs):
            whole.append(length)
    means = [lengths[length] for length in whole]
    scores = {mean["tokens"]: mean["score"] for mean in means if mean["score"] is not None}
    bounds = {mean["tokens"]: mean["interval"] for mean in means if mean["interval"] is not None}
    called = {mean["tokens"]: name for name, mean in lengths.items()}
    threshold = category.threshold(baseline)
    return {
        "tasks": len(category.tasks),
        "lengths": lengths,
        "average": over_lengths(mine, whole, [1] * len(whole)),
        "weighted_inc": over_lengths(mine, whole, weights(len(whole), "inc")),
        "weighted_dec": over_lengths(mine, whole, weights(len(whole), "dec")),
        "area": over_lengths(mine, whole, area_weights([mean["tokens"] for mean in means])),
        "threshold": threshold,
        "effective_length": None if threshold is None else effective_length(scores, threshold),
        "effective_length_interval": effective_length_interval(bounds, threshold),
        "effective_length_name": effective_length_name(scores, threshold, claimed, called),
        "relative_effective_length": relative_effective_length(scores),
    }


def over_lengths(cells: Cells, lengths: Iterable[str], weighting: Iterable[float]) -> Mean:
    """The weighted mean over lengths of the mean over tasks, with its interval."""
    by_length = dict(zip(lengths, weighting, strict=True))
    chosen = {name: cell for name, cell in cells.items() if cell["length"] in by_length}
    shares = {name: by_length[cell["length"]] for name, cell in chosen.items()}
    score, _, interval = combine(chosen, shares)
    return {"score": score, "interval": interval}


def combine(
    cells: Cells, weighting: Mapping[str, float] | None = None
) -> tuple[float | None, float | None, list[float] | None]:
    """The weighted means of cells' scores and strict scores, and the interval of the first.

    Cells of a task share rows by index. All three are None where no cell has a score.
    """
    shares: dict[str, float] = {}
    rows: dict[str, dict[int, float]] = {}
    scored: list[tuple[float, float, float]] = []
    for name, cell in cells.items():
        if cell["score"] is not None and cell["strict"] is not None:
            shares[name] = share = 1.0 if weighting is None else float(weighting[name])
            scored.append((share, cell["score"], cell["strict"]))
            rows[name] = scores_in(cell)
    if not (total := sum(shares.values())):
        return None, None, None
    score = sum(share * score for share, score, _ in scored) / total
    strict = sum(share * strict for share, _, strict in scored) / total
    return score, strict, intervals.percent(*intervals.units(rows, cells, shares))


def for_all(by_language: Iterable[str]) -> str:
    """The languages that stand for a run: the mean over them, the only one, or over all pairs."""
    known = list(by_language)
    wanted = (EVERY_LANGUAGE, *(name for name in known if "-" not in name), EVERY_PAIR)
    return next((name for name in wanted if name in known), known[0])


def in_languages(cell: Cell, languages: str) -> bool:
    """Whether a cell is of `pl`, of `en-ko`, of any one language (*), of any pair (*-*)."""
    pair = languages_of(cell)
    return languages in (pair, EVERY_PAIR if "-" in pair else EVERY_LANGUAGE)


def with_relative(cells: Cells) -> dict[str, Cell]:
    """Return the cells with `relative_to_0k`, if their task has a score above 0 at `0k`."""
    alone = _scores_alone(cells)
    found: dict[str, Cell] = {}
    for name, cell in cells.items():
        control = alone.get(_place(cell))
        if is_alone(cell) or cell["score"] is None or not control:
            found[name] = cell
        else:
            found[name] = {**cell, "relative_to_0k": 100 * cell["score"] / control}
    return found


def _mean_relative(here: Cells, cells: Cells) -> float | None:
    """Return the mean score of some cells by the mean of their tasks at `0k`.

    None if one of them was not scored there.
    """
    alone = _scores_alone(cells)
    if not alone:
        return None
    scores, controls = list[float](), list[float]()
    for cell in here.values():
        if cell["score"] is None or is_alone(cell):
            continue
        control = alone.get(_place(cell))
        if control is None:
            return None
        scores.append(cell["score"])
        controls.append(control)
    return 100 * sum(scores) / sum(controls) if sum(controls) else None


def _scores_alone(cells: Cells) -> dict[tuple[str, str | None, str], float]:
    return {
        _place(cell): cell["score"]
        for cell in cells.values()
        if is_alone(cell) and cell["score"] is not None
    }


def _place(cell: Cell) -> tuple[str, str | None, str]:
    return cell["task"], cell["tokenizer"], languages_of(cell)
