"""Find the named tokenizer of a model, and with it the frozen rows that are exact for it.

    tokenizer = find_model_tokenizer("Qwen/Qwen3-8B")
    tokenizer.name, tokenizer.proved      # ("qwen2.5", True): the same vocabulary

Rows are fitted under one tokenizer: under another they are too long for the window or leave part of
it empty.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tokens.tokenizers import named
from ruler_common.errors import RulerError
from ruler_common.frozen import read_frozen
from ruler_common.hub import hub_file, is_repository
from ruler_common.names import TASKS, Names

_FILE = "tokenizer.json"
_COUNTING_PARTS = ("normalizer", "pre_tokenizer")
"""The parts that affect token counts, besides the vocabulary and the merges."""


@dataclass(frozen=True, kw_only=True)
class ModelTokenizer:
    """The named tokenizer of a model."""

    model: str
    spec: str | None  # what `ruler build --tokenizer NAME=` takes for it; None for a bare name
    name: str | None  # None if the model does not have a named tokenizer
    proved: bool  # whether its files were compared; otherwise only the model's name says so
    reason: str = ""  # why its files were not compared


def find_model_tokenizer(model: str) -> ModelTokenizer:
    """Return the named tokenizer of a model, by its tokenizer's files, else by the model's name.

    Args:
        model: A folder, a Hub repository (ORG/NAME or ORG/NAME@REVISION), or a name such as gpt-4o.

    Raises:
        RulerError: The tokenizer cannot be read and the model's name says nothing.
    """
    by_name = tokenizer_by_name(model)
    if Path(model).is_dir():
        spec = model
    elif is_repository(model.partition("@")[0]):
        spec = f"hf:{model}"
    elif by_name is None:
        raise RulerError(
            f"'{model}' is not a folder, a Hub repository (ORG/NAME) or the name of a known model: "
            "give the folder of its tokenizer."
        )
    else:
        reason = "this name has no tokenizer files."
        return ModelTokenizer(model=model, spec=None, name=by_name, proved=False, reason=reason)
    try:
        digest = vocabulary_digest(_tokenizer_file(model))
    except RulerError as error:
        if by_name is None:
            raise
        return ModelTokenizer(model=model, spec=spec, name=by_name, proved=False, reason=str(error))
    equal = [name for name, entry in named().items() if entry.get("vocabulary") == digest]
    return ModelTokenizer(model=model, spec=spec, name=equal[0] if equal else None, proved=True)


def tokenizer_by_name(model: str) -> str | None:
    """Return the named tokenizer of a model's family, by the beginning of its name, or None.

    The families are the `models` of tokenizers.toml: `Qwen3` is Qwen/Qwen3-8B too, not Qwen3.5.
    """
    short = model.partition("@")[0].rstrip("/").rpartition("/")[2].lower().removeprefix("meta-")
    matches = [
        (len(family), name)
        for name, entry in named().items()
        for family in entry["models"]
        if short == family.lower() or short.startswith(f"{family.lower()}-")
    ]
    return max(matches)[1] if matches else None


def vocabulary_digest(path: Path) -> str:
    """Return the sha256 of the parts of a tokenizer.json that decide how many tokens a text has.

    They are vocabulary, merges, normalizer and pre-tokenizer. Special tokens are left out, so that
    Qwen3's tokenizer equals Qwen2.5's.
    """
    try:
        described: Any = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RulerError(f"'{path}' cannot be read as JSON: {error}.") from error
    if not isinstance(described, dict) or not isinstance(described.get("model"), dict):
        raise RulerError(f"'{path}' does not describe a tokenizer: it has no \"model\".")
    model = {key: value for key, value in described["model"].items() if value}
    merges = model.get("merges", [])  # older files write "a b" for ["a", "b"]
    model["merges"] = [m.split(" ") if isinstance(m, str) else m for m in merges]
    parts = [model, *(described.get(part) for part in _COUNTING_PARTS)]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _tokenizer_file(model: str) -> Path:
    if not Path(model).is_dir():
        repository, _, revision = model.partition("@")
        return hub_file(repository, _FILE, revision or None, kind="model")
    path = Path(model) / _FILE
    if not path.is_file():
        raise RulerError(f"'{model}' holds no {_FILE}.")
    return path


def frozen_datasets(tokenizer: str) -> list[str]:
    """Return the data sets that have frozen rows fitted under a named tokenizer, ruler first."""
    lock = read_frozen(DATA_VERSION)
    if lock is None:
        return []
    return [
        dataset
        for dataset in TASKS
        if any(
            Names.standard(dataset).parse(config).tokenizer == tokenizer
            for config in lock.rows.get(dataset, {})
        )
    ]
