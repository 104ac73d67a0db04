"""The task families: the parameters of each, and what reads its rows back.

    read_params("vt", {"family": "variable_tracking", "hops": 8, "max_new_tokens": 30}).hops    # 8
    with_optional({"family": "variable_tracking", "hops": 8})["layout"]                    # "2025"

Table 5 of RULER and section 2 of ONERULER have the usual parameters. What makes rows is not in this
table but in makers.py, above it: so the proof's imports show that it reaches nothing that builds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from ruler_builder.families.common_words.params import CommonParams
from ruler_builder.families.common_words.proof import read_common_words
from ruler_builder.families.frequent_words.params import FrequentParams
from ruler_builder.families.frequent_words.proof import read_coded_text
from ruler_builder.families.multilingual_niah.params import MultilingualNiahParams
from ruler_builder.families.multilingual_niah.proof import read_book
from ruler_builder.families.multilingual_words.params import MultilingualWordsParams
from ruler_builder.families.multilingual_words.proof import read_multilingual_words
from ruler_builder.families.niah.params import NiahParams
from ruler_builder.families.niah.proof import read_niah
from ruler_builder.families.question_answering.params import QaParams
from ruler_builder.families.question_answering.proof import read_documents
from ruler_builder.families.variable_tracking.params import ChainParams
from ruler_builder.families.variable_tracking.proof import read_chains
from ruler_builder.reading.reading import Proof
from ruler_builder.suites.params import TaskParams
from ruler_common.errors import RulerError
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.names import check_name


class Family(NamedTuple):
    """What is known of a task family without making rows."""

    params: type[TaskParams]
    # Reads a row back: a row in, what is not accounted for in it out.
    read: Proof


FAMILIES = {
    "niah": Family(NiahParams, read_niah),
    "variable_tracking": Family(ChainParams, read_chains),
    "common_words": Family(CommonParams, read_common_words),
    "frequent_words": Family(FrequentParams, read_coded_text),
    "question_answering": Family(QaParams, read_documents),
    "multilingual_niah": Family(MultilingualNiahParams, read_book),
    "multilingual_words": Family(MultilingualWordsParams, read_multilingual_words),
}
"""The task families by the names that suites give them."""
_KINDS: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool}


def read_params(task: str, described: Mapping[str, Any]) -> TaskParams:
    """A task's parameters from its table, `family` and `max_new_tokens` among them.

    Raises RulerError for what is unknown, of a wrong type or impossible.
    """
    kind = FAMILIES[described["family"]].params
    known = {item.name: str(item.type) for item in fields(kind)}
    values = {name: value for name, value in described.items() if name != "family"}
    for name, value in values.items():
        check_name(f"parameter of task '{task}'", name, known, "ruler_builder/suites")
        of = known[name]
        if not isinstance(value, _KINDS[of]) or isinstance(value, bool) != (of == "bool"):
            raise RulerError(f"Task '{task}': {name} must be {of}, not {value!r}.")
    try:
        return kind(**values)
    except RulerError as error:
        raise RulerError(f"Task '{task}': {error}") from None


def usual_of(family: str) -> dict[str, Any]:
    """A family's optional parameters, as they are where neither suite nor manifest names them."""
    if family not in FAMILIES:
        return {}
    params = FAMILIES[family].params
    return {item.name: item.default for item in fields(params) if item.name in params.optional}


def with_optional(described: Mapping[str, Any]) -> dict[str, Any]:
    """A task's family and parameters, with the optional ones that a manifest leaves out."""
    return {**usual_of(described["family"]), **described}


def listed(family: str, params: TaskParams) -> dict[str, Any]:
    """A task's family and parameters as a manifest lists them: optional ones unless as usual."""
    usual = usual_of(family)
    named = {name: v for name, v in vars(params).items() if name not in usual or v != usual[name]}
    return {"family": family, **named}


def sources_of(manifest: Manifest, entry: FileEntry) -> list[str]:
    """The sources that the rows of a file are made of, by their names in sources.toml."""
    task = entry["task"]
    params = read_params(task, manifest["tasks"][task])
    names = params.sources(entry["language"], entry["instruction_language"])
    return list(dict.fromkeys(names))
