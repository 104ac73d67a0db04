"""The figures of hand-written results as the terminal shows them."""

from __future__ import annotations

from typing import Any

from ruler_eval.figures.comparisons import comparison_figures
from ruler_eval.figures.differences import Pair, difference_figure
from ruler_eval.figures.series import Runs, ScoredRun, runs_of
from ruler_eval.report.render import render
from tests.eval.scoring_helpers import whole_results


def runs_of_results(*all_results: Any) -> Runs:
    """Return results, of which fields may be missing, as runs of figures."""
    runs = []
    for number, results in enumerate(all_results):
        whole = results if "summary" in results else whole_results(results)
        runs.append(ScoredRun(label=str(whole["model"] or number), results=whole))
    return runs_of(runs)


def comparison_text(comparison: Any, a: Any, b: Any) -> str:
    """Return what `ruler compare` shows of two results."""
    runs = runs_of_results(a, {**b, "model": f"{b['model']} "})
    pair = Pair(a=runs.first_series(0), b=runs.first_series(1), comparison=comparison)
    figure = difference_figure(runs, pair, comparison)
    return render(comparison_figures(comparison, figure), "text")
