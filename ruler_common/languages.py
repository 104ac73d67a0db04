"""The languages of ONERULER: facts about each, such as the words that scoring looks for.

    language_facts("pl").none.prompt         # ('brak',)
    release_languages(manifest)["tr"].name   # 'Turkish', a custom language of a release

Each of the 26 languages has a TOML file in languages/: the tags that an answer may be in (the
published one first), the words for "and", the forms of the prompt's word for "none" with their
sources, equal letters, how sentences end, the script of the book, and the size of its Wikipedia.
For the builder it also has the rights of the book and the digests of the published files. A custom
language (`ruler build --language-folder`) has the same facts in the manifest of its release.
docs/embed_languages.py copies a part of these files into the metric, which imports nothing else of
the project.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import ONLY_FIELDS, read_as, read_toml
from ruler_common.manifest_fields import Manifest
from ruler_common.names import LANGUAGES, check_name

FOLDER = Path(__file__).parent / "languages"
"""The folder of the 26 languages' files: `pl.toml`."""
BUILDER_FIELDS = ("code", "licence", "book", "files")
"""The fields of a language's TOML that only the builder reads; they are not among its facts."""
_FOLDS = ([1, 1], [1, 2])  # the characters of a letter and of its replacement


@dataclass(frozen=True, kw_only=True)
class NoNumbersFacts:
    """How a language says "there are no such numbers in the text"."""

    __pydantic_config__ = ONLY_FIELDS

    sentences: tuple[str, ...] = ()  # "there are no {}"; {} stands for one of `numbers`
    numbers: tuple[str, ...] = ()  # "such numbers"
    places: tuple[str, ...] = ()  # "in the text", which may stand anywhere in the sentence


@dataclass(frozen=True, kw_only=True)
class NoneFacts:
    """The prompt's own word for "none", and the other sentences that only say it."""

    __pydantic_config__ = ONLY_FIELDS

    prompt: tuple[str, ...]  # the word, in each of its spellings
    forms: dict[str, str]  # inflections, "none of them", "nothing"; each with source or meaning
    negators: tuple[str, ...] = ()  # "no": says "none" only as the whole answer
    introductions: tuple[str, ...] = ()  # "the answer is": may come before the word
    no_numbers: NoNumbersFacts = field(default_factory=NoNumbersFacts)


@dataclass(frozen=True, kw_only=True)
class SentenceFacts:
    """How sentences begin and end in the language's book, beyond what sentencex knows.

    The last three fields are for scripts with spaces and without capitals.
    """

    __pydantic_config__ = ONLY_FIELDS

    spaced: bool = True  # whether spaces separate words and sentences
    stop: str = "."  # ends a sentence, and so a needle
    # Whether a closing quotation mark ends a sentence, which it does only at the paragraph's end
    quotation_ends: bool = True
    # Text that begins with one of these belongs to the speech before it, quoted or not,
    reported: tuple[str, ...] = ()
    not_reported: tuple[str, ...] = ()  # unless it begins with one of these

    @property
    def separator(self) -> str:
        """The text between sentences and between the parts of a prompt: a space or nothing."""
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
    sentences: SentenceFacts = field(default_factory=SentenceFacts)
    touching: bool = False  # whether words, such as "and", may be written without spaces
    may_precede: tuple[str, ...] = ()  # if so, particles written together with the next word,
    may_follow: tuple[str, ...] = ()  # and particles written together with the previous word
    fold: tuple[tuple[str, ...], ...] = ()  # pairs: a letter, and the letters it is equal to
    written_by: str = ""  # who wrote the files of a custom language; empty for the 26

    @property
    def is_custom(self) -> bool:
        """Whether it is not one of the 26: no rows of it are frozen."""
        return bool(self.written_by)


@cache
def language_table(code: str) -> dict[str, Any]:
    """Return the TOML of one of the 26 languages, with BUILDER_FIELDS. Raises RulerError."""
    check_name("language", code, LANGUAGES)
    return read_toml(FOLDER / f"{code}.toml")


@cache
def language_facts(code: str) -> LanguageFacts:
    """Return the facts of one of the 26 languages by its ISO 639-1 code. Raises RulerError."""
    table = language_table(code)
    facts = {name: value for name, value in table.items() if name not in BUILDER_FIELDS}
    return read_facts(facts, FOLDER / f"{code}.toml")


def custom_languages(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """Return the tables of facts of a release's custom languages, by code."""
    tables = {}
    for code, entry in manifest.get("languages", {}).items():
        if "facts" in entry:
            tables[code] = entry["facts"]
    return tables


def release_languages(manifest: Manifest) -> dict[str, LanguageFacts]:
    """Return the facts of every language of a release, also custom ones, sorted by code."""
    custom = custom_languages(manifest)
    languages = {}
    for code in sorted(manifest.get("languages", {})):
        if code in custom:
            languages[code] = custom_facts(custom[code], f"the release's language {code}")
        else:
            languages[code] = language_facts(code)
    return languages


def custom_facts(table: Mapping[str, Any], where: str | Path) -> LanguageFacts:
    """Return the facts of a custom language, whose table must name its writer.

    Raises RulerError.
    """
    facts = read_facts(table, where)
    _check_words(vars(facts.none), "none.", where)
    _check_words({"forms": tuple(facts.none.forms)}, "none.", where)
    _check_words(vars(facts.none.no_numbers), "none.no_numbers.", where)
    _check_words(vars(facts.sentences), "sentences.", where)
    _check_words(vars(facts), "", where)
    if not facts.written_by.strip():
        raise _wrong(where, "written_by does not say who wrote its prompts and words")
    if not all(text.strip() and text.isprintable() for text in (facts.name, facts.script)):
        raise _wrong(where, "name and script must each be one line of text")
    letters = "".join(letter for pair in facts.fold for letter in pair)
    if any(unicodedata.category(letter)[0] not in "LM" for letter in letters):
        raise _wrong(where, "fold has a character that is not a letter")
    return facts


def _check_words(lists: Mapping[str, Any], above: str, where: str | Path) -> None:
    """Refuse words without a letter or digit: they would match everywhere, or nowhere."""
    for name, words in lists.items():
        if not isinstance(words, tuple) or name == "fold":
            continue
        for text in words:
            if not any(character.isalnum() for character in text):
                raise _wrong(where, f"a text of {above}{name} has no letter and no digit")


def read_facts(table: Mapping[str, Any], where: str | Path) -> LanguageFacts:
    """Return the facts in a table of a TOML file or manifest. Raises RulerError."""
    fields = dict(table)
    if "and" in fields:  # a keyword of Python
        fields["conjunctions"] = fields.pop("and")
    try:
        facts: LanguageFacts = read_as(fields, LanguageFacts)
    except (ValueError, TypeError) as error:
        raise _wrong(where, str(error)) from None
    if any([len(part) for part in pair] not in _FOLDS for pair in facts.fold):
        raise _wrong(
            where,
            "fold must be a list of pairs: a letter, and one or two letters that it is equal to",
        )
    if not all((facts.answer_tags, facts.none.prompt, facts.sentences.stop)):
        raise _wrong(where, "answer_tags, none.prompt or sentences.stop is empty")
    if facts.wikipedia_articles < 1:
        raise _wrong(where, "wikipedia_articles is below 1")
    return facts


def _wrong(where: str | Path, what: str) -> RulerError:
    return RulerError(f"'{where}' does not describe a language: {what}. See docs/languages.md.")
