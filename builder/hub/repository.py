"""A repository on the Hub: its state, one commit with what it lacks, a tag, and reading it back.

    repository = Repository("org/ruler", "dataset")
    state = repository.state()
    plan = make_plan(shipment, state)
    sent = repository.send(shipment, plan, state)
    repository.check(shipment, plan, sent.commit)

A large file that was uploaded before an interruption is not sent twice: the Hub is asked for it by
its sha256. The client is huggingface_hub; what is to be sent comes from release.py (a release)
or metric.py (the metric).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.hub.errors import explained
from builder.hub.plan import Kind, Plan, Shipment, State
from ruler_dataset import RulerError

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.hf_api import RepoFile

Told = Callable[[int], Any]
"""Hears how many bytes are done so far."""
_BATCH_FILES, _BATCH_BYTES = 32, 1 << 28


@dataclass(frozen=True)
class Sent:
    """The commit that holds what was sent, and the address of it or of its pull request."""

    commit: str
    url: str


@dataclass(frozen=True)
class Repository:
    """A dataset or a Space, ORG/NAME. Its methods raise RulerError."""

    name: str
    kind: Kind

    def __post_init__(self) -> None:
        """Check the name."""
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", self.name):
            raise RulerError(f"'{self.name}' is no Hub repository: write ORG/NAME.")

    @cached_property
    def api(self) -> HfApi:
        """The client, without its own progress bars."""
        from huggingface_hub import HfApi
        from huggingface_hub.utils import disable_progress_bars

        disable_progress_bars()
        return HfApi()

    def state(self) -> State:
        """What is there now."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with explained(self.name):
            try:
                info = self.api.repo_info(self.name, repo_type=self.kind)
            except RepositoryNotFoundError:
                return State()
            refs = self.api.list_repo_refs(self.name, repo_type=self.kind)
        head = str(info.sha)
        tags = {ref.name: ref.target_commit for ref in refs.tags}
        branches = [ref.name for ref in refs.branches]
        return State(head, bool(info.private), self.tree(head), tags, branches)

    def tree(self, commit: str) -> dict[str, RepoFile]:
        """Every file of a commit, with its digests."""
        from huggingface_hub.hf_api import RepoFile

        with explained(self.name):
            entries = self.api.list_repo_tree(
                self.name, recursive=True, revision=commit, repo_type=self.kind
            )
            return {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}

    def read(self, path: str, commit: str) -> bytes:
        """A small file of a commit."""
        with explained(self.name):
            local = self.api.hf_hub_download(self.name, path, repo_type=self.kind, revision=commit)
        return Path(local).read_bytes()

    def pull_request(self, title: str) -> str | None:
        """The address of an open pull request of that title."""
        with explained(self.name):
            found = self.api.get_repo_discussions(
                self.name,
                repo_type=self.kind,
                discussion_type="pull_request",
                discussion_status="open",
            )
            return next((str(one.url) for one in found if one.title == title), None)

    def send(
        self,
        shipment: Shipment,
        plan: Plan,
        state: State,
        private: bool = False,
        create_pr: bool = False,
        told: Told = lambda done: None,
    ) -> Sent:
        """Create the repository if need be, upload, commit once upon the state's head, and tag."""
        with explained(self.name):
            head = state.head or self._create(private)
            url = f"{self.api.endpoint}/{self.kind}s/{self.name}/commit/{head}"
            if plan.new or plan.gone:
                head, url = self._commit(shipment, plan, head, create_pr, told)
            if plan.tag:
                self.api.create_tag(self.name, tag=plan.tag, revision=head, repo_type=self.kind)
        return Sent(head, url)

    def _create(self, private: bool) -> str:
        self.api.create_repo(
            self.name,
            repo_type=self.kind,
            private=private,
            space_sdk="gradio" if self.kind == "space" else None,
        )
        return str(self.api.repo_info(self.name, repo_type=self.kind).sha)

    def _commit(
        self, shipment: Shipment, plan: Plan, head: str, create_pr: bool, told: Told
    ) -> tuple[str, str]:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        additions = [CommitOperationAdd(path, shipment.files[path]) for path in plan.new]
        done = 0
        for batch in _batches(additions):  # upload_folder would make several commits
            self.api.preupload_lfs_files(self.name, batch, repo_type=self.kind, create_pr=create_pr)
            done += sum(addition.upload_info.size for addition in batch)
            told(done)
        made = self.api.create_commit(
            self.name,
            [*additions, *(CommitOperationDelete(path) for path in plan.gone)],
            commit_message=shipment.title,
            repo_type=self.kind,
            parent_commit=head,
            create_pr=create_pr,
        )
        return made.oid, made.pr_url or made.commit_url

    def check(self, shipment: Shipment, plan: Plan, commit: str) -> None:
        """Read a commit back: every file's digest, small files byte by byte, and the tag."""
        there = self.tree(commit)
        wrong = [p for p, digest in shipment.digests.items() if not digest.matches(there.get(p))]
        wrong += [path for path in plan.gone if path in there]
        for path, digest in shipment.digests.items():
            if path not in wrong and not there[path].lfs:
                found = hashlib.sha256(self.read(path, commit)).hexdigest()
                wrong += [path] * (found != digest.sha256)
        if wrong:
            raise RulerError(
                f"Read back, '{self.name}' differs from what was sent in {wrong[0]} "
                f"({len(wrong)} files, commit {commit[:12]}): run the same command again."
            )
        if plan.tag and self.state().tags.get(plan.tag) != commit:
            raise RulerError(f"Read back, '{self.name}' has no tag {plan.tag} at {commit[:12]}.")

    def holds(self, shipment: Shipment, commit: str) -> bool:
        """Whether a commit holds these files, and no other rows."""
        there = self.tree(commit)
        same = all(digest.matches(there.get(path)) for path, digest in shipment.digests.items())
        return same and {path for path in there if path.startswith("data/")} <= set(shipment.files)


def need_token() -> None:
    """Refuse early where nobody is logged in."""
    from huggingface_hub import get_token

    if get_token() is None:
        raise RulerError(
            "There is no Hub token: log in with `hf auth login`, or set HF_TOKEN to a token with "
            "write rights."
        )


def _batches(additions: Sequence[CommitOperationAdd]) -> Iterator[list[CommitOperationAdd]]:
    batch: list[CommitOperationAdd] = []
    for addition in additions:
        size = sum(one.upload_info.size for one in batch)
        if len(batch) == _BATCH_FILES or size >= _BATCH_BYTES:
            yield batch
            batch = []
        batch.append(addition)
    if batch:
        yield batch
