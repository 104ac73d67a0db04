"""Which frozen rows suit a model: those fitted with its tokenizer, or with the nearest.

    found = suited_rows("Qwen/Qwen3-8B", Store(None))
    found.beside[0]        # Beside(tokenizer="qwen2.5", …, equal=1181, texts=1181)

A row is fitted under a tokenizer: under another it is too long for the window or leaves room in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from ruler_builder.families.task import DATA_VERSION
from ruler_builder.sources.download import Store
from ruler_builder.tokens.counts_beside import (
    Beside,
    counts_beside,
    sample_texts,
    tokenizer_by_name,
)
from ruler_builder.tokens.tokenizers import load_counter, named, pinned_files
from ruler_common.errors import RulerError
from ruler_common.frozen_rows import read_frozen
from ruler_common.hub_access import is_repository
from ruler_common.names import Names
from ruler_common.terminal import steps


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
