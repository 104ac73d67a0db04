"""The Python API: one function for each main command, silent unless `progress` is set.

    import ruler_release as ruler
    ruler.build("out", lengths="4k", rows=5, sources="embedded")
    ruler.run("out", configs="all_4k", backend="oracle", out="runs/oracle")
    results = ruler.score("runs/oracle")

An argument that takes a list of names or files also takes a single one: `lengths="4k"` or
`lengths=["4k", "128k"]`. Names may also be separated by commas: `lengths="4k,128k"`. An error that
the caller can correct is a RulerError with one sentence, which names the command's flag:
`--lengths` is `lengths`. A wrong name of an argument, or a value of a wrong type, is a TypeError.
With `progress` progress bars are shown on stderr, if it is a terminal. Slow packages are imported
inside the calls.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ruler_builder.options import BuildOptions, VerifyOptions
from ruler_common.errors import RulerError
from ruler_common.files import check_keeps, write_whole
from ruler_common.options import Place, paths, several
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.export.options import ExportOptions
from ruler_eval.gate.options import DecideOptions
from ruler_eval.report.options import ReportOptions
from ruler_eval.run.options import RunOptions
from ruler_eval.score.options import ErrorsOptions, ScoreOptions
from ruler_release.option_arguments import check_argument, takes
from ruler_release.tokenizer_counts import tokens_by_tokenizer

if TYPE_CHECKING:
    import datasets

    from ruler_builder.release.build import Built
    from ruler_builder.verify.verify import VerifyReport
    from ruler_eval.analysis.compare import Comparison
    from ruler_eval.analysis.seeds import SeedComparison
    from ruler_eval.export.export_release import Exported
    from ruler_eval.gate.decide import SequentialDecision
    from ruler_eval.gate.until import MeanEstimate
    from ruler_eval.run.progress import RunSummary
    from ruler_eval.score.results import Compat, Results, TruncationRule
    from ruler_eval.score.stored import RunScores

__all__ = [
    "build",
    "compare",
    "decide",
    "doctor",
    "errors",
    "export",
    "load",
    "report",
    "run",
    "score",
    "tokens_by_tokenizer",
    "verify",
]

# ---- Releases ------------------------------------------------------------------------------------


@takes(BuildOptions)
def build(options: BuildOptions) -> Built:
    """Build a release in the folder `root`, or extend an existing one (`ruler build`).

    If it is interrupted, the same call continues. Returns the release's manifest and its new files.
    Raises RulerError. With several workers a script needs `if __name__ == "__main__":` around its
    calls.
    """
    from ruler_builder.release.build import build

    return build(options)


@takes(VerifyOptions)
def verify(options: VerifyOptions) -> VerifyReport:
    """Verify the release in the folder `root`: digests, rows, manifest and card (`ruler verify`).

    Returns the problems by file; `ok` means that there are none, and `proved` that every row is a
    frozen row or equal to a rebuilt one. Raises RulerError if there is no release, its manifest is
    damaged, or a tokenizer differs from the one in the manifest.
    """
    from ruler_builder.verify.verify import verify

    return verify(options)


def load(
    dataset: Place,
    config: str,
    *,
    tokenizer: str | None = None,
    revision: str | None = None,
    verify: bool = True,
    progress: bool = False,
) -> datasets.Dataset:
    """Load a configuration, like `datasets.load_dataset(dataset, config, split="test")`.

    Args:
        dataset: A release folder, or a repository on the Hub, ORG/NAME.
        config: A task or a group at a length: `vt_4k`, `niah_128k`, `niah_none_64k_pl`.
        tokenizer: The tokenizer of the rows, if the configuration does not name it.
        revision: The repository's tag or commit.
        verify: Compare each file with its sha256 in the manifest before reading it.
        progress: Show the progress bars of `datasets`.

    Returns:
        The rows. Raises RulerError for an unknown configuration, or a missing or changed file.
    """
    from contextlib import nullcontext

    from ruler_dataset import load as load_rows

    check_argument("load", "dataset", dataset, Place)
    check_argument("load", "config", config, str)

    with nullcontext() if progress else _no_bars():
        return load_rows(dataset, config, tokenizer, revision, verify)


@contextmanager
def _no_bars() -> Iterator[None]:
    """Hide the progress bars of `datasets`."""
    import datasets

    were_enabled = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if were_enabled:
            datasets.enable_progress_bars()


@takes(ExportOptions)
def export(options: ExportOptions) -> Exported:
    """Write a release in the format of another tool into the new folder `to` (`ruler export`).

    Returns the numbers of configurations and rows, and a command that uses the folder. Raises
    RulerError for an unknown configuration, a wrong digest, or a folder that is not empty.
    """
    return export_release(options)


def export_release(options: ExportOptions) -> Exported:
    """Export the configurations of the options."""
    from ruler_eval.export.export_release import export

    return export(
        str(options.dataset),
        options.format,
        Path(options.to),
        several(options.configs),
        options.tokenizer,
        options.revision,
    )


# ---- Runs ----------------------------------------------------------------------------------------


@takes(RunOptions)
def run(options: RunOptions) -> RunSummary:
    """Run a model on a release and record every row once in the folder `out` (`ruler run`).

    If it is interrupted, the same call runs the missing rows. Returns the states of the rows, by
    configuration. Raises RulerError before the first row if the options cannot work; rows that fail
    are counted in `total["error"]`.
    """
    return run_model(options, on_look=lambda estimate: None)


def run_model(options: RunOptions, on_look: Callable[[MeanEstimate], None]) -> RunSummary:
    """Run a model; with `until`, call `on_look` with the estimate after every wave."""
    if options.until is None:
        from ruler_eval.run.runner import run as run_rows

        return run_rows(options)
    from ruler_eval.gate.until import run_until

    return run_until(options, options.until, on_look)


@takes(DecideOptions)
def decide(options: DecideOptions) -> SequentialDecision:
    """Decide with few rows whether model B loses less than a margin (`ruler decide`).

    With `backend`, `model` and `out` (or `candidate`) the rows of model B are run as needed. Every
    argument of `run` that makes sense here is one of this call too; release, configurations, mode,
    thinking and sampling are those of model A if they are not given. Returns the last
    look: `verdict` is `smaller`, `larger` or `unknown`. Raises RulerError for runs that cannot be
    paired, and if the margin differs from the one fixed before the first row.
    """
    from ruler_eval.gate.decide import decide_run, decide_stored

    if options.candidate is not None and "backend" not in options.run:
        return decide_stored(options)
    return decide_run(options, on_look=lambda look: None).decision


@takes(DoctorOptions)
def doctor(options: DoctorOptions) -> dict[str, Any]:
    """Find out whether a bad score is the model's or the engine's (`ruler doctor`).

    The same rows are sent under conditions that should not matter; with `against` two deployments
    are compared word for word. An interrupted examination continues in its folder. `level` is
    `quick`, `usual` or `thorough`. Returns the verdict, whose `conditions` hold the findings.
    Raises RulerError if the server cannot be asked.
    """
    from ruler_eval.doctor import against, examine

    if options.save is not None:
        raise RulerError("`doctor` returns a verdict: store answers with `run`, not with save=.")
    act = against.compare if options.against is not None else examine.examine
    return act(options, lambda text: None)


# ---- Scores --------------------------------------------------------------------------------------


@takes(ScoreOptions)
def score(options: ScoreOptions) -> Results:
    """Score predictions on a frozen release (`ruler score`).

    Returns the content of results.json: scores 0 … 100, by configuration and aggregated. Raises
    RulerError if no prediction belongs to a row, or the run was made on different rows.
    """
    return score_files(options)


def score_files(options: ScoreOptions) -> Results:
    """Score the files of the options, and write the results."""
    from ruler_common.names import parse_length
    from ruler_common.text import announce, steps
    from ruler_eval.score import scoring
    from ruler_eval.score.aggregates import parse_baseline
    from ruler_eval.score.predictions import open_predictions
    from ruler_eval.score.results import write
    from ruler_eval.score.rows import ScoringRules

    if options.out is not None:
        check_keeps(Path(options.out), paths(options.files))
    rules = ScoringRules(
        compat=cast("Compat | None", options.compat),
        truncated=cast("TruncationRule", options.truncated),
        partial=options.partial,
    )
    baseline = parse_baseline(options.threshold)
    if options.progress:
        announce("Reading the predictions")
    predictions, release = open_predictions(options)
    dataset = release.dataset if release else predictions.names.dataset
    claimed = None if options.claimed is None else parse_length(options.claimed.lower(), dataset)
    bar = functools.partial(steps, label="Scoring", quiet=not options.progress)
    scored = scoring.score(predictions, release, rules, baseline, claimed, bar)
    if place := results_path(options):
        write(*scored, place)
    return scored.results


def results_path(options: ScoreOptions) -> Path | None:
    """Return the path of the results: `out`, or results.json in the RUN folder that is scored.

    Those of several folders, such as the shards of a run, are in the folder that holds them all.
    """
    from ruler_eval.score.own_run import run_folders

    if options.out:
        return Path(options.out)
    runs = [path for path in paths(options.files) if run_folders(path)]
    if len(runs) > 1:
        parents = {path.absolute().parent for path in runs}
        return parents.pop() / "results.json" if len(parents) == 1 else None
    return runs[0] / "results.json" if runs else None


@takes(ErrorsOptions)
def errors(options: ErrorsOptions) -> list[dict[str, Any]]:
    """Sort every wrong answer into the papers' kinds of errors (`ruler errors`).

    Returns a record for each wrong row: its configuration, index, kind, references and prediction.
    `pandas.DataFrame(ruler.errors("RUN"))` is a table of them. Raises RulerError for files without
    prompts if no release is named.
    """
    from ruler_eval.score.stored import open_scores

    return sort_errors(open_scores(options, options.truncated), options)


def sort_errors(scores: RunScores, options: ErrorsOptions) -> list[dict[str, Any]]:
    """Sort the wrong rows of a scored run, and write them to `out`."""
    from ruler_eval.analysis.errors import collect

    if options.out is not None:
        check_keeps(Path(options.out), paths(options.files))
    wrong = collect(scores.configs, scores.release, options.strict)
    if options.out is not None:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in wrong]
        write_whole(Path(options.out), "".join(lines))
    return wrong


def compare(
    a: Results | Place,
    b: Results | Place,
    *,
    max_drop: float | None = None,
    max_task_drop: float | None = None,
) -> Comparison | SeedComparison:
    """Compare two models on the same rows: differences A - B in points (`ruler compare`).

    Results of two seeds share no rows: they are compared unpaired, without a `decision`.

    Args:
        a: The result of `score`, a results.json, or the RUN folder that contains one.
        b: The other model, in the same way.
        max_drop: Points that B may lose against A on average; adds the `decision`.
        max_task_drop: Points that B may lose in every configuration; needs `max_drop`.

    Returns:
        Differences with 95 % intervals by configuration, by length and overall; with `max_drop` the
        `decision`. Raises RulerError for results that share no rows or cannot be paired.
    """
    from ruler_eval.analysis.compare import compare as compare_results
    from ruler_eval.analysis.compare import decision, seeds_of
    from ruler_eval.score.stored import check_different_runs, open_results

    for name, results in (("a", a), ("b", b)):
        check_argument("compare", name, results, Place | Mapping[str, Any])
        if isinstance(results, Mapping) and not results.keys() >= {"configurations", "rows"}:
            raise RulerError(f"'{name}' is not what `score` returns: give that, or a RUN folder.")
    for name, drop in (("max_drop", max_drop), ("max_task_drop", max_task_drop)):
        check_argument("compare", name, drop, float | None)
    results_a = open_results(Path(a)) if isinstance(a, str | Path) else a
    results_b = open_results(Path(b)) if isinstance(b, str | Path) else b
    name_a = str(a) if isinstance(a, str | Path) else "a"
    name_b = str(b) if isinstance(b, str | Path) else "b"
    check_different_runs([results_a, results_b], [name_a, name_b])
    if seeds_of(results_a, results_b):
        if max_drop is not None:
            raise RulerError(
                "--max-drop needs two models on the same rows: these have different seeds."
            )
        from ruler_eval.analysis.seeds import compare_seeds

        return compare_seeds(results_a, results_b)
    if max_task_drop is not None and max_drop is None:
        raise RulerError("--max-task-drop needs --max-drop too.")
    comparison = compare_results(results_a, results_b)
    if max_drop is not None:
        comparison["decision"] = decision(comparison, max_drop, max_task_drop)
    return comparison


@takes(ReportOptions)
def report(options: ReportOptions) -> Path:
    """Write a page of scored runs, an HTML file that needs no network (`ruler report`).

    Returns the page's path. Raises RulerError for results that cannot be shown.
    """
    return write_page(options)


def write_page(options: ReportOptions) -> Path:
    """Write the page, and with `figures` its figures as files."""
    from ruler_eval.report.page.answers import open_answered_runs
    from ruler_eval.report.page.build import write_report
    from ruler_eval.score.predictions import without_garbage_collection

    out = Path(options.out)
    check_keeps(out)
    with without_garbage_collection():
        opened = open_answered_runs(
            paths(options.runs),
            several(options.names),
            None if options.dataset is None else str(options.dataset),
            options.revision,
            Path(options.references) if options.references else None,
        )
        doctor = None
        if options.doctor is not None:
            from ruler_eval.doctor.folder import read_verdict

            doctor = read_verdict(options.doctor, {run.results["model"] for run in opened})
            if doctor is None:
                raise RulerError(
                    f"'{options.doctor}' has no verdict: name the --out folder of a `ruler doctor` "
                    "that has ended."
                )
        page = write_report(opened, out, options.every_error, options.title, doctor)
        if options.figures is not None:
            from ruler_eval.report.render import write_figures

            write_figures(page.figures, Path(options.figures), several(options.format))
    return out
