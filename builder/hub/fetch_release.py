"""Bring a release, or a part of it, from the Hub or its cache into a folder.

    fetched = fetch("org/ruler", Path("ruler"), configs=("niah_mk_4k",), revision="v1.0.0")

Files are collected in `.fetch/`, checked against the manifest and then moved to their places; the
manifest comes last. Of a part, manifest and card list that part alone, so that the folder is a
release of its own; a folder that holds one is extended, if both are of one making.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.card import eval_yaml, provenance
from builder.card.render import first_row, render
from builder.common.build_folder import unfinished
from builder.hub.hub_errors import explained, unreachable
from builder.hub.release_files import CARD, strange_manifest
from builder.hub.repository import Repository
from builder.release.manifest import merge_headers, with_files
from ruler_dataset import (
    MANIFEST,
    FileEntry,
    Manifest,
    RulerError,
    check_name,
    files_of,
    read_manifest,
    sha256_of,
    write_whole,
)

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
    planned: Callable[[int], Any] = lambda size: None,
    told: Callable[[int], Any] = lambda done: None,
) -> Fetched:
    """Bring what is missing of the asked configurations (all if none). Raises RulerError.

    `planned` hears the bytes to bring, `told` those that are there so far.
    """
    here, source = _folder(root), _Source(Repository(repo, "dataset"), revision)
    theirs = strange_manifest(source.manifest, repo)
    paths = _chosen(repo, theirs, list(configs), list(tokenizers))
    manifest = _together(here, theirs, paths, root)
    new = [path for path in paths if not _is(root / path, manifest["files"][path])]
    planned(sum(theirs["files"][path]["bytes"] for path in new))
    staging = root / STAGING
    staging.mkdir(parents=True, exist_ok=True)
    source.bring({path: theirs["files"][path] for path in new}, staging, told)
    for path in new:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(staging / path, root / path)
    _write_heads(root, manifest, theirs, source)
    shutil.rmtree(staging)
    return Fetched(manifest, new, source.commit)


class _Source:
    """A dataset at one commit, whose files come from the Hub or, unreachable, from its cache."""

    def __init__(self, repository: Repository, revision: str | None) -> None:
        self.repository, self.name = repository, repository.name
        self.unreached: Exception | None = None
        with explained(self.name):
            try:
                repository.api.repo_info(self.name, repo_type="dataset", revision=revision)
            except Exception as error:
                if not unreachable(error):
                    raise
                self.unreached = error
            manifest = self.find(MANIFEST, revision)
            if manifest is None:
                raise self.unreached or RulerError(
                    f"'{self.name}' has no {MANIFEST}: it is no release."
                )
        self.manifest, self.commit = manifest, manifest.parent.name  # snapshots/<commit>/…

    def find(self, path: str, revision: str | None) -> Path | None:
        """A file at the release's root, in the cache; None if there is none."""
        from huggingface_hub.errors import LocalEntryNotFoundError, RemoteEntryNotFoundError

        with explained(self.name):
            try:
                found = self.repository.api.hf_hub_download(
                    self.name,
                    path,
                    repo_type="dataset",
                    revision=revision,
                    local_files_only=self.unreached is not None,
                )
            except RemoteEntryNotFoundError:
                return None
            except LocalEntryNotFoundError:
                if self.unreached is None:
                    raise
                return None
        return Path(found)

    def bring(
        self, entries: Mapping[str, FileEntry], folder: Path, told: Callable[[int], Any]
    ) -> None:
        """Bring Parquet files into a folder, each checked; what is there already is kept."""
        pool, done = ThreadPoolExecutor(_AT_ONCE), 0
        try:
            work = {
                pool.submit(self._bring, path, entry, folder): entry["bytes"]
                for path, entry in entries.items()
            }
            for finished in as_completed(work):
                finished.result()
                done += work[finished]
                told(done)
        finally:
            pool.shutdown(cancel_futures=True)

    def _bring(self, path: str, entry: FileEntry, folder: Path) -> None:
        from huggingface_hub import try_to_load_from_cache

        target = folder / path
        if _is(target, entry):
            return
        cached = try_to_load_from_cache(self.name, path, repo_type="dataset", revision=self.commit)
        if isinstance(cached, str) and _is(Path(cached), entry):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(cached, target)
            return
        with explained(self.name):
            if self.unreached:
                raise self.unreached
            self.repository.api.hf_hub_download(
                self.name,
                path,
                repo_type="dataset",
                revision=self.commit,
                local_dir=folder,
                force_download=isinstance(cached, str),  # the cache's copy is damaged
            )
        if not _is(target, entry):
            found = sha256_of(target)
            target.unlink()
            raise RulerError(
                f"'{path}' of '{self.name}' has sha256 {found}, its manifest says "
                f"{entry['sha256']}: it is not kept. Run the same command again."
            )


def _is(path: Path, entry: FileEntry) -> bool:
    return path.is_file() and sha256_of(path) == entry["sha256"]


def _folder(root: Path) -> Manifest | None:
    """The manifest of the folder that is to be filled; None if there is none."""
    if (root / MANIFEST).exists():
        if left := unfinished(root):
            raise RulerError(
                f"A build of {left} files is under way in '{root}': finish it first, or give "
                "another --to."
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
    named: list[str] | list[None] = tokenizers or [None]
    if configs:
        try:
            wanted = {
                path
                for config in configs
                for tokenizer in named
                for path in files_of(config, manifest, tokenizer)
            }
        except RulerError as error:  # it speaks of a folder, or of building
            said = str(error).replace("ruler list DIR", see).replace("ruler build --help", see)
            raise RulerError(said) from error
    else:
        wanted = {
            path
            for path, entry in manifest["files"].items()
            if not tokenizers or entry["tokenizer"] in tokenizers
        }
    return [path for path in manifest["files"] if path in wanted]


def _together(here: Manifest | None, theirs: Manifest, paths: list[str], root: Path) -> Manifest:
    """The manifest of what the folder will hold; RulerError where it holds another making."""
    files = {path: theirs["files"][path] for path in paths}
    known = here["files"] if here else {}
    for path in files.keys() & known.keys():
        if known[path]["rows_sha256"] != files[path]["rows_sha256"]:
            raise RulerError(f"'{root}' holds other rows in {path}: give a new --to.")
    part = _of_files(theirs, files)
    merged = merge_headers(here, part, root) if here else part
    return with_files(merged, {**known, **files})


def _of_files(theirs: Manifest, files: dict[str, FileEntry]) -> Manifest:
    """The header of a part: the tokenizers, languages and sources of its files alone."""
    used = {entry["tokenizer"] for entry in files.values()}
    codes = {entry[key] for entry in files.values() for key in ("language", "instruction_language")}
    return {
        **theirs,
        "tokenizers": {name: theirs["tokenizers"][name] for name in sorted(used)},
        "sources": provenance.sources({**theirs, "files": files}),
        "languages": {
            code: said for code, said in theirs.get("languages", {}).items() if code in codes
        },
    }


def _write_heads(root: Path, manifest: Manifest, theirs: Manifest, source: _Source) -> None:
    """Card and manifest: those of the Hub where the release is whole, else of what is there."""
    heads = {CARD: render(manifest, first_row(root, manifest))}
    theirs_too = source.find(eval_yaml.FILE, source.commit)
    if theirs_too or (root / eval_yaml.FILE).exists():
        heads[eval_yaml.FILE] = eval_yaml.eval_yaml(manifest)
    heads[MANIFEST] = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    if manifest["files"] == theirs["files"]:
        for name in heads:
            if found := source.find(name, source.commit):
                heads[name] = found.read_text(encoding="utf-8")
    for name, text in heads.items():  # the manifest last
        write_whole(root / name, text)
