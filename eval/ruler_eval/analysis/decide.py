"""Is a changed model surely no worse than so much? For quantised and tuned models in CI.

    found = decide(compare(base, quantised), 1.5)
    found["verdict"], found["rows"]                     # ("smaller", 500)

A difference is held against a limit by its 95 % interval (ruler_eval/analysis/paired.py), from ten
independent rows on: of fewer no verdict is given. The interval is that of one look, at rows whose
number was chosen before. Who looks, runs more rows and looks again calls a drop of exactly the
limit smaller more often than the interval says: ruler_eval/analysis/sequential/ has the rule for
several looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_eval.score.intervals import FEWEST_ROWS

Verdict = Literal["smaller", "larger", "unknown"]
EXIT_CODES: dict[Verdict, int] = {"smaller": 0, "larger": 1, "unknown": 3}
"""What `ruler compare --max-drop` and `ruler decide` end with; 2 is a mistake in what was given."""


class Decision(TypedDict):
    """Whether B lost less than `max_drop` points against A.

    `rows` are the rows of a configuration on average; `whole` says whether they are all.
    `answered` is what the verdict would be over the rows that both models answered, if some failed
    or are missing.
    """

    max_drop: float
    drop: float
    interval: list[float]
    verdict: Verdict
    rows: int
    whole: bool
    answered: NotRequired[Verdict]


def decide(found: Mapping[str, Any], max_drop: float) -> Decision:
    """Hold the drop from A to B over all configurations against the largest that is allowed.

    The drop is surely smaller if its whole 95 % interval lies below `max_drop` (points), surely
    larger if it lies above; under FEWEST_ROWS independent rows it is unknown. Raises
    RulerError for a limit that is no number.
    """
    if not math.isfinite(max_drop):
        raise RulerError(f"--max-drop {max_drop} is not a number of points, such as 1.5.")
    every = found["all"]
    sizes = [cell["n"] for cell in found["configurations"].values()]
    decision = Decision(
        max_drop=max_drop,
        drop=every["difference"],
        interval=[*every["interval"]],
        verdict=_verdict(every, max_drop),
        rows=round(sum(sizes) / len(sizes)),
        whole=found["a"]["whole"] and found["b"]["whole"],
    )
    if "answered" in found:
        answered = found["answered"]
        decision["answered"] = _verdict(answered, max_drop) if answered else "unknown"
    return decision


def _verdict(difference: Mapping[str, Any], max_drop: float) -> Verdict:
    """Hold one difference of two means against the limit."""
    low, high = difference["interval"]
    if difference["independent_rows"] < FEWEST_ROWS:
        return "unknown"
    return "smaller" if high < max_drop else "larger" if low > max_drop else "unknown"
