"""The commands that publish and fetch: push, fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ruler_dataset import RulerError, plain

Mirror = Annotated[
    Path | None, typer.Option(envvar="RULER_MIRROR", help="Folder that holds tokenizers' files.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the `ruler` application."""
    app.command()(push)
    app.command()(fetch)


def push(
    root: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Folder of the release; with --report the page."),
    ] = None,
    repo: Annotated[
        str | None, typer.Option(help="ORG/NAME on the Hub; made if it is not there.")
    ] = None,
    metric: Annotated[
        bool, typer.Option("--metric", help="Push the metric, as the Space ORG/ruler_score.")
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="ORG/SPACE", help="Push a page of `ruler report` as this static Space."
        ),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a private repository.")] = False,
    revision: Annotated[
        str | None, typer.Option(help="Tag to make; else v and the data version.")
    ] = None,
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Open a pull request; no tag is made.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show, and send nothing.")] = False,
    skip_verify: Annotated[
        bool, typer.Option("--skip-verify", help="Check the files' digests, not their rows.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that verify.")] = 1,
    mirror: Mirror = None,
    tokenizer: Annotated[
        list[str] | None, typer.Option(help="Where a tokenizer lies now: NAME=FOLDER; repeatable.")
    ] = None,
) -> None:
    """Publish a release: verify, upload what the Hub lacks, commit once, read back, tag.

    Stopped anywhere, the same command goes on. Rows and tags once published never change.

    Example: `ruler push ruler --repo ORG/ruler`

    Example: `ruler push --metric --repo ORG/ruler_score`

    Example: `ruler push report.html --report ORG/long-context`
    """
    from builder.hub.push import PushOrder
    from builder.hub.push import push as push_order
    from builder.hub.push_tables import TerminalView
    from builder.hub.report_space import PAGE

    page = None
    if report is not None:
        if metric or repo is not None:
            raise RulerError("--report names the Space: give neither --repo nor --metric with it.")
        repo, page, root = report, root or Path(PAGE), None
    elif repo is None or metric == (root is not None):
        raise RulerError(
            "Give a release or the metric: ruler push DIR --repo ORG/NAME, or "
            "ruler push --metric --repo ORG/ruler_score; or a page: ruler push report.html "
            "--report ORG/SPACE"
        )
    order = PushOrder(
        repo=repo,
        root=root,
        page=page,
        private=private,
        revision=revision,
        create_pr=create_pr,
        dry_run=dry_run,
        skip_verify=skip_verify,
        workers=workers,
        mirror=mirror,
        tokenizers=tuple(tokenizer or ()),
    )
    push_order(order, TerminalView())


def fetch(
    repo: Annotated[str, typer.Argument(metavar="ORG/NAME", help="A release on the Hub.")],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder to make or extend.")],
    configs: Annotated[
        str, typer.Option(help="Comma-separated: niah_mk_4k,vt_4k; all if none.")
    ] = "",
    tokenizer: Annotated[
        list[str] | None, typer.Option(help="Only of this tokenizer; repeatable.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Tag or commit; else main.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Prove the laws afterwards.")] = False,
    mirror: Mirror = None,
) -> None:
    """Bring a release, or a part of it, from the Hub or its cache; resumes file by file.

    Every file is checked against the manifest. A part is a release of its own.

    Example: `ruler fetch ORG/ruler --configs niah_4k,vt_4k --revision v1.0.0 --to ruler`
    """
    from builder.checks import verdict
    from builder.checks.verify import verify as verify_release
    from builder.common import terminal
    from builder.hub.fetch_release import fetch as fetch_release

    names = [name.strip() for name in configs.split(",") if name.strip()]
    if configs and not names:
        raise RulerError("--configs names no configuration: leave it out to fetch all.")
    with terminal.bytes_bar("Fetching", None) as bar:
        fetched = fetch_release(
            repo, to, names, tokenizer or (), revision, lambda size: bar(0, size), bar
        )
    total = sum(fetched.manifest["files"][path]["bytes"] for path in fetched.new)
    typer.echo(
        f"{len(fetched.new)} files, {total:,} bytes, of '{repo}' at commit {fetched.commit}: "
        f"'{plain(to)}' holds {len(fetched.manifest['files'])}."
    )
    if not verify:
        typer.echo(f"Every digest is right. To prove the rows: ruler verify {plain(to)}")
        return
    with terminal.rows_bar("Verifying") as rows:
        report = verify_release(to, 1, mirror, (), rows.total, rows.rows)
    verdict.show_report(to, report, as_json=False)
    if not report.ok:
        raise typer.Exit(1)
