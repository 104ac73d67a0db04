"""Write the lines of `ruler decide` and `ruler run --until`: one per look, then the verdict.

progress_line(decision)            # '60 of 500 rows of each task: B lost 0.4 points so far; …'
decision_lines(decision)       # or decision_markdown(decision), for a pull request
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruler_common.text import bounds, number_of, table

if TYPE_CHECKING:
    from ruler_eval.gate.decide import AnsweredDrop, LookedAtModel, SequentialDecision
    from ruler_eval.gate.until import MeanEstimate

WORST_TASKS = 3
"""The number of tasks whose losses are named."""


def progress_line(decision: SequentialDecision) -> str:
    """Return the line of a look: rows, the drop so far, and its interval over all rows."""
    return (
        f"{decision['rows']:,} of {decision['of']:,} rows of each task: B lost "
        f"{decision['drop']:.1f} points so far; over all rows {bounds(decision['interval'])}"
    )


def decision_lines(decision: SequentialDecision) -> list[str]:
    """Return the verdict about these rows, then other rows, the worst tasks and failed rows."""
    lines = [verdict_sentence(decision)]
    if decision["rows"] < decision["of"]:
        lines.append(
            f"So far B lost {decision['drop']:.1f} points. Over all {decision['of']:,} rows of "
            f"each task it loses {bounds(decision['interval'])} (95 % interval, valid at every "
            "look)."
        )
    lines.append(
        "The drop on other rows like these is a different question: "
        f"{bounds(decision['other_rows_interval'])} (95 % interval)."
    )
    if decision["max_task_drop"] is not None:
        lines.append(task_sentence(decision))
    lines.append(worst_sentence(decision))
    if losses := worst_tasks(decision):
        lines.append(f"Largest losses by task, over its lengths, in points: {losses}.")
    return lines + _unanswered_lines(decision)


def verdict_sentence(decision: SequentialDecision) -> str:
    """Return the verdict about the mean over the rows of the plan, with both models named."""
    models = f"from {_named('A', decision['a'])} to {_named('B', decision['b'])}"
    margin, rows = f"{decision['max_drop']:g} points", f"{decision['of']:,} rows of each task"
    verdict = decision["mean_verdict"]
    if decision["rows"] == decision["of"]:
        compared = "below" if verdict == "smaller" else "not below"
        drop = f"{decision['drop']:.1f} points over all {rows}"
        return f"The drop {models} is {drop}: {compared} {margin}."
    if verdict == "unknown":
        return f"Whether the drop {models} over all {rows} is below {margin} is not decided."
    compared = "below" if verdict == "smaller" else "above"
    return (
        f"The drop {models} over all {rows} is {compared} {margin} ({_confidence(decision)}). "
        f"{decision['rows']:,} rows of each task were enough."
    )


def task_sentence(decision: SequentialDecision) -> str:
    """Return the verdict about every task at every length."""
    margin = f"{decision['max_task_drop']:g} points"
    sure = "" if decision["rows"] == decision["of"] else f" ({_confidence(decision)})"
    if decision["task_verdict"] == "smaller":
        return f"Every task at every length loses less than {margin}{sure}."
    if decision["task_verdict"] == "larger":
        return f"At least one task at one length does not lose less than {margin}{sure}."
    return f"Whether every task at every length loses less than {margin} is not decided."


def worst_sentence(decision: SequentialDecision) -> str:
    """Return the task and length with the largest loss, and the bounds of that loss."""
    worst = decision["worst"]
    place = f"{worst['task']} at {worst['length'].upper()}"
    text = f"Largest loss of a task at a length: {place}, {worst['drop']:.1f} points"
    if decision["rows"] == decision["of"]:
        return f"{text}."
    return (
        f"{text} so far; over all its rows {bounds(worst['interval'])} (intervals that hold for "
        "all tasks and lengths together, 95 %)."
    )


def _confidence(decision: SequentialDecision) -> str:
    return f"{100 * (1 - decision['alpha']):g} % confidence"


def worst_tasks(decision: SequentialDecision) -> str:
    """Return the tasks with the largest losses: `vt 4.2, cwe 1.1`; "" if B lost in none."""
    losses = [(task, drop) for task, drop in decision["tasks"].items() if drop > 0]
    return ", ".join(f"{task} {drop:.1f}" for task, drop in losses[:WORST_TASKS])


def decision_markdown(decision: SequentialDecision) -> str:
    """Return the decision as Markdown for a pull request: verdict, figures, losses by task."""
    passed = "Passed" if decision["verdict"] == "smaller" else "Failed"
    verdict, *lines = decision_lines(decision)
    rows = [[task, f"{drop:+.1f}"] for task, drop in decision["tasks"].items()]
    tasks = table(["task", "points lost"], rows, markdown=True)
    return "\n\n".join([f"**{passed}.** {verdict}", *lines, tasks])


def _named(side: str, model: LookedAtModel) -> str:
    return f"{model['model'] or 'unnamed'} ({side})"


def _unanswered_lines(decision: SequentialDecision) -> list[str]:
    """Return the counts of unanswered rows, and the verdict without them."""
    sides = {"A": _counts(decision["a"]), "B": _counts(decision["b"])}
    if not any(sides.values()):
        return []
    counts = " ".join(f"Rows of {side}: {text or 'all answered'}." for side, text in sides.items())
    if "answered" not in decision:
        return [counts]
    return [f"{counts} A row that failed or is missing counts as wrong.", _answered(decision)]


def _counts(model: LookedAtModel) -> str:
    """Return the counts of rows without a whole answer: `3 failed or missing, 1 truncated`."""
    endings = {"failed or missing": model["unanswered"], "truncated": model["truncated"]}
    return ", ".join(f"{count:,} {ending}" for ending, count in endings.items() if count)


def _answered(decision: SequentialDecision) -> str:
    answered: AnsweredDrop = decision["answered"]
    without = f"Without the {number_of(answered['unanswered'], 'row')} of either model"
    if answered["drop"] is None:
        return f"{without}, a task has no row that both answered, so there is no second verdict."
    margin = f"{decision['max_drop']:g} points"
    verdicts = {
        "smaller": f"which is below {margin}",
        "larger": f"which is not below {margin}",
        "unknown": f"which does not show yet whether it is below {margin}",
    }
    return f"{without} the drop is {answered['drop']:.1f} points, {verdicts[answered['verdict']]}."


def estimate_line(estimate: MeanEstimate) -> str:
    """Return the estimate of `ruler run --until` after a wave."""
    return (
        f"{estimate['rows']:,} of {estimate['of']:,} rows of each task: the mean over all is "
        f"{estimate['score']:.1f} ± {estimate['half_width']:.1f}"
    )


def not_run_lines(tokens: int, price: tuple[float, float] | None) -> list[str]:
    """Return the line of the rows that were not run: their prompt tokens and their price.

    `price` is per million tokens of prompts and of answers.
    """
    if not tokens:
        return []
    cost = f", {tokens * price[0] / 1e6:,.2f} at the price given" if price else ""
    return [f"Not run: {tokens:,} prompt tokens as the release counts them{cost}."]
