"""A repository on the Hub: its state, one commit with what it lacks, reading it back, a tag.

    repository = Repository("org/ruler", "dataset")
    state = repository.state()
    plan = make_plan(shipment, state)
    sent = repository.send(shipment, plan, state)
    repository.check(shipment, plan, sent.commit)
    repository.tag(plan.tag, sent.commit)           # last: a tag is for good

A large file that was uploaded before an interruption is not sent twice: over LFS the Hub is asked
for it by its sha256; where hf-xet is installed huggingface_hub sends over Xet, which the tests do
not exercise. What is to be sent comes from release_files.py or spaces.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import disable_progress_bars

from ruler_builder.hub.push_plan import Kind, PushPlan, RepositoryState, Shipment
from ruler_common.errors import RulerError
from ruler_common.files import MOST_BYTES, sha256_of
from ruler_common.hub_access import hub_errors, hub_file, is_repository, write_token
from ruler_common.work import OnBytes

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
        if not is_repository(self.name):
            raise RulerError(f"'{self.name}' is no Hub repository: write ORG/NAME.")

    @cached_property
    def api(self) -> HfApi:
        """The client, without its own progress bars."""
        disable_progress_bars()
        return HfApi()

    def state(self) -> RepositoryState:
        """What is there now."""
        with hub_errors(self.name):
            try:
                info = self.api.repo_info(self.name, repo_type=self.kind)
            except RepositoryNotFoundError:
                return RepositoryState()
            refs = self.api.list_repo_refs(self.name, repo_type=self.kind)
        return RepositoryState(
            head=str(info.sha),
            private=bool(info.private),
            files=self.tree(str(info.sha)),
            tags={ref.name: ref.target_commit for ref in refs.tags},
            branches=[ref.name for ref in refs.branches],
        )

    def tree(self, commit: str) -> dict[str, RepoFile]:
        """Every file of a commit, with its digests."""
        with hub_errors(self.name):
            entries = self.api.list_repo_tree(
                self.name, recursive=True, revision=commit, repo_type=self.kind
            )
            return {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}

    def get(self, path: str, revision: str | None, most: int = MOST_BYTES, **options: Any) -> Path:
        """A file of a commit, in the cache, or as `hf_hub_download` has it with these options.

        The download stops after `most` bytes.
        """
        return hub_file(self.name, path, revision, most, self.kind, **options)

    def pull_request(self, title: str) -> str | None:
        """The address of an open pull request of that title."""
        with hub_errors(self.name):
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
        plan: PushPlan,
        state: RepositoryState,
        private: bool = False,
        create_pr: bool = False,
        on_progress: OnBytes = lambda done: None,
    ) -> Sent:
        """Create the repository if need be, upload, and commit once upon the state's head."""
        with hub_errors(self.name):
            if (head := state.head) is None:
                sdk = shipment.sdk
                self.api.create_repo(self.name, repo_type=self.kind, private=private, space_sdk=sdk)
                head = str(self.api.repo_info(self.name, repo_type=self.kind).sha)
            url = f"{self.api.endpoint}/{self.kind}s/{self.name}/commit/{head}"
            if plan.new or plan.gone:
                head, url = self._commit(shipment, plan, head, create_pr, on_progress)
        return Sent(head, url)

    def _commit(
        self, shipment: Shipment, plan: PushPlan, head: str, create_pr: bool, on_progress: OnBytes
    ) -> tuple[str, str]:
        additions = [CommitOperationAdd(path, shipment.files[path]) for path in plan.new]
        done = 0
        for batch in _batches(additions):  # upload_folder would make several commits
            self.api.preupload_lfs_files(self.name, batch, repo_type=self.kind, create_pr=create_pr)
            done += sum(addition.upload_info.size for addition in batch)
            on_progress(done)
        made = self.api.create_commit(
            self.name,
            [*additions, *(CommitOperationDelete(path) for path in plan.gone)],
            commit_message=shipment.title,
            repo_type=self.kind,
            parent_commit=head,
            create_pr=create_pr,
        )
        return made.oid, made.pr_url or made.commit_url

    def check(self, shipment: Shipment, plan: PushPlan, commit: str) -> None:
        """Read a commit back: every file's digest, and small files byte by byte."""
        there = self.tree(commit)
        wrong = [p for p, digest in shipment.digests.items() if not digest.matches(there.get(p))]
        wrong += [path for path in plan.gone if path in there]
        for path, digest in shipment.digests.items():
            if path not in wrong and not there[path].lfs:
                found = sha256_of(self.get(path, commit, force_download=True))
                wrong += [path] * (found != digest.sha256)
        if wrong:
            raise RulerError(
                f"Read back, '{self.name}' differs from what was sent in {wrong[0]} "
                f"({len(wrong)} files, commit {commit[:12]}): run the same command again."
            )

    def tag(self, tag: str, commit: str) -> None:
        """Make a tag of a commit that was read back, and read the tag back."""
        with hub_errors(self.name):
            self.api.create_tag(self.name, tag=tag, revision=commit, repo_type=self.kind)
            refs = self.api.list_repo_refs(self.name, repo_type=self.kind)
        if (tag, commit) not in {(ref.name, ref.target_commit) for ref in refs.tags}:
            raise RulerError(
                f"Read back, '{self.name}' has no tag {tag} at {commit[:12]}: run the same command "
                "again."
            )

    def holds(self, shipment: Shipment, commit: str) -> bool:
        """Whether a commit holds these files, and no other rows."""
        there = self.tree(commit)
        same = all(digest.matches(there.get(path)) for path, digest in shipment.digests.items())
        return same and {path for path in there if path.startswith("data/")} <= set(shipment.files)


def check_rights(repo: str, create_pr: bool = False) -> None:
    """Refuse early where nobody is logged in, or may not write. Raises RulerError.

    A pull request may be opened in anyone's repository.
    """
    if get_token() is None:
        raise RulerError(
            "There is no Hub token: log in with `hf auth login`, or set HF_TOKEN to a token with "
            "write rights."
        )
    with hub_errors(repo):
        me = HfApi().whoami()
    if me.get("auth", {}).get("accessToken", {}).get("role") == "read":
        raise RulerError(f"The token of '{me['name']}' can only read: {write_token()}")
    owner, names = repo.split("/")[0], [me["name"], *(org["name"] for org in me.get("orgs", ()))]
    if not create_pr and owner not in names:
        raise RulerError(
            f"'{owner}' is not you nor an organisation of yours, which are {', '.join(names)}: "
            "correct --repo, or ask its owners for write rights."
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
