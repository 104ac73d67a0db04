"""A model repository's .eval_results/*.yaml: its entries, new ones among them, the pull request.

    entries_in(text, where)        # [{"dataset": {"id": …, "task_id": …}, "value": …}, …]
    merged(before, new)            # a new entry takes the place of the same task's
    theirs, head = file_at_head(model, path)

The client is huggingface_hub; what goes wrong there is a RulerError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ruler_dataset import RulerError

Entry = dict[str, Any]


def entries_in(text: str, where: str, model: str) -> list[Entry]:
    """The entries of a file. Raises RulerError for another file, or one of another model."""
    import yaml  # type: ignore[import-untyped]

    written = re.match(r"# ruler results of (\S+)\n", text)
    if written and written[1] != model:
        raise RulerError(f"'{where}' is of {written[1]}: give a folder for each model with --out.")
    try:
        found: list[Entry] = yaml.safe_load(text) or []
        merged(found, [])
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise RulerError(f"'{where}' is no file of results: move it away.") from error
    return found


def merged(before: list[Entry], new: list[Entry]) -> list[Entry]:
    """All entries; of two on one task of one data set, the new one."""
    both = [*before, *new]
    keys = [(entry["dataset"]["id"], entry["dataset"]["task_id"]) for entry in both]
    return list(dict(zip(keys, both, strict=True)).values())


def to_yaml(found: list[Entry], model: str) -> str:
    """The text of a file; its first line says whose results they are."""
    from huggingface_hub.utils import yaml_dump

    return f"# ruler results of {model}\n{yaml_dump(found, sort_keys=False)}"


def check_token() -> None:
    """Refuse to go on without a token: a pull request has an author."""
    from huggingface_hub import get_token

    if get_token() is None:
        raise RulerError("There is no token: log in with `hf auth login`, or set HF_TOKEN.")


def file_at_head(model: str, path: str) -> tuple[str, str]:
    """A file's text on a model repository's main branch, empty if it has none, and the commit."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RemoteEntryNotFoundError

    api = HfApi()
    with _explained(model):
        head = str(api.model_info(model).sha)
        try:
            local = api.hf_hub_download(model, path, revision=head)
        except RemoteEntryNotFoundError:
            return "", head
    return Path(local).read_text(encoding="utf-8"), head


def pull_request(model: str, path: str, text: str, title: str, parent: str) -> str:
    """Propose a file to a model repository, upon a commit; the pull request's address."""
    from huggingface_hub import CommitOperationAdd, HfApi

    with _explained(model):
        made = HfApi().create_commit(
            model,
            [CommitOperationAdd(path, text.encode())],
            commit_message=title,
            commit_description="Made by `ruler results` from results.json.",
            create_pr=True,
            parent_commit=parent,
        )
    return str(made.pr_url)


@contextmanager
def _explained(model: str) -> Iterator[None]:
    """Turn what the client raises into one sentence."""
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    try:
        yield
    except OfflineModeIsEnabled as error:
        raise RulerError("HF_HUB_OFFLINE is set: unset it to open a pull request.") from error
    except RepositoryNotFoundError as error:
        raise RulerError(
            f"The Hub has no model '{model}', or your token may not see it: correct --model."
        ) from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        said = (error.server_message or "no reason given").splitlines()[0].rstrip(".")
        remedy = {
            401: "log in again (hf auth login) or correct HF_TOKEN",
            403: "use a token that may write pull requests",
            429: "the rate limit is reached: try again later",
        }.get(status, "the file is written: try again later")
        raise RulerError(
            f"The Hub refused the pull request ({status}: {said}): {remedy}."
        ) from error
    except (HTTPError, OSError) as error:
        raise RulerError(
            f"Cannot reach the Hub at {constants.ENDPOINT} ({type(error).__name__}): check the "
            "network; the file is written."
        ) from error
