"""Is a changed model surely no worse than so much? For quantised and tuned models in CI.

    found = decide(compare(base, quantised), 1.5)
    found["verdict"], found["needed"]                   # ("unknown", 1830)

A difference is held against a limit by its 95 % interval (ruler_eval/analysis/paired.py), from ten
independent rows on: of fewer no verdict is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_eval.analysis.paired import PairedMean, bounds
from ruler_eval.score.intervals import FEWEST_ROWS

Verdict = Literal["smaller", "larger", "unknown"]
EXIT_CODES: dict[Verdict, int] = {"smaller": 0, "larger": 1, "unknown": 3}
"""What `ruler compare --max-drop` ends with; 2 is a mistake in what was given."""
_MOST = math.log(1e12)
"""Of how many times the rows an answer is looked for."""


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
    larger if it lies above; under FEWEST_ROWS independent rows it is unknown. Raises
    RulerError for a limit that is no number.
    """
    if not math.isfinite(max_drop):
        raise RulerError(f"--max-drop {max_drop} is not a number of points, such as 1.5.")
    every = found["all"]
    low, high = every["interval"]
    drop, independent = every["difference"], every["independent_rows"]
    verdict: Verdict = "smaller" if high < max_drop else "larger" if low > max_drop else "unknown"
    if few := independent < FEWEST_ROWS:
        verdict = "unknown"
    sizes = [cell["n"] for cell in found["configurations"].values()]
    rows = round(sum(sizes) / len(sizes))
    needed = None
    if verdict == "unknown" and abs(max_drop - drop) > 1e-9:
        times = max(_times_the_rows(every, max_drop), FEWEST_ROWS / independent if few else 1)
        needed = max(rows + 1, math.ceil(rows * times))
    return Decision(
        max_drop=max_drop,
        drop=drop,
        interval=[low, high],
        verdict=verdict,
        rows=rows,
        needed=needed,
    )


def _times_the_rows(mean: Mapping[str, Any], max_drop: float) -> float:
    """How many times the rows give an interval that ends at `max_drop`, if as many differ."""
    from scipy.optimize import brentq

    difference, error, size = (mean[name] / 100 for name in ("difference", "spread", "size"))
    known = PairedMean(difference, error, mean["independent_rows"], size)
    end = int(known.mean < max_drop / 100)

    def beyond(power: float) -> float:
        return bounds(known, math.exp(power))[end] - max_drop / 100

    if beyond(0) * beyond(_MOST) >= 0:
        return 1.0
    return math.exp(brentq(beyond, 0, _MOST))
