"""The repositories of the fake Hub: commits, tags, pull requests and large files.

A commit is a dictionary of blobs by path, named by 40 hex digits. Large files (Parquet) are stored
by their sha256, as on the Hub, and remain after an upload that was never committed.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from itertools import count
from typing import Any

_clock = count()


def git_name(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass(frozen=True)
class Blob:
    """A file of a commit; git stores a pointer to a large one."""

    data: bytes
    large: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def pointer(self) -> bytes:
        version = "version https://git-lfs.github.com/spec/v1"
        return f"{version}\noid sha256:{self.sha256}\nsize {len(self.data)}\n".encode()

    @property
    def git(self) -> str:
        return git_name(self.pointer if self.large else self.data)

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.git


@dataclass
class Refusal(Exception):
    """An error response."""

    status: int
    message: str
    code: str = ""


class Dropped(Exception):
    """Close the connection without a response."""


# Status, body (bytes, or a value to send as JSON) and headers
Answer = tuple[int, Any, dict[str, str]]


@dataclass
class PullRequest:
    title: str
    commit: str


@dataclass
class Repo:
    """A repository."""

    kind: str
    name: str
    private: bool = False
    sdk: str | None = None
    commits: dict[str, dict[str, Blob]] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    main: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    pull_requests: list[PullRequest] = field(default_factory=list)
    large: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        attributes = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
        self.main = self.add({".gitattributes": Blob(attributes)}, "initial commit")

    def add(self, files: dict[str, Blob], title: str) -> str:
        commit = hashlib.sha1(f"{self.name} {next(_clock)}".encode()).hexdigest()
        self.commits[commit] = files
        self.titles.append(title)
        return commit

    def find(self, revision: str) -> str:
        """Return the commit of a branch, tag, pull request or commit name."""
        if revision == "main":
            return self.main
        requests = {f"refs/pr/{n}": pr.commit for n, pr in enumerate(self.pull_requests, 1)}
        commit = {**self.tags, **requests, **{c: c for c in self.commits}}.get(revision)
        if commit is None:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return commit

    def commit(self, lines: list[dict], revision: str, as_pr: bool) -> tuple[str, int | None]:
        """Apply the operations of a commit, whose parent must be the current head."""
        header = lines[0]["value"]
        parent = header.get("parentCommit")
        head = self.find(revision)
        if parent and not as_pr and parent != head:
            raise Refusal(412, "A commit has happened since. Please refresh and try again.")
        files = dict(self.commits[parent if parent and as_pr else head])
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]))
            elif line["key"] == "lfsFile":
                if value["oid"] not in self.large:
                    raise Refusal(400, f"LFS object {value['oid']} was never uploaded")
                files[value["path"]] = Blob(self.large[value["oid"]], large=True)
            elif line["key"] == "deletedFile":
                del files[value["path"]]
            else:
                raise Refusal(400, f"unknown operation {line['key']}")
        commit = self.add(files, header["summary"])
        if as_pr:
            self.pull_requests.append(PullRequest(header["summary"], commit))
            return commit, len(self.pull_requests)
        self.main = commit
        return commit, None
