"""What the words of `--sources` and `--languages` mean.

parse_sources_option(["squad=embedded"])         # SourceChoice(embedded={"squad"}, …)
language_pairs("oneruler", ("pl", "en-ko"))      # pl with pl, en with Korean instructions
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from ruler_builder.text.sources import (
    CANONICAL,
    EMBEDDED,
    LISTED_BY,
    SourceChoice,
    SourceFile,
    named_sources,
    registry,
    restricted_books,
)
from ruler_common.errors import RulerError
from ruler_common.names import LANGUAGES, check_name

CROSSED = ("en", "ko", "pl")
"""The languages that the paper crosses, in all six directions."""
_LANGUAGES_SEE = "ruler build --help; a language beyond the 26 needs --language-folder"


def parse_sources_option(
    words: Iterable[str], custom: Mapping[str, SourceFile] | None = None
) -> SourceChoice:
    """Parse `--sources`: `embedded` or `canonical` for all sources, or `NAME=embedded` for one.

    A word may be several, with commas. Later ones win; `NAME=canonical` after `embedded` keeps the
    published file of one source. Raises RulerError for an unknown word, and for a mix of embedded
    and published texts of ONERULER.
    """
    embedded: set[str] = set()
    for word in [part for words_of_flag in words for part in words_of_flag.split(",")]:
        name, equals, variant = word.rpartition("=")
        check_name("kind of source", variant, (CANONICAL, EMBEDDED), LISTED_BY)
        names = {check_name("source", name, registry(), LISTED_BY)} if equals else {*registry()}
        if variant == EMBEDDED:
            embedded |= names
        else:
            embedded -= names
    oneruler = named_sources(["oneruler"]).keys() if embedded else set()
    replaced = embedded & oneruler
    if replaced and replaced != oneruler:
        raise RulerError(
            "The project's own texts and ONERULER's published files cannot be mixed: choose "
            "--sources embedded for all of them, or for none."
        )
    return SourceChoice(frozenset(embedded), custom or {})


class Pair(NamedTuple):
    """The language of the text and the language of the instruction, as ISO 639-1 codes."""

    language: str
    instruction_language: str


def language_pairs(
    dataset: str,
    names: Sequence[str] = ("default",),
    *,
    instruction: str | None = None,
    skip_restricted: bool = False,
    custom_sources: Mapping[str, SourceFile] | None = None,
) -> list[Pair]:
    """Return the pairs of languages that a user asks for, in their order, each once.

    Args:
        dataset: `ruler`, which is in English, or `oneruler`.
        names: Codes, pairs (`en-ko`), `all` (the 26 languages) or `default`: the 26 and the paper's
            six pairs; with custom languages only these, and each paired with English.
        instruction: The instruction's language for every code.
        skip_restricted: Whether to leave out the languages whose book may not be free everywhere.
        custom_sources: The sources of custom languages, by name.

    Raises RulerError for an unknown language.
    """
    if dataset == "ruler":
        if tuple(names) != ("default",) or instruction or skip_restricted or custom_sources:
            raise RulerError("RULER is in English: languages belong to --suite oneruler.")
        return [Pair("en", "en")]
    closed = {*restricted_books()} if skip_restricted else set()
    custom = []
    for name, file in (custom_sources or {}).items():
        if file.book:
            code = name.removeprefix("book-")
            custom.append(code)
            if skip_restricted and file.book["restricted"]:
                closed.add(code)
    if instruction is not None:
        check_name("language", instruction, (*LANGUAGES, *custom), _LANGUAGES_SEE)
    pairs: dict[Pair, None] = {}
    for name in names:
        pairs |= dict.fromkeys(_pairs_of(name.strip(), instruction, custom))
    free = [pair for pair in pairs if pair.language not in closed]
    if not free:
        languages = ", ".join(dict.fromkeys(pair.language for pair in pairs))
        raise RulerError(
            f"Every book asked for ({languages}) may not be free everywhere: ask for other "
            "languages, or build without --skip-restricted."
        )
    return free


def _pairs_of(name: str, instruction: str | None, custom: Sequence[str]) -> list[Pair]:
    """Return the pairs that a name of `--languages` means."""
    if name in ("all", "default"):
        codes = custom if name == "default" and custom else LANGUAGES
        pairs = [Pair(code, instruction or code) for code in codes]
        if name == "default" and not instruction:
            if custom:
                for code in custom:
                    pairs += [Pair(code, "en"), Pair("en", code)]
            else:
                pairs += [Pair(*crossed) for crossed in permutations(CROSSED, 2)]
        return pairs
    codes = name.split("-")
    names = [*LANGUAGES, *custom]
    if len(codes) == 1:
        names += ["all", "default"]
    for code in codes:
        check_name("language", code, names, _LANGUAGES_SEE)
    if len(codes) > 2 or (len(codes) == 2 and instruction):
        raise RulerError(
            f"'{name}' is not a language: write pl, or en-ko for text in English with instructions "
            "in Korean (then without --instruction-language)."
        )
    if len(codes) == 2:
        return [Pair(*codes)]
    return [Pair(name, instruction or name)]
