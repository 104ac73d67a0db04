"""Is a changed model surely no worse than so much? For quantised and tuned models in CI.

    found = decide(compare(base, quantised), 1.5)
    found["verdict"], found["needed"]                   # ("unknown", 1830)

A difference is held against a limit by its 95 % interval (ruler_eval/analysis/compare.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_eval.score.intervals import CONFIDENCE, NO_SPREAD

Verdict = Literal["smaller", "larger", "unknown"]
EXIT_CODES: dict[Verdict, int] = {"smaller": 0, "larger": 1, "unknown": 3}
"""What `ruler compare --max-drop` ends with; 2 is a mistake in what was given."""


class Decision(TypedDict):
    """Whether B lost less than `max_drop` points against A, and the rows it would take to know.

    `rows` are the rows of a configuration on average; `needed` as many as would decide it if the
    difference stayed as it is, None where it is decided or no number would do.
    """

    max_drop: float
    drop: float
    interval: list[float]
    verdict: Verdict
    rows: int
    needed: int | None


def decide(found: Mapping[str, Any], max_drop: float) -> Decision:
    """Hold the drop from A to B over all configurations against the largest that is allowed.

    The drop is surely smaller if its whole 95 % interval lies below `max_drop` (points), surely
    larger if it lies above. Raises RulerError for a limit that is no number.
    """
    if not math.isfinite(max_drop):
        raise RulerError(f"--max-drop {max_drop} is not a number of points, such as 1.5.")
    low, high = found["all"]["interval"]
    drop = found["all"]["difference"]
    verdict: Verdict = "smaller" if high < max_drop else "larger" if low > max_drop else "unknown"
    sizes = [cell["n"] for cell in found["configurations"].values()]
    rows, gap = round(sum(sizes) / len(sizes)), abs(max_drop - drop)
    needed = None
    if verdict == "unknown" and gap > 1e-9:
        needed = max(rows + 1, math.ceil(rows * _times_the_rows(found["all"], gap / 100)))
    bounds = [low, high]
    return Decision(
        max_drop=max_drop, drop=drop, interval=bounds, verdict=verdict, rows=rows, needed=needed
    )


def _times_the_rows(mean: Mapping[str, Any], half: float) -> float:
    """How many times the rows give an interval of `half` (0 … 1) each way, if as many differ.

    It is the interval of analysis/compare.py: its spread falls with the square root of the
    rows, its widening by one more row with the rows, and where no row differs it is all widening.
    """
    rows, spread = float(mean["independent_rows"]), float(mean["spread"]) / 100
    if spread < NO_SPREAD:
        return math.log((1 - CONFIDENCE) / 2) / math.log(1 - half) / rows
    low, high = (float(bound) / 100 for bound in mean["interval"])
    one_more = 1 / (rows * spread) ** 2
    plain = ((high - low) / 2) ** 2 / (1 + one_more)
    return (plain + math.sqrt(plain**2 + 4 * half**2 * plain * one_more)) / (2 * half**2)
