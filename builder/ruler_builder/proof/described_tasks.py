"""Check what a manifest says of its tasks, before any row is read by it.

    check_described(manifest, Path("ruler/manifest.json"))

The proof reads rows back with the manifest's own parameters and wording. A release may come from
anyone: parameters must be ones that a suite could have, templates must hold the places that are
read, and a language must have every part of its prompts. What is worded otherwise than the
benchmark is another matter: release_checks.py names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ruler_builder.families.table import FAMILIES, read_params
from ruler_builder.oneruler.languages import PARTS
from ruler_builder.suites.wording import check_wording, own_wording, placeholders
from ruler_common.errors import RulerError
from ruler_common.manifest_form import LanguageEntry, Manifest

# What a language's prompt holds in braces; the question's are filled, the others parted.
_PLACES = {
    "task": ["context"],
    "needle": ["key", "value"],
    "question_one": ["query1"],
    "question_many": ["query1", "query2"],
}


def check_described(manifest: Manifest, where: Path) -> None:
    """Raise RulerError, one sentence that names file and field, for what no row can be read by."""
    try:
        _check_families(manifest)
        for task, described in manifest["tasks"].items():
            _check_task(task, described, manifest)
        for code, language in manifest["languages"].items():
            _check_language(code, language)
        for path, entry in manifest["files"].items() if manifest["dataset"] == "oneruler" else ():
            for code in (entry["language"], entry["instruction_language"]):
                if code not in manifest["languages"]:
                    raise RulerError(f"'files.{path}' is in '{code}', which languages lacks.")
        if len({len(language["nouns"]) for language in manifest["languages"].values()}) > 1:
            raise RulerError("the languages do not have equally many nouns.")
    except RulerError as error:
        raise RulerError(f"'{where}' is damaged: {error} Get or build it anew.") from error


def _check_families(manifest: Manifest) -> None:
    every = own_wording(manifest["dataset"]).items()
    known = {name: own for name, own in every if name in manifest["families"]}
    check_wording("families", manifest["families"], known)


def _check_task(task: str, described: Mapping[str, Any], manifest: Manifest) -> None:
    family = described["family"]
    params = FAMILIES[family].params
    needed = {item.name for item in fields(params)} - {*params.optional}
    if lacking := needed - {*described}:
        raise RulerError(f"'tasks.{task}' has no {min(lacking)}.")
    read_params(task, described)
    if (same := described.get("same_as")) and same not in manifest["tasks"]:
        raise RulerError(f"'tasks.{task}' is the same as '{same}', which is no task.")


def _check_language(code: str, language: LanguageEntry) -> None:
    """Every part of the prompts is there, and holds in braces what is read in its place."""
    at, parts = f"languages.{code}", language["parts"]
    if lacking := {*PARTS} - {"none"} - {*parts}:
        raise RulerError(f"'{at}.parts' has no {min(lacking)}.")
    for name, needed in _PLACES.items():
        if placeholders(parts[name]) != needed:
            shown = " and ".join(f"{{{one}}}" for one in needed)
            raise RulerError(f"'{at}.parts.{name}' must hold {shown}, each once, and no other.")
    before, after = parts["needle"].split("{key}")
    if not before or not after:
        raise RulerError(f"'{at}.parts.needle' must have {{key}} between quotation marks.")
    for name, mark in (("question_one", ">"), ("question_many", ">"), ("if_no", "</")):
        if mark not in parts[name]:
            raise RulerError(f"'{at}.parts.{name}' must hold '{mark}'.")
    if language["cwe"].count("{context}") != 1:
        raise RulerError(f"'{at}.cwe' must hold {{context}} once.")
    nouns = language["nouns"]
    if not nouns or not all(nouns) or len({*nouns}) < len(nouns):
        raise RulerError(f"'{at}.nouns' has no noun, an empty one, or one twice.")
