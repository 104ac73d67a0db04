"""`ruler batch write` and `ruler batch read`: the flags and the messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.run import run_command

if TYPE_CHECKING:
    from eval.run.batch.batch_run import ReadBatch, WrittenBatch

app = typer.Typer(
    help="Run through batch files: OpenAI's and other half-price APIs, or `vllm run-batch`.",
    no_args_is_help=True,
)
_API = "Who will answer: vllm (run-batch), openai, or other (fields that all APIs know)."
_MODE = "prefill (vllm's default: it continues the answer prefix) or chat."
_TOKENIZER = "Folder or Hub name of the tokenizer that checks the budget; vllm: the model's."
_LIMIT = "The model's window in tokens; vllm: by default the model's own."
_FIELD = "A further field of every request, NAME=VALUE, repeatable."


@app.command()
def write(
    dataset: run_command.Dataset,
    configs: run_command.Configs,
    model: Annotated[str, typer.Option(help="The model's name, as the API knows it.")],
    out: run_command.Out,
    api: Annotated[str, typer.Option(help=_API)] = "vllm",
    mode: Annotated[str | None, typer.Option(help=_MODE)] = None,
    direct: run_command.Direct = False,
    thinking: run_command.Thinking = "off",
    limit: run_command.Limit = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Write the rows that failed once more.")
    ] = False,
    tokenizer: Annotated[str | None, typer.Option(help=_TOKENIZER)] = None,
    max_model_len: Annotated[int | None, typer.Option(help=_LIMIT)] = None,
    revision: run_command.ModelRevision = None,
    data_revision: run_command.DataRevision = None,
    temperature: run_command.Temperature = 0.0,
    top_p: run_command.TopP = 1.0,
    seed: run_command.Seed = 0,
    engine_arg: Annotated[list[str] | None, typer.Option(help=_FIELD)] = None,
    max_lines: Annotated[
        int, typer.Option(min=1, max=50_000, help="Requests of a file, at most.")
    ] = 50_000,
    max_megabytes: Annotated[
        int, typer.Option(min=1, max=200, help="Megabytes of a file, at most.")
    ] = 200,
) -> None:
    """Write the rows without an answer as batch files, RUN/batch/requests-001.jsonl and so on.

    Example: `ruler batch write --dataset ruler --configs all_4k --model Qwen/Qwen2.5-7B-Instruct --out runs/qwen`

    Then `vllm run-batch -i runs/qwen/batch/requests-001.jsonl -o answers.jsonl --model …`,
    or upload the files to a batch API; and `ruler batch read runs/qwen answers.jsonl`.
    """  # noqa: E501
    options = locals()
    from datasets import disable_progress_bars

    from eval.run.batch.batch_run import BACKEND, BatchOrder, write_batch

    disable_progress_bars()  # reading a file is quick; the batch has its own bar
    del options["api"], options["max_lines"], options["max_megabytes"]
    order = run_command.make_order({**options, "backend": BACKEND})
    batch = BatchOrder(order, api, most_lines=max_lines, most_bytes=max_megabytes * 10**6)
    for line in _written(write_batch(batch), out, api, model):
        typer.echo(line)


def _written(written: WrittenBatch, out: Path, api: str, model: str) -> Iterable[str]:
    """What was written, what was not and why, and what to do next."""
    if written.done:
        yield f"{_counted(written.done, 'row')} with a record already: not written."
    if written.over:
        yield f"{written.over} rows do not fit the model's window and are recorded so."
    if not written.files:
        yield f"Nothing to write. Next: ruler score {out}"
        return
    tokens = "" if written.prompt_tokens is None else f", {written.prompt_tokens:,} prompt tokens"
    yield f"{written.rows} rows{tokens}, in {_counted(len(written.files), 'file')}:"
    yield from (f"  {path}" for path in written.files)
    if not written.checked:
        yield "The budget is unchecked: add --tokenizer and --max-model-len to check it."
    first = written.files[0]
    yield (
        f"Next: vllm run-batch -i {first} -o {first.with_name('answers-001.jsonl')} --model {model}"
        if api == "vllm"
        else f"Next: upload them to the batch API, for the endpoint {_endpoint()}"
    )
    yield f"then: ruler batch read {out} ANSWERS.jsonl …"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def _endpoint() -> str:
    from eval.run.batch.batch_files import ENDPOINT

    return ENDPOINT


@app.command()
def read(
    run: Annotated[Path, typer.Argument(help="The folder that `ruler batch write` wrote.")],
    answers: Annotated[
        list[Path], typer.Argument(help="Output and error files of its batches, in any order.")
    ],
) -> None:
    """Read the answers of batch files into the run's records, as `ruler run` writes them.

    Example: `ruler batch read runs/qwen answers.jsonl`

    Exit code 1: some rows failed or have no answer.
    """
    from rich.console import Console

    from eval.run.batch.batch_run import read_batch

    result = read_batch(run, answers)
    for line in _read(result):
        typer.echo(line)
    result.summary.print_table(Console())
    typer.echo(f"Next: ruler score {run}")
    if not result.complete:
        raise typer.Exit(1)


def _read(result: ReadBatch) -> Iterable[str]:
    """What was read, failures first."""
    total = result.summary.total
    rows = total.total() + result.missing
    if failed := total["error"]:
        yield f"{failed} of {rows} rows FAILED; the first: {result.summary.first_error}"
        yield "Write them once more: the same `ruler batch write` with --retry-failed."
    if result.missing:
        ended = ", ".join(f"{count} {why}" for why, count in sorted(result.never_run.items()))
        yield (
            f"{result.missing} of {rows} rows have no answer yet"
            f"{f' ({ended})' if ended else ''}: the same `ruler batch write` writes them."
        )
    if over := total["does_not_fit"]:
        yield f"{over} of {rows} rows do not fit the model's window."
    if result.complete and not over:
        yield f"No failures: {rows} rows answered."
    again = f", {result.again} of rows that had one" if result.again else ""
    yield f"Read now: {result.answers} answers{again}."
