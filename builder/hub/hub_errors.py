"""What the Hub's client raises, as one sentence with its remedy.

with explained("org/ruler"):
    api.create_commit(...)      # a stale parent: RulerError("'org/ruler' changed while …")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ruler_dataset import RulerError

_AGAIN = "What is done is kept: the same command goes on."


@contextmanager
def explained(repo: str) -> Iterator[None]:
    """Turn the errors of huggingface_hub into RulerErrors; those of the disk pass."""
    from huggingface_hub import errors

    try:
        yield
    except RulerError:
        raise
    except (
        errors.HTTPError,
        errors.EntryNotFoundError,
        RuntimeError,
        ValueError,
        OSError,
    ) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise RulerError(_sentence(error, repo)) from error


def unreachable(error: BaseException) -> bool:
    """Whether the Hub was not asked at all: no network, or HF_HUB_OFFLINE."""
    from huggingface_hub import errors

    if isinstance(error, errors.OfflineModeIsEnabled):
        return True
    return isinstance(error, errors.HTTPError) and not isinstance(error, errors.HfHubHTTPError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what caused it: uploads wrap the one that says why."""
    while error is not None:
        yield error
        error = error.__cause__


def _sentence(error: Exception, repo: str) -> str:
    from huggingface_hub import constants, errors

    if isinstance(error, ValueError) and not isinstance(error, errors.HTTPError):
        return f"The Hub refused '{repo}': {' '.join(str(error).split())}"  # a card's metadata
    for link in _chain(error):
        if isinstance(link, errors.OfflineModeIsEnabled):
            return (
                f"HF_HUB_OFFLINE is set and the cache has not what is asked of '{repo}': "
                "unset it, or ask for what is there."
            )
        if isinstance(link, errors.RevisionNotFoundError):
            return f"'{repo}' has no such revision: {_revisions(repo)}"
        if isinstance(link, errors.RepositoryNotFoundError):
            return (
                f"The Hub has no '{repo}', or your token may not see it: "
                "correct the name, or log in (hf auth login)."
            )
        if isinstance(link, errors.HfHubHTTPError):
            return _refusal(link, repo)
        if unreachable(link):
            return (
                f"Cannot reach the Hub at {constants.ENDPOINT} ({type(link).__name__}): check the "
                f"network. {_AGAIN}"
            )
    return f"The Hub's client failed with '{' '.join(str(error).split())}'. {_AGAIN}"


def _refusal(error: object, repo: str) -> str:
    """A sentence for each status the Hub answers with."""
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    assert isinstance(error, HfHubHTTPError)
    status, said = error.response.status_code, error.server_message or ""
    said = said.split("\n")[0].rstrip(".")
    if status == 401:
        return (
            "The Hub does not know your token (401): log in again (hf auth login) or correct "
            f"HF_TOKEN; tokens are made at {constants.ENDPOINT}/settings/tokens."
        )
    if status == 403:
        return _no_rights(repo, said)
    if status == 409:
        return f"The Hub has that already (409: {said}): another made it meanwhile, or hid it."
    if status == 412:
        return (
            f"'{repo}' changed while this was sent (412), so nothing was committed. "
            "Run the same command again: it sends only what is missing."
        )
    if status == 413:
        return (
            f"The Hub finds a part of '{repo}' too large (413), most likely the card, which lists "
            "every configuration: publish one tokenizer, or fewer languages, a repository."
        )
    if status == 429:
        wait = error.response.headers.get("Retry-After")
        later = f"in {wait} seconds" if wait else "in some minutes"
        return f"The Hub's rate limit is reached (429): go on {later}. {_AGAIN}"
    if status >= 500:
        return f"The Hub itself fails ({status}): go on later. {_AGAIN}"
    return f"The Hub refused '{repo}' ({status}: {said or 'no reason given'}). {_AGAIN}"


def _no_rights(repo: str, said: str) -> str:
    """Whether the organisation is another's, or the token too weak."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError

    try:
        me = HfApi().whoami()
    except (HTTPError, OSError):
        return f"Your token may not write to '{repo}' (403: {said}): {write_token()}"
    if other := foreign(repo, me):
        return f"{other} (403): correct --repo, or ask its owners for write rights."
    return f"The token of '{me['name']}' may not write to '{repo}' (403: {said}): {write_token()}"


def foreign(repo: str, me: Mapping[str, Any]) -> str | None:
    """What to say where a repository is neither the user's nor an organisation's of theirs."""
    owner = repo.split("/")[0]
    names = [me["name"], *(org["name"] for org in me.get("orgs", ()))]
    if owner in names:
        return None
    return f"'{owner}' is not you nor an organisation of yours, which are {', '.join(names)}"


def write_token() -> str:
    """How to get a token that may write."""
    from huggingface_hub import constants

    return f"make one with write rights at {constants.ENDPOINT}/settings/tokens (hf auth login)."


def _revisions(repo: str) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError

    try:
        refs = HfApi().list_repo_refs(repo, repo_type="dataset")
    except (HTTPError, OSError):
        return "correct --revision."
    return f"it has {', '.join(ref.name for ref in [*refs.tags, *refs.branches])}."
