"""The commands that publish and fetch: push, fetch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ruler_dataset import Manifest, RulerError

if TYPE_CHECKING:
    from builder.checks.verify_report import VerifyReport
    from builder.hub.push_plan import Shipment, State
    from builder.hub.repository import Repository

Mirror = Annotated[
    Path | None, typer.Option(envvar="RULER_MIRROR", help="Folder that holds tokenizers' files.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the `ruler` application."""
    app.command()(push)
    app.command()(fetch)


def push(
    repo: Annotated[str, typer.Option(help="ORG/NAME on the Hub; made if it is not there.")],
    root: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder of the release.")
    ] = None,
    metric: Annotated[
        bool, typer.Option("--metric", help="Push the metric, as the Space ORG/ruler_score.")
    ] = False,
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
    """
    from builder.common import terminal
    from builder.hub import push_tables
    from builder.hub import repository as hub
    from builder.hub.push_plan import make_plan

    _check_options(metric, root, create_pr, revision)
    repository = hub.Repository(repo, "space" if metric else "dataset")
    if not dry_run:
        hub.check_rights(repo, create_pr)
    shipment, manifest = _shipment(root, repo)
    state = repository.state()
    gone = _taken_away(root, manifest, repository, state)
    _check_repository(repo, state, private, create_pr)
    plan = make_plan(
        shipment, state, gone, revision, create_pr, lambda at: repository.holds(shipment, at)
    )
    if plan.changed:
        typer.echo(
            f"'{repo}' holds this as {plan.there} already; main was changed since "
            f"({', '.join(plan.changed[:3])}{' …' * (len(plan.changed) > 3)}): nothing to push."
        )
        return
    if plan.is_empty:
        typer.echo(f"'{repo}' holds all of this already, as {plan.there}: nothing to send.")
        return
    push_tables.show_plan(shipment, plan, manifest)
    if state.head is None:
        typer.echo(f"'{repo}' is to be made, {'private' if private else 'public'}.")
    if root is not None and not skip_verify:
        report = _report(root, workers, mirror, tokenizer or [])
        if not report.ok:
            raise RulerError(f"'{root}' breaks a law and is not pushed. Run: ruler verify {root}")
        typer.echo(f"Verified: all laws hold, {len(report.files)} files.")
    if dry_run:
        typer.echo("Dry run: nothing was sent.")
        return
    if create_pr and (url := repository.pull_request(shipment.title)):
        typer.echo(f"A pull request with this is open already: {url}")
        return
    total = sum(shipment.digests[path].size for path in plan.new)
    with terminal.bytes_bar("Sending", total) as on_bytes:
        sent = repository.send(shipment, plan, state, private, create_pr, on_bytes)
    repository.check(shipment, plan, sent.commit)
    if plan.tag:
        repository.tag(plan.tag, sent.commit)
    typer.echo(f"Sent: {sent.url}")
    typer.echo(f"Read back: {len(shipment.digests)} files, every digest is right.")
    if create_pr:
        typer.echo("No tag was made: after the merge, run the command without --create-pr.")
    if plan.tag:
        typer.echo(f"Tagged {plan.tag}, commit {sent.commit}: cite that.")
        typer.echo(f"Load it: {_call(repo, plan.tag, manifest)}")


def _check_options(metric: bool, root: Path | None, create_pr: bool, revision: str | None) -> None:
    if metric == (root is not None):
        raise RulerError(
            "Give a release or the metric: ruler push DIR --repo ORG/NAME, or "
            "ruler push --metric --repo ORG/ruler_score"
        )
    if create_pr and revision:
        raise RulerError(
            "--create-pr makes no tag: leave --revision out, and push with it after the merge."
        )


def _shipment(root: Path | None, repo: str) -> tuple[Shipment, Manifest | None]:
    """The release in a folder with its manifest, or the metric."""
    from builder.common import terminal
    from builder.hub import release_files as hub_release
    from builder.hub.metric_space import metric_shipment

    if root is None:
        return metric_shipment(repo), None
    with terminal.bytes_bar("Reading", hub_release.size_of(root)) as read:
        return hub_release.release_shipment(root, repo, read)


def _taken_away(
    root: Path | None, manifest: Manifest | None, repository: Repository, state: State
) -> list[str]:
    from builder.hub import release_files as hub_release

    if root is None or manifest is None:
        return []
    there = hub_release.manifest_at(repository, state)
    return hub_release.taken_away(manifest, state, there, repository.name, root)


def _check_repository(repo: str, state: State, private: bool, create_pr: bool) -> None:
    if private and state.head is not None and not state.private:
        raise RulerError(f"'{repo}' is public already: leave --private out, or change it there.")
    if create_pr and state.head is None:
        raise RulerError(
            f"The Hub has no '{repo}' to open a pull request in: push without --create-pr, or "
            "correct --repo."
        )


def _report(root: Path, workers: int, mirror: Path | None, tokenizers: list[str]) -> VerifyReport:
    from builder.checks.verify import verify
    from builder.common import terminal

    with terminal.rows_bar("Verifying") as bar:
        return verify(root, workers, mirror, tokenizers, bar.total, bar.rows)


def _call(repo: str, tag: str, manifest: Manifest | None) -> str:
    """How to load what was pushed."""
    if manifest is None:
        return f'evaluate.load("{repo}", revision="{tag}")'
    config = next(iter(manifest["files"].values()))["config"]
    return f'load_dataset("{repo}", "{config}", revision="{tag}")'


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
    from builder.common import terminal
    from builder.hub.fetch_release import fetch as fetch_release

    names = [name.strip() for name in configs.split(",") if name.strip()]
    with terminal.bytes_bar("Fetching", None) as bar:
        fetched = fetch_release(
            repo, to, names, tokenizer or (), revision, lambda size: bar(0, size), bar
        )
    total = sum(fetched.manifest["files"][path]["bytes"] for path in fetched.new)
    typer.echo(
        f"{len(fetched.new)} files, {total:,} bytes, of '{repo}' at commit {fetched.commit}: "
        f"'{to}' holds {len(fetched.manifest['files'])}."
    )
    if not verify:
        typer.echo(f"Every digest is right. To prove the rows: ruler verify {to}")
        return
    report = _report(to, 1, mirror, [])
    verdict.show_report(to, report, as_json=False)
    if not report.ok:
        raise typer.Exit(1)
