"""The read requests of the fake Hub."""

from __future__ import annotations

import json
import re
from email.message import Message
from typing import Any
from urllib.parse import parse_qs

import yaml

from tests.hub.hub_store import Answer, Blob, Refusal, Repo

PAGE = 5  # entries on each page, so that every listing has several pages


class Reading:
    """Answer requests for listings, references, files and parts of files."""

    hub: Any
    body: bytes
    raw: str
    query: dict[str, list[str]]
    headers: Message

    def repo(self, kind: str, name: str, writes: bool = False) -> Repo:
        raise NotImplementedError

    def info(self, kind: str, name: str, revision: str = "main") -> Answer:
        repo = self.repo(kind, name)
        commit = repo.find(revision)
        return 200, {
            "_id": "0",
            "id": name,
            "sha": commit,
            "private": repo.private,
            "tags": [],
            "siblings": [{"rfilename": path} for path in sorted(repo.commits[commit])],
            **self._eval_results(repo.commits[commit]),
        }, {}  # fmt: skip

    def _eval_results(self, files: dict[str, Blob]) -> dict[str, Any]:
        """Return a model's results, if they are requested: entries, or the error of a file."""
        if self.query.get("expand") != ["evalResults"]:
            return {}
        result: list[dict[str, Any]] = []
        for path, blob in files.items():
            if path.startswith(".eval_results/"):
                name = path.removeprefix(".eval_results/")
                if self.hub.results_error:
                    result.append({"filename": name, "error": self.hub.results_error})
                else:
                    entries = yaml.safe_load(blob.data)
                    result += [{"filename": name, "verified": False, "data": e} for e in entries]
        return {"evalResults": result}

    def refs(self, kind: str, name: str) -> Answer:
        repo = self.repo(kind, name)
        tags = [
            {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": commit}
            for tag, commit in repo.tags.items()
        ]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.main}
        return 200, {"branches": [main], "tags": tags, "converts": [], "pullRequests": []}, {}

    def _entries(self, files: dict[str, Blob], path: str, recursive: bool) -> list[dict[str, Any]]:
        entries: dict[str, dict[str, Any]] = {}
        for name, blob in sorted(files.items()):
            inside = name.removeprefix(f"{path}/") if path else name
            if path and inside == name:
                continue
            steps = inside.split("/")
            for depth in range(1, len(steps) if recursive else min(2, len(steps))):
                folder = "/".join([*filter(None, [path]), *steps[:depth]])
                entries[folder] = {"type": "directory", "path": folder, "oid": "0", "size": 0}
            if recursive or len(steps) == 1:
                entries[name] = _described(name, blob)
        return list(entries.values())

    def tree(self, kind: str, name: str, revision: str, path: str = "") -> Answer:
        repo = self.repo(kind, name)
        recursive = self.query.get("recursive", ["false"])[0].lower() == "true"
        entries = self._entries(repo.commits[repo.find(revision)], path, recursive)
        if path and not entries:
            raise Refusal(404, f"{path} does not exist", "EntryNotFound")
        start = int(self.query.get("cursor", ["0"])[0])
        headers = {}
        if start + PAGE < len(entries):
            query = f"recursive={recursive}&expand=False&cursor={start + PAGE}"
            headers["Link"] = f'<{self.hub.url}{self.raw}?{query}>; rel="next"'
        return 200, entries[start : start + PAGE], headers

    def paths_info(self, kind: str, name: str, revision: str) -> Answer:
        repo = self.repo(kind, name)
        files = repo.commits[repo.find(revision)]
        asked = json.loads(self.body) if self.body[:1] == b"{" else parse_qs(self.body.decode())
        result = []
        for path in asked["paths"]:
            if path in files:
                result.append(_described(path, files[path]))
            elif any(file.startswith(f"{path}/") for file in files):
                result.append({"type": "directory", "path": path, "oid": "0", "size": 0})
        return 200, result, {}

    def resolve(self, kind: str, name: str, revision: str, path: str) -> Answer:
        repo = self.repo(kind, name)
        commit = repo.find(revision)
        headers = {"X-Repo-Commit": commit}
        blob = repo.commits[commit].get(path)
        if blob is None:
            code = {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"}
            return 404, {"error": "Entry not found"}, headers | code
        headers |= {"ETag": f'"{blob.etag}"', "Accept-Ranges": "bytes"}
        if not blob.large:
            return self._part(blob.data, headers)
        linked = {"X-Linked-Etag": f'"{blob.etag}"', "X-Linked-Size": str(len(blob.data))}
        where = f"{self.hub.large_url}/large/{kind}/{name}/{blob.sha256}"
        return 302, b"", headers | linked | {"Location": where}

    def large(self, fetch: str) -> Answer:
        if self.headers.get("Authorization"):
            raise Refusal(400, "a token was sent to the storage behind the Hub")
        repo, oid = fetch.rsplit("/", 1)
        return self._part(self.hub.repos[repo].large[oid], {"ETag": f'"{oid}"'})

    def _part(self, data: bytes, headers: dict[str, str]) -> Answer:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if not wanted:
            return 200, data, headers
        start, end = int(wanted[1]), int(wanted[2] or len(data) - 1)
        headers["Content-Range"] = f"bytes {start}-{min(end, len(data) - 1)}/{len(data)}"
        return 206, data[start : end + 1], headers


def _described(path: str, blob: Blob) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": path, "oid": blob.git, "size": len(blob.data)}
    if blob.large:
        entry["lfs"] = {
            "oid": blob.sha256,
            "size": len(blob.data),
            "pointerSize": len(blob.pointer),
        }
    return entry
