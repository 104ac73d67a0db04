"""`ruler batch write` and `ruler batch read`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ruler_release import api
from ruler_release.commands import flags

if TYPE_CHECKING:
    from ruler_eval.run.batch.batch_run import ReadBatch, WrittenBatch

app = typer.Typer(
    help="Run through batch files: OpenAI's and other half-price APIs, or `vllm run-batch`.",
    no_args_is_help=True,
)
_API = "Who will answer: vllm (run-batch), openai, or other (fields that all APIs know)."
_MODE = "prefill (vllm's default: it continues the answer prefix) or chat."
_TOKENIZER = "Folder or Hub name of the tokenizer that checks the budget; vllm: the model's."
_LIMIT = "The model's window in tokens; vllm: by default the model's own."
_FIELD = "A further field of every request, NAME=VALUE, repeatable."
_OF_RUN = (
    *("direct", "thinking", "limit", "retry_failed", "revision", "data_revision"),
    *("temperature", "top_p", "seed"),
)
_MAX_LINES = "Requests of a file, at most."
_MAX_MEGABYTES = "Megabytes of a file, at most."
_ANSWERS = "Output and error files of its batches, in any order."


@app.command()
@flags.arguments_of(api.run, only=_OF_RUN)
def write(
    dataset: flags.Dataset,
    configs: flags.Configs,
    model: Annotated[str, Option("--model", "-m", help="The model's name, as the API knows it.")],
    out: flags.Out,
    kind: Annotated[str, Option("--api", help=_API)] = "vllm",
    mode: Annotated[str | None, Option(help=_MODE)] = None,
    tokenizer: Annotated[str | None, Option(help=_TOKENIZER)] = None,
    max_model_len: Annotated[int | None, Option(help=_LIMIT)] = None,
    engine_arg: Annotated[list[str] | None, Option(help=_FIELD)] = None,
    max_lines: Annotated[int, Option(metavar="N", min=1, max=50_000, help=_MAX_LINES)] = 50_000,
    max_megabytes: Annotated[int, Option(metavar="N", min=1, max=200, help=_MAX_MEGABYTES)] = 200,
    **more: Any,
) -> None:
    """Write the rows without an answer as batch files, RUN/batch/requests-001.jsonl and so on.

    Example: `ruler batch write --dataset ruler --configs all_4k --model Qwen/Qwen2.5-7B-Instruct --out runs/qwen`

    Then `vllm run-batch -i runs/qwen/batch/requests-001.jsonl -o answers.jsonl --model …`,
    or upload the files to a batch API; and `ruler batch read runs/qwen answers.jsonl`.
    """  # noqa: E501
    options = locals()
    from ruler_eval.run.batch.batch_run import BACKEND, BatchOrder, write_batch
    from ruler_eval.run.run_order import make_order

    options |= options.pop("more")
    del options["kind"], options["max_lines"], options["max_megabytes"]
    order = make_order({**flags.run_options(options), "backend": BACKEND})
    batch = BatchOrder(order, kind, most_lines=max_lines, most_bytes=max_megabytes * 10**6)
    for line in _written(write_batch(batch), out, kind, model):
        typer.echo(line)


def _written(written: WrittenBatch, out: Path, api: str, model: str) -> Iterable[str]:
    """What was written, what was not and why, and what to do next."""
    from ruler_eval.run.batch.batch_files import ENDPOINT

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
        else f"Next: upload them to the batch API, for the endpoint {ENDPOINT}"
    )
    yield f"then: ruler batch read {out} ANSWERS.jsonl …"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


@app.command()
def read(
    run: Annotated[Path, Argument(help="The folder that `ruler batch write` wrote.")],
    answers: Annotated[list[Path], Argument(help=_ANSWERS)],
) -> None:
    """Read the answers of batch files into the run's records, as `ruler run` writes them.

    Example: `ruler batch read runs/qwen answers.jsonl`

    Exit code 1: some rows failed or have no answer.
    """
    from ruler_eval.run.batch.batch_run import read_batch
    from ruler_release.tables import run_tables

    result = read_batch(run, answers)
    for line in _read(result):
        typer.echo(line)
    run_tables.show_states(result.summary)
    typer.echo(f"Next: ruler score {run}")
    if not result.complete:
        raise typer.Exit(1)


def _read(result: ReadBatch) -> Iterable[str]:
    """What was read, failures first."""
    total = result.summary.total
    rows = total.total() + result.missing
    if failed := total["error"]:
        yield f"{failed} of {rows} rows FAILED; the first: {result.summary.first['error']}"
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
