"""Runs from Python: run.

run("out", configs="all_4k", backend="oracle", out="runs/oracle")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ruler_eval.run.options import RunOptions
from ruler_release.api.calls import takes

if TYPE_CHECKING:
    from ruler_eval.gate.until import MeanEstimate
    from ruler_eval.run.progress import RunSummary


@takes(RunOptions)
def run(options: RunOptions) -> RunSummary:
    """Run a model over a release: every row is recorded once in the folder `out`; `ruler run`.

    Stopped anywhere, the same call does what is missing. Returns how the rows ended, by
    configuration. Raises RulerError before the first row if the run cannot be as asked; a row that
    fails is counted (`total["error"]`).
    """
    return run_model(options, on_look=lambda estimate: None)


def run_model(options: RunOptions, on_look: Callable[[MeanEstimate], None]) -> RunSummary:
    """Run a model; with `until`, `on_look` is called with the estimate after every wave."""
    if options.until is None:
        from ruler_eval.run.runner import run as run_rows

        return run_rows(options)
    from ruler_eval.gate.until import run_until

    return run_until(options, options.until, on_look)
