"""The task families: the parameters of each, and what audits its rows.

    read_params("vt", {"family": "variable_tracking", "hops": 8, "max_new_tokens": 30}).hops    # 8
    FAMILIES["variable_tracking"].audit(row, about)             # what is wrong

Table 5 of RULER and section 2 of ONERULER have the usual parameters. What makes rows is not in this
table but in makers.py, above it: so the imports show that no audit reaches what makes rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from ruler_builder.families.audit import Audit
from ruler_builder.families.common_words.audit import audit as audit_common_words
from ruler_builder.families.common_words.params import CommonParams
from ruler_builder.families.frequent_words.audit import audit as audit_frequent_words
from ruler_builder.families.frequent_words.params import FrequentParams
from ruler_builder.families.multilingual_niah.audit import audit as audit_multilingual_niah
from ruler_builder.families.multilingual_niah.params import MultilingualNiahParams
from ruler_builder.families.multilingual_words.audit import audit as audit_multilingual_words
from ruler_builder.families.multilingual_words.params import MultilingualWordsParams
from ruler_builder.families.niah.audit import audit as audit_niah
from ruler_builder.families.niah.params import NiahParams
from ruler_builder.families.question_answering.audit import audit as audit_question_answering
from ruler_builder.families.question_answering.params import QaParams
from ruler_builder.families.variable_tracking.audit import audit as audit_variable_tracking
from ruler_builder.families.variable_tracking.params import ChainParams
from ruler_builder.suites.params import TaskParams
from ruler_common.errors import RulerError
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.names import check_name


class Family(NamedTuple):
    """What is known of a task family without making rows."""

    params: type[TaskParams]
    # Yields what is wrong with a row, found without the code that makes rows.
    audit: Audit


FAMILIES = {
    "niah": Family(NiahParams, audit_niah),
    "variable_tracking": Family(ChainParams, audit_variable_tracking),
    "common_words": Family(CommonParams, audit_common_words),
    "frequent_words": Family(FrequentParams, audit_frequent_words),
    "question_answering": Family(QaParams, audit_question_answering),
    "multilingual_niah": Family(MultilingualNiahParams, audit_multilingual_niah),
    "multilingual_words": Family(MultilingualWordsParams, audit_multilingual_words),
}
"""The task families by the names that suites give them."""
_KINDS: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool}


def read_params(task: str, described: Mapping[str, Any]) -> TaskParams:
    """A task's parameters from its table, `family` and `max_new_tokens` among them.

    Raises RulerError for what is unknown, of a wrong type or impossible.
    """
    family = check_name("family", str(described["family"]), FAMILIES, "ruler_builder/suites")
    kind = FAMILIES[family].params
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
