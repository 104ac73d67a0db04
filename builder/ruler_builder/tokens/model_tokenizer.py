"""Find out which of the named tokenizers a model has: the frozen rows under it are exact for it.

    tokenizer = find_model_tokenizer("Qwen/Qwen3-8B")
    tokenizer.name, tokenizer.proved      # ("qwen2.5", True): they count alike

Rows fitted under a different tokenizer are too long for the model's window, or do not fill it.

Two tokenizers are the same if their files have the same vocabulary, merges and pre-tokenizer. The
same tokenizer can be written in several ways, and a GGUF file has only a part of it; then those are
the same that give the same ids to the project's embedded texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruler_builder.tokens.ids import ids_digest
from ruler_builder.tokens.tokenizers import named
from ruler_common.errors import RulerError
from ruler_common.frozen import read_frozen
from ruler_common.hub import auto_tokenizer, hub_file, is_gguf, is_repository
from ruler_common.names import TASKS, Names

_FILE = "tokenizer.json"


@dataclass(frozen=True, kw_only=True)
class ModelTokenizer:
    """The tokenizer of a model, and the named one that counts as it does."""

    model: str
    # What `ruler build --tokenizer NAME=` takes for it; None for a name without files
    spec: str | None
    # The named tokenizer; None if none counts alike
    name: str | None
    # Whether its files or ids were compared; otherwise the model's name suggests the tokenizer
    proved: bool
    # Whether the ids of texts were compared, because no named tokenizer has the same files
    by_ids: bool = False
    # Why its files were not compared
    reason: str = ""


def find_model_tokenizer(model: str) -> ModelTokenizer:
    """Return the named tokenizer of a model: by its tokenizer's files, else by the model's name.

    Args:
        model: A folder, a GGUF file, a Hub repository (ORG/NAME or ORG/NAME@REVISION), or a name
            such as gpt-4o.

    Raises:
        RulerError: The tokenizer cannot be read, and the model's name does not suggest one.
    """
    suggested = tokenizer_by_name(model)
    if Path(model).is_dir() or is_gguf(model):
        spec = model
    elif is_repository(model.partition("@")[0]):
        spec = f"hf:{model}"
    elif suggested is None:
        raise RulerError(
            f"'{model}' is not a folder, a GGUF file, a Hub repository (ORG/NAME) or the name of a "
            "known model: give the folder of its tokenizer."
        )
    else:
        reason = "this name has no tokenizer files."
        return ModelTokenizer(model=model, spec=None, name=suggested, proved=False, reason=reason)
    try:
        described = _described(model)
        digest = vocabulary_digest(described)
    except RulerError as error:
        if suggested is None:
            raise
        reason = str(error)
        return ModelTokenizer(model=model, spec=spec, name=suggested, proved=False, reason=reason)
    for name, entry in named().items():
        if entry.get("vocabulary") == digest:
            return ModelTokenizer(model=model, spec=spec, name=name, proved=True)
    ids = ids_digest_of_json(described)
    for name, entry in named().items():
        if entry["ids"] == ids:
            return ModelTokenizer(model=model, spec=spec, name=name, proved=True, by_ids=True)
    return ModelTokenizer(model=model, spec=spec, name=None, proved=True)


def tokenizer_by_name(model: str) -> str | None:
    """Return the tokenizer that a model's name suggests; None if it suggests none.

    The name begins with that of a model family, one of the `models` in tokenizers.toml; the longest
    such family counts. `Qwen3` is the family of Qwen/Qwen3-8B, but not of Qwen/Qwen3.5-9B.
    """
    name = model.partition("@")[0].rstrip("/").rpartition("/")[2].lower().removeprefix("meta-")
    longest, suggested = 0, None
    for tokenizer, entry in named().items():
        for family in entry["models"]:
            in_family = name == family.lower() or name.startswith(f"{family.lower()}-")
            if in_family and len(family) > longest:
                longest, suggested = len(family), tokenizer
    return suggested


def vocabulary_digest(described: Mapping[str, Any]) -> str:
    """Return the sha256 of the parts of a tokenizer.json that decide how many tokens a text has.

    They are vocabulary, merges, normalizer and pre-tokenizer. Special tokens are left out, so that
    Qwen3's tokenizer equals Qwen2.5's.
    """
    model = {key: value for key, value in described["model"].items() if value}
    merges = model.get("merges", [])  # older files write "a b" for ["a", "b"]
    model["merges"] = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    parts = [model, described.get("normalizer"), described.get("pre_tokenizer")]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def ids_digest_of_json(described: Mapping[str, Any]) -> str | None:
    """Return the digest of the ids that a tokenizer.json gives; None if they cannot be computed."""
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(json.dumps(described))
    except Exception:  # without the package, or of a kind that its version does not know
        return None
    tokenizer.no_truncation()
    return ids_digest(lambda text: tokenizer.encode(text, add_special_tokens=False).ids)


def _described(model: str) -> dict[str, Any]:
    """Return the content of a model's tokenizer.json, or the same of a GGUF file."""
    if is_gguf(model):
        try:
            tokenizer = auto_tokenizer(model)
        except ValueError as error:
            raise RulerError(f"Cannot read the tokenizer of '{model}': {error}") from error
        described: Any = json.loads(tokenizer.backend_tokenizer.to_str())
        return dict(described)
    path = _tokenizer_file(model)
    try:
        described = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RulerError(f"'{path}' cannot be read as JSON: {error}.") from error
    if not isinstance(described, dict) or not isinstance(described.get("model"), dict):
        raise RulerError(f"'{path}' does not describe a tokenizer: it has no \"model\".")
    return described


def _tokenizer_file(model: str) -> Path:
    """Return the tokenizer.json of a folder, or download that of a repository."""
    if Path(model).is_file():
        raise RulerError(f"'{model}' is a file: give the folder of the model, or a GGUF file.")
    if not Path(model).is_dir():
        repository, _, revision = model.partition("@")
        return hub_file(repository, _FILE, revision or None, kind="model")
    path = Path(model) / _FILE
    if not path.is_file():
        raise RulerError(f"'{model}' has no {_FILE}: give the folder of a model that has one.")
    return path


def frozen_datasets(tokenizer: str, data_version: str) -> list[str]:
    """Return the data sets that have frozen rows fitted under a named tokenizer, ruler first."""
    lock = read_frozen(data_version)
    datasets = []
    for dataset in TASKS:
        names = Names.standard(dataset)
        configs = lock.rows.get(dataset, {}) if lock else {}
        if any(names.parse(config).tokenizer == tokenizer for config in configs):
            datasets.append(dataset)
    return datasets
