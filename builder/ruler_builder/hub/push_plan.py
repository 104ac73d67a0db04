"""What a push to the Hub would do, decided from digests alone; nothing here sends anything.

plan = make_plan(shipment, state)
plan.new, plan.gone, plan.tag       # paths to send, paths to take away, the tag to make
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal

from huggingface_hub.hf_api import RepoFile

from ruler_common.errors import RulerError

Kind = Literal["dataset", "space"]


@dataclass(frozen=True)
class Digest:
    """A file's size in bytes, its sha256 and git's name for it, both in hex."""

    size: int
    sha256: str
    blob: str

    @classmethod
    def of(cls, content: Path | bytes) -> Digest:
        """Read a file, or bytes, once."""
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        sha256, blob = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size)
        with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
            while chunk := file.read(1 << 20):
                sha256.update(chunk)
                blob.update(chunk)
        return cls(size, sha256.hexdigest(), blob.hexdigest())

    def matches(self, entry: RepoFile | None) -> bool:
        """Whether a repository's file, as its tree lists it, holds the same bytes."""
        if entry is None:
            return False
        return self.sha256 == entry.lfs.sha256 if entry.lfs else self.blob == entry.blob_id


@dataclass(frozen=True, kw_only=True)
class Shipment:
    """What a repository is to hold: path -> file, and the version that its tag names.

    Without a version no tag is made unless one is asked for; `sdk` is what a Space runs on.
    """

    repo: str
    kind: Kind
    files: Mapping[str, Path | bytes]
    digests: Mapping[str, Digest]
    version: str | None
    title: str
    sdk: Literal["gradio", "static"] | None = None

    @classmethod
    def of_space(cls, files: Mapping[str, Path | bytes], **about: Any) -> Shipment:
        """What a Space is to hold: its files, each read for its digest."""
        digests = {name: Digest.of(content) for name, content in files.items()}
        return cls(kind="space", files=files, digests=digests, **about)


@dataclass(frozen=True, kw_only=True)
class RepositoryState:
    """What a repository holds: the commit of `main` (None: no repository), its files, its tags."""

    head: str | None = None
    private: bool = False
    files: Mapping[str, RepoFile] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    branches: Sequence[str] = ()


@dataclass(frozen=True)
class PushPlan:
    """Paths to send and to take away, the tag to make; `there`: the name it has there already.

    `changed` are the paths of `main` that differ from what that name holds.
    """

    new: tuple[str, ...]
    gone: tuple[str, ...]
    tag: str | None
    _: KW_ONLY
    there: str | None = None
    changed: tuple[str, ...] = ()


def make_plan(
    shipment: Shipment,
    state: RepositoryState,
    gone: Iterable[str] = (),
    revision: str | None = None,
    create_pr: bool = False,
    same_at: Callable[[str], bool] = lambda commit: False,
) -> PushPlan:
    """What is missing, and the tag. Raises RulerError where the tag is taken or names another.

    `gone` are the paths to take away; `same_at` says whether a commit holds the same files.
    """
    tag = revision or (f"v{shipment.version}" if shipment.version else None)
    if tag is not None:
        _check_tag(tag, shipment, state)
    new = tuple(
        p for p, digest in shipment.digests.items() if not digest.matches(state.files.get(p))
    )
    gone = tuple(gone)
    changed = bool(new or gone)
    if create_pr or tag is None:
        return PushPlan(new, gone, None, there=None if changed else "main")
    if not changed and revision is None:
        named = [name for name, commit in state.tags.items() if commit == state.head]
        if named:
            return PushPlan((), (), None, there=named[0])
    if (commit := state.tags.get(tag)) is None:
        return PushPlan(new, gone, tag)
    if not changed and (commit == state.head or same_at(commit)):
        return PushPlan((), (), None, there=tag)
    if changed and same_at(commit):
        return PushPlan((), (), None, there=tag, changed=(*new, *gone))
    raise RulerError(
        f"'{shipment.repo}' has a tag {tag} that names other files (commit {commit[:12]}), and a "
        f"tag is never moved. Give this state one of its own: --revision {_free(tag, state.tags)}"
    )


def _check_tag(tag: str, shipment: Shipment, state: RepositoryState) -> None:
    version = re.fullmatch(r"v?(\d+\.\d+\.\d+)(?:[.+-].*)?", tag)
    if version and shipment.version and version[1] != shipment.version:
        raise RulerError(
            f"--revision {tag} names another version than {shipment.version}, which this is: "
            f"leave it out for v{shipment.version}."
        )
    if tag in state.branches or not re.fullmatch(r"[\w.+-]+", tag):
        raise RulerError(f"'{tag}' cannot be a tag of '{shipment.repo}': give another --revision.")


def _free(tag: str, tags: Iterable[str]) -> str:
    """The first of `v1.0.0.1`, `v1.0.0.2` … that is no tag yet."""
    taken = set(tags)
    return next(name for n in range(1, len(taken) + 2) if (name := f"{tag}.{n}") not in taken)
