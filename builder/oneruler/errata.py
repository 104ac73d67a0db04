"""The errata of ONERULER's published files: builder/oneruler/errata.toml, applied on reading.

    errata.fix("cwe", "vi", [template])      # the template with every erratum of vi/cwe.txt applied
    errata.applied("vi")                     # those errata, for the manifest and the card
    errata.wording("vi")                     # what is kept as published and shown in the card

Structural faults are mended; what native speakers wrote stays.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from builder.common.toml import read_toml

ALL = ("all",)
"""Said of an erratum that stands in every language."""
_FIRST = "'’"
_INNER = _FIRST + "ʼ -\u200c"
"""What may stand inside a word, but not at its end, and but for an apostrophe not at its start."""
_LETTERS = {"Lu", "Ll", "Lt", "Lo"}
"""All but modifiers, which several scripts share."""


@dataclass(frozen=True)
class Erratum:
    """A structural fault: where it stands, what it is, why and how it is mended."""

    id: str
    file: str
    languages: tuple[str, ...]
    rule: str
    what: str
    why: str
    part: str = ""
    pattern: str = ""
    replacement: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    def holds_for(self, code: str) -> bool:
        """Whether it changes what is read for a language; the nouns' do for each."""
        return self.file == "nouns" or self.languages == ALL or code in self.languages


@dataclass(frozen=True)
class Wording:
    """What stays as published: in which file of which language, and what shows it."""

    language: str
    file: str
    what: str
    sign: str = ""
    """A piece of the file."""
    check: str = ""
    """Or the measure of faults.py that finds it."""


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    return read_toml(files("builder.oneruler") / "errata.toml")


@cache
def errata() -> tuple[Erratum, ...]:
    """All errata, in the order in which they are applied."""
    return tuple(
        Erratum(**(table | {"languages": tuple(table["languages"])}))
        for table in _tables()["erratum"]
    )


def applied(code: str) -> list[Erratum]:
    """The errata of a language's files, the nouns' and the authors' script's among them.

    English has no dictionary file, so the dictionaries' errata are none of its.
    """
    return [
        erratum
        for erratum in errata()
        if erratum.holds_for(code) and not (code == "en" and erratum.file == "words")
    ]


def wording(code: str | None = None) -> list[Wording]:
    """What stays as published, of a language or of all."""
    return [
        Wording(language, table["file"], table["what"], sign, table.get("check", ""))
        for table in _tables()["wording"]
        for language, sign in table.get(
            "signs", dict.fromkeys(table.get("languages", ()), "")
        ).items()
        if code in (None, language)
    ]


def fix(file: str, code: str, items: Sequence[str], part: str = "") -> list[str]:
    """Texts or words of a file (a part of it) with its errata applied, in their order."""
    fixed = list(items)
    for erratum in errata():
        if (erratum.file, erratum.part) == (file, part) and erratum.holds_for(code):
            fixed = _apply(erratum, fixed)
    return fixed


def _apply(erratum: Erratum, items: list[str]) -> list[str]:
    match erratum.rule:
        case "replace":
            changed = re.compile(erratum.pattern)
            return [changed.sub(erratum.replacement, item) for item in items]
        case "drop":
            return [item for item in items if not re.search(erratum.pattern, item)]
        case "rename":
            labels = [item.split(",") for item in items]
            return [",".join(erratum.names.get(one, one) for one in label) for label in labels]
        case "nfc":
            return [unicodedata.normalize("NFC", item) for item in items]
        case "one-script":
            return [item for item in items if len(scripts(item)) < 2]
        case "signs":
            return [item for item in items if is_word(item)]
        case "unique":
            return list({identity(item): item for item in reversed(items)}.values())[::-1]
        case _:  # "reading", and "unique-rows", which needs every language: see unique_rows
            return items


def identity(word: str) -> str:
    """What two forms of a word have in common: NFKC, case-folded, no zero-width characters."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return "".join(char for char in folded if unicodedata.category(char) != "Cf")


def is_word(text: str) -> bool:
    """Whether it is letters and marks, perhaps with hyphens, apostrophes, single spaces inside."""
    kinds = [unicodedata.category(char)[0] for char in text]
    whole = all(kind in "LM" or char in _INNER for char, kind in zip(text, kinds, strict=True))
    ends = bool(text) and (kinds[0] == "L" or text[0] in _FIRST) and kinds[-1] in "LM"
    return whole and ends and "  " not in text


def scripts(text: str) -> Counter[str]:
    """How many letters of each script there are: LATIN, CYRILLIC, …; Japanese counts as CJK."""
    return Counter(_script(char) for char in text if unicodedata.category(char) in _LETTERS)


@cache
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").split(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


def unique_rows(columns: Sequence[Sequence[str]]) -> list[int]:
    """Which rows of parallel columns hold, in every column, an item that no other row has there."""
    rows = set(range(len(columns[0])))
    for column in columns:
        count = Counter(map(identity, column))
        rows -= {place for place, item in enumerate(column) if count[identity(item)] > 1}
    return sorted(rows)
