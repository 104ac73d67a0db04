"""Which frozen rows suit a model: those fitted with its tokenizer, or with the nearest.

    found = suited_rows("Qwen/Qwen3-8B", Store(None))
    found.beside[0]        # Beside(tokenizer="qwen2.5", …, equal=1181, texts=1181)

A row is fitted under a tokenizer: under another it is too long for the window or leaves room in it.
How many tokens each makes is counted of the project's own texts, of the kinds that rows have.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ruler_builder.families.task import DATA_VERSION
from ruler_builder.sources.chosen_sources import Sources, parse_choice
from ruler_builder.sources.download import Store
from ruler_builder.sources.registry import EMBEDDED
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.tokenizers import load_counter, named, pinned_files
from ruler_common.errors import RulerError
from ruler_common.frozen_rows import read_frozen
from ruler_common.hub_access import is_repository
from ruler_common.names import Names
from ruler_common.terminal import steps

CHINESE = "Chinese"
_NUMBERS = 200  # needles with a number, and as many with a UUID
_LIST = 10  # words of a numbered list


class Beside(NamedTuple):
    """A named tokenizer beside a model's, on the same texts.

    `ratios` has the model's tokens as a multiple of this one's, by kind of text; `equal` of `texts`
    texts have the same number of tokens under both.
    """

    tokenizer: str
    ratios: dict[str, float]
    equal: int
    texts: int

    @property
    def exact(self) -> bool:
        """Whether every text has the same number of tokens."""
        return self.equal == self.texts

    @property
    def longest(self) -> float:
        """The largest ratio of the English kinds: above 1 rows of this tokenizer may not fit."""
        return max(self._english)

    @property
    def distance(self) -> float:
        """The largest difference of an English kind, as a share: 0.02 is two percent."""
        return max(abs(ratio - 1) for ratio in self._english)

    @property
    def _english(self) -> list[float]:
        return [ratio for kind, ratio in self.ratios.items() if kind != CHINESE]


def sample_texts() -> dict[str, list[str]]:
    """Texts by kind: `essays`, `documents`, `numbers`, `words`, `Chinese`."""
    sources = Sources(Store(None), parse_choice([EMBEDDED]))
    essays = sources.read("essays").decode()
    articles = json.loads(sources.read("squad"))["data"]
    words = sorted({*re.findall(r"[a-z]{3,}", essays)})
    keys = [hashlib.sha256(str(i).encode()).digest()[:16] for i in range(_NUMBERS)]
    needles = [
        f"One of the special magic numbers for {words[i]} is: {int.from_bytes(key) % 9_000_000}."
        for i, key in enumerate(keys)
    ]
    needles += [f"One of the uuids for {uuid.UUID(bytes=key)} is: VAR ABCDE." for key in keys]
    lists = [words[i : i + _LIST] for i in range(0, len(words), _LIST)]
    return {
        "essays": _lines(essays),
        "documents": [part["context"] for found in articles for part in found["paragraphs"]],
        "numbers": needles,
        "words": [" ".join(f"{i}. {w}" for i, w in enumerate(part, 1)) for part in lists],
        CHINESE: _lines(sources.read("book-zh").decode()),
    }


def counts_beside(
    model: TokenCounter, other: TokenCounter, texts: Mapping[str, Sequence[str]]
) -> Beside:
    """Count every text with both tokenizers."""
    ratios, equal = {}, 0
    for kind, some in texts.items():
        ours, theirs = model.counts(some), other.counts(some)
        ratios[kind] = sum(ours) / sum(theirs)
        equal += sum(a == b for a, b in zip(ours, theirs, strict=True))
    return Beside(other.name, ratios, equal, sum(map(len, texts.values())))


def tokenizer_by_name(model: str) -> str | None:
    """The named tokenizer that a family of models has, by the model's name; None if unknown.

    The families are the `models` of tokenizers.toml: `Qwen3` is Qwen/Qwen3-8B too, not Qwen3.5.
    """
    called = model.partition("@")[0].rstrip("/").rpartition("/")[2].lower().removeprefix("meta-")
    found = [
        (len(family), name)
        for name, entry in named().items()
        for family in entry["models"]
        if called == family.lower() or called.startswith(f"{family.lower()}-")
    ]
    return max(found)[1] if found else None


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@dataclass(frozen=True, kw_only=True)
class SuitedRows:
    """The tokenizers of the frozen rows beside a model's.

    `spec` is what `ruler build --tokenizer NAME=` takes for the model; None for one that has no
    tokenizer's files. `frozen` has the data sets of each tokenizer's frozen rows. `beside` has the
    nearest tokenizer first; it is empty where the model's could not be had, and `why` says why
    not. `not_here` are tokenizers whose files are missing.
    """

    model: str
    spec: str | None
    frozen: dict[str, list[str]]
    by_name: str | None
    beside: list[Beside] = field(default_factory=list)
    not_here: list[str] = field(default_factory=list)
    why: str = ""


def suited_rows(model: str, store: Store) -> SuitedRows:
    """Count sample texts with a model's tokenizer and with those of the frozen rows.

    `model` is a folder, a Hub repository (ORG/NAME, ORG/NAME@REVISION) or a name such as gpt-4o.
    Raises RulerError for a model whose tokenizer cannot be had and that no name gives away.
    """
    frozen, by_name = frozen_tokenizers(), tokenizer_by_name(model)
    spec = None
    if Path(model).is_dir():
        spec = model
    elif is_repository(model.partition("@")[0]):
        spec = f"hf:{model}"
    if spec is None and by_name is None:
        raise RulerError(
            f"'{model}' is neither a folder with a tokenizer nor a Hub repository (ORG/NAME), and "
            "no model known by its name: give its tokenizer's folder."
        )
    found = SuitedRows(model=model, spec=spec, frozen=frozen, by_name=by_name)
    if spec is None:
        return replace(found, why="its maker gives no tokenizer's files of its own")
    try:
        counter = load_counter(f"model={spec}", store)
    except RulerError as error:
        if by_name is None:
            raise
        return replace(found, why=str(error))
    here = [name for name in frozen if all(map(store.local, pinned_files(name)))]
    texts = sample_texts()
    beside = [
        counts_beside(counter, load_counter(name, store), texts) for name in steps(here, "Counting")
    ]
    nearest = sorted(beside, key=lambda one: (one.distance, -one.equal))
    return replace(found, beside=nearest, not_here=[name for name in frozen if name not in here])


def frozen_tokenizers() -> dict[str, list[str]]:
    """The named tokenizers of this data version's frozen rows, and the data sets of each."""
    found: dict[str, list[str]] = {}
    lock = read_frozen(DATA_VERSION)
    for dataset, rows in lock.rows.items() if lock else ():
        there = {Names.of(dataset).parse(config).tokenizer for config in rows}
        for name in named():
            if name in there:
                found.setdefault(name, []).append(dataset)
    return {name: sorted(found[name], reverse=True) for name in named() if name in found}
