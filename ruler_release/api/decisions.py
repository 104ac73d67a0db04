"""Decisions with as few rows as they take, from Python: decide.

decide("runs/base", "runs/quantised", max_drop=2)["rows"]              # rows that exist
decide("runs/base", max_drop=2, model="org/quantised", backend="vllm", out="runs/quantised")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruler_eval.gate.options import DecideOptions
from ruler_release.api.calls import takes

if TYPE_CHECKING:
    from ruler_eval.gate.decide import SequentialDecision


@takes(DecideOptions)
def decide(options: DecideOptions) -> SequentialDecision:
    """Decide with as few rows as it takes whether a model lost less than a limit; `ruler decide`.

    With `backend`, `model` and `out` (or `other`) the rows of model B are run as they are needed;
    release, configurations, mode, thinking and sampling are those of the base run. Returns the last
    look: `verdict` is `smaller`, `larger` or `unknown`. Raises RulerError for runs that cannot be
    paired, and for another limit than the one fixed before the first row.
    """
    from ruler_eval.gate.decide import decide_run, decide_stored

    if options.other is not None and options.backend is None:
        return decide_stored(options)
    return decide_run(options, on_look=lambda look: None).decision
