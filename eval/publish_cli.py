"""`ruler export` and `ruler results`: the flags, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ruler_dataset import Config

_FORMAT = "upstream (the reference code's JSON lines), kvpress, or lm-eval (a task folder)."
_CONFIGS = "Configurations, separated by commas, groups too: niah_mk_4k,vt_8k. Default: all tasks."
_TOKENIZER = "Whose rows; default: tekken's, or those of the only tokenizer there is."
_RESULTS = "The results.json of `ruler score`, or the RUN folder that holds it."
_DATASET = "The benchmark on the Hub, ORG/ruler; default: where the run had it from."
_REVISION = "Its commit or tag; default: the commit the run was scored against."
_SOURCE = "Address where predictions and results.json can be seen."


def export(
    source: Annotated[str, typer.Argument(metavar="DIR_OR_REPO", help="The release.")],
    form: Annotated[str, typer.Option("--format", help=_FORMAT)],
    to: Annotated[Path, typer.Option(help="The folder to make.")],
    configs: Annotated[str, typer.Option(help=_CONFIGS, show_default=False)] = "",
    tokenizer: Annotated[str | None, typer.Option(help=_TOKENIZER)] = None,
    revision: Annotated[str | None, typer.Option(help="The release's revision on the Hub.")] = None,
) -> None:
    """Write a release in the form another tool reads; its rows stay as they are.

    Example: `ruler export ruler --format lm-eval --to tasks --configs all_4k`
    """
    from eval import interop

    names = [name for name in configs.split(",") if name]
    done = interop.export(source, form, to, names, tokenizer, revision, _progress)
    typer.echo(f"{done.rows} rows of {done.configs} configurations in '{to}'. Next: {done.next}")


def results(
    path: Annotated[Path, typer.Argument(metavar="RESULTS", help=_RESULTS)],
    model: Annotated[str, typer.Option(help="The model's repository, ORG/MODEL.")],
    dataset_repo: Annotated[str | None, typer.Option(help=_DATASET)] = None,
    revision: Annotated[str | None, typer.Option(help=_REVISION)] = None,
    source: Annotated[str | None, typer.Option(help=_SOURCE)] = None,
    out: Annotated[Path, typer.Option(help="Folder of the model's files.")] = Path(),
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Open the pull request on the Hub.")
    ] = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Also of a run that lacks rows; notes say so.")
    ] = False,
) -> None:
    """Write a run's scores as .eval_results/*.yaml, which the Hub shows beside a model.

    Example: `ruler results runs/qwen --model Qwen/Qwen2.5-7B-Instruct --dataset-repo ORG/ruler`

    The benchmark's files are compared with the run's, by digest. Where the Hub cannot be reached
    the results are written without that, and it says so. Entries of earlier runs stay in the file.
    """
    from eval import results as publishing

    done = publishing.publish(
        path, model, dataset_repo, revision, source, out, create_pr, allow_missing
    )
    kept = f" beside {done.kept} of earlier runs" if done.kept else ""
    typer.echo(f"{done.entries} results{kept} in '{done.path}'.")
    if done.unchecked is not None:
        typer.echo(f"Warning: {done.unchecked}")
    if done.pull_request is not None:
        typer.echo(f"Pull request: {done.pull_request}")
    else:
        typer.echo(f"Next: commit it to {model}, or run this again with --create-pr.")


def _progress(configs: Sequence[Config]) -> Iterator[Config]:
    """A bar on stderr while the configurations are used up; none where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield from configs
        return
    with typer.progressbar(configs, label="Exporting", file=sys.stderr) as bar:
        yield from bar


def register(app: typer.Typer) -> None:
    """Add the commands to the `ruler` application."""
    for command in (export, results):
        app.command()(command)
