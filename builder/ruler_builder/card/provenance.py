"""Where a release comes from, for its card: sources, rights, errata and versions.

All of it is read: from the manifest, oneruler/errata.toml and CHANGELOG.md; citation_file() has
what CITATION.cff says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from ruler_builder.oneruler import errata
from ruler_builder.project_files import project_file
from ruler_builder.tasks.registry import sources_of
from ruler_builder.text.sources import EMBEDDED
from ruler_common import frozen_rows
from ruler_common.manifest_form import BookRights, Manifest, SourceEntry
from ruler_common.names import LANGUAGES

KINDS = ("niah", "cwe", "book", "words")
"""ONERULER's sources of a language: two prompts, the book, the dictionary."""


def text_languages(manifest: Manifest) -> list[str]:
    """The languages of the texts."""
    return sorted({entry["language"] for entry in manifest["files"].values()})


def languages(manifest: Manifest) -> list[str]:
    """The languages of the texts and of the instructions."""
    entries = manifest["files"].values()
    return sorted({code for e in entries for code in (e["language"], e["instruction_language"])})


def sources(manifest: Manifest) -> dict[str, SourceEntry]:
    """The sources of which the rows of the files are made."""
    here = {name for entry in manifest["files"].values() for name in sources_of(manifest, entry)}
    return {name: source for name, source in manifest["sources"].items() if name in here}


def embedded(manifest: Manifest) -> list[str]:
    """The sources for which a text of the project's own stands in."""
    return [name for name, one in sources(manifest).items() if one["variant"] == EMBEDDED]


def licences(manifest: Manifest) -> dict[str, list[str]]:
    """Licence -> the kinds of source that are under it (in ruler, the sources)."""
    found: dict[str, set[str]] = {}
    for name, source in sources(manifest).items():
        kind = name.partition("-")[0]
        found.setdefault(source["licence"], set()).add(kind if kind in KINDS else name)
    return {licence: sorted(found[licence]) for licence in sorted(found)}


def by_language(manifest: Manifest) -> dict[str, list[SourceEntry | None]]:
    """ONERULER: language -> its prompts, book and dictionary; None where nothing read it."""
    here = sources(manifest)
    return {code: [here.get(f"{kind}-{code}") for kind in KINDS] for code in languages(manifest)}


def books(manifest: Manifest) -> dict[str, BookRights]:
    """ONERULER: language -> what is known of its book and its rights; the texts' languages only."""
    here = sources(manifest)
    found = {code: here.get(f"book-{code}") for code in text_languages(manifest)}
    return {code: source["book"] for code, source in found.items() if source and "book" in source}


def restricted(manifest: Manifest) -> list[str]:
    """The languages whose book may not be free everywhere."""
    return [code for code, book in books(manifest).items() if book["restricted"]]


def mended(manifest: Manifest) -> list[tuple[errata.Erratum, list[str]]]:
    """The errata that were applied, each with the languages whose published file has the fault.

    The nouns' tell of every language: a row of nouns is kept if it is unique in all of them, so
    that any language's fault matters.
    """
    here = sources(manifest)
    found = []
    for erratum in errata.errata():
        named = LANGUAGES if erratum.languages == errata.ALL else erratum.languages
        using = [
            code
            for code, language in manifest.get("languages", {}).items()
            if erratum.id in language["errata"] and _reads(erratum.file, code, here)
        ]
        if using:
            codes = named if erratum.file == "nouns" else sorted({*named} & {*using})
            found.append((erratum, list(codes)))
    return found


def wording(manifest: Manifest) -> list[errata.Wording]:
    """What stays as published in the files that were read, language by language."""
    here = sources(manifest)
    said = (fault for code in LANGUAGES for fault in errata.wording(code))
    return [fault for fault in said if _reads(fault.file, fault.language, here)]


def _reads(file: str, code: str, here: Mapping[str, Any]) -> bool:
    """Whether a published file of a language was read. Every niah task reads prompt and nouns."""
    name = f"{file if file in KINDS else 'niah'}-{code}"
    return name in here and here[name]["variant"] != EMBEDDED


def versions() -> list[tuple[str, list[str]]]:
    """The versions in CHANGELOG.md that name a data version: title and changes, newest first.

    The changes are those of the data and of the score, `Data …` and `Score …`.
    """
    text = project_file("CHANGELOG.md").read_text(encoding="utf-8")
    found = []
    for section in re.split("^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        if "data version" in title:
            lines = [" ".join(line.split()) for line in re.split(r"^- ", body, flags=re.MULTILINE)]
            changes = [line for line in lines if line.startswith(("Data", "Score"))]
            found.append((re.sub(r"[\[\]]", "", title), changes))
    return found


class DataVersion(NamedTuple):
    """A data version: what is frozen of it, the version that took its place, and what changed."""

    version: str
    frozen: str
    superseded_by: str
    changes: list[str]


def data_versions(manifest: Manifest) -> list[DataVersion]:
    """The frozen data versions and the manifest's own, oldest first.

    What changed is what CHANGELOG.md says in lines that begin `- Data 1.1.0: …`.
    """
    names = {path.stem for path in frozen_rows.FROZEN.glob("*.toml")} | {manifest["data_version"]}
    ordered = sorted(names, key=lambda name: [int(part) for part in name.split(".")])
    text = project_file("CHANGELOG.md").read_text(encoding="utf-8")
    lines = [" ".join(line.split()) for line in re.split(r"^- ", text, flags=re.MULTILINE)]
    found = []
    for version, after in zip(ordered, [*ordered[1:], "–"], strict=True):
        begin = f"Data {version}: "
        changes = [line.removeprefix(begin) for line in lines if line.startswith(begin)]
        first = ["the first version"] if version == ordered[0] else []
        found.append(DataVersion(version, _frozen(manifest, version), after, changes or first))
    return found


def _frozen(manifest: Manifest, version: str) -> str:
    """How many configurations of the data set are frozen, and with which seed and reserve."""
    rows = frozen_rows.read_frozen(version)
    configs = rows.rows.get(manifest["dataset"], {}) if rows else {}
    if not rows or not configs:
        return "not yet"
    return f"{len(configs):,} configurations, seed {rows.seed}, reserve {rows.reserve}"


@cache
def citation_file() -> dict[str, Any]:
    """CITATION.cff: the project's authors, its version and its date, and the papers."""
    found: dict[str, Any] = yaml.safe_load(project_file("CITATION.cff").read_text(encoding="utf-8"))
    return found
