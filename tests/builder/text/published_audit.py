"""Compare the errors found in ONERULER's published files with those listed in the errata.

    found = audit(Sources(Store(mirror)), load_counter("tekken", store))
    found["faults"]            # errors that are corrected: erratum, language, evidence
    found["wording"]           # errors that are left as published
    found["books"]             # one row a language: size, tokens, passes through the book at 128k
    found["disagreements"]     # one sentence for each difference from errata.toml; empty if none

The card's lists come from the same errata, so what holds of these holds of the card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import ceil

from typing_extensions import NotRequired, TypedDict

from ruler_builder.text import errata
from ruler_builder.text.languages import Language, read_language, word_entries
from ruler_builder.text.sources import NOUNS, Sources, registry
from ruler_builder.tokens.counting import TokenCounter
from ruler_common.names import LANGUAGES, parse_length
from tests.builder.text import published_faults as faults

_FULL = parse_length("128k", "oneruler")


class FoundFault(TypedDict):
    """An error that is corrected: the erratum's id, the language, and the evidence."""

    erratum: str
    language: str
    found: str


class FoundWording(TypedDict):
    """An error of wording (see errata.Wording), and whether the files have it."""

    language: str
    file: str
    what: str
    sign: str
    check: str
    found: bool


class BookFigures(TypedDict):
    """Sizes of a book, its errata applied, and the counts of faults.measures of the file."""

    language: str
    characters: int
    sentences: int
    longest_sentence: int
    """Characters."""
    tokens: NotRequired[int]
    begun_at_128k: NotRequired[int]
    """How many times the book is begun to fill 128,000 tokens."""
    measures: dict[str, int]


class DictionaryFigures(TypedDict):
    """Sizes of a dictionary, and the script of each kind of a language's texts."""

    language: str
    entries: int
    words: int
    with_spaces: int
    scripts: dict[str, str]


class AuditReport(TypedDict):
    """Everything that was found."""

    faults: list[FoundFault]
    wording: list[FoundWording]
    books: list[BookFigures]
    dictionaries: list[DictionaryFigures]
    kept_nouns: int
    """Rows of the noun list that keys are drawn from."""
    disagreements: list[str]


def audit(
    sources: Sources,
    counter: TokenCounter | None = None,
) -> AuditReport:
    """Find every error in the published files of all languages; with a counter, count tokens.

    Raises RulerError where a file is missing or has another digest.
    """
    noun_faults = faults.nouns(_raw(NOUNS, sources))
    found = AuditReport(
        faults=[], wording=[], books=[], dictionaries=[], kept_nouns=0, disagreements=[]
    )
    for code in LANGUAGES:
        kinds = [kind for kind in _FINDERS if f"{kind}-{code}" in registry()]
        files = {kind: _raw(f"{kind}-{code}", sources) for kind in kinds}
        faulty = {id: what for kind, text in files.items() for id, what in _FINDERS[kind](text)}
        found["faults"] += [
            FoundFault(erratum=erratum, language=code, found=evidence)
            for erratum, evidence in (faulty | noun_faults[code]).items()
        ]
        corrected = read_language(code, sources)
        words = corrected.words()
        own = words if "words" in files else []  # English has wonderwords'
        measured = faults.measures(files["book"], own)
        texts = {
            "prompts": "".join(json.loads(files["niah"]).values()),
            "nouns": "".join(corrected.nouns),
            "book": files["book"],
            "words": "".join(own),
        }
        scripts = {name: faults.script(text) for name, text in texts.items() if text}
        files["nouns"] = "\n".join(corrected.nouns)
        found["wording"] += _wording(code, files, faults.kept(scripts, measured))
        found["books"].append(_book(corrected, counter, measured))
        found["dictionaries"].append(
            DictionaryFigures(
                language=code,
                entries=len(word_entries(files["words"])) if own else len(words),
                words=len(words),
                with_spaces=sum(" " in word for word in words),
                scripts=scripts,
            )
        )
        found["kept_nouns"] = len(corrected.nouns)
    found["disagreements"] = sorted(disagreements(found))
    return found


_FINDERS = {"niah": faults.niah, "cwe": faults.cwe, "book": faults.book, "words": faults.words}


def _raw(name: str, sources: Sources) -> str:
    return sources.read(name).decode("utf-8")


def _wording(code: str, files: Mapping[str, str], checks: set[str]) -> Iterator[FoundWording]:
    """The listed errors of wording, found or not, and those that are found but not listed."""
    for listed in errata.wording(code):
        found = listed.check in checks if listed.check else listed.sign in files[listed.file]
        yield _found_wording(listed, found)
    known = {listed.check for listed in errata.wording(code)}
    for check in sorted(checks - known):
        yield _found_wording(errata.Wording(language=code, file="", what=check, check=check), True)


def _found_wording(listed: errata.Wording, found: bool) -> FoundWording:
    return FoundWording(
        language=listed.language,
        file=listed.file,
        what=listed.what,
        sign=listed.sign,
        check=listed.check,
        found=found,
    )


def _book(
    corrected: Language,
    counter: TokenCounter | None,
    measured: dict[str, int],
) -> BookFigures:
    parts = list(corrected.sentences())
    text = corrected.separator.join(parts)
    figures = BookFigures(
        language=corrected.code,
        characters=len(text),
        sentences=len(parts),
        longest_sentence=max(map(len, parts)),
        measures=measured,
    )
    if counter:
        figures["tokens"] = counter.count(text)
        figures["begun_at_128k"] = ceil(_FULL / figures["tokens"])
    return figures


def disagreements(found: AuditReport) -> Iterator[str]:
    """One sentence for each difference between what was found and text/errata.toml."""
    listed = {
        (code, erratum.id)
        for erratum in errata.errata()
        if erratum.file != "script"
        for code in (LANGUAGES if erratum.languages == errata.ALL else erratum.languages)
        if not (code == "en" and erratum.file == "words")
    }
    listed |= {(one.language, f"{one.file}: {one.what}") for one in errata.wording()}
    there = {(fault["language"], fault["erratum"]) for fault in found["faults"]}
    there |= {
        (one["language"], f"{one['file']}: {one['what']}")
        for one in found["wording"]
        if one["found"]
    }
    there |= {
        (book["language"], "numbers of seven digits")
        for book in found["books"]
        if book["measures"]["long_numbers"]
    }
    for code, what in there - listed:
        yield f"{code}: {what} (found in the files, missing in the errata)"
    for code, what in listed - there:
        yield f"{code}: {what} (in the errata, not found in the files)"
