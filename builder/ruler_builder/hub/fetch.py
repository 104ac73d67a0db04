"""Download a release, or a part of it, from the Hub into a folder.

    fetched = fetch("org/ruler", Path("ruler"), configs=("niah_mk_4k",), revision="v1.0.0")

Downloaded files are collected in `.fetch`, compared with the manifest's digests and then moved to
their places; the manifest is written last.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ruler_builder.hub.repository import check_repository, hide_progress_unless_seen
from ruler_builder.release.card import write_card_files
from ruler_builder.release.facts import collect_facts
from ruler_builder.release.folder import (
    STAGING,
    is_unfinished,
    join_manifests,
    locked_folder,
    refuse_other_files,
)
from ruler_common.errors import RulerError
from ruler_common.files import has_digest, sha256_of, write_whole
from ruler_common.hub import hub_errors, hub_file
from ruler_common.manifest import MANIFEST, Manifest, manifest_text, parse_manifest, read_manifest
from ruler_common.names import check_name
from ruler_dataset import files_of


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
    check_repository(repo)
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
        new: dict[str, str] = {}  # sha256 by path
        for path in asked:
            sha256 = published["files"][path]["sha256"]
            if not has_digest(root / path, sha256):
                new[path] = sha256
        staging = root / STAGING
        staging.mkdir(parents=True, exist_ok=True)
        _download(repo, commit, new, staging)
        for path in new:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / path, root / path)
        write_card_files(root, manifest)
        write_whole(root / MANIFEST, manifest_text(manifest))
        shutil.rmtree(staging)
        return Fetched(manifest, [*new], commit)


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
    for name in tokenizers:
        check_name("tokenizer", name, manifest["tokenizers"], f"ruler list {repo}")
    files = manifest["files"]
    if not configs:
        return [p for p, e in files.items() if not tokenizers or e["tokenizer"] in tokenizers]
    asked: set[str] = set()
    chosen: list[str | None] = [*tokenizers] or [None]
    for config in configs:
        for tokenizer in chosen:
            asked.update(files_of(config, manifest, tokenizer, where=repo))
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


def _download(repo: str, commit: str, digests: Mapping[str, str], folder: Path) -> None:
    """Download files of a commit into a folder, and compare each with its sha256."""
    from huggingface_hub import snapshot_download

    missing = []  # of an interrupted fetch, some are there
    for path, expected in digests.items():
        if not has_digest(folder / path, expected):
            missing.append(path)
    if not missing:
        return
    hide_progress_unless_seen()
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
        if sha256 != digests[path]:
            (folder / path).unlink()
            raise RulerError(
                f"'{path}' of '{repo}' has sha256 {sha256}, its manifest says "
                f"{digests[path]}: it is not kept. Run the same command again."
            )
