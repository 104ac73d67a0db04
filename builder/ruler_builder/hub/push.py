"""Publish a release, the metric or a page on the Hub: check, show, verify, send, read back, tag.

    push(PushOrder(repo="org/ruler", root=Path("ruler")), note, show)

Stopped anywhere, the same call goes on: what the Hub holds already is not sent again. The tag is
made last, of a commit that was read back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ruler_builder.hub import release_files
from ruler_builder.hub.push_plan import PushPlan, RepositoryState, Shipment, make_plan
from ruler_builder.hub.repository import Repository, check_rights
from ruler_builder.hub.spaces import check_space, metric_shipment, report_shipment
from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError, Unreachable
from ruler_common.manifest_form import Manifest
from ruler_common.terminal import bytes_bar, rows_bar

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PushOrder:
    """What to push: a release folder `root`, or a `page`, or the metric if both are None."""

    repo: str
    root: Path | None = None
    page: Path | None = None
    private: bool = False
    revision: str | None = None  # the tag to make; None: v and the data version
    create_pr: bool = False
    dry_run: bool = False
    skip_verify: bool = False
    workers: int | None = 1
    mirror: Path | None = None
    tokenizers: tuple[str, ...] = ()  # where those of the user's own lie now, NAME=FOLDER
    language_folders: tuple[Path, ...] = ()  # of languages that are none of the 26


ShowPlan = Callable[[Shipment, PushPlan, Manifest | None], None]
"""Shows a user what will be sent, removed and tagged."""


def push(order: PushOrder, note: Callable[[str], None], show: ShowPlan) -> None:
    """Push what the repository lacks, in one commit. Raises RulerError before anything is sent.

    Also where the release breaks a law, rights are missing, or published rows would change.
    """
    if order.create_pr and order.revision:
        raise RulerError(
            "--create-pr makes no tag: leave --revision out, and push with it after the merge."
        )
    repository = Repository(order.repo, "space" if order.root is None else "dataset")
    if not order.dry_run:
        check_rights(order.repo, order.create_pr)
    shipment, manifest = _shipment(order)
    state, reached = _state(repository, order.dry_run)
    gone: list[str] = []
    if reached and order.root is not None and manifest is not None:
        there = release_files.manifest_at(repository, state)
        gone = release_files.taken_away(manifest, state, there, order.repo, order.root)
    _check_repository(order, state)
    if order.page is not None:
        check_space(order.repo, state.files)
    same_at = partial(repository.holds, shipment)
    plan = make_plan(shipment, state, gone, order.revision, order.create_pr, same_at)
    log.debug("%s: %d new, %d gone, tag %s", order.repo, len(plan.new), len(plan.gone), plan.tag)
    if nothing := _nothing_to_push(order.repo, plan):
        note(nothing)
        return
    show(shipment, plan, manifest)
    if not reached:
        note(
            f"The Hub cannot be reached: all files are counted, as if '{order.repo}' held nothing."
        )
    elif state.head is None:
        note(f"'{order.repo}' is to be made, {'private' if order.private else 'public'}.")
    if order.root is not None and not order.skip_verify:
        note(_verified(order, order.root))
    if order.dry_run:
        note("Dry run: nothing was sent.")
        return
    if order.create_pr and (url := repository.pull_request(shipment.title)):
        note(f"A pull request with this is open already: {url}")
        return
    with bytes_bar("Sending", sum(shipment.digests[path].size for path in plan.new)) as bar:
        sent = repository.send(shipment, plan, state, order.private, order.create_pr, bar)
    log.debug("sent as %s, reading back", sent.commit)
    repository.check(shipment, plan, sent.commit)
    if plan.tag:
        repository.tag(plan.tag, sent.commit)
    note(f"Sent: {sent.url}")
    if order.page is not None and not order.create_pr:
        note(f"The page: {sent.url.partition('/commit/')[0]}")
    note(f"Read back: {len(shipment.digests)} files, every digest is right.")
    if order.create_pr:
        note("No tag was made: after the merge, run the command without --create-pr.")
    if plan.tag:
        note(f"Tagged {plan.tag}, commit {sent.commit}: cite that.")
        note(f"Load it: {_load_call(order.repo, plan.tag, manifest)}")


def _shipment(order: PushOrder) -> tuple[Shipment, Manifest | None]:
    """The release in a folder with its manifest, a page, or the metric."""
    if order.page is not None:
        return report_shipment(order.repo, order.page), None
    if order.root is None:
        return metric_shipment(order.repo), None
    with bytes_bar("Reading", release_files.size_of(order.root)) as bar:
        return release_files.release_shipment(order.root, order.repo, bar)


def _state(repository: Repository, dry_run: bool) -> tuple[RepositoryState, bool]:
    """What the repository holds, and whether the Hub said so: a dry run goes on without it."""
    try:
        return repository.state(), True
    except Unreachable:
        if not dry_run:
            raise
        return RepositoryState(), False


def _check_repository(order: PushOrder, state: RepositoryState) -> None:
    if order.private and state.head is not None and not state.private:
        raise RulerError(
            f"'{order.repo}' is public already: leave --private out, or change it there."
        )
    if order.create_pr and state.head is None:
        raise RulerError(
            f"The Hub has no '{order.repo}' to open a pull request in: push without --create-pr, "
            "or correct --repo."
        )


def _nothing_to_push(repo: str, plan: PushPlan) -> str | None:
    """Why there is nothing to push; None if there is something."""
    if plan.changed:
        changed = f"{', '.join(plan.changed[:3])}{' …' * (len(plan.changed) > 3)}"
        return (
            f"'{repo}' holds this as {plan.there} already; main was changed since ({changed}): "
            "nothing to push."
        )
    if not (plan.new or plan.gone or plan.tag):
        return f"'{repo}' holds all of this already, as {plan.there}: nothing to send."
    return None


def _verified(order: PushOrder, root: Path) -> str:
    """What was proved; RulerError where a law is broken."""
    with rows_bar("Verifying") as bar:
        report = verify(
            root,
            order.workers,
            order.mirror,
            order.tokenizers,
            planned=bar.total,
            on_progress=bar.rows,
            language_folders=order.language_folders,
        )
    if not report.ok:
        raise RulerError(f"'{root}' breaks a law and is not pushed. Run: ruler verify {root}")
    if not report.proved:
        why, paths = next(iter(report.not_rebuilt.items()))
        raise RulerError(
            f"'{root}' is not pushed, for {len(paths)} of its files could not be made anew: {why}."
        )
    return f"Verified: all laws hold, {len(report.files)} files. {report.sentence}"


def _load_call(repo: str, tag: str, manifest: Manifest | None) -> str:
    """The call that loads what was pushed."""
    if manifest is None:
        return f'evaluate.load("{repo}", revision="{tag}")'
    config = next(iter(manifest["files"].values()))["config"]
    return f'load_dataset("{repo}", "{config}", revision="{tag}")'
