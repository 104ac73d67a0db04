"""`ruler batch write` and `ruler batch read`: a run through files of a batch API."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ruler_common.options import Option
from ruler_common.text import command_line, number_of
from ruler_eval.run.options import RunOptions
from ruler_release.commands.run import run_and_show


@dataclass(frozen=True, kw_only=True)
class BatchWriteCommand(RunOptions):
    """The flags of `ruler batch write`: those of `ruler run` with the backend `batch`."""

    backend: str = "batch"
    answers: tuple[Path, ...] = ()


def write(options: BatchWriteCommand) -> None:
    """Write the rows without an answer to batch files, RUN/batch/requests-001.jsonl and so on.

    The files are for `vllm run-batch`, or with --provider for a batch API. Read the answers with
    `ruler batch read`.

    Example: ruler batch write -d ruler -c all_4k -m Qwen/Qwen2.5-7B-Instruct -o runs/qwen
    """
    from ruler_eval.run.batch import ENDPOINT, request_files

    summary = run_and_show(options)
    files = request_files(options.folder)
    failed = summary.total["error"] if options.retry_failed else 0
    if not files or not summary.missing + failed:
        print(f"Nothing to write. Next: {command_line('ruler', 'score', options.folder)}")
        return
    print(f"{number_of(summary.missing + failed, 'row')} in {number_of(len(files), 'file')}:")
    for path in files:
        print(f"  {path}")
    if options.provider in (None, "vllm"):
        answers = files[0].with_name("answers-001.jsonl")
        vllm = ("vllm", "run-batch", "-i", files[0], "-o", answers, "--model", options.model)
        print(f"Next: {command_line(*vllm)}")
    else:
        print(f"Next: upload them to the batch API, for the endpoint {ENDPOINT}")
    print(f"then: {command_line('ruler', 'batch', 'read', options.folder)} ANSWERS.jsonl …")


@dataclass(frozen=True, kw_only=True)
class BatchReadCommand:
    """The arguments of `ruler batch read`."""

    run: Annotated[
        Path, Option("The folder that `ruler batch write` wrote.", argument=True, metavar="RUN")
    ]
    answers: Annotated[
        tuple[Path, ...],
        Option(
            "Output and error files of the batches, in any order.",
            argument=True,
            metavar="ANSWERS...",
        ),
    ]


def read(options: BatchReadCommand) -> None:
    """Add the answers of batch files to the run's records.

    Exit code 1: some rows failed or have no answer.

    Example: ruler batch read runs/qwen answers.jsonl
    """
    from ruler_eval.run.batch import options_to_read

    summary = run_and_show(options_to_read(options.run, options.answers))
    if summary.missing:
        print("Next: write the missing rows again with the same `ruler batch write`")
    elif summary.total["error"]:
        print(
            "Next: write the failed rows again with the same `ruler batch write` and --retry-failed"
        )
    else:
        print(f"Next: {command_line('ruler', 'score', options.run)}")
    if summary.total["error"] or summary.missing:
        raise SystemExit(1)
