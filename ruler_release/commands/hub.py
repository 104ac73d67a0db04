"""`ruler push`, `ruler fetch` and `ruler results`: to the Hub, and from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ruler_common.errors import RulerError
from ruler_common.text import number_of, plain, without_passwords
from ruler_release import api
from ruler_release.commands.flags import LanguageFolders, Mirror, TokenizerPlaces, Workers, names_in

_REPO = "ORG/NAME on the Hub; created if it does not exist."
_METRIC = "Push the metric, as the Space ORG/ruler_score."
_REVISION = "Tag to make; default: v and the data version."
_CREATE_PR = "Open a pull request; no tag is made."
_SKIP_VERIFY = "Check the files' digests, not their rows."
_RESULTS = "The results.json of `ruler score`, or the RUN folder that holds it."
_DATASET = "The benchmark on the Hub, ORG/ruler; default: where the run had it from."
_RUN_REVISION = "Its commit or tag; default: the commit the run was scored against."
_SOURCE = "Address where predictions and results.json can be seen."
_OPEN_PR = "Open the pull request on the Hub."
_OWN_ROWS = "Also of rows that are not the frozen ones; notes say so."
_ALLOW_MISSING = "Also of a run that lacks rows; notes say so."
_TOKENIZER = "Only of this tokenizer; repeatable."


def push(
    repo: Annotated[str, Option(help=_REPO)],
    root: Annotated[Path | None, Argument(metavar="DIR", help="Folder of the release.")] = None,
    metric: Annotated[bool, Option("--metric", help=_METRIC)] = False,
    private: Annotated[bool, Option("--private", help="Make a private repository.")] = False,
    revision: Annotated[str | None, Option(help=_REVISION)] = None,
    create_pr: Annotated[bool, Option("--create-pr", help=_CREATE_PR)] = False,
    skip_verify: Annotated[bool, Option("--skip-verify", help=_SKIP_VERIFY)] = False,
    workers: Workers = None,
    mirror: Mirror = None,
    tokenizers: TokenizerPlaces = None,
    language_folders: LanguageFolders = None,
) -> None:
    """Publish a release: verify it, make one commit, and tag the commit.

    Published rows and tags never change. If it is interrupted, run the same command again.

    Example: `ruler push ruler --repo ORG/ruler`

    Example: `ruler push --metric --repo ORG/ruler_score`
    """
    from ruler_release.tables.release_tables import show_note

    if metric == (root is not None):
        raise RulerError(
            "Give a release or the metric: ruler push DIR --repo ORG/NAME, or "
            "ruler push --metric --repo ORG/ruler_score"
        )
    if root is None:
        from ruler_release.metric_space import push_metric

        push_metric(repo, show_note, private=private, revision=revision)
        return
    from ruler_builder.hub import PushOrder
    from ruler_builder.hub import push as push_release

    order = PushOrder(
        repo=repo,
        root=root,
        private=private,
        revision=revision,
        create_pr=create_pr,
        skip_verify=skip_verify,
        workers=workers,
        mirror=mirror,
        tokenizers=tuple(tokenizers or ()),
        language_folders=tuple(language_folders or ()),
    )
    push_release(order, show_note)


def fetch(
    repo: Annotated[str, Argument(metavar="ORG/NAME", help="A release on the Hub.")],
    to: Annotated[Path, Option("--to", metavar="DIR", help="Folder to make or extend.")],
    configs: Annotated[
        str, Option("--configs", "-c", help="Comma-separated: niah_mk_4k,vt_4k; all if none.")
    ] = "",
    tokenizer: Annotated[list[str] | None, Option(help=_TOKENIZER)] = None,
    revision: Annotated[str | None, Option(help="Tag or commit; else main.")] = None,
    verify: Annotated[bool, Option("--verify", help="Verify the rows afterwards.")] = False,
    mirror: Mirror = None,
) -> None:
    """Download a release, or a part of it, from the Hub; resumes file by file.

    Every file is compared with the manifest's digest. A part is a complete release too.

    Example: `ruler fetch ORG/ruler --configs niah_4k,vt_4k --revision v1.0.0 --to ruler`
    """
    from ruler_builder.hub import fetch as fetch_release
    from ruler_release.tables import release_tables

    names = names_in(configs)
    if configs and not names:
        raise RulerError("--configs names no configuration: leave it out to fetch all.")
    fetched = fetch_release(repo, to, names, tokenizer or (), revision)
    total = sum(fetched.manifest["files"][path]["bytes"] for path in fetched.new)
    typer.echo(
        f"{number_of(len(fetched.new), 'file')}, {total:,} bytes, of '{repo}' at commit "
        f"{fetched.commit}: '{plain(to)}' holds {len(fetched.manifest['files'])}."
    )
    if not verify:
        typer.echo(f"Every digest is right. To prove the rows: ruler verify {plain(to)}")
        return
    report = api.verify(to, mirror=mirror, progress=True)
    release_tables.show_report(to, report, as_json=False)
    if not report.ok:
        raise typer.Exit(1)
    if not report.proved:
        raise typer.Exit(3)


def results(
    path: Annotated[Path, Argument(metavar="RESULTS", help=_RESULTS)],
    model: Annotated[str, Option("--model", "-m", help="The model's repository, ORG/MODEL.")],
    dataset_repo: Annotated[str | None, Option(help=_DATASET)] = None,
    revision: Annotated[str | None, Option(help=_RUN_REVISION)] = None,
    source: Annotated[str | None, Option(help=_SOURCE)] = None,
    out: Annotated[Path, Option("--out", "-o", help="Folder of the model's files.")] = Path(),
    create_pr: Annotated[bool, Option("--create-pr", help=_OPEN_PR)] = False,
    allow_missing: Annotated[bool, Option("--allow-missing", help=_ALLOW_MISSING)] = False,
    own_rows: Annotated[bool, Option("--own-rows", help=_OWN_ROWS)] = False,
) -> None:
    """Write a run's scores as .eval_results/*.yaml, which the Hub shows beside a model.

    Example: `ruler results runs/qwen --model Qwen/Qwen2.5-7B-Instruct --dataset-repo ORG/ruler`

    The benchmark's rows are compared with the run's, by digest, and only scores of tasks that its
    eval.yaml lists are written. If the Hub cannot be reached, the results are written without
    that, with a warning. Entries of earlier runs stay in the file. After --create-pr the Hub's own
    check of the file is read, and its error is shown.
    """
    from ruler_eval.publish import ResultsOrder, publish

    order = ResultsOrder(
        path=path,
        model=model,
        dataset_repo=dataset_repo,
        revision=revision,
        source=source,
        out=out,
        create_pr=create_pr,
        allow_missing=allow_missing,
        own_rows=own_rows,
    )
    done = publish(order)
    kept = f" beside {done.kept} of earlier runs" if done.kept else ""
    typer.echo(f"{done.entries} results{kept} in '{plain(done.path)}'.")
    if done.unlisted:
        typer.echo(
            f"Not written: {done.unlisted} scores of tasks that its eval.yaml does not list."
        )
    if done.unchecked is not None:
        typer.echo(f"Warning: {plain(done.unchecked)}")
    if done.pull_request is None:
        typer.echo(f"Next: commit it to {model}, or run this again with --create-pr.")
        return
    typer.echo(f"Pull request: {plain(without_passwords(done.pull_request))}")
    if done.unread is not None:
        typer.echo(f"Warning: the Hub's check of the file could not be read. {plain(done.unread)}")
    if done.refused is not None:
        raise RulerError(f"The Hub finds an error in the proposed file: {plain(done.refused)}")
