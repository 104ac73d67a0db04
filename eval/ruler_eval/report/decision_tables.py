"""What `ruler decide` and `ruler run --until` print: looks in a line each, the verdict."""

from __future__ import annotations

from ruler_eval.analysis.sequential.mean_estimate import MeanEstimate
from ruler_eval.analysis.sequential.sequential_test import SequentialDecision
from ruler_eval.report.score_tables import bounds


def look_line(found: SequentialDecision) -> str:
    """One look: rows, the drop, and the interval that holds however often one looks."""
    return (
        f"{found['rows']:,} of {found['of']:,} rows of each task: B lost {found['drop']:.1f} "
        f"points so far, {bounds(found['interval'])}"
    )


def sequential_verdict(found: SequentialDecision) -> str:
    """The verdict, and what of the work it took."""
    limit, rows = f"{found['max_drop']:g} points", f"{found['rows']:,} rows a task"
    share = f"{100 * found['rows'] / found['of']:.0f} % of them"
    if found["rows"] == found["of"]:
        share = "all of them"
    known = {
        "smaller": f"B surely lost less than {limit}",
        "larger": f"B surely lost more than {limit}",
        "unknown": f"these rows cannot tell whether B lost less than {limit}",
    }[found["verdict"]]
    return (
        f"After {rows} ({share}): {known}. The drop over all is {found['drop']:.1f} "
        f"points, 95 % interval {bounds(found['interval'])}, which heeds that it may stop at any "
        "look. Nothing is said of single tasks or lengths."
    )


def estimate_line(found: MeanEstimate) -> str:
    """The estimate of `ruler run --until` after a wave."""
    return (
        f"{found['rows']:,} of {found['of']:,} rows of each task: the mean over all is "
        f"{found['score']:.1f} ± {found['half_width']:.1f}"
    )


def saved(tokens: int, price: tuple[float, float] | None) -> list[str]:
    """The prompt tokens of the rows that were not run, and their price; nothing if there are none.

    `price` is of a million tokens of prompts and of answers.
    """
    if not tokens:
        return []
    cost = f", {tokens * price[0] / 1e6:,.2f} at the price given" if price else ""
    return [f"Not run: {tokens:,} prompt tokens as the release counts them{cost}."]
