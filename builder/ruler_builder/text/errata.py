r"""Correct the errors of ONERULER's published files that ruler_builder/text/errata.toml lists.

    errata.fix("cwe", "vi", [template])      # the template with every erratum of vi/cwe.txt applied
    errata.applied("vi")                     # those errata, for the manifest and the card
    errata.wording()                         # errors left as published, listed in the card
    errata.check_corrected("cwe-vi", [text]) # refuses any other text than the recorded one

corrected.toml has the digest of every corrected text, since a rule such as `\s` or NFC depends on
Python's Unicode tables. builder/pin_texts.py writes it.

Structural errors are corrected while a file is read; what native speakers wrote is left alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from ruler_builder.text.sources import language_sources
from ruler_common.errors import RulerError
from ruler_common.files import read_toml

ALL = ("all",)
"""The `languages` of an erratum that applies to every language."""
_APOSTROPHES = "'’"
# Characters allowed inside a word besides letters and marks. Only an apostrophe may also start a
# word, and none of them may end it.
_INNER = _APOSTROPHES + "ʼ -\u200c"
# Unicode categories of letters, without modifier letters (Lm), which several scripts share.
_LETTERS = {"Lu", "Ll", "Lt", "Lo"}


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A structural error in a published file, why it matters, and the rule that corrects it."""

    id: str
    file: str
    languages: tuple[str, ...]
    rule: str
    what: str
    why: str
    part: str = ""
    pattern: str = ""
    replacement: str = ""

    def affects(self, code: str) -> bool:
        """Return whether it changes what is read for a language; those of the nouns affect all."""
        return self.file == "nouns" or self.languages == ALL or code in self.languages


@dataclass(frozen=True, kw_only=True)
class Wording:
    """An error of wording that is left as published."""

    language: str
    file: str
    what: str
    # Text of the file that shows the error; "" if it is not in one place
    excerpt: str


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    return read_toml(files("ruler_builder.text") / "errata.toml")


@cache
def errata() -> tuple[Erratum, ...]:
    """Every erratum of errata.toml, in the order in which they are applied."""
    return tuple(
        Erratum(**(table | {"languages": tuple(table["languages"])}))
        for table in _tables()["erratum"]
    )


def applied(code: str) -> list[Erratum]:
    """Return the errata that affect one of the 26 languages.

    They are those of its files, of the noun list and of the authors' script. English has no
    dictionary file, so the errata of dictionaries do not affect it.
    """
    has_words = language_sources(code, custom=False).words is not None
    return [
        erratum
        for erratum in errata()
        if erratum.affects(code) and (has_words or erratum.file != "words")
    ]


def wording() -> list[Wording]:
    """Return the errors of wording that are left as published, one for each language."""
    errors = []
    for table in _tables()["wording"]:
        excerpts = table.get("excerpts") or dict.fromkeys(table["languages"], "")
        for language, excerpt in excerpts.items():
            error = Wording(
                language=language, file=table["file"], what=table["what"], excerpt=excerpt
            )
            errors.append(error)
    return errors


def fix(file: str, code: str, items: Sequence[str], part: str = "") -> list[str]:
    """Return the texts or words of a file, or a part of it, with its errata applied in order."""
    fixed = list(items)
    for erratum in errata():
        if (erratum.file, erratum.part) == (file, part) and erratum.affects(code):
            fixed = _apply(erratum, fixed)
    return fixed


@cache
def _corrected() -> dict[str, str]:
    return read_toml(files("ruler_builder.text") / "corrected.toml")


def digest_of(texts: Sequence[str]) -> str:
    """Return the sha256 of the corrected texts or words of a source, each followed by a NUL."""
    return sha256("".join(f"{text}\0" for text in texts).encode()).hexdigest()


def check_corrected(source: str, texts: Sequence[str]) -> None:
    """Refuse the corrected texts of a published source if they are not the recorded ones.

    Raises RulerError.
    """
    expected, digest = _corrected()[source], digest_of(texts)
    if digest != expected:
        raise RulerError(
            f"The corrected '{source}' has sha256 {digest}, expected {expected}: install this "
            "package again, or use an older Python, if this one has other Unicode tables "
            f"({unicodedata.unidata_version}; 14.0.0 is right). After changing an erratum, run "
            "builder/pin_texts.py."
        )


def _apply(erratum: Erratum, items: list[str]) -> list[str]:
    """Return the texts or words with one erratum applied."""
    match erratum.rule:
        case "replace":
            return [re.sub(erratum.pattern, erratum.replacement, item) for item in items]
        case "drop":
            return [item for item in items if not re.search(erratum.pattern, item)]
        case "nfc":
            return [unicodedata.normalize("NFC", item) for item in items]
        case "one-script":
            return [item for item in items if len(scripts(item)) < 2]
        case "characters":
            return [item for item in items if is_word(item)]
        case "unique":
            # The first spelling of each word is kept, at the place of the last one.
            return list({identity(item): item for item in reversed(items)}.values())[::-1]
        case _:  # "reading" is done by the reader; kept_rows applies the rules for whole noun rows
            return items


def identity(word: str) -> str:
    """Return what two spellings of a word share: NFKC, case-folded, no zero-width characters."""
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return "".join(char for char in folded if unicodedata.category(char) != "Cf")


def is_word(text: str) -> bool:
    """Return whether a text is one word: letters and marks, and characters of _INNER inside."""
    if text.isalpha():
        return True
    kinds = [unicodedata.category(char)[0] for char in text]
    allowed = all(kind in "LM" or char in _INNER for char, kind in zip(text, kinds, strict=True))
    ends = bool(text) and (kinds[0] == "L" or text[0] in _APOSTROPHES) and kinds[-1] in "LM"
    return allowed and ends and "  " not in text


def scripts(text: str) -> Counter[str]:
    """Count a text's letters by script: LATIN, CYRILLIC, …; Japanese counts as CJK."""
    return Counter(_script(char) for char in text if _script(char))


@cache
def _script(char: str) -> str:
    """Return the script of a letter; an empty text for any other character."""
    if unicodedata.category(char) not in _LETTERS:
        return ""
    name = unicodedata.name(char, "UNNAMED").split(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


def kept_rows(columns: Mapping[str, Sequence[str]]) -> list[int]:
    """Return the rows of the noun list that keys are drawn from.

    A row is kept if its noun is unique in every language and is not listed as ambiguous.
    """
    ambiguous = [erratum.pattern for erratum in errata() if erratum.rule == "drop-rows"]
    return [
        row
        for row in unique_rows(list(columns.values()))
        if not any(re.fullmatch(pattern, columns["en"][row]) for pattern in ambiguous)
    ]


def unique_rows(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return the rows whose item is unique in every one of the parallel columns, ascending."""
    rows = set(range(len(columns[0])))
    for column in columns:
        count = Counter(map(identity, column))
        rows -= {place for place, item in enumerate(column) if count[identity(item)] > 1}
    return sorted(rows)
