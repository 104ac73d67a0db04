"""The write requests of the fake Hub."""

from __future__ import annotations

import json
import threading
from typing import Any

import yaml

from tests.hub.card_rules import faults
from tests.hub.hub_store import Answer, Blob, Dropped, Refusal, Repo


class Writing:
    """Create repositories, and upload, commit and tag files."""

    hub: Any
    body: bytes
    query: dict[str, list[str]]

    def user(self, writes: bool = False) -> dict[str, Any] | None:
        raise NotImplementedError

    def repo(self, kind: str, name: str, writes: bool = False) -> Repo:
        raise NotImplementedError

    def create(self) -> Answer:
        user, wanted = self.user(writes=True), json.loads(self.body)
        assert user
        owner, kind = wanted["organization"] or user["name"], f"{wanted['type']}s"
        if owner not in (user["name"], *user["orgs"]) or not user["write"]:
            output = f"You don't have the rights to create a {wanted['type']} under the namespace"
            raise Refusal(403, f'{output} "{owner}"')
        name = f"{owner}/{wanted['name']}"
        if f"{kind}/{name}" in self.hub.repos:
            raise Refusal(409, "You already created this repo")
        private = wanted.get("visibility") == "private" or bool(wanted.get("private"))
        self.hub.repos[f"{kind}/{name}"] = Repo(kind, name, private, wanted.get("sdk"))
        return 200, {"url": f"{self.hub.url}/{kind}/{name}"}, {}

    def validate(self) -> Answer:
        wanted = json.loads(self.body)
        try:
            result = yaml.safe_load(wanted["content"].split("---\n")[1])
        except (yaml.YAMLError, IndexError) as error:
            return 400, {"errors": [{"message": str(error)}], "warnings": []}, {}
        errors = [{"message": fault} for fault in faults(wanted["repoType"], result)]
        return 400 if errors else 200, {"errors": errors, "warnings": []}, {}

    def preupload(self, kind: str, name: str, revision: str) -> Answer:
        repo = self.repo(kind, name, writes="create_pr" not in self.query)
        files = repo.commits[repo.find(revision)]
        answers = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(".parquet") else "regular",
                "shouldIgnore": False,
                "oid": files[file["path"]].etag if file["path"] in files else None,
            }
            for file in json.loads(self.body)["files"]
        ]
        return 200, {"files": answers}, {}

    def batch(self, kind: str, name: str) -> Answer:
        repo = self.repo(kind, name)
        objects = []
        for wanted in json.loads(self.body)["objects"]:
            href = f"{self.hub.large_url}/large/{kind}/{name}/{wanted['oid']}"
            action = {"actions": {"upload": {"href": href}}}
            objects.append(wanted | ({} if wanted["oid"] in repo.large else action))
        return 200, {"transfer": "basic", "objects": objects}, {}

    def put(self, upload: str) -> Answer:
        repo, oid = upload.rsplit("/", 1)
        with self.hub.lock:
            if self.hub.drop_next:
                self.hub.drop_next -= 1
                raise Dropped
            is_held = self.hub.hold_after is not None
            is_held = is_held and len(self.hub.uploads) >= self.hub.hold_after
            if not is_held:
                blob = Blob(self.body, large=True)
                if blob.sha256 != oid:
                    raise Refusal(400, "the digest is another")
                self.hub.repos[repo].large[oid] = self.body
                self.hub.uploads.append(oid)
        if is_held:
            self.hub.holding.set()
            threading.Event().wait(60)  # until the client is killed
            raise Dropped
        return 200, {}, {}

    def commit(self, kind: str, name: str, revision: str) -> Answer:
        as_pr = "create_pr" in self.query
        repo = self.repo(kind, name, writes=not as_pr)
        lines = [json.loads(line) for line in self.body.splitlines()]
        with self.hub.lock:
            if self.hub.intruder == f"{kind}/{name}":
                self.hub.intruder = None
                repo.main = repo.add(dict(repo.commits[repo.main]), "someone else's")
            commit, number = repo.commit(lines, revision, as_pr)
        url = f"{self.hub.url}/{kind}/{name}"
        pull = f"{url}/discussions/{number}" if number else None
        return 200, {
            "commitUrl": f"{url}/commit/{commit}",
            "commitOid": commit,
            "pullRequestUrl": pull,
        }, {}  # fmt: skip

    def tag(self, kind: str, name: str, revision: str) -> Answer:
        repo, tag = self.repo(kind, name, writes=True), json.loads(self.body)["tag"]
        if tag in repo.tags:
            raise Refusal(409, f"Tag {tag} already exists")
        repo.tags[tag] = repo.find(revision)
        return 200, {}, {}
