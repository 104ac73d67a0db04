"""The languages of ONERULER: facts about each, above all the words that scoring looks for.

    language_facts("pl").none.published      # ('brak',)
    release_languages(manifest)["tr"].name   # 'Turkish', of a release that brings it along

Each of the 26 has a TOML file in languages/. It has the tags that an answer may stand in (the
published one first), the words for "and", the words of a lead-in and of a count in a list of words,
what passes as "there is no such number", how its letters fold and its sentences end, the script of
its book, and the size of its Wikipedia; and for the builder the rights of the book and the digests
of the published files. A custom language (`ruler build --language-folder`) has the same facts in
the manifest of its release. The metric works alone, so docs/embed_languages.py writes into it what
it needs of these files.

What passes as none has four sources, kept apart and printed so in the card: `published` is the word
that the prompt asks for, with the variants that the authors' script accepts; `inflected` are other
forms of it, and the short answers that mean the same; `prompt` is how the prompt itself says that
there is none; `usual` is how the language usually says so. The last three are this project's own
lists; no native speaker has checked them yet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.manifest_form import Manifest
from ruler_common.names import LANGUAGES, check_name
from ruler_common.parsing import ONLY_FIELDS, read_as, read_toml

FOLDER = Path(__file__).parent / "languages"
"""The folder of the 26 languages' files: `pl.toml`."""
BUILDER_FIELDS = ("code", "licence", "book", "files")
"""The fields of a language's TOML that only the builder reads; they are not among its facts."""
_FOLDS = ([1, 1], [1, 2])  # characters of a letter and of what it becomes


@dataclass(frozen=True, kw_only=True)
class NoneFacts:
    """What passes as "there is no such number".

    `published` passes anywhere in an answer, and an answer of numbers that holds it is wrong.
    `inflected` passes as the whole answer; `prompt` and `usual` anywhere, with … for up to three
    words. If the language has no spaces between words, the published word may end a longer word,
    but not after `not_after`; may follow one of the letters of `may_follow`; may precede
    `may_end_before`; or begin what the regular expression `may_begin` matches.
    """

    __pydantic_config__ = ONLY_FIELDS

    published: tuple[str, ...]
    inflected: tuple[str, ...]
    prompt: tuple[str, ...]
    usual: tuple[str, ...]
    not_after: tuple[str, ...] = ()
    may_follow: str = ""
    may_end_before: tuple[str, ...] = ()
    may_begin: str = ""


@dataclass(frozen=True, kw_only=True)
class ListFacts:
    """`lead_in`: the words that may stand before a list; `counts`: beside a number in it."""

    __pydantic_config__ = ONLY_FIELDS

    lead_in: tuple[str, ...]
    counts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SentenceFacts:
    """How sentences begin and end in the language's book, beyond what sentencex knows.

    `spaced`: whether spaces separate words and sentences. `stop` ends a sentence, and so a needle.
    In a script with spaces and without capitals a closing quotation mark ends a sentence only if
    the paragraph ends too, and never unless `quotation_ends`; and what begins with one of
    `reported`, and none of `not_reported`, belongs to the speech before it, quoted or not.
    """

    __pydantic_config__ = ONLY_FIELDS

    spaced: bool = True
    stop: str = "."
    quotation_ends: bool = True
    reported: tuple[str, ...] = ()
    not_reported: tuple[str, ...] = ()

    @property
    def separator(self) -> str:
        """What stands between sentences, and between the parts of a prompt: a space or nothing."""
        return " " if self.spaced else ""

    def reports(self, text: str, at: int = 0) -> bool:
        """Return whether the words at an offset report the speech before them."""
        return text.startswith(self.reported, at) and not text.startswith(self.not_reported, at)


@dataclass(frozen=True, kw_only=True)
class LanguageFacts:
    """What scoring, analysis and the builder need to know about a language."""

    __pydantic_config__ = ONLY_FIELDS

    name: str  # in English
    script: str  # of its book
    wikipedia_articles: int  # as the paper counts them (ONERULER, Table 2)
    answer_tags: tuple[str, ...]
    conjunctions: tuple[str, ...]
    none: NoneFacts
    cwe: ListFacts
    sentences: SentenceFacts = field(default_factory=SentenceFacts)
    touching: bool = False  # whether an "and" may touch the words beside it
    fold: tuple[tuple[str, ...], ...] = ()  # letters that fold in a special way, and to what
    written_by: str = ""  # who wrote the files of a custom language; empty for the 26

    @property
    def is_custom(self) -> bool:
        """Whether it is not one of the 26: no rows of it are frozen."""
        return bool(self.written_by)


@cache
def language_table(code: str) -> dict[str, Any]:
    """Return the file of one of the 26, BUILDER_FIELDS too. Raises RulerError for other codes."""
    check_name("language", code, LANGUAGES)
    return read_toml(FOLDER / f"{code}.toml")


@cache
def language_facts(code: str) -> LanguageFacts:
    """Return the facts of one of the 26 by its ISO 639-1 code. Raises RulerError for others."""
    table = language_table(code)
    facts = {name: value for name, value in table.items() if name not in BUILDER_FIELDS}
    return read_facts(facts, FOLDER / f"{code}.toml")


def custom_languages(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """Return the tables of facts of a release's custom languages, by code."""
    languages = manifest.get("languages", {})
    return {code: entry["facts"] for code, entry in languages.items() if "facts" in entry}


def release_languages(manifest: Manifest) -> dict[str, LanguageFacts]:
    """Return the facts of every language of a release, its custom ones too, sorted by code."""
    custom = custom_languages(manifest)
    return {
        code: custom_facts(custom[code], f"the release's language {code}")
        if code in custom
        else language_facts(code)
        for code in sorted(manifest.get("languages", {}))
    }


def custom_facts(table: Mapping[str, Any], where: str | Path) -> LanguageFacts:
    """Return the facts of a custom language from its table. Raises RulerError.

    The table must name its writer. Regular expressions are refused, since one from a downloaded
    release could take any time.
    """
    facts = read_facts(table, where)
    for name, lists in (("none", facts.none), ("cwe", facts.cwe), ("sentences", facts.sentences)):
        _check_words(vars(lists), f"{name}.", where)
    _check_words(vars(facts), "", where)
    if not facts.written_by.strip():
        raise _wrong(where, "written_by does not say who wrote its prompts and words")
    if not all(text.strip() and text.isprintable() for text in (facts.name, facts.script)):
        raise _wrong(where, "name and script must each be one line of text")
    letters = "".join(letter for pair in facts.fold for letter in pair)
    if any(unicodedata.category(letter)[0] not in "LM" for letter in letters):
        raise _wrong(where, "fold has a character that is not a letter")
    if facts.none.may_begin:
        raise _wrong(where, "none.may_begin, a regular expression, is for the 26 languages alone")
    if any(phrase.count("…") > 2 for phrase in (*facts.none.prompt, *facts.none.usual)):
        raise _wrong(where, "a phrase of none.prompt or none.usual has more than two …")
    return facts


def _check_words(lists: Mapping[str, Any], above: str, where: str | Path) -> None:
    """Refuse words that hold no letter and no digit: they would match everywhere, or nowhere."""
    for name, words in lists.items():
        if not isinstance(words, tuple) or name == "fold":
            continue
        for text in words:
            if not any(character.isalnum() for character in text):
                raise _wrong(where, f"a text of {above}{name} has no letter and no digit")


def read_facts(table: Mapping[str, Any], where: str | Path) -> LanguageFacts:
    """Return the facts in the table of a TOML file or manifest. Raises RulerError for others."""
    fields = dict(table)
    if "and" in fields:  # not a name that Python allows
        fields["conjunctions"] = fields.pop("and")
    try:
        facts: LanguageFacts = read_as(fields, LanguageFacts)
    except (ValueError, TypeError) as error:
        raise _wrong(where, str(error)) from None
    if any([len(part) for part in pair] not in _FOLDS for pair in facts.fold):
        raise _wrong(where, "fold must be a list of pairs: a letter, and one or two it becomes")
    if not all((facts.answer_tags, facts.none.published, facts.sentences.stop)):
        raise _wrong(where, "it has no answer_tags, no none.published or no sentences.stop")
    if facts.wikipedia_articles < 1:
        raise _wrong(where, "wikipedia_articles is below 1")
    return facts


def _wrong(where: str | Path, what: str) -> RulerError:
    return RulerError(f"'{where}' does not describe a language: {what}. See docs/languages.md.")
