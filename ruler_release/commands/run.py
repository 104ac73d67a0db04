"""`ruler run`, `ruler decide`, and `ruler eval`: run, score and report in one command."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ruler_common.errors import RulerError
from ruler_common.files import check_file, write_json
from ruler_common.options import Option, OptionsOf, Place, options_of
from ruler_common.text import announce, command_line, note, number_of, plain, sentences, show, table
from ruler_eval.gate.options import DecideOptions
from ruler_eval.report.options import ReportOptions
from ruler_eval.run.options import WHAT, RunOptions
from ruler_release.commands.score import ScoreCommand, check_average, runs_of_results, show_scores

if TYPE_CHECKING:
    from ruler_eval.gate.decide import SequentialDecision
    from ruler_eval.gate.until import MeanEstimate
    from ruler_eval.run.progress import RunSummary

STATE_COLUMNS = {
    "stop": "ended",
    "length": "truncated",
    "does_not_fit": "too long",
    "error": "failed",
    "reasoning": "reasoning truncated",
}
"""The counts of a configuration, and the headers of their columns."""


DryRun = Annotated[
    bool, Option("Only show the rows and tokens to run, without a model.", panel=WHAT)
]


@dataclass(frozen=True, kw_only=True)
class RunCommand(RunOptions):
    """The flags of `ruler run`."""

    dry_run: DryRun = False


def run(options: RunCommand) -> None:
    """Run a model on a release; if interrupted, the same command runs only the missing rows.

    Every row is recorded once. API keys come from the environment (OPENAI_API_KEY, HF_TOKEN) and
    are never written. Exit code 1: some rows failed.

    Example: ruler run -d ruler -c all_4k -b vllm -m Qwen/Qwen2.5-7B-Instruct -o runs/qwen
    """
    if options.dry_run:
        show_estimate(options)
        return
    summary = run_and_show(options)
    print(next_step(summary, options.out))
    if summary.failed:
        raise SystemExit(1)


def show_estimate(options: RunOptions) -> None:
    """Show the rows and tokens that are still to run."""
    from ruler_eval.run.runner import estimate_run

    for line in estimate_run(options).lines(options.price):
        print(sentences(line))


def run_and_show(options: RunOptions) -> RunSummary:
    """Run the model, and show the states of its rows."""
    from ruler_release.api import run_model

    def show(estimate: MeanEstimate) -> None:
        from tqdm import tqdm  # type: ignore[import-untyped]

        from ruler_eval.report.decision_text import estimate_line

        tqdm.write(plain(estimate_line(estimate)))  # above the bar

    announce("Reading the release")
    summary = run_model(replace(options, progress=True), show)
    show_summary(summary)
    return summary


def show_summary(summary: RunSummary) -> None:
    """Show the summary as sentences, then the rows by state."""
    for line in summary.lines():
        show(sentences(line))
    show_states(summary)


def show_states(summary: RunSummary) -> None:
    """Show the rows by state of each configuration in which not all rows are complete.

    The other configurations are summed up in a sentence.
    """
    counts: dict[str, dict[str, int]] = {}
    ended = not_started = 0
    for config, states in summary.states.items():
        if not states:
            not_started += 1
        elif set(states) == {"stop"} and not summary.unfinished[config]:
            ended += 1
        else:
            counts[config] = {**states, "reasoning": summary.unfinished[config]}
    if counts:
        show_counts(counts)
    if ended:
        every = "The rows so far" if summary.missing else "All rows"
        configs = number_of(ended, "other configuration" if counts else "configuration")
        show(f"{every} of {configs} were answered completely.")
    if not_started:
        configs = number_of(not_started, "configuration")
        show(f"No row of {configs} was answered yet.")


def show_counts(counts: dict[str, dict[str, int]]) -> None:
    """Show a table of counts by configuration; columns without any count are left out."""
    columns = [
        column for column in STATE_COLUMNS if any(states.get(column) for states in counts.values())
    ]
    rows = [
        [config, *(str(states.get(column, 0)) for column in columns)]
        for config, states in counts.items()
    ]
    heads = [STATE_COLUMNS[column] for column in columns]
    show(table(["configuration", *heads], rows))


def next_step(summary: RunSummary, folder: Place) -> str:
    """Return the next step after a run, as a command to copy."""
    score = command_line("ruler", "score", folder)
    if summary.failed:
        retry = command_line("ruler", *sys.argv[1:])
        if "--retry-failed" not in sys.argv:
            retry += " --retry-failed"
        return f"Next, run the failed rows again: {retry}"
    if set(summary.total) == {"does_not_fit"}:
        return (
            "Next: run shorter rows; no row fits the model's context window. If that window is "
            "wrong, set it with --max-model-len."
        )
    if summary.missing and summary.shard is None:  # batch files without answers
        read = command_line("ruler", "batch", "read", folder)
        return f"Next: run the files in {plain(folder)}/batch, then {read} ANSWERS.jsonl"
    if summary.missing:
        return f"Next: run the other shards, then {score}"
    return f"Next: {score}"


@dataclass(frozen=True, kw_only=True)
class EvalCommand:
    """The flags of `ruler eval`: those of `ruler run`, and some of `ruler score`."""

    run: Annotated[
        Mapping[str, Any],
        OptionsOf(
            RunOptions,
            names=tuple(options_of(RunOptions)),
            required=("dataset", "configs", "backend"),
            defaults={"out": "runs/MODEL-DATE; an unfinished run is resumed"},
        ),
    ]
    score: Annotated[
        Mapping[str, Any],
        OptionsOf(ScoreCommand, names=("threshold", "claimed", "published", "fail_under")),
    ] = field(default_factory=dict)
    dry_run: DryRun = False

    def run_options(self) -> RunOptions:
        """Return the options of the run. Raises RulerError for a run of which a part is missing."""
        if self.run.get("shard"):
            raise RulerError(
                "`ruler eval` scores a whole run: use `ruler run --shard`, and `ruler score` after "
                "the last shard."
            )
        if self.run["backend"] == "batch":
            raise RulerError(
                "`ruler eval` needs the answers at once: use `ruler batch write`, `ruler batch "
                "read` and `ruler score`."
            )
        out = default_folder(self.run.get("model") or self.run["backend"])
        return RunOptions(**{"out": out, **self.run})


def evaluate(options: EvalCommand) -> None:
    """Run a model, score its answers and write the page, in one command.

    The page is report.html in the folder of the run. If it is interrupted, run the same command
    again. Exit code 1: some rows failed, or the average is below --fail-under.

    Example: ruler eval -d ruler -c all_4k -b vllm -m Qwen/Qwen2.5-7B-Instruct
    """
    from ruler_release.api import score_files, write_page

    run = options.run_options()
    if options.dry_run:
        show_estimate(run)
        return
    folder = run.folder
    scored = ScoreCommand(folder, **options.score, progress=True)  # checked before the run
    print(f"Folder of the run: {plain(folder)}", file=sys.stderr)
    summary = run_and_show(run)
    results = score_files(scored)
    print()
    runs = runs_of_results([results], [])
    show_scores(runs, scored)
    announce("Writing the page")
    page = write_page(ReportOptions(folder, out=folder / "report.html"))
    print(f"Written: {plain(folder / 'results.json')} and {plain(page)}")
    if summary.failed:
        print(next_step(summary, folder))
        raise SystemExit(1)
    if scored.fail_under is not None:
        check_average(runs, scored.fail_under)


def default_folder(model: str, parent: Path = Path("runs")) -> Path:
    """Return the folder of a model's run: an unfinished one, else one with today's date."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", model.rstrip("/").rpartition("/")[2]) or "model"
    folders = [path.parent for path in parent.glob(f"{name}-????-??-??/run.json")]
    unfinished = sorted(path for path in folders if not (path / "results.json").exists())
    return unfinished[-1] if unfinished else parent / f"{name}-{date.today().isoformat()}"


def after_decision(decision: SequentialDecision, options: DecideOptions) -> str | None:
    """Return the next command after a verdict, if there is one."""
    candidate = options.candidate or options.run["out"]
    if decision["verdict"] == "larger":
        return command_line("ruler", "errors", candidate)
    if decision["rows"] == decision["of"]:
        return command_line("ruler", "compare", options.base, candidate)
    return None  # a stopped run cannot be compared by task


@dataclass(frozen=True, kw_only=True)
class DecideCommand(DecideOptions):
    """The flags of `ruler decide`."""

    json: Annotated[Path | None, Option("Write all looks as JSON.", metavar="FILE")] = None
    markdown: Annotated[bool, Option("Print the verdict as Markdown, for a pull request.")] = False
    dry_run: Annotated[
        bool, Option("Only show the rows and tokens of B that are to run at most, without a model.")
    ] = False


def decide(options: DecideCommand) -> None:
    """Decide with as few rows as possible whether model B loses less than a margin against A.

    A few more rows of every task are looked at until there is a verdict; missing rows of B are run.
    Exit code 0: the drop is below the margin, 1: it is not. A verdict before the last row is wrong
    in at most 2.5 % of decisions. Mode, thinking and sampling are A's.

    Example: ruler decide runs/base --max-drop 2 -b vllm -m org/quantised -o runs/quantised
    """
    from ruler_eval.analysis.compare import EXIT_CODES
    from ruler_eval.gate.decide import decide_run, decide_stored, run_of_model_b
    from ruler_eval.report import decision_text

    check_file(options.json, "decision.json", "--json")
    if options.dry_run:
        show_estimate(run_of_model_b(options))
        return
    lines: list[str] = []
    if options.candidate is not None and "backend" not in options.run:
        announce("Looking at the rows of both models")
        decision = decide_stored(options)
    else:
        with updating_line() as show:
            decided = decide_run(
                replace(options, progress=True),
                lambda look: show(decision_text.progress_line(look)),
            )
        decision = decided.decision
        lines = decided.summary.lines()
        lines += decision_text.not_run_lines(decided.remaining_tokens, options.run.get("price"))
    write_json(options.json, decision)
    if options.markdown:
        print(plain(decision_text.decision_markdown(decision)))
    else:
        for sentence in [*lines, *decision_text.decision_lines(decision)]:
            print(sentences(sentence))
        if (command := after_decision(decision, options)) is not None:
            print(f"Next: {command}")
    raise SystemExit(EXIT_CODES[decision["verdict"]])


@contextmanager
def updating_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text on one line of the terminal, above the run's bar.

    Each text replaces the previous one. Without a terminal each text is a line of stderr.
    """
    from tqdm import tqdm

    with tqdm(bar_format="{desc}", disable=None, leave=False, dynamic_ncols=True) as line:
        yield note if line.disable else line.set_description_str
