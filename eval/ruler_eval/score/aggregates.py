"""Compute the aggregates of a results.json: by length, over lengths, by category, by language.

    summary["tekken"]["en"]["all"] = {
        "tasks": 13,                                         # the number of tasks in the group
        "lengths": {"4k": {"tokens", "score", "strict", "interval", "tasks", "lacking"}},
        "average", "weighted_inc", "weighted_dec", "area",   # {"score", "interval"} over lengths
        "threshold", "effective_length", "effective_length_interval", "effective_length_name",
        "relative_effective_length", "losses"}

The groups of ruler are `all` (Tables 3 and 12) and the four categories (Tables 13 to 16); those of
oneruler `niah`, `cwe` and `all` (for pairs of two languages, which have no cwe, the niah tasks);
those of a custom suite are its own. A length counts in the averages and for the effective length
only if every task of the group was scored at it; the `tasks` of a length is the number that were.
With several languages, `*` is the mean over them, without pairs of two languages; `*-*` is the mean
over the pairs. `area` is the area under the scores over the logarithm of the length, in percent of
that of a model that is always right.

Effective length, its thresholds and the weights of the averages: RULER (arXiv:2404.06654), section
4. The tests compare them with Tables 3 and 12 to 16.

    by_length = {4096: 96.7, 8192: 95.8, 16384: 96.0, 32768: 95.9, 65536: 95.9, 131072: 94.4}
    effective_length(by_length, 85.6)            # 131072
    weights(6, "inc")                            # [1, 2, 3, 4, 5, 6]: wAvg.(inc)

A loss is the change from one length to a longer one, by the differences of rows with the same
index. In a release such rows ask the same (keys, values, chains, questions, relative depths), so
their differences vary less than the difference of two means. If rows with the same index ask
different things, as those of other generators, nothing is gained, but the interval is still valid:
it covers the loss in 93 to 100 % of simulated runs of 20 to 500 rows that are right or wrong
(bench/compare.py), and in 73 % at worst if a few rows are lost whole while many gain a little.

The control `0k`, whose rows are only their evidence, counts in no average. A low score at `0k`
means that the model does not understand the task; a score that falls from there, that the length is
the cause. If it was scored, a length has `percent_of_control`: its mean in percent of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.names import (
    CONTROL_LENGTH,
    GROUPS,
    Names,
    languages_of,
    length_name,
)
from ruler_eval.score import intervals
from ruler_eval.score.results import (
    Cell,
    GroupSummary,
    Interval,
    LengthLoss,
    LengthMean,
    Mean,
    RowsByConfig,
    Summary,
    is_control,
    tokenizer_of,
)

Baseline = Literal["chat", "base"] | float
"""The model whose score at 4K is the threshold of effective length, or the threshold itself."""
EVERY_LANGUAGE = "*"
EVERY_PAIR = "*-*"
Cells = Mapping[str, Cell]


@dataclass(frozen=True)
class Category:
    """A category of tasks and Llama-2-7B's score in it at 4K: the threshold of effective length."""

    name: str
    tasks: tuple[str, ...]
    chat: float | None = None
    base: float | None = None

    def threshold(self, baseline: Baseline) -> float | None:
        """Return the threshold for `chat` (aligned) or `base` models, or the number itself.

        Custom suites and ONERULER have no threshold: None.
        """
        if isinstance(baseline, str):
            return self.base if baseline == "base" else self.chat
        return baseline if self.name in ("all", ALL_TASKS.name) else self.chat


_RULER = GROUPS["ruler"]
ALL_TASKS = Category("all 13 tasks", _RULER["all"], 85.6, 79.4)
"""Tables 3 and 12."""
CATEGORIES = (
    Category("retrieval (NIAH)", _RULER["niah"], 96.9, 90.9),
    Category("multi-hop tracing (VT)", ("vt",), 89.7, 58.8),
    Category("aggregation (CWE/FWE)", _RULER["ag"], 84.8, 73.1),
    Category("question answering", _RULER["qa"], 49.7, 48.6),
)
"""Tables 13 to 16."""
RELATIVE = 0.85
"""The share of its score at the shortest length that a model has to reach."""


def parse_baseline(threshold: str | float) -> Baseline:
    """Read `chat`, `base` or a number (0 … 100); raise RulerError for anything else."""
    if threshold in ("chat", "base"):
        return cast(Baseline, threshold)
    number = math.nan
    with suppress(ValueError):
        number = float(threshold)
    if 0 < number < 1:
        raise RulerError(
            f"--threshold takes a score from 0 to 100, not {threshold}: did you mean "
            f"{100 * number:g}?"
        )
    if 0 <= number <= 100:
        return number
    raise RulerError(f"--threshold '{threshold}' is not chat, base or a score from 0 to 100.")


def weights(lengths: int, weighting: str) -> list[int]:
    """Return the weights of N lengths, shortest first.

    They are 1, 1, … (`equal`), 1, 2, … (`inc`) or …, 2, 1 (`dec`).
    """
    if weighting == "equal":
        return [1 for _ in range(lengths)]
    if weighting == "inc":
        return list(range(1, lengths + 1))
    if weighting == "dec":
        return list(range(lengths, 0, -1))
    raise RulerError(f"Unknown weighting '{weighting}': it is equal, inc or dec.")


def area_weights(tokens: Sequence[int]) -> list[float]:
    """Return the weight of each length in the area under the scores over log2 of the lengths.

    By the trapezoidal rule, a length weighs half the distance between its neighbours. A single
    length weighs 1.
    """
    if len(tokens) == 1:
        return [1.0]
    logarithms = np.log2(tokens)
    steps = np.diff(logarithms, prepend=logarithms[:1], append=logarithms[-1:])
    return list(((steps[:-1] + steps[1:]) / 2).tolist())


def effective_length(scores_by_length: Mapping[int, float], threshold: float) -> int | None:
    """Return the longest length, in tokens, with a score at or above the threshold, or None.

    Shorter lengths may be below it: only this rule gives the paper's tables.
    """
    passed = [tokens for tokens, score in scores_by_length.items() if score >= threshold]
    return max(passed, default=None)


def relative_effective_length(scores_by_length: Mapping[int, float]) -> int | None:
    """Return the longest length whose score is at least RELATIVE times that at the shortest.

    It measures how well a model keeps its own level; the paper's threshold is the same for all
    models. None without scores, and for a model that scores 0 at the shortest length.
    """
    at_shortest = scores_by_length[min(scores_by_length)] if scores_by_length else 0.0
    return effective_length(scores_by_length, RELATIVE * at_shortest) if at_shortest else None


def effective_length_name(
    scores_by_length: Mapping[int, float],
    threshold: float | None,
    claimed: int | None = None,
    names: Mapping[int, str] | None = None,
) -> str:
    """Return the effective length as in the tables: `32K`, `<4K`, or `>128K` if more was claimed.

    It is a dash without scores or without a threshold. `names` are the names of the lengths in the
    table's columns.
    """
    lengths = sorted(scores_by_length)
    if not lengths or threshold is None:
        return "-"
    length = effective_length(scores_by_length, threshold)
    if length is None:
        return f"<{written(lengths[0], names)}"
    more = length == lengths[-1] and claimed is not None and claimed > length
    return f"{'>' if more else ''}{written(length, names)}"


def written(tokens: int, names: Mapping[int, str] | None = None) -> str:
    """Return a length by its name in `names`, else as in the papers: 131072 or 128000 is 128K."""
    if names and tokens in names:
        return names[tokens].upper()
    for dataset in ("ruler", "oneruler"):
        with suppress(RulerError):
            name = length_name(tokens, dataset)
            if not name.isdigit():  # 128000 is 128K here
                return name.upper()
    return str(tokens)


# ---- The summary -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SummaryOptions:
    """The options of a summary."""

    standard: bool = True  # False if tasks differ from the paper's, whose thresholds do not apply
    baseline: Baseline = "chat"
    claimed: int | None = None  # the model's context window in tokens
    intervals: bool = True


def summary(
    cells: Cells, rows: RowsByConfig, names: Names, options: SummaryOptions | None = None
) -> Summary:
    """Return the aggregates of scored configurations, by tokenizer, languages and group."""
    options = options or SummaryOptions()
    by_place: dict[str, dict[str, dict[str, Cell]]] = {}  # cells by tokenizer and languages
    for name, cell in cells.items():
        by_languages = by_place.setdefault(tokenizer_of(cell), {})
        by_languages.setdefault(languages_of(cell), {})[name] = cell
    aggregates: Summary = {}
    for tokenizer, by_languages in by_place.items():
        single: list[dict[str, Cell]] = []
        pairs: list[dict[str, Cell]] = []
        for languages, cells_of in by_languages.items():
            (pairs if "-" in languages else single).append(cells_of)
        for mean, several in ((EVERY_LANGUAGE, single), (EVERY_PAIR, pairs)):
            if len(several) > 1:
                by_languages[mean] = {}
                for cells_of in several:
                    by_languages[mean] |= cells_of
        aggregates[tokenizer] = {}
        for languages, cells_of in by_languages.items():
            aggregates[tokenizer][languages] = {
                category.name: group(cells_of, rows, category, options)
                for category in categories(names, cells_of, options.standard)
            }
    return aggregates


def in_languages(cell: Cell, languages: str) -> bool:
    """Return whether a cell is in `pl`, `en-ko`, any single language (*), or any pair (*-*)."""
    pair = languages_of(cell)
    return languages in (pair, EVERY_PAIR if "-" in pair else EVERY_LANGUAGE)


def for_all(by_language: Iterable[str]) -> str:
    """Return the languages that stand for a run: their mean, the only one, or all pairs."""
    names = list(by_language)
    single = [name for name in names if "-" not in name]
    for name in (EVERY_LANGUAGE, *single, EVERY_PAIR):
        if name in names:
            return name
    return names[0]


def categories(names: Names, cells: Cells, standard: bool) -> list[Category]:
    """Return the groups to report: the paper's, or those of the suite, without a threshold.

    `standard` is False if the tasks differ from the paper's, though they may have its names.
    """
    if standard and names.dataset == "ruler" and set(names.tasks) == set(ALL_TASKS.tasks):
        return [Category("all", ALL_TASKS.tasks, ALL_TASKS.chat, ALL_TASKS.base), *CATEGORIES]
    groups = {"all": names.tasks} | dict(names.groups)
    if names.dataset == "oneruler":
        groups = {name: groups.get(name, tasks) for name, tasks in GROUPS["oneruler"].items()}
    scored = {cell["task"] for cell in cells.values()}
    if names.dataset == "oneruler" and all("-" in languages_of(cell) for cell in cells.values()):
        lacking = {*GROUPS["oneruler"]["cwe"]} - scored
        groups["all"] = tuple(task for task in groups["all"] if task not in lacking)
    reported = [
        Category(name, tuple(tasks)) for name, tasks in groups.items() if scored & set(tasks)
    ]
    if all(category.name != "all" for category in reported):  # an ablation by itself
        reported.insert(0, Category("all", tuple(sorted(scored))))
    return reported


def group(
    cells: Cells, rows: RowsByConfig, category: Category, options: SummaryOptions
) -> GroupSummary:
    """Return one group's row of a table: its mean at each length, and figures over lengths."""
    by_length: dict[str, dict[str, Cell]] = {}
    scored: Counter[str] = Counter()  # cells by length
    controls: dict[tuple[str, str], float] = {}  # scores of controls, by task and languages
    languages = set()
    for name, cell in sorted(cells.items(), key=lambda item: item[1]["max_length"]):
        if cell["task"] in category.tasks:
            by_length.setdefault(cell["length"], {})[name] = cell
            scored[cell["length"]] += cell["score"] is not None
            languages.add(languages_of(cell))
            if is_control(cell) and cell["score"] is not None:
                controls[cell["task"], languages_of(cell)] = cell["score"]
    lengths: dict[str, LengthMean] = {}
    length_names: dict[int, str] = {}  # by tokens
    complete: dict[str, Cells] = {}  # lengths at which every task was scored in every language
    scores, lower, upper = dict[int, float](), dict[int, float](), dict[int, float]()
    for length, cells_at_length in by_length.items():
        mean = _length_mean(cells_at_length, rows, category, controls, options)
        mean["lacking"] += _lacking_languages(cells_at_length, languages)
        lengths[length] = mean
        length_names[mean["tokens"]] = length
        is_complete = scored[length] == len(category.tasks) * len(languages)
        if mean["score"] is not None and mean["tokens"] and is_complete:
            complete[length] = cells_at_length
            scores[mean["tokens"]] = mean["score"]
            if mean["interval"] is not None:
                lower[mean["tokens"]], upper[mean["tokens"]] = mean["interval"]
    threshold = category.threshold(options.baseline)
    ends = None
    if threshold is not None and lower:
        ends = [effective_length(lower, threshold), effective_length(upper, threshold)]
    n = len(complete)
    return {
        "tasks": len(category.tasks),
        "lengths": lengths,
        "average": _over_lengths(complete, rows, weights(n, "equal"), options),
        "weighted_inc": _over_lengths(complete, rows, weights(n, "inc"), options),
        "weighted_dec": _over_lengths(complete, rows, weights(n, "dec"), options),
        "area": _over_lengths(complete, rows, area_weights([*scores]), options),
        "threshold": threshold,
        "effective_length": None if threshold is None else effective_length(scores, threshold),
        "effective_length_interval": ends,
        "effective_length_name": effective_length_name(
            scores, threshold, options.claimed, length_names
        ),
        "relative_effective_length": relative_effective_length(scores),
        "losses": _losses(by_length, rows, options),
    }


def _lacking_languages(cells: Cells, languages: Collection[str]) -> list[str]:
    """Return the languages without a score in one of the tasks that others have at a length."""
    scored = {(c["task"], languages_of(c)) for c in cells.values() if c["score"] is not None}
    tasks = {task for task, _ in scored}
    return sorted(code for code in languages if any((task, code) not in scored for task in tasks))


def _length_mean(
    cells: Cells,
    rows: RowsByConfig,
    category: Category,
    controls: Mapping[tuple[str, str], float],
    options: SummaryOptions,
) -> LengthMean:
    """Return the mean over the cells of one length; `controls` are the scores of controls."""
    tasks, tokens = set(), 0
    total = total_of_controls = 0.0
    has_controls = True
    for cell in cells.values():
        tokens = max(tokens, cell["max_length"])
        if cell["score"] is None:
            continue
        tasks.add(cell["task"])
        control = controls.get((cell["task"], languages_of(cell)))
        has_controls = has_controls and control is not None and not is_control(cell)
        total += cell["score"]
        total_of_controls += control or 0
    score, strict, interval = combine(cells, rows)
    mean: LengthMean = {
        "tokens": tokens,
        "score": score,
        "strict": strict,
        "interval": interval if options.intervals else None,
        "tasks": len(tasks),
        "lacking": [task for task in category.tasks if task not in tasks],
    }
    if has_controls and total_of_controls:
        mean["percent_of_control"] = 100 * total / total_of_controls
    return mean


def _over_lengths(
    by_length: Mapping[str, Cells],
    rows: RowsByConfig,
    length_weights: Sequence[float],
    options: SummaryOptions,
) -> Mean:
    """Return the weighted mean over lengths of the mean over tasks, with its interval."""
    cells: dict[str, Cell] = {}
    shares: dict[str, float] = {}
    for cells_at_length, weight in zip(by_length.values(), length_weights, strict=True):
        cells |= cells_at_length
        shares |= dict.fromkeys(cells_at_length, weight)
    score, _, interval = combine(cells, rows, shares)
    return {"score": score, "interval": interval if options.intervals else None}


def combine(
    cells: Cells, rows: RowsByConfig, weighting: Mapping[str, float] | None = None
) -> tuple[float | None, float | None, Interval | None]:
    """Return the weighted means of scores and of strict scores, and the interval of the first.

    Cells of a task share rows by index. All three are None if no cell has a score.
    """
    values: dict[str, Mapping[int, float]] = {}
    total = score = strict = 0.0
    for name, cell in cells.items():
        if cell["score"] is not None and cell["strict"] is not None:
            share = 1.0 if weighting is None else weighting[name]
            values[name] = rows.scores[name]
            total += share
            score += share * cell["score"]
            strict += share * cell["strict"]
    if not total:
        return None, None, None
    strata = intervals.strata_of(values, cells, weighting, rows.documents)
    return score / total, strict / total, intervals.percent(strata)


# ---- Losses ----------------------------------------------------------------------------------


def _losses(
    by_length: Mapping[str, Cells], rows: RowsByConfig, options: SummaryOptions
) -> list[LengthLoss]:
    """Return the loss from the shortest length to each longer one; the control is left out."""
    names = [length for length in by_length if length != CONTROL_LENGTH]
    losses = []
    for longer in names[1:]:
        loss = length_loss({**by_length[names[0]], **by_length[longer]}, rows, names[0], longer)
        if loss is not None:
            losses.append(loss if options.intervals else {**loss, "interval": None})
    return losses


def length_loss(cells: Cells, rows: RowsByConfig, shorter: str, longer: str) -> LengthLoss | None:
    """Return how the mean changes from one length to a longer one, paired by the index of rows.

    The cells are of one tokenizer. None if no task has rows of one index at both lengths.
    """
    partners = {}
    for name, cell in cells.items():
        if cell["length"] == shorter:
            partners[cell["task"], languages_of(cell)] = name
    differences: dict[str, dict[int, float]] = {}
    pairs, tasks = 0, set()
    for name, cell in cells.items():
        partner = partners.get((cell["task"], languages_of(cell)))
        if cell["length"] != longer or partner is None:
            continue
        before, after = rows.scores[partner], rows.scores[name]
        paired = {index: after[index] - before[index] for index in after if index in before}
        if paired:
            differences[name] = paired
            pairs += len(paired)
            tasks.add(cell["task"])
    if not differences:
        return None
    estimate = intervals.paired_mean(intervals.strata_of(differences, cells, None, rows.documents))
    low, high = intervals.paired_interval(estimate)
    return {
        "shorter": shorter,
        "longer": longer,
        "difference": 100 * estimate.mean,
        "interval": [100 * low, 100 * high],
        "rows": pairs,
        "tasks": len(tasks),
    }
