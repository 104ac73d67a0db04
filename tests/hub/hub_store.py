"""What the stand-in of the Hub holds: repositories of commits, tags, pull requests and large files.

A commit is a dictionary path -> Blob, named by 40 hex digits; large files (Parquet) are kept by
their sha256, as the Hub keeps them, and outlive an upload that was never committed.
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
    """A file of a commit; of a large one git holds a pointer."""

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
    """An answer of the Hub that refuses."""

    status: int
    message: str
    code: str = ""


class Dropped(Exception):
    """The connection ends without an answer."""


Answer = tuple[int, Any, dict[str, str]]
"""Status, body (bytes, or what becomes JSON) and headers."""


@dataclass
class PullRequest:
    title: str
    commit: str


@dataclass
class Repo:
    """One repository; `main` and pull requests move, tags and commits do not."""

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
        """The commit of a branch, tag, pull request or commit name."""
        if revision == "main":
            return self.main
        requests = {f"refs/pr/{n}": pr.commit for n, pr in enumerate(self.pull_requests, 1)}
        commit = {**self.tags, **requests, **{c: c for c in self.commits}}.get(revision)
        if commit is None:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return commit

    def commit(self, lines: list[dict], revision: str, as_pr: bool) -> tuple[str, int | None]:
        """Apply the operations of a commit; the parent must be the head it was made upon."""
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
