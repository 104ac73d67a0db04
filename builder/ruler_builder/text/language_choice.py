"""Choose the languages of a release: of the text and of the instruction (ONERULER, section 2).

pairs("oneruler", LanguageChoice(("pl", "en-ko")))       # pl with pl, en with Korean instructions
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

from ruler_builder.text.sources import restricted
from ruler_common.errors import RulerError
from ruler_common.names import LANGUAGES, check_name

CROSSED = ("en", "ko", "pl")
"""The languages that the paper crosses, in all six directions."""


class Pair(NamedTuple):
    """The language of the text and the language of the instruction, as ISO 639-1 codes."""

    language: str
    instruction_language: str

    @property
    def is_one(self) -> bool:
        """Whether text and instruction are in the same language."""
        return self.language == self.instruction_language


@dataclass(frozen=True)
class LanguageChoice:
    """The languages a user asks for: codes, pairs (`en-ko`), `all` or `default`.

    `all` is the 26 languages, `default` these and the paper's six pairs. `instruction` is the
    instruction's language for every code; `skip_restricted` leaves out the languages whose book may
    not be free everywhere. `custom` has the custom languages and whether the book of each may not
    be free; with them `default` is these, and each crossed with English.
    """

    names: tuple[str, ...] = ("default",)
    instruction: str | None = None
    skip_restricted: bool = False
    custom: Mapping[str, bool] = field(default_factory=dict)

    @property
    def known(self) -> tuple[str, ...]:
        """Every code that can be asked for."""
        return (*LANGUAGES, *self.custom)


def pairs(dataset: str, chosen: LanguageChoice | None) -> list[Pair]:
    """Return the asked pairs in their order, each once.

    Raises RulerError for an unknown language.
    """
    if dataset == "ruler":
        if chosen not in (None, LanguageChoice()):
            raise RulerError("RULER is in English: languages belong to --suite oneruler.")
        return [Pair("en", "en")]
    chosen = chosen or LanguageChoice()
    if chosen.instruction is not None:
        check_name("language", chosen.instruction, chosen.known, "ruler build --help")
    found = dict.fromkeys(pair for name in chosen.names for pair in _read(name, chosen))
    if chosen.skip_restricted:
        closed = {*restricted(), *(code for code, shut in chosen.custom.items() if shut)}
        kept = [pair for pair in found if pair.language not in closed]
        if not kept:
            languages = ", ".join(dict.fromkeys(pair.language for pair in found))
            raise RulerError(
                f"Every book asked for ({languages}) may not be free everywhere: ask for other "
                "languages, or build without --skip-restricted."
            )
        return kept
    return list(found)


def _read(name: str, chosen: LanguageChoice) -> list[Pair]:
    name, instruction = name.strip(), chosen.instruction
    if name == "default" and chosen.custom:
        single = [Pair(code, instruction or code) for code in chosen.custom]
        crossed = [pair for code in chosen.custom for pair in (Pair(code, "en"), Pair("en", code))]
        return single if instruction else single + crossed
    if name in ("all", "default"):
        every = [Pair(code, instruction or code) for code in LANGUAGES]
        crossed = [Pair(*pair) for pair in permutations(CROSSED, 2)]
        return every + (crossed if name == "default" and not instruction else [])
    codes = name.split("-")
    for code in codes:
        known = (*chosen.known, *(("all", "default") if len(codes) == 1 else ()))
        check_name("language", code, known, "ruler build --help")
    if len(codes) > 2 or (len(codes) == 2 and instruction):
        raise RulerError(
            f"'{name}' is not a language: write pl, or en-ko for text in English with instructions "
            "in Korean (then without --instruction-language)."
        )
    return [Pair(codes[0], codes[-1] if len(codes) == 2 else instruction or codes[0])]
