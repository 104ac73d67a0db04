"""The task families by the names that suites give them: a new one is one line of FAMILIES.

    read_params("vt", {"family": "variable_tracking", "hops": 8, "max_new_tokens": 30}).hops    # 8
    FAMILIES["variable_tracking"].task          # makes rows
    FAMILIES["variable_tracking"].audit(row, about)             # what is wrong with a row

Table 5 of RULER and section 2 of ONERULER have the usual parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from ruler_builder.tasks import (
    common_words,
    frequent_words,
    niah,
    oneruler_niah,
    oneruler_words,
    question_answering,
    variable_tracking,
)
from ruler_builder.tasks.audit_parts import Audit
from ruler_builder.tasks.base import Task, TaskParams
from ruler_builder.text.sources import language_sources
from ruler_common.errors import RulerError
from ruler_common.languages import custom_languages
from ruler_common.manifest import Manifest
from ruler_common.names import Config, check_name


class Family(NamedTuple):
    """The code of a task family."""

    params: type[TaskParams]
    task: type[Task[Any]]  # makes rows
    audit: Audit  # yields what is wrong with a row, without the code that makes rows
    templates: dict[str, Any]  # its wording, and `max_new_tokens` of its tasks
    dataset: str = "ruler"


FAMILIES = {
    "niah": Family(niah.NiahParams, niah.Niah, niah.audit, niah.TEMPLATES),
    "variable_tracking": Family(
        variable_tracking.ChainParams,
        variable_tracking.VariableTracking,
        variable_tracking.audit,
        variable_tracking.TEMPLATES,
    ),
    "common_words": Family(
        common_words.CommonParams,
        common_words.CommonWords,
        common_words.audit,
        common_words.TEMPLATES,
    ),
    "frequent_words": Family(
        frequent_words.FrequentParams,
        frequent_words.FrequentWords,
        frequent_words.audit,
        frequent_words.TEMPLATES,
    ),
    "question_answering": Family(
        question_answering.QaParams,
        question_answering.QuestionAnswering,
        question_answering.audit,
        question_answering.TEMPLATES,
    ),
    "multilingual_niah": Family(
        oneruler_niah.MultilingualNiahParams,
        oneruler_niah.MultilingualNiah,
        oneruler_niah.audit,
        oneruler_niah.TEMPLATES,
        "oneruler",
    ),
    "multilingual_words": Family(
        oneruler_words.MultilingualWordsParams,
        oneruler_words.MultilingualWords,
        oneruler_words.audit,
        oneruler_words.TEMPLATES,
        "oneruler",
    ),
}
_KINDS: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool}


def read_params(task: str, described: Mapping[str, Any]) -> TaskParams:
    """Return a task's parameters from its table, `family` and `max_new_tokens` among them.

    Raises RulerError for what is unknown, of a wrong type or impossible.
    """
    family = check_name("family", str(described["family"]), FAMILIES, "ruler_builder/suites")
    params_type = FAMILIES[family].params
    types = {item.name: str(item.type) for item in fields(params_type)}
    values = {}
    for name, value in described.items():
        if name == "family":
            continue
        check_name(f"parameter of task '{task}'", name, types, "ruler_builder/suites")
        kind = types[name]
        if not isinstance(value, _KINDS[kind]) or isinstance(value, bool) != (kind == "bool"):
            raise RulerError(f"Task '{task}': {name} must be {kind}, not {value!r}.")
        values[name] = value
    try:
        return params_type(**values)
    except RulerError as error:
        raise RulerError(f"Task '{task}': {error}") from None


def usual_of(family: str) -> dict[str, Any]:
    """Return a family's optional parameters with their usual values."""
    if family not in FAMILIES:
        return {}
    params = FAMILIES[family].params
    return {item.name: item.default for item in fields(params) if item.name in params.optional}


def sources_of(manifest: Manifest, config: Config) -> list[str]:
    """Return the names of the sources that the rows of a release's configuration are made of."""
    params = read_params(config.task, manifest["tasks"][config.task])
    custom = custom_languages(manifest)
    text = language_sources(config.language, config.language in custom)
    instruction_language = config.instruction_language
    instruction = language_sources(instruction_language, instruction_language in custom)
    return list(dict.fromkeys(params.sources(text, instruction)))
