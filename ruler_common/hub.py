"""Get files and tokenizers from the Hub; errors are one sentence with a remedy.

path = hub_file("ORG/ruler", "manifest.json", revision=None)
tokenizer = auto_tokenizer("Qwen/Qwen2.5-0.5B-Instruct")
tokenizer = auto_tokenizer("models/Qwen2.5-0.5B-Instruct-Q4_K_M.gguf")
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError, Unreachable, missing_packages
from ruler_common.manifest import MANIFEST
from ruler_common.text import one_line, without_passwords

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_RESUME = " Finished work is kept: run the same command again to continue."


def is_repository(name: str) -> bool:
    """Return whether a name is a valid ORG/NAME by the Hub's rules."""
    part = r"(?![.-])[A-Za-z0-9_.-]{1,96}(?<![.-])"
    return re.fullmatch(f"{part}/{part}", name) is not None and not re.search(r"--|\.\.", name)


def hub_file(
    repo: str, path: str, revision: str | None, kind: str = "dataset", **options: Any
) -> Path:
    """Return the local path of a file of the Hub; it is downloaded if it is not in the cache.

    Args:
        repo: ORG/NAME.
        path: The file's path in the repository.
        revision: A branch, tag or commit; by default the main branch.
        kind: `dataset`, `model` or `space`.
        options: Further options of huggingface_hub's `hf_hub_download`.

    Raises:
        RulerError: The Hub does not have the file or refuses it.
        Unreachable: The Hub cannot be asked.
    """
    from huggingface_hub import hf_hub_download

    with hub_errors(repo):
        _ask_once(repo, (path,), revision, kind)
        return Path(hf_hub_download(repo, path, revision=revision, repo_type=kind, **options))


def _ask_once(repo: str, paths: Sequence[str], revision: str | None, kind: str) -> None:
    """Raise the client's error if none of these files is in the cache and the Hub does not answer.

    The client itself would ask six times, for 23 seconds, and print a line each time. Other errors
    than those of the connection are left to the download.
    """
    from huggingface_hub import errors, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

    try:
        for path in paths:
            cached = try_to_load_from_cache(repo, path, repo_type=kind, revision=revision)
            if isinstance(cached, str):
                return
        get_hf_file_metadata(hf_hub_url(repo, paths[0], repo_type=kind, revision=revision))
    except (errors.HfHubHTTPError, errors.FileMetadataError, errors.HFValidationError):
        return


@contextmanager
def hub_errors(repo: str, resumes: bool = False) -> Iterator[None]:
    """Turn an error of huggingface_hub into a RulerError, or Unreachable without a connection.

    Errors of the disk are not changed.

    Args:
        repo: The repository that the block asks for.
        resumes: Whether the same command continues where the block was interrupted.
    """
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
        if isinstance(error, OSError) and (error.filename or error.errno in _DISK_FULL):
            raise
        raise _hub_error(error, repo, _RESUME if resumes else "") from error


def _hub_error(error: Exception, repo: str, resume: str) -> RulerError:
    """Return the RulerError for an error of the client, or for its cause, as uploads have.

    `resume` is a sentence about what is kept, or "".
    """
    from huggingface_hub import errors

    text = without_passwords(" ".join(str(error).split()))
    if isinstance(error, UnicodeError):
        return RulerError(
            "The Hub's token has a character that is not allowed, such as é: correct HF_TOKEN, or "
            "log in again (hf auth login)."
        )
    if isinstance(error, errors.LocalTokenNotFoundError):
        return RulerError("There is no token for the Hub: log in (hf auth login) or set HF_TOKEN.")
    if isinstance(error, ValueError) and not isinstance(error, errors.HTTPError):
        return RulerError(f"The Hub refused '{repo}': {text}")  # a card's metadata
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case errors.OfflineModeIsEnabled():
                return Unreachable(
                    f"HF_HUB_OFFLINE is set, and '{repo}' is not in the cache: unset it, or name "
                    "a repository that is in the cache."
                )
            case errors.RevisionNotFoundError():
                return RulerError(f"'{repo}' has no such revision: {_revisions(repo)}")
            case errors.RepositoryNotFoundError():
                return RulerError(
                    f"The Hub has no '{repo}', or your token may not see it: "
                    "correct the name, or log in (hf auth login)."
                )
            case errors.RemoteEntryNotFoundError():
                path = str(cause.response.url).rpartition("/")[2]
                why = ": it is not a release" if path == MANIFEST else ""
                return RulerError(f"'{repo}' has no {path}{why}.")
            case errors.HfHubHTTPError():
                return RulerError(_refusal(cause.response, cause.server_message, repo, resume))
            case errors.HTTPError():
                return Unreachable(
                    f"Cannot reach the Hub at {hub_address()} ({type(cause).__name__}): check "
                    f"the network.{resume}"
                )
        cause = cause.__cause__
    return RulerError(f"The Hub's client failed with '{text}'.{resume}")


def _refusal(response: Any, message: str | None, repo: str, resume: str) -> str:
    """Return the message for a request that the Hub refused, by its status."""
    status: int = response.status_code
    why = without_passwords((message or "no reason given").splitlines()[0].rstrip("."))
    wait = response.headers.get("Retry-After")
    sentences = {
        401: "The Hub does not accept your token (401): log in again (hf auth login) or correct "
        f"HF_TOKEN; tokens are made at {hub_address()}/settings/tokens.",
        403: f"Your token has no rights for this in '{repo}' (403: {why}): {write_token()}",
        409: f"The Hub already has it (409: {why}): it may be private, or have just been created.",
        412: f"'{repo}' changed during the upload (412), so nothing was committed. "
        "Run the same command again: it sends only what is missing.",
        413: f"A file of '{repo}' is too large for the Hub (413), probably the card, which lists "
        "every configuration: publish one tokenizer, or fewer languages, per repository.",
        429: "The Hub's rate limit is reached (429): try again "
        f"{f'in {wait} seconds' if wait else 'in some minutes'}.{resume}",
    }
    if status >= 500:
        return f"The Hub has an internal error ({status}): try again later.{resume}"
    return sentences.get(status, f"The Hub refused '{repo}' ({status}: {why}).{resume}")


def hub_address() -> str:
    """Return the address of the Hub, without a password in HF_ENDPOINT."""
    from huggingface_hub import constants

    return without_passwords(constants.ENDPOINT)


def write_token() -> str:
    """Return how to get a token of the Hub with write rights."""
    return f"make one with write rights at {hub_address()}/settings/tokens (hf auth login)."


def _revisions(repo: str) -> str:
    from huggingface_hub import HfApi, errors

    try:
        refs = HfApi().list_repo_refs(repo, repo_type="dataset")
    except (errors.HTTPError, OSError):
        return "correct --revision."
    return f"it has {', '.join(ref.name for ref in [*refs.tags, *refs.branches])}."


# ---- Tokenizers ----------------------------------------------------------------------------------

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
)
"""The files of a tokenizer in a model's folder."""


def is_gguf(where: str) -> bool:
    """Return whether a place is a GGUF file, which has the tokenizer of its model."""
    return where.lower().endswith(".gguf")


def auto_tokenizer(where: str, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """Load a tokenizer from a folder, a GGUF file or the Hub with transformers' AutoTokenizer.

    Raises ValueError with the reason if it cannot be loaded, and RulerError without transformers.
    """
    # Else its import says that PyTorch is missing, which no tokenizer needs
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        from transformers import AutoTokenizer
    except ModuleNotFoundError as error:
        raise missing_packages("tokenizers", "A model's tokenizer") from error
    file: dict[str, str] = {}
    if is_gguf(where):
        where, file = _gguf_file(where)
    elif not Path(where).exists():
        try:
            with hub_errors(where):
                _ask_once(where, TOKENIZER_FILES, revision, "model")
        except Unreachable as error:
            raise ValueError(str(error)) from error
    try:
        # if trust_remote_code is not given, transformers asks on the terminal
        return AutoTokenizer.from_pretrained(
            where, revision=revision, trust_remote_code=trust_remote_code, **file
        )
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # a panic of the library in Rust is handled below
        lines = str(error).strip().splitlines()
        raise ValueError(one_line(lines[0] if lines else type(error).__name__) + ".") from error


def _gguf_file(where: str) -> tuple[str, dict[str, str]]:
    """Return the folder of a GGUF file, and the argument of from_pretrained that names the file.

    Raises ValueError if there is no such file, and RulerError without the packages that read it.
    """
    path = Path(where).expanduser()
    if not path.is_file():
        raise ValueError(f"there is no file '{where}'.")
    if not (find_spec("gguf") and find_spec("torch")):
        raise missing_packages("gguf", "The tokenizer in a GGUF file")
    return str(path.parent), {"gguf_file": path.name}
