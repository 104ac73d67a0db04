"""Named tokenizers (tokenizers.toml) and exact token counts.

    counter = load_counter("tekken", store)
    counter.count("The grass is green.")            # what mistral-common gives: 5

A name means pinned files. Any other tokenizer is named by the user: `mine=hf:ORG/NAME@REV` or
`mine=FOLDER`, and is what transformers' AutoTokenizer loads. Counts exclude special tokens. Only
the last part of the path of a user's folder is recorded, because the path itself is private.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from binascii import a2b_base64
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from ruler_builder.text.sources import Pinned, Store
from ruler_builder.tokens.counting import FastCounter, SlowCounter, TiktokenCounter, TokenCounter
from ruler_builder.tokens.split_points import PATTERNS
from ruler_common.errors import RulerError, missing_packages
from ruler_common.files import read_toml, sha256_of
from ruler_common.hub import TOKENIZER_FILES, auto_tokenizer
from ruler_common.manifest import TokenizerEntry
from ruler_common.names import check_name


@cache
def named() -> dict[str, dict[str, Any]]:
    """Return the entries of tokenizers.toml."""
    return read_toml(files("ruler_builder.tokens") / "tokenizers.toml")


def split_spec(spec: str) -> tuple[str, str]:
    """Read `--tokenizer`: a name is (name, name), `mine=hf:ORG/NAME` is (mine, hf:ORG/NAME)."""
    name, equals, where = spec.partition("=")
    if not equals:
        see = "ruler tokenizers, or give another as NAME=hf:ORG/NAME or NAME=FOLDER"
        return check_name("tokenizer", spec, named(), see), spec
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", name) or name in named():
        raise RulerError(f"'{name}' cannot name a tokenizer: use new letters, digits, '.' and '-'.")
    return name, where


def pinned_files(name: str) -> list[Pinned]:
    """Return the files of a named tokenizer that a mirror, the cache or the network must give."""
    entries = named()[name].get("files", [])
    return [Pinned(**{**entry, "urls": tuple(entry["urls"])}) for entry in entries]


def known_digests(name: str) -> dict[str, str]:
    """Return the sha256 of the files of a named tokenizer, by file name."""
    entry = named()[name]
    if "packaged" in entry:
        return {entry["packaged"]: entry["sha256"]}
    return {Path(file["path"]).name: file["sha256"] for file in entry["files"]}


def load_counter(spec: str, store: Store) -> TokenCounter:
    """Return the counter of a NAME, `NAME=hf:ORG/NAME[@REVISION]` or `NAME=FOLDER`.

    Raises RulerError with the remedy if it is gated, missing or has the wrong digest.
    """
    name, where = split_spec(spec)
    return _from_transformers(name, where) if where != name else _named(name, store)


def counter_in(name: str, folder: str) -> TokenCounter:
    """Return the counter of a tokenizer whose files lie side by side in a folder, a named one too.

    Raises RulerError for a file that is missing or has the wrong digest.
    """
    if name not in named():
        return _from_transformers(name, folder)
    if not Path(folder).is_dir():
        raise RulerError(
            f"'{folder}' is not a folder: '{name}' is a named tokenizer, give the folder of its "
            "files (ruler tokenizers)."
        )
    return _named(name, _Folder(folder))


class _Folder(Store):
    """Finds pinned files in one folder by their own names, and nowhere else."""

    def get(self, file: Pinned, progress: bool = False) -> Path:
        """Return the path of the checked file."""
        in_folder = Pinned(path=Path(file.path).name, sha256=file.sha256, bytes=file.bytes)
        if self.mirror is None or not (self.mirror / in_folder.path).is_file():
            raise RulerError(
                f"'{self.mirror}' has no {in_folder.path} ({file.bytes} bytes, sha256 "
                f"{file.sha256}): put the tokenizer's files there."
            )
        return super().get(in_folder, progress)


# The named tokenizers that something holds: loading one takes seconds.
_in_use: WeakValueDictionary[str, TokenCounter] = WeakValueDictionary()


def _named(name: str, store: Store) -> TokenCounter:
    """Return a tokenizer of tokenizers.toml; its files are looked for and checked each time."""
    entry = named()[name]
    if entry["library"] == "mistral-common":
        return _from_mistral_common(name, entry, store)
    about = _about(
        name, entry["title"], entry["library"]
    )  # before its files are fetched: it says which package is missing
    paths = [store.get(file) for file in pinned_files(name)]
    if (counter := _in_use.get(name)) is None:
        _in_use[name] = counter = _from_files(name, entry, paths, about)
    return counter


def _about(spec: str, title: str, library: str) -> TokenizerEntry:
    try:
        return TokenizerEntry(spec=spec, title=title, library=library, version=version(library))
    except PackageNotFoundError as error:
        raise missing_packages("tokenizers", f"The tokenizer '{spec}'") from error


def _from_files(
    name: str, entry: dict[str, Any], paths: list[Path], about: TokenizerEntry
) -> TokenCounter:
    about["sha256"] = {Path(file["path"]).name: file["sha256"] for file in entry["files"]}
    if entry["library"] == "tiktoken":
        lines = map(bytes.split, paths[0].read_bytes().splitlines())
        ranks = {a2b_base64(token): int(rank) for token, rank in lines}
        return _of_ranks(name, about, PATTERNS[name], ranks)
    with tempfile.TemporaryDirectory() as folder:  # in which they lie side by side
        for path in paths:
            shutil.copyfile(path, Path(folder) / path.name)
        return _auto_tokenizer(name, folder, None, about)


def _from_mistral_common(name: str, entry: dict[str, Any], store: Store) -> TokenCounter:
    """Its file comes with the package, unless a folder is given that has it."""
    path = Path(str(files("mistral_common") / "data" / entry["packaged"]))
    if isinstance(store, _Folder) and store.mirror:
        path = store.mirror / entry["packaged"]
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no such file"
    if digest != entry["sha256"]:
        raise RulerError(
            f"'{path}': expected sha256 {entry['sha256']}, found {digest}: "
            "install another version of mistral-common, or name a folder that has it."
        )
    return _tekken(name, path, digest)


@lru_cache(maxsize=1)
def _tekken(name: str, path: Path, digest: str) -> TokenCounter:
    """Return the counter of a file of this digest; read once per process, since that takes time.

    It is the tiktoken Encoding that mistral-common makes of the file. The package is not imported:
    that, and its own reading of the file, would take two thirds of the time.
    """
    described = json.loads(path.read_bytes())
    config = described["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {a2b_base64(entry["token_bytes"]): entry["rank"] for entry in described["vocab"][:size]}
    entry = named()[name]
    about = _about(name, entry["title"], entry["library"])
    about["sha256"] = {path.name: digest}
    return _of_ranks(name, about, config["pattern"], ranks)


def _of_ranks(
    name: str, about: TokenizerEntry, pattern: str, ranks: dict[bytes, int]
) -> TokenCounter:
    """Return the counter of a tiktoken Encoding; no special tokens, for texts have none."""
    import tiktoken

    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return TiktokenCounter(name, about, encoding)


def _from_transformers(name: str, where: str) -> TokenCounter:
    from huggingface_hub import try_to_load_from_cache

    title = where if where.startswith("hf:") else Path(where).resolve().name
    about = _about(f"{name}={title}", title, "transformers")
    if where.startswith("hf:"):
        repo, _, revision = where.removeprefix("hf:").partition("@")
        counter = _auto_tokenizer(name, repo, revision or None, about)
        config = try_to_load_from_cache(repo, "tokenizer_config.json", revision=revision or None)
        if isinstance(config, str):  # the snapshot's folder is named by its commit
            about["commit"] = Path(config).parent.name
            about["sha256"] = _digests(Path(config).parent)
        return counter
    if not Path(where).is_dir():
        raise RulerError(f"Tokenizer '{where}' is not a folder; a Hub tokenizer is hf:ORG/NAME.")
    about["sha256"] = _digests(Path(where))
    if not about["sha256"]:
        raise RulerError(
            f"'{where}' has no tokenizer: give the folder of a model that has a tokenizer.json."
        )
    return _auto_tokenizer(name, where, None, about)


def _digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file that makes a tokenizer, by name."""
    return {name: sha256_of(folder / name) for name in TOKENIZER_FILES if (folder / name).is_file()}


def _auto_tokenizer(
    name: str, where: str, revision: str | None, about: TokenizerEntry
) -> TokenCounter:
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one thread a worker
    try:
        tokenizer = auto_tokenizer(where, revision)
    except ValueError as error:
        raise RulerError(
            f"Cannot load tokenizer '{name}' from '{where}': {error} If it is gated, accept its "
            "licence on the Hub and run 'hf auth login'; without a network, give a folder."
        ) from error
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return SlowCounter(name, about, tokenizer)
    return FastCounter(name, about, backend)
