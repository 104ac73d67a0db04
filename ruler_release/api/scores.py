"""Scores from Python: score, compare, report.

score("runs/oracle")["summary"]["tekken"]["en"]["all"]["average"]["score"]      # 0 … 100
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ruler_common.errors import RulerError
from ruler_common.options import Place, paths, several
from ruler_eval.report.options import ReportOptions
from ruler_eval.score.options import ScoreOptions
from ruler_release.api.calls import takes

if TYPE_CHECKING:
    from ruler_eval.analysis.compare import Comparison
    from ruler_eval.analysis.seeds import SeedComparison
    from ruler_eval.score.results import Compat, CutRule, Results


@takes(ScoreOptions)
def score(options: ScoreOptions) -> Results:
    """Score predictions against a frozen release; `ruler score`.

    Returns what results.json holds: scores 0 … 100, by configuration and summed up. Raises
    RulerError if nothing can be joined, or the run was made on other data.
    """
    return score_files(options)


def score_files(options: ScoreOptions) -> Results:
    """Score what the options name, and write the results."""
    from ruler_common.names import parse_length
    from ruler_common.text import announce, steps
    from ruler_eval.score import scoring
    from ruler_eval.score.aggregates import parse_baseline
    from ruler_eval.score.join import ScoringRules
    from ruler_eval.score.predictions import open_predictions
    from ruler_eval.score.results import write

    rules = ScoringRules(
        cast("Compat | None", options.compat), cast("CutRule", options.cut), options.partial
    )
    baseline = parse_baseline(options.threshold)
    if options.progress:
        announce("Reading the predictions")
    predictions, release = open_predictions(options)
    dataset = release.dataset if release else predictions.names.dataset
    claimed = None if options.claimed is None else parse_length(options.claimed.lower(), dataset)
    bar = functools.partial(steps, label="Scoring", quiet=not options.progress)
    results = scoring.score(predictions, release, rules, baseline, claimed, bar)
    if place := results_path(options):
        write(results, place)
    return results


def results_path(options: ScoreOptions) -> Path | None:
    """Return where the results are written: `out`, or in the RUN folder that is scored."""
    from ruler_eval.score.own_run import RUN_FILE

    if options.out:
        return Path(options.out)
    place = None
    for path in paths(options.files):
        if (path / RUN_FILE).is_file():
            place = path / "results.json"
    return place


def compare(
    a: Results | Place, b: Results | Place, *, max_drop: float | None = None
) -> Comparison | SeedComparison:
    """Compare two models on the same rows: differences A - B in points; `ruler compare`.

    Results of two seeds share no rows: they are compared unpaired, and have no `decision`.

    Args:
        a: What `score` returned, a results.json, or the RUN folder that holds one.
        b: The other model, in the same way.
        max_drop: Points that B may lose against A over all; then a decision is made, too.

    Returns:
        Differences with 95 % intervals: by configuration, by length, over all; with `max_drop` the
        `decision`. Raises RulerError for results that share no rows or cannot be paired.
    """
    from ruler_eval.analysis.compare import compare as compare_results
    from ruler_eval.analysis.compare import decision, seeds_of
    from ruler_eval.score.results import open_results

    left, right = (open_results(Path(r)) if isinstance(r, str | Path) else r for r in (a, b))
    if seeds_of(left, right):
        if max_drop is not None:
            raise RulerError(
                "--max-drop needs two models on the same rows: these have different seeds."
            )
        from ruler_eval.analysis.seeds import compare_seeds

        return compare_seeds(left, right)
    comparison = compare_results(left, right)
    if max_drop is not None:
        comparison["decision"] = decision(comparison, max_drop)
    return comparison


@takes(ReportOptions)
def report(options: ReportOptions) -> Path:
    """Make a page of scored runs, one HTML file that needs no network; `ruler report`.

    Returns the page's path. Raises RulerError for what cannot be shown.
    """
    return write_page(options)


def write_page(options: ReportOptions) -> Path:
    """Write the page that the options ask for."""
    from ruler_eval.report.page.build import write_report
    from ruler_eval.report.page.runs import open_runs
    from ruler_eval.score.predictions import without_garbage_collection

    out = Path(options.out)
    with without_garbage_collection():
        opened = open_runs(
            paths(options.runs),
            several(options.names),
            None if options.dataset is None else str(options.dataset),
            options.revision,
            Path(options.references) if options.references else None,
        )
        doctor = None
        if options.doctor is not None:
            from ruler_eval.doctor.examine import read_verdict

            doctor = read_verdict(options.doctor)
            if doctor is None:
                raise RulerError(
                    f"'{options.doctor}' has no verdict: name the --out folder of a `ruler doctor` "
                    "that has ended."
                )
        write_report(opened, out, options.every_error, options.title, doctor)
    return out
