"""A model repository's .eval_results/*.yaml: its entries, new ones among them, the pull request.

    entries_in(text, where)        # [{"dataset": {"id": …, "task_id": …}, "value": …}, …]
    merged(before, new)            # a new entry takes the place of the same task's
    theirs, head = file_at_head(model, path)

The client is huggingface_hub; what goes wrong there is a RulerError.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import read_text
from ruler_common.hub_access import hub_errors
from ruler_common.parsing import parse_yaml

Entry = dict[str, Any]


def entries_in(text: str, where: str, model: str) -> list[Entry]:
    """The entries of a file. Raises RulerError for another file, or one of another model."""
    written = re.match(r"# ruler results of (\S+)\n", text)
    if written and written[1] != model:
        raise RulerError(f"'{where}' is of {written[1]}: give a folder for each model with --out.")
    try:
        found: list[Entry] = parse_yaml(text) or []
        merged(found, [])
    except (ValueError, TypeError, KeyError) as error:
        raise RulerError(f"'{where}' is not a file of results: move it away.") from error
    return found


def merged(before: list[Entry], new: list[Entry]) -> list[Entry]:
    """All entries; of two on one task of one data set, the new one."""
    both = [*before, *new]
    keys = [(entry["dataset"]["id"], entry["dataset"]["task_id"]) for entry in both]
    return list(dict(zip(keys, both, strict=True)).values())


def to_yaml(found: list[Entry], model: str) -> str:
    """The text of a file; its first line names the model."""
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
    with hub_errors(model):
        head = str(api.model_info(model).sha)
        try:
            local = api.hf_hub_download(model, path, revision=head)
        except RemoteEntryNotFoundError:
            return "", head
    return read_text(Path(local)), head


def pull_request(model: str, path: str, text: str, title: str, parent: str) -> str:
    """Propose a file to a model repository, upon a commit; the pull request's address."""
    from huggingface_hub import CommitOperationAdd, HfApi

    with hub_errors(model):
        made = HfApi().create_commit(
            model,
            [CommitOperationAdd(path, text.encode())],
            commit_message=title,
            commit_description="Made by `ruler results` from results.json.",
            create_pr=True,
            parent_commit=parent,
        )
    return str(made.pr_url)
