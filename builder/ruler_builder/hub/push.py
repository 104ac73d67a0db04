"""Publish a release on the Hub: verify it, make one commit, and tag the commit.

    plan_push("org/ruler", Path("ruler"))       # files, tag, and what the Hub has already
    push("org/ruler", Path("ruler"), print, verification=VerifyOptions("ruler"))

The rows of a published data version neither change nor vanish: an extension adds files, another
data version replaces them, and the old ones stay available at their tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ruler_builder.hub.repository import HubState, hub_state, send
from ruler_builder.options import VerifyOptions
from ruler_builder.release.card import card_files
from ruler_builder.release.facts import EVAL_YAML, collect_facts
from ruler_builder.release.folder import is_unfinished
from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError, Unreachable
from ruler_common.files import has_digest
from ruler_common.hub import hub_file
from ruler_common.manifest import (
    MANIFEST,
    Manifest,
    manifest_text,
    parse_manifest,
    read_manifest,
    version_numbers,
)
from ruler_common.text import number_of, printable


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
    is_answered = True
    try:
        state = hub_state(repo, "dataset")
        published = _published_manifest(repo, state)
    except Unreachable:
        if needs_hub:
            raise
        state, published, is_answered = HubState(), None, False
    if private and state.head and not state.private:
        raise RulerError(f"'{repo}' is public already: leave --private out, or change it there.")
    published_as: list[str] = []
    existing: set[str] = set()
    deleted: list[str] = []
    if published:
        deleted = _files_to_delete(repo, root, manifest, published, state)
        for path, entry in published["files"].items():
            if path in manifest["files"] and manifest["files"][path]["sha256"] == entry["sha256"]:
                existing.add(path)
        if manifest_text(published) == manifest_text(manifest):
            tags = [name for name, commit in state.tags.items() if commit == state.head]
            published_as = tags if revision in tags or not revision else []
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
    """Return the tag of a release.

    Raises RulerError if it names another data version, and for a name that cannot be a tag: the Hub
    would refuse it after the commit.
    """
    tag = revision or f"v{version}"
    is_valid = re.fullmatch(
        r"(?!.*(?:\.\.|\.lock$))[A-Za-z0-9](?:[A-Za-z0-9._+-]*[A-Za-z0-9])?", tag
    )
    if not is_valid or tag == "main" or re.fullmatch("[0-9a-f]{40}", tag):
        raise RulerError(
            f"--revision '{printable(tag)}' cannot name a tag: use letters, digits, '.', '_', '+' "
            f"and '-', such as v{version}.1, and not the name of the main branch or of a commit."
        )
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
        if not has_digest(root / path, entry["sha256"]):
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
