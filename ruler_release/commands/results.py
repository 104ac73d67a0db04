"""`ruler results`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ruler_common.text import plain, without_passwords

_RESULTS = "The results.json of `ruler score`, or the RUN folder that holds it."
_DATASET = "The benchmark on the Hub, ORG/ruler; default: where the run had it from."
_REVISION = "Its commit or tag; default: the commit the run was scored against."
_SOURCE = "Address where predictions and results.json can be seen."
_CREATE_PR = "Open the pull request on the Hub."
_OWN_ROWS = "Also of rows that are not the frozen ones; notes say so."
_ALLOW_MISSING = "Also of a run that lacks rows; notes say so."


def results(
    path: Annotated[Path, Argument(metavar="RESULTS", help=_RESULTS)],
    model: Annotated[str, Option("--model", "-m", help="The model's repository, ORG/MODEL.")],
    dataset_repo: Annotated[str | None, Option(help=_DATASET)] = None,
    revision: Annotated[str | None, Option(help=_REVISION)] = None,
    source: Annotated[str | None, Option(help=_SOURCE)] = None,
    out: Annotated[Path, Option("--out", "-o", help="Folder of the model's files.")] = Path(),
    create_pr: Annotated[bool, Option("--create-pr", help=_CREATE_PR)] = False,
    allow_missing: Annotated[bool, Option("--allow-missing", help=_ALLOW_MISSING)] = False,
    own_rows: Annotated[bool, Option("--own-rows", help=_OWN_ROWS)] = False,
) -> None:
    """Write a run's scores as .eval_results/*.yaml, which the Hub shows beside a model.

    Example: `ruler results runs/qwen --model Qwen/Qwen2.5-7B-Instruct --dataset-repo ORG/ruler`

    The benchmark's rows are compared with the run's, by digest, and only scores of tasks that its
    eval.yaml lists are written. Where the Hub cannot be reached the results are written without
    that, and it says so. Entries of earlier runs stay in the file.
    """
    from ruler_eval.publish import eval_results as publishing

    done = publishing.publish(
        path, model, dataset_repo, revision, source, out, create_pr, allow_missing, own_rows
    )
    kept = f" beside {done.kept} of earlier runs" if done.kept else ""
    typer.echo(f"{done.entries} results{kept} in '{plain(done.path)}'.")
    if done.unlisted:
        typer.echo(
            f"Not written: {done.unlisted} scores of tasks that its eval.yaml does not list."
        )
    if done.unchecked is not None:
        typer.echo(f"Warning: {plain(done.unchecked)}")
    if done.pull_request is not None:
        typer.echo(f"Pull request: {plain(without_passwords(done.pull_request))}")
    else:
        typer.echo(f"Next: commit it to {model}, or run this again with --create-pr.")
