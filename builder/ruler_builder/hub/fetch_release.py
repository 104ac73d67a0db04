"""Bring a release, or a part of it, from the Hub or its cache into a folder.

    fetched = fetch("org/ruler", Path("ruler"), configs=("niah_mk_4k",), revision="v1.0.0")

Files are collected in `.fetch/`, checked against the manifest and then moved to their places; the
manifest comes last. Of a part, manifest and card list that part alone, so that the folder is a
release of its own; a folder that holds one is extended, if both were made alike.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from huggingface_hub import try_to_load_from_cache
from huggingface_hub.errors import LocalEntryNotFoundError, RemoteEntryNotFoundError

from ruler_builder.card import provenance
from ruler_builder.card.card_files import CARD, CROISSANT, EVAL_YAML, card_files
from ruler_builder.common.build_folder import is_unfinished
from ruler_builder.common.project_files import DISTRIBUTION
from ruler_builder.hub.repository import Repository
from ruler_builder.release.new_manifest import join_manifests
from ruler_builder.sources.folder_lock import alone_in
from ruler_common.errors import RulerError, Unreachable
from ruler_common.files import read_bytes, read_text, sha256_of, write_whole
from ruler_common.hub_access import hub_errors
from ruler_common.manifest import manifest_text, parse_manifest, read_manifest
from ruler_common.manifest_form import MANIFEST, FileEntry, Manifest
from ruler_common.names import check_name
from ruler_common.work import OnBytes
from ruler_dataset import files_of

STAGING = ".fetch"
_AT_ONCE = 4  # downloads


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
    """Bring what is missing of the asked configurations (all if none). Raises RulerError.

    `planned` is called with the bytes to bring, `on_progress` with those there so far.
    """
    with alone_in(root):
        here, source = _folder(root), HubSnapshot(Repository(repo, "dataset"), revision)
        theirs = parse_manifest(read_bytes(source.manifest), f"{MANIFEST} of {repo}")
        paths = _chosen(repo, theirs, list(configs), list(tokenizers))
        manifest = _together(here, theirs, paths, root)
        new = [path for path in paths if not _has_digest(root / path, manifest["files"][path])]
        planned(sum(theirs["files"][path]["bytes"] for path in new))
        staging = root / STAGING
        staging.mkdir(parents=True, exist_ok=True)
        try:
            source.bring({path: theirs["files"][path] for path in new}, staging, on_progress)
        except OSError:  # a full disk; where the network fails, the next try goes on from here
            for begun in staging.rglob("*"):
                entry = manifest["files"].get(begun.relative_to(staging).as_posix())
                if begun.is_file() and not (entry and _has_digest(begun, entry)):
                    begun.unlink()
            raise
        for path in new:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / path, root / path)
        _write_card_files(root, manifest, theirs, source)
        shutil.rmtree(staging)
        return Fetched(manifest, new, source.commit)


class HubSnapshot:
    """A Hub data set at one commit; its files come from the Hub, or offline from its cache."""

    def __init__(self, repository: Repository, revision: str | None) -> None:
        self.repository, self.name = repository, repository.name
        self.unreached: Unreachable | None = None
        try:
            with hub_errors(self.name):
                repository.api.repo_info(self.name, repo_type="dataset", revision=revision)
        except Unreachable as error:
            self.unreached = error
        manifest = self.find(MANIFEST, revision)
        if manifest is None:
            raise self.unreached or RulerError(
                f"'{self.name}' has no {MANIFEST}: it is no release."
            )
        self.manifest, self.commit = manifest, manifest.parent.name  # snapshots/<commit>/…

    def find(self, path: str, revision: str | None) -> Path | None:
        """A file at the release's root, in the cache; None if there is none."""
        offline = self.unreached is not None
        try:
            return self.repository.get(path, revision, local_files_only=offline)
        except RulerError as error:
            absent = LocalEntryNotFoundError if offline else RemoteEntryNotFoundError
            if isinstance(error.__cause__, absent):
                return None
            raise

    def bring(self, entries: Mapping[str, FileEntry], folder: Path, on_progress: OnBytes) -> None:
        """Bring Parquet files into a folder, each with its digest checked; right ones stay."""
        pool, done = ThreadPoolExecutor(_AT_ONCE), 0
        try:
            work = {
                pool.submit(self._bring, path, entry, folder): entry["bytes"]
                for path, entry in entries.items()
            }
            for finished in as_completed(work):
                finished.result()
                done += work[finished]
                on_progress(done)
        finally:
            pool.shutdown(cancel_futures=True)

    def _bring(self, path: str, entry: FileEntry, folder: Path) -> None:
        target = folder / path
        if _has_digest(target, entry):
            return
        cached = try_to_load_from_cache(self.name, path, repo_type="dataset", revision=self.commit)
        if isinstance(cached, str) and _has_digest(Path(cached), entry):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(cached, target)
            return
        if self.unreached:
            raise self.unreached
        damaged = isinstance(cached, str)  # the cache's copy
        self.repository.get(
            path, self.commit, entry["bytes"], local_dir=folder, force_download=damaged
        )
        if not _has_digest(target, entry):
            found = sha256_of(target)
            target.unlink()
            raise RulerError(
                f"'{path}' of '{self.name}' has sha256 {found}, its manifest says "
                f"{entry['sha256']}: it is not kept. Run the same command again."
            )


def _has_digest(path: Path, entry: FileEntry) -> bool:
    return path.is_file() and sha256_of(path) == entry["sha256"]


def _folder(root: Path) -> Manifest | None:
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


def _chosen(repo: str, manifest: Manifest, configs: list[str], tokenizers: list[str]) -> list[str]:
    """The paths of the asked configurations, in the manifest's order."""
    see = f"ruler list {repo}"
    for name in tokenizers:
        check_name("tokenizer", name, manifest["tokenizers"], see)
    if not configs:
        files = manifest["files"].items()
        return [p for p, entry in files if not tokenizers or entry["tokenizer"] in tokenizers]
    named: list[str] | list[None] = tokenizers or [None]
    try:
        wanted = {
            path
            for config in configs
            for tokenizer in named
            for path in files_of(config, manifest, tokenizer)
        }
    except RulerError as error:  # it speaks of a folder, or of building
        message = str(error).replace("ruler list DIR", see).replace("ruler build --help", see)
        raise RulerError(message) from error
    return [path for path in manifest["files"] if path in wanted]


def _together(here: Manifest | None, theirs: Manifest, paths: list[str], root: Path) -> Manifest:
    """The manifest of what the folder will hold; RulerError if it holds rows made otherwise."""
    files = {path: theirs["files"][path] for path in paths}
    known = here["files"] if here else {}
    for path in files.keys() & known.keys():
        if known[path]["rows_sha256"] != files[path]["rows_sha256"]:
            raise RulerError(f"'{root}' holds other rows in {path}: give a new --to.")
    part = _of_files(theirs, files)
    return join_manifests([here, part] if here else [part], root)


def _of_files(theirs: Manifest, files: dict[str, FileEntry]) -> Manifest:
    """The manifest of a part of a release: the tokenizers, languages and sources of its files."""
    used = {entry["tokenizer"] for entry in files.values()}
    part: Manifest = {**theirs, "files": files}
    codes = provenance.languages(part)
    return {
        **part,
        "tokenizers": {name: theirs["tokenizers"][name] for name in sorted(used)},
        "sources": provenance.sources(part),
        "languages": {
            code: entry for code, entry in theirs.get("languages", {}).items() if code in codes
        },
    }


def _write_card_files(
    root: Path, manifest: Manifest, theirs: Manifest, source: HubSnapshot
) -> None:
    """Write card, eval.yaml and manifest: the Hub's where the release is whole, else its part's.

    croissant.json is always the folder's own, so that its files are read here; so is a card that
    this version of the builder made, which else would name the repository.
    """
    benchmark = source.find(EVAL_YAML, source.commit) or (root / EVAL_YAML).exists()
    files = card_files(root, manifest, bool(benchmark))
    files[MANIFEST] = manifest_text(manifest)
    if manifest["files"] == theirs["files"]:
        own = {CROISSANT, *([CARD] if manifest["builder_version"] == version(DISTRIBUTION) else [])}
        for name in files.keys() - own:
            if found := source.find(name, source.commit):
                files[name] = read_text(found)
    for name, text in files.items():  # the manifest last
        write_whole(root / name, text)
