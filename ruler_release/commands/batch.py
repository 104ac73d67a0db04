"""`ruler batch write` and `ruler batch read`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ruler_common.text import number_of
from ruler_release import api
from ruler_release.commands import flags

app = typer.Typer(
    help="Run through batch files: OpenAI's and other half-price APIs, or `vllm run-batch`.",
    no_args_is_help=True,
)
_PROVIDER = "Who will answer (docs/servers.md); default: vllm (run-batch)."
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
    provider: Annotated[str | None, Option(help=_PROVIDER)] = None,
    mode: Annotated[str | None, Option(help=_MODE)] = None,
    tokenizer: Annotated[str | None, Option(help=_TOKENIZER)] = None,
    max_model_len: Annotated[int | None, Option(help=_LIMIT)] = None,
    engine_arg: Annotated[list[str] | None, Option(help=_FIELD)] = None,
    max_lines: Annotated[int, Option(metavar="N", help=_MAX_LINES)] = 50_000,
    max_megabytes: Annotated[int, Option(metavar="N", help=_MAX_MEGABYTES)] = 200,
    **more: Any,
) -> None:
    """Write the rows without an answer as batch files, RUN/batch/requests-001.jsonl and so on.

    Example: `ruler batch write --dataset ruler --configs all_4k --model Qwen/Qwen2.5-7B-Instruct --out runs/qwen`

    Then `vllm run-batch -i runs/qwen/batch/requests-001.jsonl -o answers.jsonl --model …`,
    or upload the files to a batch API; and `ruler batch read runs/qwen answers.jsonl`.
    """  # noqa: E501
    given = locals()
    from ruler_eval.run.backends.batch import ENDPOINT, request_files
    from ruler_eval.run.options import RunOptions
    from ruler_eval.run.runner import run

    given |= given.pop("more")
    options = RunOptions(**flags.run_options(given), backend="batch", progress=True)
    summary = run(options)
    if over := summary.total["does_not_fit"]:
        typer.echo(f"{over} rows do not fit the model's window and are recorded so.")
    files = request_files(out)
    if not summary.missing or not files:
        typer.echo(f"Nothing to write. Next: ruler score {out}")
        return
    rows = number_of(summary.missing, "row")
    typer.echo(f"{rows} in {number_of(len(files), 'file')}:")
    for path in files:
        typer.echo(f"  {path}")
    if provider in (None, "vllm"):
        answers = files[0].with_name("answers-001.jsonl")
        typer.echo(f"Next: vllm run-batch -i {files[0]} -o {answers} --model {model}")
    else:
        typer.echo(f"Next: upload them to the batch API, for the endpoint {ENDPOINT}")
    typer.echo(f"then: ruler batch read {out} ANSWERS.jsonl …")


@app.command()
def read(
    run: Annotated[Path, Argument(help="The folder that `ruler batch write` wrote.")],
    answers: Annotated[list[Path], Argument(help=_ANSWERS)],
) -> None:
    """Read the answers of batch files into the run's records, as `ruler run` writes them.

    Example: `ruler batch read runs/qwen answers.jsonl`

    Exit code 1: some rows failed or have no answer.
    """
    from ruler_eval.run.backends.batch import options_to_read
    from ruler_eval.run.runner import run as run_rows
    from ruler_release.tables import run_tables

    summary = run_rows(options_to_read(run, answers))
    run_tables.show_summary(summary)
    typer.echo(f"Next: ruler score {run}")
    if summary.missing or summary.total["error"]:
        raise typer.Exit(1)
