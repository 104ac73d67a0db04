"""Publish a release on the Hugging Face Hub, and download one, or a part of it, into a folder.

    plan_push("org/ruler", Path("ruler"))       # files, tag, and what the Hub has already
    push("org/ruler", Path("ruler"), print, verification=VerifyOptions("ruler"))
    fetched = fetch("org/ruler", Path("ruler"), configs=("niah_mk_4k",), revision="v1.0.0")

A push verifies the release, then makes one commit and one tag. The rows of a published data version
neither change nor vanish: an extension adds files, another data version replaces them, and the old
ones stay available at their tag. Downloaded files are collected in `.fetch`, compared with the
manifest's digests and then moved to their places; the manifest is written last.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruler_builder.options import VerifyOptions
from ruler_builder.release.card import card_files, write_card_files
from ruler_builder.release.facts import EVAL_YAML, collect_facts
from ruler_builder.release.folder import (
    STAGING,
    is_unfinished,
    join_manifests,
    locked_folder,
    refuse_other_files,
)
from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError, Unreachable
from ruler_common.files import sha256_of, write_whole
from ruler_common.hub import hub_errors, hub_file, is_repository
from ruler_common.manifest import (
    MANIFEST,
    FileEntry,
    Manifest,
    manifest_text,
    parse_manifest,
    read_manifest,
    version_numbers,
)
from ruler_common.names import check_name
from ruler_common.text import number_of
from ruler_dataset import files_of

# ---- Push ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PushPlan:
    """What a push would do, and what the Hub has already."""

    manifest: Manifest
    tag: str
    files: Mapping[str, Path | bytes]  # by path in the repository
    existing: frozenset[str]  # the Parquet files that the Hub has
    deleted: list[str]
    published_as: list[str]  # the tags, if the Hub holds this very release
    state: HubState
    is_answered: bool  # whether the Hub could be asked

    def bytes_of(self, path: str) -> int:
        """Return the size of a file."""
        content = self.files[path]
        return len(content) if isinstance(content, bytes) else content.stat().st_size


def plan_push(
    repo: str,
    root: Path,
    *,
    private: bool = False,
    revision: str | None = None,
    needs_hub: bool = True,
) -> PushPlan:
    """Return what a push of a release would do; nothing is sent.

    Raises RulerError for a file that differs from the manifest, if published rows would change, or
    if the tag exists.

    Args:
        repo: The dataset on the Hub, ORG/NAME.
        root: The folder of the release.
        private: Whether a repository that is created is private.
        revision: The tag; by default `v` and the data version.
        needs_hub: Whether it is an error if the Hub cannot be asked.
    """
    if is_unfinished(root):
        raise RulerError(f"'{root}' is unfinished: run the same `ruler build` again.")
    manifest = read_manifest(root)
    tag = _tag_of(manifest["data_version"], revision)
    state, published = HubState(), None
    is_answered = True
    try:
        state, published = _published(repo)
    except Unreachable:
        if needs_hub:
            raise
        is_answered = False
    if private and state.head and not state.private:
        raise RulerError(f"'{repo}' is public already: leave --private out, or change it there.")
    published_as: list[str] = []
    existing: set[str] = set()
    deleted: list[str] = []
    if published:
        if manifest_text(published) == manifest_text(manifest):
            tags = [name for name, commit in state.tags.items() if commit == state.head]
            published_as = tags if revision in tags or not revision else []
        deleted = _files_to_delete(repo, root, manifest, published, state)
        existing = _files_in_both(manifest, published)
    if tag in state.tags and not published_as:
        free = _free_tag(f"v{manifest['data_version']}", state.tags)
        raise RulerError(
            f"'{repo}' has a tag {tag} that names another commit, and a tag is never moved. Give "
            f"this release another tag: --revision {free}"
        )
    return PushPlan(
        manifest=manifest,
        tag=tag,
        files=_files_to_send(root, manifest, repo),
        existing=frozenset(existing),
        deleted=deleted,
        published_as=published_as,
        state=state,
        is_answered=is_answered,
    )


def push(
    repo: str,
    root: Path,
    note: Callable[[str], None],
    *,
    private: bool = False,
    revision: str | None = None,
    verification: VerifyOptions | None = None,
) -> None:
    """Verify a release, commit it and tag the commit.

    Raises RulerError, before anything is sent, as `plan_push` does and if the release does not
    verify. The Hub itself decides whether the token may write.

    Args:
        repo: The dataset on the Hub, ORG/NAME; created if it does not exist.
        root: The folder of the release.
        note: Called with each sentence about what was done.
        private: Whether a repository that is created is private.
        revision: The tag; by default `v` and the data version.
        verification: How to verify the release; None compares only the files' digests.
    """
    plan = plan_push(repo, root, private=private, revision=revision)
    if plan.published_as:
        note(f"'{repo}' holds this release already, as {', '.join(plan.published_as)}.")
        return
    note(_verify(root, verification))
    manifest, tag = plan.manifest, plan.tag
    count = number_of(len(manifest["files"]), "file")
    commit, url = send(
        repo,
        "dataset",
        plan.files,
        title=f"{manifest['dataset']} {manifest['data_version']}, {count}",
        state=plan.state,
        tag=tag,
        deleted=plan.deleted,
        private=private,
    )
    note(f"Sent: {url}")
    note(f"Tagged {tag}, commit {commit}: cite that.")
    config = next(iter(manifest["files"].values()))["config"]
    note(f'Load it: load_dataset("{repo}", "{config}", revision="{tag}")')


def _tag_of(version: str, revision: str | None) -> str:
    """Return the tag of a release. Raises RulerError if it names another data version."""
    tag = revision or f"v{version}"
    in_tag = re.fullmatch(r"v?(\d+\.\d+\.\d+)(?:[.+-].*)?", tag)
    if in_tag and in_tag[1] != version:
        raise RulerError(
            f"--revision {tag} names another version than {version}, the release's: "
            f"leave it out for v{version}."
        )
    return tag


def _free_tag(tag: str, tags: Mapping[str, str]) -> str:
    """Return the first of `v1.0.0.1`, `v1.0.0.2` … that is not a tag yet."""
    number = 1
    while f"{tag}.{number}" in tags:
        number += 1
    return f"{tag}.{number}"


def _published(repo: str) -> tuple[HubState, Manifest | None]:
    """Return the state of a repository, and the manifest of its newest commit, if it has one."""
    state = hub_state(repo, "dataset")
    return state, _published_manifest(repo, state)


def _files_in_both(manifest: Manifest, published: Manifest) -> set[str]:
    """Return the files that are published with the same bytes."""
    paths = set()
    for path, entry in manifest["files"].items():
        on_hub = published["files"].get(path)
        if on_hub and on_hub["sha256"] == entry["sha256"]:
            paths.add(path)
    return paths


def _published_manifest(repo: str, state: HubState) -> Manifest | None:
    """Return the manifest of a repository's newest commit; None if it has none."""
    from huggingface_hub.errors import EntryNotFoundError

    if state.head is None:
        return None
    try:
        path = hub_file(repo, MANIFEST, state.head)
    except RulerError as error:
        if isinstance(error.__cause__, EntryNotFoundError):
            return None
        raise
    return parse_manifest(path.read_bytes(), f"{MANIFEST} of {repo}")


def _files_to_delete(
    repo: str, root: Path, manifest: Manifest, published: Manifest, state: HubState
) -> list[str]:
    """Return the published files of an older data version that this release does not have.

    Raises RulerError if published rows would change or be lost.
    """
    if published["dataset"] != manifest["dataset"]:
        raise RulerError(
            f"'{repo}' holds {published['dataset']}, '{root}' {manifest['dataset']}: "
            "give another --repo."
        )
    old, new = published["data_version"], manifest["data_version"]
    files, published_files = manifest["files"], published["files"]
    missing = [path for path in published_files if path not in files]
    if old == new:
        for path in sorted(published_files.keys() & files.keys()):
            if files[path]["rows_sha256"] != published_files[path]["rows_sha256"]:
                raise RulerError(
                    f"'{repo}' has published other rows of {path} as data version {new}, and these "
                    "never change: build with another data version, or give another --repo."
                )
        if missing:
            raise RulerError(
                f"'{repo}' holds {number_of(len(missing), 'file')} that '{root}' lacks "
                f"({missing[0]}). Download them first: ruler fetch {repo} --to {root}"
            )
        return []
    if version_numbers(old) > version_numbers(new):
        raise RulerError(
            f"'{repo}' holds data version {old} already, and '{root}' is {new}: older versions "
            "stay available at their tags and are not pushed again."
        )
    if state.head not in state.tags.values():
        raise RulerError(
            f"'{repo}' holds data version {old} without a tag, and it would be lost. Tag it first: "
            f"hf repos tag create {repo} v{old} --repo-type dataset"
        )
    return missing


def _files_to_send(root: Path, manifest: Manifest, repo: str) -> dict[str, Path | bytes]:
    """Return the files of the repository; card and croissant.json name the repository.

    Raises RulerError for a file that is missing or differs from the manifest.
    """
    files: dict[str, Path | bytes] = {MANIFEST: root / MANIFEST}
    for path, entry in manifest["files"].items():
        if not _has_digest(root / path, entry):
            raise RulerError(
                f"'{root / path}' is missing or not the file of the manifest. "
                f"Run: ruler verify {root}"
            )
        files[path] = root / path
    facts, benchmark = collect_facts(manifest), (root / EVAL_YAML).exists()
    for name, text in card_files(facts, benchmark, repo).items():
        files[name] = text.encode()
    return files


def _verify(root: Path, verification: VerifyOptions | None) -> str:
    """Verify the release and return a sentence about it. Raises RulerError if it is not sound."""
    if verification is None:
        return "Not verified: the files have the manifest's digests."
    report = verify(verification)
    if not report.ok:
        raise RulerError(f"'{root}' does not verify and is not pushed. Run: ruler verify {root}")
    if not report.proved:
        why, paths = next(iter(report.not_rebuilt.items()))
        raise RulerError(
            f"'{root}' is not pushed, because {number_of(len(paths), 'file')} could not be "
            f"rebuilt: {why.removesuffix('.')}."
        )
    return f"Verified: {number_of(len(report.files), 'file')}. {report.sentence}"


# ---- The repository: of a release, and of the metric's Space -------------------------------------


@dataclass(frozen=True)
class HubState:
    """The state of a Hub repository: its newest commit, and the commit of each tag."""

    head: str | None = None  # None: the repository does not exist
    private: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


def hub_state(repo: str, kind: str) -> HubState:
    """Return the state of a repository; `kind` is `dataset` or `space`. Raises RulerError."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    _check_repository(repo)
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
    tag: str,
    deleted: Iterable[str] = (),
    private: bool = False,
    sdk: str | None = None,
) -> tuple[str, str]:
    """Send files in one commit on top of the state's head, then tag the commit.

    The repository is created if it does not exist, a Space with its `sdk`. Large files that an
    interrupted push has sent are not sent again. Returns the commit and its address.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    _hide_progress_unless_seen()
    api, head = HfApi(), state.head
    operations: list[Any] = [CommitOperationAdd(path, content) for path, content in files.items()]
    operations += [CommitOperationDelete(path) for path in deleted]
    with hub_errors(repo, resumes=True):
        if head is None:
            api.create_repo(repo, repo_type=kind, private=private, space_sdk=sdk)
            head = str(api.repo_info(repo, repo_type=kind).sha)
        commit = api.create_commit(
            repo,
            operations,
            commit_message=title,
            repo_type=kind,
            parent_commit=head,
        )
        api.create_tag(repo, tag=tag, revision=commit.oid, repo_type=kind)
    return commit.oid, commit.commit_url


def _check_repository(repo: str) -> None:
    if not is_repository(repo):
        raise RulerError(f"'{repo}' is not a Hub repository: write ORG/NAME.")


def _hide_progress_unless_seen() -> None:
    """Turn off the client's progress bars if stderr is not a terminal."""
    from huggingface_hub.utils import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()


# ---- Fetch ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fetched:
    """The result of a fetch: the folder's manifest, the new paths, and the commit that has them."""

    manifest: Manifest
    new: list[str]
    commit: str


def fetch(
    repo: str,
    root: Path,
    configs: Iterable[str] = (),
    tokenizers: Iterable[str] = (),
    revision: str | None = None,
) -> Fetched:
    """Download configurations of a release that the folder does not have yet; all if none is named.

    A part is a release too: its manifest and card list only that part. A fetch that was
    interrupted continues when it is run again. Raises RulerError.
    """
    _check_repository(repo)
    with locked_folder(root):
        existing = _existing_manifest(root)
        local = hub_file(repo, MANIFEST, revision)
        commit = local.parent.name  # the cache keeps snapshots/<commit>/manifest.json
        published = parse_manifest(local.read_bytes(), f"{MANIFEST} of {repo}")
        asked = _asked_files(repo, published, list(configs), list(tokenizers))
        if not asked:
            raise RulerError(
                f"'{repo}' has no files to download: choose another tokenizer or repository."
            )
        manifest = _joined(existing, published, asked, root)
        new = [path for path in asked if not _has_digest(root / path, manifest["files"][path])]
        staging = root / STAGING
        staging.mkdir(parents=True, exist_ok=True)
        _download(repo, commit, {path: published["files"][path] for path in new}, staging)
        for path in new:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / path, root / path)
        write_card_files(root, manifest)
        write_whole(root / MANIFEST, manifest_text(manifest))
        shutil.rmtree(staging)
        return Fetched(manifest, new, commit)


def _existing_manifest(root: Path) -> Manifest | None:
    """Return the manifest of the folder; None if it is new. Raises RulerError if it is in use."""
    if (root / MANIFEST).exists():
        if is_unfinished(root):
            raise RulerError(
                f"'{root}' is unfinished: run its `ruler build` again, or give another --to."
            )
        return read_manifest(root)
    refuse_other_files(root, STAGING)
    return None


def _asked_files(
    repo: str, manifest: Manifest, configs: list[str], tokenizers: list[str]
) -> list[str]:
    """Return the paths of the named configurations, in the order of the manifest."""
    see = f"ruler list {repo}"
    for name in tokenizers:
        check_name("tokenizer", name, manifest["tokenizers"], see)
    files = manifest["files"]
    if not configs:
        return [p for p, e in files.items() if not tokenizers or e["tokenizer"] in tokenizers]
    asked: set[str] = set()
    chosen: list[str | None] = [*tokenizers] or [None]
    try:
        for config in configs:
            for tokenizer in chosen:
                asked.update(files_of(config, manifest, tokenizer))
    except RulerError as error:  # its remedy is for a folder, or for a build
        message = str(error).replace("ruler list DIR", see).replace("ruler build --help", see)
        raise RulerError(message) from error
    return [path for path in files if path in asked]


def _joined(
    existing: Manifest | None, published: Manifest, paths: list[str], root: Path
) -> Manifest:
    """Return the manifest of the folder's files and the published ones together.

    Raises RulerError if the folder holds rows that were made differently.
    """
    files = {path: published["files"][path] for path in paths}
    tokenizers = sorted({entry["tokenizer"] for entry in files.values()})
    part: Manifest = {
        **published,
        "files": files,
        "tokenizers": {name: published["tokenizers"][name] for name in tokenizers},
    }
    facts = collect_facts(part)
    part["sources"] = facts.sources
    part["languages"] = {
        code: language
        for code, language in published["languages"].items()
        if code in facts.languages
    }
    if existing is None:
        return join_manifests([part], root)
    for path, entry in files.items():
        existing_entry = existing["files"].get(path, entry)
        if existing_entry["rows_sha256"] != entry["rows_sha256"]:
            raise RulerError(f"'{root}' holds other rows in {path}: give a new --to.")
    return join_manifests([existing, part], root)


def _download(repo: str, commit: str, entries: Mapping[str, FileEntry], folder: Path) -> None:
    """Download files of a commit into a folder, and compare each with its digest."""
    from huggingface_hub import snapshot_download

    missing = [path for path, entry in entries.items() if not _has_digest(folder / path, entry)]
    if not missing:
        return
    _hide_progress_unless_seen()
    try:
        with hub_errors(repo, resumes=True):
            snapshot_download(
                repo,
                repo_type="dataset",
                revision=commit,
                allow_patterns=missing,
                local_dir=folder,
            )
    except OSError:  # a full disk; after a network error the next fetch continues instead
        shutil.rmtree(folder)
        raise
    for path in missing:
        if not (folder / path).is_file():
            raise RulerError(f"'{repo}' has no {path}, which its manifest lists: tell its owner.")
        sha256 = sha256_of(folder / path)
        if sha256 != entries[path]["sha256"]:
            (folder / path).unlink()
            raise RulerError(
                f"'{path}' of '{repo}' has sha256 {sha256}, its manifest says "
                f"{entries[path]['sha256']}: it is not kept. Run the same command again."
            )


def _has_digest(path: Path, entry: FileEntry) -> bool:
    return path.is_file() and sha256_of(path) == entry["sha256"]
