"""The audit of ONERULER's published files: their faults found again, and held against the errata.

    found = audit(Sources(Store(mirror)), load_counter("tekken", store))
    found["faults"]            # what is mended: erratum, language, what was found
    found["wording"]           # what stays as published
    found["books"]             # one row a language: size, tokens, how often 128k begins it
    found["disagreements"]     # empty, or the errata are not what the files need

`ruler sources audit oneruler` prints it; the card's lists come from the same errata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from math import ceil
from typing import Any

from builder.oneruler import errata, faults
from builder.oneruler.languages import Language, dictionary, language, sentences
from builder.sources.registry import NOUNS, Sources, registry
from builder.tokens.tokenizers import TokenCounter
from ruler_dataset import LANGUAGES, parse_length

_FULL = parse_length("128k", "oneruler")


def audit(
    sources: Sources, counter: TokenCounter | None = None, told: Callable[[], None] | None = None
) -> dict[str, Any]:
    """Everything found in the published files of all languages; token counts with a counter.

    `told` is called after each language. Raises RulerError where a file is missing or has another
    digest.
    """
    nouns = faults.nouns(_raw(NOUNS, sources))
    found: dict[str, Any] = {key: [] for key in ("faults", "wording", "books", "dictionaries")}
    for code in LANGUAGES:
        kinds = [kind for kind in _FINDERS if f"{kind}-{code}" in registry()]
        files = {kind: _raw(f"{kind}-{code}", sources) for kind in kinds}
        faulty = {id: what for kind, text in files.items() for id, what in _FINDERS[kind](text)}
        found["faults"] += [
            {"erratum": erratum, "language": code, "found": what}
            for erratum, what in (faulty | nouns[code]).items()
        ]
        mended = language(code, sources)
        words = dictionary(code, sources)
        own = words if "words" in files else []  # English has wonderwords'
        measured = faults.measures(files["book"], own)
        texts = {
            "prompts": "".join(json.loads(files["niah"]).values()),
            "nouns": "".join(mended.nouns),
            "book": files["book"],
            "words": "".join(own),
        }
        scripts = {name: faults.script(text) for name, text in texts.items() if text}
        found["wording"] += _kept(code, files, faults.kept(scripts, measured))
        found["books"].append({"language": code} | _book(mended, sources, counter) | measured)
        found["dictionaries"].append(
            {
                "language": code,
                "entries": len(faults.entries(files["words"])) if own else len(words),
                "words": len(words),
                "with_spaces": sum(" " in word for word in words),
                "scripts": scripts,
            }
        )
        if told:
            told()
    found["nouns"] = {"kept": len(mended.nouns)}
    found["disagreements"] = sorted(disagreements(found))
    return found


_FINDERS = {"niah": faults.niah, "cwe": faults.cwe, "book": faults.book, "words": faults.words}


def _raw(name: str, sources: Sources) -> str:
    return sources.read(name).decode("utf-8")


def _kept(code: str, files: dict[str, str], checks: set[str]) -> Iterator[dict[str, Any]]:
    for said in errata.wording(code):
        holds = said.check in checks if said.check else said.sign in files[said.file]
        yield asdict(said) | {"found": holds}
    known = {said.check for said in errata.wording(code)}
    for check in sorted(checks - known):
        yield asdict(errata.Wording(code, "", check, check=check)) | {"found": True}


def _book(mended: Language, sources: Sources, counter: TokenCounter | None) -> dict[str, Any]:
    parts = list(sentences(mended.code, sources))
    text = mended.separator.join(parts)
    row = {
        "characters": len(text),
        "sentences": len(parts),
        "longest_sentence": max(map(len, parts)),
    }
    if counter:
        tokens = counter.count(text)
        row |= {"tokens": tokens, "begun_at_128k": ceil(_FULL / tokens)}
    return row


def disagreements(found: dict[str, Any]) -> Iterator[str]:
    """Where what was found and builder/oneruler/errata.toml do not say the same."""
    listed = {
        (code, erratum.id)
        for erratum in errata.errata()
        if erratum.file != "script"
        for code in (LANGUAGES if erratum.languages == errata.ALL else erratum.languages)
        if not (code == "en" and erratum.file == "words")
    }
    listed |= {(said.language, f"{said.file}: {said.what}") for said in errata.wording()}
    there = {(fault["language"], fault["erratum"]) for fault in found["faults"]}
    there |= {
        (said["language"], f"{said['file']}: {said['what']}")
        for said in found["wording"]
        if said["found"]
    }
    there |= {
        (book["language"], "numbers of seven digits")
        for book in found["books"]
        if book["long_numbers"]
    }
    for code, what in there - listed:
        yield f"{code}: {what} (found in the files, missing in the errata)"
    for code, what in listed - there:
        yield f"{code}: {what} (in the errata, not found in the files)"
