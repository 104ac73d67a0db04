"""A repository of the Hub, of a release or of the metric's Space: its state, and one commit to it.

state = hub_state("org/ruler", "dataset")
commit, url = send("org/ruler", "dataset", files, title="…", state=state, tag="v1.0.0")
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.hub import hub_errors, is_repository
from ruler_common.text import shows_progress


@dataclass(frozen=True)
class HubState:
    """The state of a Hub repository: its newest commit, and the commit of each tag."""

    head: str | None = None  # None: the repository does not exist
    private: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


def hub_state(repo: str, kind: str) -> HubState:
    """Return the state of a repository; `kind` is `dataset` or `space`. Raises RulerError."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    check_repository(repo)
    with hub_errors(repo):
        try:
            info = HfApi().repo_info(repo, repo_type=kind)
        except RepositoryNotFoundError:
            return HubState()
        refs = HfApi().list_repo_refs(repo, repo_type=kind)
    tags = {ref.name: ref.target_commit for ref in refs.tags}
    return HubState(str(info.sha), bool(info.private), tags)


def send(
    repo: str,
    kind: str,
    files: Mapping[str, Path | bytes],
    *,
    title: str,
    state: HubState,
    tag: str,
    deleted: Iterable[str] = (),
    private: bool = False,
    sdk: str | None = None,
) -> tuple[str, str]:
    """Send files in one commit on top of the state's head, then tag the commit.

    The repository is created if it does not exist, a Space with its `sdk`. Large files that an
    interrupted push has sent are not sent again. Returns the commit and its address.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    hide_progress_unless_seen()
    api, head = HfApi(), state.head
    operations: list[Any] = [CommitOperationAdd(path, content) for path, content in files.items()]
    operations += [CommitOperationDelete(path) for path in deleted]
    with hub_errors(repo, resumes=True):
        if head is None:
            api.create_repo(repo, repo_type=kind, private=private, space_sdk=sdk)
            head = str(api.repo_info(repo, repo_type=kind).sha)
        commit = api.create_commit(
            repo,
            operations,
            commit_message=title,
            repo_type=kind,
            parent_commit=head,
        )
        api.create_tag(repo, tag=tag, revision=commit.oid, repo_type=kind)
    return commit.oid, commit.commit_url


def check_repository(repo: str) -> None:
    """Raise RulerError if a name is not that of a repository."""
    if not is_repository(repo):
        raise RulerError(f"'{repo}' is not a Hub repository: write ORG/NAME.")


def hide_progress_unless_seen() -> None:
    """Turn off the client's progress bars with --quiet, and if stderr is not a terminal."""
    from huggingface_hub.utils import disable_progress_bars

    if not shows_progress() or not sys.stderr.isatty():
        disable_progress_bars()
