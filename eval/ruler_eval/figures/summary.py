"""In short: how good the models are, at which length they break, in which tasks, and why.

    summary(runs, pair_runs(runs)).sentences
    # ["Base-7B scores 71.3 [70.2, 72.4] on average over 13 tasks.",
    #  "Base-7B falls 25.1 points [23.0, 27.2] between 4K and 32K, mostly in niah_multiquery …"]

Every number of the sentences is in one of the figures. A model leads if the interval of the paired
difference over all rows excludes zero; a task is named only if its difference remains significant
after an adjustment for all tasks, or if the interval of its loss excludes zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ruler_common.text import bounds, number_of, shortened
from ruler_eval.analysis.compare import Comparison
from ruler_eval.figures.differences import Pair
from ruler_eval.figures.effective import effective_length, relative_length
from ruler_eval.figures.figure import Figure, score_text
from ruler_eval.figures.losses import loss_text, task_losses
from ruler_eval.figures.series import Runs, Series
from ruler_eval.score.aggregates import RELATIVE
from ruler_eval.score.results import LengthLoss
from ruler_eval.score.troubles import rows_not_whole

MAX_TASKS, MAX_KINDS = 3, 3
"""The largest number of tasks and of kinds of errors that a sentence names."""
BROKEN = 0.5
"""A model breaks at the first length that has this share of its largest loss."""
_SIGNIFICANT = 0.05
_MAX_SENTENCE = 960  # characters
Kinds = Mapping[int, Mapping[str, Counter[str]]]
"""The kinds of the wrong rows that were sorted, by series and configuration."""


def summary(
    runs: Runs, pairs: Sequence[Pair], kinds: Kinds | None = None, doctor: str = ""
) -> Figure:
    """Return the sentences about the runs, the most important first.

    Args:
        runs: the scored runs.
        pairs: their comparisons.
        kinds: the kinds of the wrong rows, if they were sorted.
        doctor: the headline of `ruler doctor`, if there is one.
    """
    ranked = sorted(runs.series, key=_average, reverse=True)
    sentences = _lead_sentences(ranked, pairs) if len(ranked) > 1 else _score_sentences(ranked[0])
    for series in ranked:
        sentences += _breaking_sentences(series, (kinds or {}).get(series.id, {}))
    if doctor:
        sentences.append(f"ruler doctor about the engine: {doctor}")
    if len(ranked) == 1:
        sentences += _lowest_score(ranked[0])
    if not runs.has_one_length:
        sentences += _length_sentences(runs, ranked)
    sentences += unanswered(runs)
    return Figure(
        name="summary",
        title="In short",
        sentences=[shortened(sentence, _MAX_SENTENCE) for sentence in sentences],
    )


def _average(series: Series) -> float:
    """Return the average of a series; if no length has all tasks, the average of its means."""
    group = series.groups["all"]
    if group["average"]["score"] is not None:
        return group["average"]["score"]
    means = [mean["score"] for mean in group["lengths"].values() if mean["score"] is not None]
    return sum(means) / len(means) if means else -1.0


# ---- How good ------------------------------------------------------------------------------------


def _score_sentences(series: Series) -> list[str]:
    """Return a model's score.

    If no length has all tasks, the scores are the means by length over the tasks that were scored.
    """
    group = series.groups["all"]
    tasks = number_of(group["tasks"], "task")
    if group["average"]["score"] is not None:
        lengths = {name: mean for name, mean in group["lengths"].items() if mean["tokens"]}
        whole = [name.upper() for name, mean in lengths.items() if not mean["lacking"]]
        where = f" at {', '.join(whole)}" if len(whole) < len(lengths) else ""
        score = score_text(group["average"])
        return [f"{series.label} scores {score} on average over {tasks}{where}."]
    means = []
    for length, mean in group["lengths"].items():
        if mean["score"] is not None:
            place = f"at {length.upper()} ({mean['tasks']} of {tasks})"
            means.append(f"{score_text(mean)} {place}")
    return [f"{series.label} scores {', '.join(means)}."] if means else []


def _lead_sentences(ranked: Sequence[Series], pairs: Sequence[Pair]) -> list[str]:
    """Return how the best two by average compare, their scores, and where each loses most."""
    best, second = ranked[:2]
    comparison, sign = _paired(pairs, best, second)
    if comparison is None:
        means = []
        for series in ranked:
            average = series.groups["all"]["average"]
            if average["score"] is None:  # no length has all tasks
                return [sentence for series in ranked for sentence in _score_sentences(series)]
            means.append(f"{series.label} {score_text(average)}")
        return [f"By average, not paired: {', '.join(means)}."]
    over_all = comparison["all"]
    first = best
    if over_all["better"] == ("b" if sign > 0 else "a"):
        # Lengths without all tasks are in this mean, but not in the average.
        first, second, sign = second, best, -sign
    points, (low, high) = sign * over_all["difference"], over_all["interval"]
    interval = bounds([low, high] if sign > 0 else [-high, -low])
    if over_all["better"] is None:
        text = f"{first.label} and {second.label} do not differ clearly: {points:+.1f} points "
        text += interval
    else:
        text = f"{first.label} leads: {points:.1f} points {interval} above {second.label}"
    over = "all tasks and lengths" if len(comparison["lengths"]) > 1 else "all tasks"
    if any(comparison["unpaired"].values()):
        over += ", on the rows that both have"
    sentences = [f"{text} in the mean over {over}."]
    for series in (first, second):
        sentences += _score_sentences(series)
    for series in ranked[1:]:
        comparison, sign = _paired(pairs, best, series)
        if comparison is not None and (worst := _largest_loss(comparison, sign)):
            config, loss = worst
            cell = best.run.results["configurations"][config]
            sentences.append(
                f"{series.label} loses most against {best.label} in {cell['task']} at "
                f"{cell['length'].upper()}: {loss:.1f} points."
            )
    return sentences


def _paired(pairs: Sequence[Pair], first: Series, second: Series) -> tuple[Comparison | None, int]:
    """Return the comparison of two series' runs, and the sign of the first's lead in it."""
    for pair in pairs:
        if (pair.a.id, pair.b.id) == (first.id, second.id):
            return pair.comparison, 1
        if (pair.b.id, pair.a.id) == (first.id, second.id):
            return pair.comparison, -1
    return None, 1


def _largest_loss(comparison: Comparison, sign: int) -> tuple[str, float] | None:
    """Return the configuration of the largest significant loss of the second model, and the loss.

    A difference without a p value is checked by an interval that is wider for the number of tests.
    """
    cells = comparison["configurations"]
    worst = None
    for name, cell in cells.items():
        low, high = cell["interval"]
        is_significant = abs(cell["difference"]) > _widened((high - low) / 2, len(cells))
        if cell["p_holm"] is not None:
            is_significant = cell["p_holm"] < _SIGNIFICANT
        loss = sign * cell["difference"]
        if cell["better"] and is_significant and loss > (worst[1] if worst else 0):
            worst = name, loss
    return worst


def _widened(half_width: float, tests: int) -> float:
    """Return half the width of a 95 % interval, adjusted for a number of tests (Bonferroni)."""
    from scipy.special import ndtri

    wider = ndtri(1 - _SIGNIFICANT / 2 / tests) / ndtri(1 - _SIGNIFICANT / 2)
    return half_width * float(wider)


def _lowest_score(series: Series) -> list[str]:
    """Return the sentence about a model's lowest cell, if its scores differ."""
    scores = []
    for cell in series.cells.values():
        if cell["score"] is not None:
            scores.append((cell["score"], cell["task"], cell["max_length"], cell["length"]))
    if not scores or min(scores)[0] == max(scores)[0]:
        return []
    score, task, _, length = min(scores)
    return [f"Lowest score of {series.label}: {score:.1f}, in {task} at {length.upper()}."]


# ---- Where it breaks, and why --------------------------------------------------------------------


def _breaking_sentences(series: Series, kinds: Mapping[str, Counter[str]]) -> list[str]:
    """Return at which length a model breaks, by how many points, in which tasks, and why."""
    losses = [loss for loss in series.groups["all"]["losses"] if loss["interval"] is not None]
    if not losses:  # one length, or a run that its scores stopped
        return _why(series, kinds, list(series.cells), "")
    place = breaking_length(losses)
    if place is None:
        last = losses[-1]
        text = (
            f"{series.label} does not fall clearly between {last['shorter'].upper()} and "
            f"{last['longer'].upper()}: {last['difference']:+.1f} points "
            f"{bounds(last['interval'])}"
        )
        if last["interval"] is not None and last["interval"][1] < 0:
            text += f", which is not clear after an adjustment for {len(losses)} lengths"
        return [f"{text}."]
    text = (
        f"{series.label} falls {loss_text(place)} between {place['shorter'].upper()} and "
        f"{place['longer'].upper()}"
    )
    tasks = _losing_tasks(series, place)
    if tasks:
        named = ", ".join(f"{task} ({-loss['difference']:.1f} points)" for task, loss in tasks)
        text += f", mostly in {named}"
    last = losses[-1]
    if last["longer"] != place["longer"]:
        text += f"; by {last['longer'].upper()} it is {loss_text(last)}"
    names = {task for task, _ in tasks} or {cell["task"] for cell in series.cells.values()}
    where = series.configs(place["longer"], names)
    at = f" in {', '.join(task for task, _ in tasks)}" if tasks else ""
    return [f"{text}.", *_why(series, kinds, where, f" at {place['longer'].upper()}{at}")]


def breaking_length(losses: Sequence[LengthLoss]) -> LengthLoss | None:
    """Return the loss at the first length that has half of the largest loss; None without losses.

    Only losses count whose interval excludes zero after an adjustment for the number of lengths:
    without it, a model that is equally good at six lengths was said to fall in 10 % of simulations.
    """
    clear = []
    for loss in losses:
        difference, interval = loss["difference"], loss["interval"]
        if interval is None:
            continue
        if difference + _widened(interval[1] - difference, len(losses)) < 0:
            clear.append(loss)
    if not clear:
        return None
    largest = min(loss["difference"] for loss in clear)
    return next(loss for loss in clear if loss["difference"] <= BROKEN * largest)


def _losing_tasks(series: Series, loss: LengthLoss) -> list[tuple[str, LengthLoss]]:
    """Return the tasks with the largest clear losses, until they are half of the whole loss."""
    chosen = []
    total = loss["difference"] * loss["tasks"]
    for task, of_task in task_losses(series, loss["shorter"], loss["longer"]):
        if of_task["interval"] is None or of_task["interval"][1] >= 0:
            continue
        chosen.append((task, of_task))
        lost = sum(of_task["difference"] for _, of_task in chosen)
        if len(chosen) == MAX_TASKS or lost <= total / 2:
            break
    return chosen


def _why(
    series: Series, kinds: Mapping[str, Counter[str]], configs: Sequence[str], where: str
) -> list[str]:
    """Return the most frequent kinds of errors in some configurations."""
    counts: Counter[str] = Counter()
    for config in configs:
        counts += kinds.get(config, Counter())
    total = counts.total()
    if not total:
        return []
    shares = []
    for kind, count in counts.most_common(MAX_KINDS):
        shares.append(f"{kind} {100 * count / total:.0f} %")
    return [
        f"Kinds of errors of {series.label}{where}: {', '.join(shares)} of "
        f"{number_of(total, 'wrong row')}."
    ]


def _length_sentences(runs: Runs, ranked: Sequence[Series]) -> list[str]:
    """Return the longest length that reaches the threshold, or 85 % of the shortest's score."""
    longest = [*runs.lengths][-1].upper()
    by_level: dict[str, list[str]] = {}
    for series in ranked:
        group = series.groups["all"]
        end, between = effective_length(group)
        if group["threshold"] is None:
            level = f"Relative length (at or above {100 * RELATIVE:.0f} % of its score at the "
            level += "shortest, by the means only)"
            end, between = relative_length(group), ""
        else:
            level = f"Effective length (at or above the threshold of {group['threshold']:.1f})"
        if end == "-":
            continue
        text = f"{series.label} below {end[1:]}" if end[0] == "<" else f"{series.label} to {end}"
        if between:
            text += f" [{between} by the ends of the intervals]"
        if end == longest:
            text += ", the longest scored"
        by_level.setdefault(level, []).append(text)
    return [f"{level}: {'; '.join(texts)}." for level, texts in by_level.items()]


def unanswered(runs: Runs) -> list[str]:
    """Return the numbers of rows that have no whole answer and count as wrong."""
    texts = []
    for run in runs.runs:
        if text := rows_not_whole(run.results["configurations"].values()):
            texts.append(f"{run.label} {text}")
    return [f"Not answered to the end: {'; '.join(texts)}."] if texts else []
