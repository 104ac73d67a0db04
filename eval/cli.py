"""The evaluation side's commands; each imports what it needs when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eval.report.page.page_model import FrozenSentence
from eval.report.page.report_command import report_command
from eval.run.run_command import DataRevision

_FILES = (
    "A RUN folder, or prediction files: this project's, the reference code's `pred/*.jsonl` or "
)
_FILES += "submission.csv, lm-evaluation-harness's `samples_*.jsonl`, kvpress's predictions.csv, "
_FILES += "ONERULER's prediction_MODEL.jsonl."
_DATASET = "The release: a folder or Hub repository; default: the one the run was made on."
_CUT = "What a truncated answer counts: protocol (RULER: by its text; ONERULER: wrong), "
_CUT += "wrong, or score."
_THRESHOLD = "For the effective length: chat (85.6), base (79.4), or a number."
_BESIDE = "published: the papers' models beside this one (measured on other rows)."
_LENGTH = "The length of files that do not give it, such as 4k."
_TOKENIZER = "The tokenizer of the release that such files were run on."
_CONFIG = "The configuration of files that do not name it, such as niah_none_64k_pl."
_MAX_DROP = "Points that B may lose against A over all. Exit code 0: surely lost less, "
_MAX_DROP += "1: surely more, 3: these rows cannot tell."
_REFERENCES = (
    "The reference code's data folder (TASK.jsonl, TASK/validation.jsonl), for files without "
)
_REFERENCES += "references, such as its submission.csv."
Files = Annotated[list[Path], typer.Argument(help=_FILES, show_default=False)]
Dataset = Annotated[str | None, typer.Option(help=_DATASET)]
Length = Annotated[str | None, typer.Option(help=_LENGTH)]
Tokenizer = Annotated[str | None, typer.Option(help=_TOKENIZER)]
Configuration = Annotated[str | None, typer.Option("--config", help=_CONFIG)]
References = Annotated[Path | None, typer.Option(help=_REFERENCES)]
Name = Annotated[str | None, typer.Option(help="What to call the model.")]
ModelNames = Annotated[
    list[str] | None, typer.Option("--name", help="What to call each model, in order; repeatable.")
]
Cut = Annotated[str, typer.Option(help=_CUT)]
Markdown = Annotated[bool, typer.Option("--markdown", help="Tables in Markdown.")]


def score(
    files: Files,
    dataset: Dataset = None,
    out: Annotated[
        Path | None, typer.Option(help="Where results.json goes; default: into the RUN folder.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Leave missing rows out, and mark the result.")
    ] = False,
    cut: Cut = "protocol",
    compat: Annotated[
        str | None, typer.Option(help="authors: ONERULER as its authors' script scores it.")
    ] = None,
    threshold: Annotated[str, typer.Option(help=_THRESHOLD)] = "chat",
    claimed: Annotated[
        str | None, typer.Option(help="The length the model claims, such as 1m: for '>128K'.")
    ] = None,
    markdown: Markdown = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Print every cell's 95 % interval.")
    ] = False,
    beside: Annotated[str | None, typer.Option(help=_BESIDE)] = None,
    length: Length = None,
    tokenizer: Tokenizer = None,
    config: Configuration = None,
    references: References = None,
    name: Name = None,
    revision: DataRevision = None,
) -> None:
    """Score predictions against a frozen split: tables, and everything in results.json.

    Example: `ruler score runs/qwen --out results.json`

    Missing and failed rows count as wrong, truncated ones as --cut decides. All are counted.
    """
    from eval import commands
    from eval.score.prediction_source import PredictionSource

    commands.score(
        files,
        PredictionSource(
            dataset=dataset,
            revision=revision,
            length=length,
            tokenizer=tokenizer,
            config=config,
            references=references,
            name=name,
        ),
        out=out,
        partial=partial,
        cut=cut,
        compat=compat,
        threshold=threshold,
        claimed=claimed,
        markdown=markdown,
        intervals=intervals,
        beside=beside,
    )


def errors(
    files: Files,
    dataset: Dataset = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also sort right answers with something extra.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write every wrong row and its kind as JSON lines.")
    ] = None,
    cut: Cut = "protocol",
    markdown: Markdown = False,
    length: Length = None,
    tokenizer: Tokenizer = None,
    config: Configuration = None,
    references: References = None,
    name: Name = None,
    revision: DataRevision = None,
) -> None:
    """Sort every wrong answer into the papers' kinds of errors, by task and length.

    Example: `ruler errors runs/qwen`
    """
    from eval import commands
    from eval.score.prediction_source import PredictionSource

    source = PredictionSource(
        dataset=dataset,
        revision=revision,
        length=length,
        tokenizer=tokenizer,
        config=config,
        references=references,
        name=name,
    )
    commands.errors(files, source, strict=strict, out=out, cut=cut, markdown=markdown)


def compare(
    a: Annotated[Path, typer.Argument(help="A RUN folder that was scored, or a results.json.")],
    b: Annotated[Path, typer.Argument(help="The other one.")],
    out: Annotated[Path | None, typer.Option(help="Write the comparison as JSON.")] = None,
    max_drop: Annotated[float | None, typer.Option(help=_MAX_DROP)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    name: ModelNames = None,
    markdown: Markdown = False,
) -> None:
    """Compare two models on the same rows: paired differences with 95 % intervals.

    Example: `ruler compare runs/a/results.json runs/b/results.json`

    In CI, for a quantised or tuned model: `ruler compare runs/base runs/quantised --max-drop 1.5`
    """
    from eval import commands

    commands.compare(
        a, b, out=out, seed=seed, markdown=markdown, names=name or (), max_drop=max_drop
    )


def correlate(
    results: Annotated[list[Path], typer.Argument(help="Two results.json files or more.")],
    out: Annotated[Path | None, typer.Option(help="Write matrix and clusters as JSON.")] = None,
    name: ModelNames = None,
    markdown: Markdown = False,
) -> None:
    """Correlate the tasks over models and lengths, and cluster them (Appendix C, Figure 5).

    Example: `ruler correlate runs/*/results.json`
    """
    from eval import commands

    commands.correlate(results, out=out, markdown=markdown, names=name or ())


def analyze(
    results: Annotated[list[Path], typer.Argument(help="results.json files of ONERULER.")],
    errors: Annotated[
        list[Path] | None, typer.Option(help="What `ruler errors --out` wrote; repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write all of it as JSON.")] = None,
    name: ModelNames = None,
    markdown: Markdown = False,
) -> None:
    """Rank languages, and draw what else ONERULER's paper draws (sections 3 and 4).

    Example: `ruler analyze runs/qwen runs/llama`
    """
    from eval import commands

    commands.analyze(results, errors or (), out, markdown, name or ())


def register(app: typer.Typer, frozen: FrozenSentence | None = None) -> None:
    """Add the commands to the `ruler` application.

    `frozen` says of a manifest whether its rows are the frozen ones of its data version.
    """
    from eval.example.example_run import example
    from eval.export.export_command import export
    from eval.publish.results_command import results
    from eval.report.show.show_command import show
    from eval.run.batch.batch_command import app as batch
    from eval.run.run_command import run

    report = report_command(frozen)
    for command in (
        run,
        score,
        show,
        errors,
        compare,
        correlate,
        analyze,
        report,
        export,
        results,
        example,
    ):
        app.command()(command)
    app.add_typer(batch, name="batch")
