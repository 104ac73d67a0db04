"""The page's first sentences: who leads, where the others lose, and how far each model holds.

    verdict(page, pair_runs(page))  # ["Other-14B leads: 7.1 points [5.9, 8.3] above Base-7B in …"]

Every number is in one of the page's tables. A model leads if the interval of the paired difference
over all rows excludes zero; a task is named only if its difference remains significant after an
adjustment for all tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ruler_common.text import bounds, number, number_of, shortened
from ruler_eval.analysis.compare import CellDifference, Comparison, Side
from ruler_eval.report.page.difference_section import Pair
from ruler_eval.report.page.runs import PageInput, Series
from ruler_eval.report.terminal import TROUBLE_NAMES, Trouble, effective_between, relative_name
from ruler_eval.score.aggregates import RELATIVE
from ruler_eval.score.results import GroupSummary, Interval

_SURE = 0.05
UNANSWERED: tuple[Trouble, ...] = ("missing", "failed", "cut")
_MAX_SENTENCE = 960  # characters


def verdict(page: PageInput, pairs: Sequence[Pair]) -> list[str]:
    """Return the sentences, the most important first."""
    ranked = sorted(page.series, key=_average, reverse=True)
    sentences = _leads(page, ranked, pairs) if len(ranked) > 1 else []
    if not sentences:
        for series in page.series:
            sentences += _scores(page, series)
    sentences += _holds(page, ranked)
    sentences += _not_answered(page)
    return [shortened(sentence, _MAX_SENTENCE) for sentence in sentences]


def _average(series: Series) -> float:
    """Return the average of a series; if no length has all tasks, the average of its means."""
    group = series.groups["all"]
    if group["average"]["score"] is not None:
        return group["average"]["score"]
    means = [mean["score"] for mean in group["lengths"].values() if mean["score"] is not None]
    return sum(means) / len(means) if means else -1.0


def _scores(page: PageInput, series: Series) -> list[str]:
    """Return a model's score, and its lowest cell, for models that are not ranked.

    If no length has all tasks, the scores are the means by length over the tasks that were scored.
    """
    sentences = []
    group = series.groups["all"]
    average = group["average"]
    if average["score"] is not None:
        sentences.append(
            f"{series.label} scores {average['score']:.1f} {bounds(average['interval'])} on "
            f"average over {number_of(group['tasks'], 'task')}."
        )
    else:
        means = []
        for length, mean in group["lengths"].items():
            if mean["score"] is not None:
                means.append(
                    f"{mean['score']:.1f} {bounds(mean['interval'])} at {length.upper()} "
                    f"({mean['tasks']} of {number_of(group['tasks'], 'task')})"
                )
        if means:
            sentences.append(f"{series.label} scores {', '.join(means)}.")
    cells = [cell for cell in series.cells.values() if cell["score"] is not None]
    scores = {cell["score"] for cell in cells}
    if len(scores) > 1:  # else each is the lowest
        lowest = min(cells, key=lambda cell: (cell["score"], cell["task"]))
        sentences.append(
            f"Lowest score of {series.label}: {lowest['score']:.1f}, in {lowest['task']} at "
            f"{lowest['length'].upper()}."
        )
    return sentences


@dataclass(frozen=True)
class Lead:
    """How the first of two series compares with the second."""

    comparison: Comparison
    side: Side  # of the first in the comparison
    sign: int  # of its lead in the comparison's differences, 1 or -1

    def difference(self) -> tuple[float, Interval, bool | None]:
        """Return the difference over all, its interval, and whether the first series is better.

        The last is None if the two do not differ clearly.
        """
        over_all = self.comparison["all"]
        low, high = over_all["interval"]
        if self.sign < 0:
            low, high = -high, -low
        is_better = None if over_all["better"] is None else over_all["better"] == self.side
        return self.sign * over_all["difference"], [low, high], is_better

    def worst(self) -> tuple[str, float] | None:
        """Return the configuration of the largest significant loss, and the loss."""
        cells = self.comparison["configurations"]
        losses = {}
        for name, cell in cells.items():
            if cell["better"] == self.side and _is_sure(cell, len(cells)):
                losses[name] = self.sign * cell["difference"]
        return max(losses.items(), key=lambda loss: loss[1], default=None)


def _lead(pairs: Sequence[Pair], first: Series, second: Series) -> Lead | None:
    """Return how two series compare; None if their runs are not paired."""
    for pair in pairs:
        if pair.comparison is not None:
            if (pair.a, pair.b) == (first.run_number, second.run_number):
                return Lead(pair.comparison, "a", 1)
            if (pair.b, pair.a) == (first.run_number, second.run_number):
                return Lead(pair.comparison, "b", -1)
    return None


def _leads(page: PageInput, ranked: Sequence[Series], pairs: Sequence[Pair]) -> list[str]:
    """Return how the best two by average compare, and where each model loses most to the best."""
    first, second = ranked[:2]
    lead = _lead(pairs, first, second)
    if lead is None:
        means = []
        for series in ranked:
            average = series.groups["all"]["average"]
            means.append(f"{series.label} {number(average['score'])} {bounds(average['interval'])}")
        return [f"By average, not paired: {', '.join(means)}."]
    points, interval, is_better = lead.difference()
    labels = first.label, second.label
    if is_better is False:  # lengths without all tasks are in this mean, but not in the average
        labels = second.label, first.label
        points, interval, is_better = -points, [-interval[1], -interval[0]], True
    where = "in the mean over all tasks and lengths"
    if is_better:
        text = f"{labels[0]} leads: {points:.1f} points {bounds(interval)} above {labels[1]}"
    else:
        text = f"{labels[0]} and {labels[1]} do not differ clearly: {points:+.1f} points "
        text += bounds(interval)
    sentences = [f"{text} {where}."]
    for series in ranked[1:]:
        lead = _lead(pairs, first, series)
        worst = None if lead is None else lead.worst()
        if worst is not None:
            cell = first.run.results["configurations"][worst[0]]
            sentences.append(
                f"{series.label} loses most against {first.label} in {cell['task']} at "
                f"{cell['length'].upper()}: {worst[1]:.1f} points."
            )
    return sentences


def _is_sure(cell: CellDifference, tests: int) -> bool:
    """Return whether a difference is significant among this number of tests.

    A difference without a p value is checked by a wider interval.
    """
    from scipy.special import ndtri

    if cell["p_holm"] is not None:
        return cell["p_holm"] < _SURE
    low, high = cell["interval"]
    wider = float(ndtri(1 - _SURE / 2 / tests) / ndtri(1 - _SURE / 2))
    return abs(cell["difference"]) > wider * (high - low) / 2


def _holds(page: PageInput, ranked: Sequence[Series]) -> list[str]:
    """Return the longest length that reaches the threshold, or 85 % of the shortest's score."""
    if page.has_one_length:
        return []
    sentences = []
    for threshold in dict.fromkeys(series.groups["all"]["threshold"] for series in ranked):
        texts = []
        for series in ranked:
            if series.groups["all"]["threshold"] == threshold:
                text = _how_far(series.groups["all"], page.lengths[-1].label)
                if text:
                    texts.append(f"{series.label} {text}")
        if texts and threshold is None:
            level = f"{100 * RELATIVE:.0f} % of its score at the shortest, by the means only"
            sentences.append(f"Relative length (at or above {level}): {'; '.join(texts)}.")
        elif texts:
            level = f"the threshold of {threshold:.1f}"
            sentences.append(f"Effective length (at or above {level}): {'; '.join(texts)}.")
    return sentences


def _how_far(group: GroupSummary, longest: str) -> str:
    """Return `to 32K`, or `below 4K`, with the lengths by the ends of the intervals."""
    end, between = relative_name(group), "-"
    if group["threshold"] is not None:
        end, between = group["effective_length_name"], effective_between(group)
    if end == "-":
        return ""
    text = f"below {end[1:]}" if end.startswith("<") else f"to {end}"
    if between not in ("-", end.removeprefix(">")):
        text += f" [{between} by the ends of the intervals]"
    return f"{text}, the longest scored" if end == longest else text


def _not_answered(page: PageInput) -> list[str]:
    """Return the rows that are missing, failed or truncated, in one sentence."""
    texts = []
    for run in page.runs:
        cells = run.results["configurations"].values()
        counts = []
        for key in UNANSWERED:
            if count := sum(cell[key] for cell in cells):
                counts.append(f"{count:,} {TROUBLE_NAMES[key]}")
        if counts:
            rows = sum(cell["rows_asked"] for cell in cells)
            texts.append(f"{run.label} {', '.join(counts)} of {number_of(rows, 'row')}")
    return [f"Not answered to the end: {'; '.join(texts)}."] if texts else []
