"""Publish a release on the Hugging Face Hub, and bring one, or a part of it, into a folder.

    push(PushOrder(repo="org/ruler", root=Path("ruler")), print)
    fetched = fetch("org/ruler", Path("ruler"), configs=("niah_mk_4k",), revision="v1.0.0")

A push verifies, makes one commit and one tag. The rows of a data version that was published
neither change nor vanish: an extension adds files, another data version replaces them, and the old
ones stay at their tag. Fetched files are collected in `.fetch`, compared with the manifest's
digests and then moved to their places; the manifest is written last.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruler_builder.card import provenance
from ruler_builder.card.card_files import EVAL_YAML, card_files
from ruler_builder.release.folder_lock import alone_in
from ruler_builder.release.manifest import is_unfinished, join_manifests
from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes, sha256_of, write_whole
from ruler_common.hub_access import hub_errors, hub_file, is_repository
from ruler_common.manifest import manifest_text, parse_manifest, read_manifest
from ruler_common.manifest_form import MANIFEST, FileEntry, Manifest
from ruler_common.names import check_name
from ruler_common.terminal import files_bar
from ruler_common.text import number_of
from ruler_common.work import OnBytes
from ruler_dataset import files_of

STAGING = ".fetch"
_DOWNLOADS = 4  # at a time

# ---- push --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PushOrder:
    """A release folder to push to a dataset of the Hub, and how."""

    repo: str  # ORG/NAME
    root: Path
    private: bool = False  # if the repository is made
    revision: str | None = None  # the tag; None: v and the data version
    create_pr: bool = False  # a pull request, which has no tag
    skip_verify: bool = False  # compare the files with their digests, and not their rows
    workers: int | None = 1
    mirror: Path | None = None
    tokenizers: tuple[str, ...] = ()  # where unnamed ones are now, NAME=FOLDER
    language_folders: tuple[Path, ...] = ()


@dataclass(frozen=True)
class HubState:
    """What a repository of the Hub holds: its newest commit, and the commit of each tag."""

    head: str | None = None  # None: there is no such repository
    private: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


def push(order: PushOrder, note: Callable[[str], None]) -> None:
    """Verify a release, commit it once and tag the commit; `note` is called with what was done.

    Raises RulerError, before anything is sent, if the release does not verify, published rows
    would change, or the tag names something else.
    """
    repo, root = order.repo, order.root
    if order.create_pr and order.revision:
        raise RulerError(
            "--create-pr makes no tag: leave --revision out, and push with it after the merge."
        )
    manifest = read_manifest(root)
    if is_unfinished(root):
        raise RulerError(f"'{root}' is unfinished: run the same `ruler build` again.")
    version = manifest["data_version"]
    tag = None if order.create_pr else order.revision or f"v{version}"
    named = re.fullmatch(r"v?(\d+\.\d+\.\d+)(?:[.+-].*)?", tag or "")
    if named and named[1] != version:
        raise RulerError(
            f"--revision {tag} names another version than {version}, which this is: "
            f"leave it out for v{version}."
        )
    state = hub_state(repo, "dataset")
    if order.private and state.head and not state.private:
        raise RulerError(f"'{repo}' is public already: leave --private out, or change it there.")
    published = _published(repo, state)
    if published and manifest_text(published) == manifest_text(manifest):
        there = [name for name, commit in state.tags.items() if commit == state.head]
        if order.create_pr or order.revision in there or (there and not order.revision):
            note(f"'{repo}' holds this release already, as {', '.join(there) or 'main'}.")
            return
    deleted = _replaced_files(manifest, published, state, order) if published else []
    if tag is not None and tag in state.tags:
        raise RulerError(
            f"'{repo}' has a tag {tag} that names another commit, and a tag is never moved. Give "
            f"this release another tag: --revision {_free_tag(tag, state.tags)}"
        )
    files = _release_files(root, manifest, repo)
    note(_verified(order))
    title = f"{manifest['dataset']} {version}, {number_of(len(manifest['files']), 'file')}"
    commit, url = send(
        repo,
        "dataset",
        files,
        title=title,
        state=state,
        deleted=deleted,
        private=order.private,
        create_pr=order.create_pr,
        tag=tag,
    )
    note(f"Sent: {url}")
    if tag:
        config = next(iter(manifest["files"].values()))["config"]
        note(f"Tagged {tag}, commit {commit}: cite that.")
        note(f'Load it: load_dataset("{repo}", "{config}", revision="{tag}")')
    else:
        note("No tag was made: after the merge, run the command without --create-pr.")


def hub_state(repo: str, kind: str) -> HubState:
    """Ask the Hub what a repository holds; `kind` is `dataset` or `space`. Raises RulerError."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    if not is_repository(repo):
        raise RulerError(f"'{repo}' is not a Hub repository: write ORG/NAME.")
    with hub_errors(repo):
        try:
            info = HfApi().repo_info(repo, repo_type=kind)
        except RepositoryNotFoundError:
            return HubState()
        refs = HfApi().list_repo_refs(repo, repo_type=kind)
    tags = {ref.name: ref.target_commit for ref in refs.tags}
    return HubState(str(info.sha), bool(info.private), tags)


def send(
    repo: str,
    kind: str,
    files: Mapping[str, Path | bytes],
    *,
    title: str,
    state: HubState,
    deleted: Iterable[str] = (),
    private: bool = False,
    create_pr: bool = False,
    tag: str | None = None,
    sdk: str | None = None,
) -> tuple[str, str]:
    """Send files in one commit upon the state's head, then tag it; the commit and its address.

    The repository is made if it does not exist; `sdk` is that of a Space. Large files that an
    interrupted push has sent are not sent again. Raises RulerError.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    from huggingface_hub.utils import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    api, head = HfApi(), state.head
    operations: list[Any] = [CommitOperationAdd(path, content) for path, content in files.items()]
    operations += [CommitOperationDelete(path) for path in deleted]
    with hub_errors(repo):
        if head is None:
            api.create_repo(repo, repo_type=kind, private=private, space_sdk=sdk)
            head = str(api.repo_info(repo, repo_type=kind).sha)
        made = api.create_commit(
            repo,
            operations,
            commit_message=title,
            repo_type=kind,
            parent_commit=head,
            create_pr=create_pr,
        )
        if tag:
            api.create_tag(repo, tag=tag, revision=made.oid, repo_type=kind)
    return made.oid, made.pr_url or made.commit_url


def _published(repo: str, state: HubState) -> Manifest | None:
    """The manifest of a repository's newest commit; None if it has none."""
    from huggingface_hub.errors import EntryNotFoundError

    if state.head is None:
        return None
    try:
        path = hub_file(repo, MANIFEST, state.head)
    except RulerError as error:
        if isinstance(error.__cause__, EntryNotFoundError):
            return None
        raise
    return parse_manifest(read_bytes(path), f"{MANIFEST} of {repo}")


def _replaced_files(
    manifest: Manifest, published: Manifest, state: HubState, order: PushOrder
) -> list[str]:
    """The published files that this release takes the place of: those of an older data version.

    Raises RulerError if published rows would change or be lost.
    """
    repo, root = order.repo, order.root
    if published["dataset"] != manifest["dataset"]:
        raise RulerError(
            f"'{repo}' holds {published['dataset']}, '{root}' {manifest['dataset']}: "
            "give another --repo."
        )
    old, new = published["data_version"], manifest["data_version"]
    mine, theirs = manifest["files"], published["files"]
    if old == new:
        for path in mine:
            if path in theirs and mine[path]["rows_sha256"] != theirs[path]["rows_sha256"]:
                raise RulerError(
                    f"'{repo}' has published other rows of {path} as data version {new}, and these "
                    "never change: build with another data version, or give another --repo."
                )
        lost = [p for p in theirs if p not in mine or mine[p]["sha256"] != theirs[p]["sha256"]]
        if lost:
            raise RulerError(
                f"'{repo}' holds {number_of(len(lost), 'file')} that '{root}' lacks or has with "
                f"other bytes ({lost[0]}). Bring them in first: ruler fetch {repo} --to {root}"
            )
        return []
    if _numbers(old) > _numbers(new):
        raise RulerError(
            f"'{repo}' holds data version {old} already, and '{root}' is {new}: older versions "
            "stay at their tags and are not pushed again."
        )
    if state.head not in state.tags.values():
        raise RulerError(
            f"'{repo}' holds data version {old} without a tag, and it would be lost: tag it first: "
            f"hf repos tag create {repo} v{old} --repo-type dataset"
        )
    return [path for path in theirs if path not in mine]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _free_tag(tag: str, taken: Iterable[str]) -> str:
    """The first of `v1.0.0.1`, `v1.0.0.2` … that is not a tag yet."""
    number = 1
    while f"{tag}.{number}" in taken:
        number += 1
    return f"{tag}.{number}"


def _release_files(root: Path, manifest: Manifest, repo: str) -> dict[str, Path | bytes]:
    """What the Hub is to hold; the card and croissant.json name the repository.

    Raises RulerError for a file that is missing or not the one of the manifest.
    """
    files: dict[str, Path | bytes] = {MANIFEST: root / MANIFEST}
    for path, entry in manifest["files"].items():
        if not _has_digest(root / path, entry):
            raise RulerError(
                f"'{root / path}' is missing or not the file of the manifest. "
                f"Run: ruler verify {root}"
            )
        files[path] = root / path
    described = card_files(root, manifest, benchmark=(root / EVAL_YAML).exists(), repo=repo)
    return files | {name: text.encode() for name, text in described.items()}


def _verified(order: PushOrder) -> str:
    """Verify the release and return what was shown; RulerError if it does not hold."""
    root = order.root
    if order.skip_verify:
        return "Not verified: the files have the manifest's digests."
    with files_bar("Verifying") as bar:
        report = verify(
            root,
            order.workers,
            order.mirror,
            order.tokenizers,
            language_folders=order.language_folders,
            bar=bar,
        )
    if not report.ok:
        raise RulerError(f"'{root}' does not verify and is not pushed. Run: ruler verify {root}")
    if not report.proved:
        why, paths = next(iter(report.not_rebuilt.items()))
        raise RulerError(
            f"'{root}' is not pushed: {number_of(len(paths), 'file')} could not be rebuilt: {why}."
        )
    return f"Verified: {number_of(len(report.files), 'file')}. {report.sentence}"


# ---- fetch -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fetched:
    """What a fetch brought: the folder's manifest, the new paths, and the commit they are of."""

    manifest: Manifest
    new: list[str]
    commit: str


def fetch(
    repo: str,
    root: Path,
    configs: Iterable[str] = (),
    tokenizers: Iterable[str] = (),
    revision: str | None = None,
    planned: OnBytes = lambda size: None,
    on_progress: OnBytes = lambda done: None,
) -> Fetched:
    """Bring the configurations that are asked for (all if none) and not in the folder yet.

    A part is a release in itself: its manifest and card list only that part. `planned` is called
    with the bytes to bring, `on_progress` with those brought so far. Offline, files come from the
    Hub's cache. Raises RulerError.
    """
    if not is_repository(repo):
        raise RulerError(f"'{repo}' is not a Hub repository: write ORG/NAME.")
    with alone_in(root):
        here = _existing(root)
        cached = hub_file(repo, MANIFEST, revision)
        commit = cached.parent.name  # snapshots/<commit>/manifest.json
        theirs = parse_manifest(read_bytes(cached), f"{MANIFEST} of {repo}")
        asked = _asked_files(repo, theirs, list(configs), list(tokenizers))
        manifest = _joined(here, theirs, asked, root)
        new = [path for path in asked if not _has_digest(root / path, manifest["files"][path])]
        entries = {path: theirs["files"][path] for path in new}
        planned(sum(entry["bytes"] for entry in entries.values()))
        staging = root / STAGING
        staging.mkdir(parents=True, exist_ok=True)
        try:
            _download(repo, commit, entries, staging, on_progress)
        except OSError:  # a full disk; after a failure of the network the next fetch goes on
            _remove_unfinished(staging, entries)
            raise
        for path in new:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / path, root / path)
        for name, text in card_files(root, manifest).items():
            write_whole(root / name, text)
        write_whole(root / MANIFEST, manifest_text(manifest))
        shutil.rmtree(staging)
        return Fetched(manifest, new, commit)


def _existing(root: Path) -> Manifest | None:
    """The manifest of the folder that is to be filled; None if there is none."""
    if (root / MANIFEST).exists():
        if is_unfinished(root):
            raise RulerError(
                f"'{root}' is unfinished: run its `ruler build` again, or give another --to."
            )
        return read_manifest(root)
    if root.exists() and not root.is_dir():
        raise RulerError(f"'{root}' is a file: give the folder to make or extend with --to.")
    others = {path.name for path in root.iterdir()} - {STAGING} if root.is_dir() else set()
    if others and not (root / STAGING).is_dir():
        raise RulerError(f"'{root}' holds other files ({min(others)}): give a new --to.")
    return None


def _asked_files(
    repo: str, manifest: Manifest, configs: list[str], tokenizers: list[str]
) -> list[str]:
    """The paths of the configurations that are asked for, in the manifest's order."""
    see = f"ruler list {repo}"
    for name in tokenizers:
        check_name("tokenizer", name, manifest["tokenizers"], see)
    files = manifest["files"]
    if not configs:
        return [p for p, e in files.items() if not tokenizers or e["tokenizer"] in tokenizers]
    wanted: set[str] = set()
    chosen: list[str | None] = [*tokenizers] or [None]
    try:
        for config in configs:
            for tokenizer in chosen:
                wanted |= {*files_of(config, manifest, tokenizer)}
    except RulerError as error:  # it speaks of a folder, or of building
        message = str(error).replace("ruler list DIR", see).replace("ruler build --help", see)
        raise RulerError(message) from error
    return [path for path in files if path in wanted]


def _joined(here: Manifest | None, theirs: Manifest, paths: list[str], root: Path) -> Manifest:
    """The manifest of what the folder will hold: what it has, and these files with their sources.

    Raises RulerError if the folder holds rows that were made differently.
    """
    files = {path: theirs["files"][path] for path in paths}
    part: Manifest = {**theirs, "files": files}
    tokenizers = sorted({entry["tokenizer"] for entry in files.values()})
    part["tokenizers"] = {name: theirs["tokenizers"][name] for name in tokenizers}
    part["sources"] = provenance.sources(part)
    codes = provenance.languages(part)
    part["languages"] = {code: e for code, e in theirs["languages"].items() if code in codes}
    if here is None:
        return join_manifests([part], root)
    for path in files:
        if (
            path in here["files"]
            and here["files"][path]["rows_sha256"] != files[path]["rows_sha256"]
        ):
            raise RulerError(f"'{root}' holds other rows in {path}: give a new --to.")
    return join_manifests([here, part], root)


def _download(
    repo: str, commit: str, entries: Mapping[str, FileEntry], folder: Path, on_progress: OnBytes
) -> None:
    """Bring files of a commit into a folder, and compare each with its digest."""
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    done, pool = 0, ThreadPoolExecutor(_DOWNLOADS)
    try:
        sizes = {
            pool.submit(_download_file, repo, commit, path, entry, folder): entry["bytes"]
            for path, entry in entries.items()
        }
        for finished in as_completed(sizes):
            finished.result()
            done += sizes[finished]
            on_progress(done)
    finally:
        pool.shutdown(cancel_futures=True)


def _download_file(repo: str, commit: str, path: str, entry: FileEntry, folder: Path) -> None:
    from huggingface_hub import try_to_load_from_cache

    target = folder / path
    if _has_digest(target, entry):
        return
    cached = try_to_load_from_cache(repo, path, repo_type="dataset", revision=commit)
    if isinstance(cached, str) and _has_digest(Path(cached), entry):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(cached, target)
        return
    hub_file(repo, path, commit, local_dir=folder)
    if not _has_digest(target, entry):
        found = sha256_of(target)
        target.unlink()
        raise RulerError(
            f"'{path}' of '{repo}' has sha256 {found}, its manifest says {entry['sha256']}: "
            "it is not kept. Run the same command again."
        )


def _remove_unfinished(staging: Path, entries: Mapping[str, FileEntry]) -> None:
    for path in staging.rglob("*"):
        entry = entries.get(path.relative_to(staging).as_posix())
        if path.is_file() and not (entry and _has_digest(path, entry)):
            path.unlink()


def _has_digest(path: Path, entry: FileEntry) -> bool:
    return path.is_file() and sha256_of(path) == entry["sha256"]
