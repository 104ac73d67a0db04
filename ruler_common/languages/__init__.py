"""What is known of each of ONERULER's 26 languages, a TOML each, and above all its words.

    facts("pl").none.prompt         # ('brak',)

A file has the tags an answer may be in (the published one first), the words for "and", the forms of
the prompt's word for "none", the commonest function words, which letters are equal, how sentences
end, the script of its book, and the size of its Wikipedia; and for the builder the book's rights
and the published files' digests.
A language that a release brings along (`ruler build --language-folder`)
has the same in the manifest: `facts_in`.
The metric works alone, so docs/embed_languages.py writes what it reads of them into it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.manifest_form import LanguageEntry
from ruler_common.names import LANGUAGES, check_name
from ruler_common.parsing import ONLY_FIELDS, read_as, read_toml

FOLDER = Path(__file__).parent
"""Where the files of the 26 are: `pl.toml`."""
OF_SOURCES = ("code", "licence", "book", "files")
"""What such a file says of the sources alone: the builder reads it, and it is no fact."""
_MOST_WORDS, _LONGEST, _MOST_ARTICLES = 100, 100, 10**9  # twice what the longest of the 26 have
_FOLDS = ([1, 1], [1, 2])  # characters of a letter and of what it becomes


@dataclass(frozen=True, kw_only=True)
class NoneFacts:
    """The prompt's own word for "none", and its forms: two to eight in all.

    `prompt` is the word in each of its spellings. `forms` are its inflections and its everyday
    short form, each with its source. `exceptions` contain a form and do not say none (无法); one
    stands for all words that begin with it.
    """

    __pydantic_config__ = ONLY_FIELDS

    prompt: tuple[str, ...]
    forms: dict[str, str]
    exceptions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SentenceFacts:
    """How sentences stand in the language's book, beyond what sentencex knows.

    `spaced`: whether spaces part words and sentences. `stop` ends a sentence, and so a needle. In a
    script with spaces and without capitals a closing quotation mark ends a sentence only where the
    paragraph ends too, and nowhere unless `quotation_ends`; and what begins with one of `reported`,
    and none of `not_reported`, belongs to the speech before it, quoted or not.
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
        """Whether the words at an offset report the speech before them."""
        return text.startswith(self.reported, at) and not text.startswith(self.not_reported, at)


@dataclass(frozen=True, kw_only=True)
class LanguageFacts:
    """What is known of a language.

    `name` is English; `script` that of its book; `wikipedia_articles` as the paper counts them
    (Table 2); `function_words` are the commonest. If `touching`, words are written without spaces
    or with endings, so an "and" may touch the words beside it, and so may particles: those of
    `may_precede` the word after them, those of `may_follow` the word before them. `fold` are equal
    letters, each with what it becomes before its case is folded, such as Russian ё and е.
    `written_by` says who wrote the files of a language that is not one of the 26.
    """

    __pydantic_config__ = ONLY_FIELDS

    name: str
    script: str
    wikipedia_articles: int
    answer_tags: tuple[str, ...]
    conjunctions: tuple[str, ...]
    function_words: tuple[str, ...]
    none: NoneFacts
    sentences: SentenceFacts = field(default_factory=SentenceFacts)
    touching: bool = False
    may_precede: tuple[str, ...] = ()
    may_follow: tuple[str, ...] = ()
    fold: tuple[tuple[str, ...], ...] = ()
    written_by: str = ""


@cache
def language_table(code: str) -> dict[str, Any]:
    """All that the file of one of the 26 says, OF_SOURCES too. Raises RulerError for others."""
    check_name("language", code, LANGUAGES)
    return read_toml(FOLDER / f"{code}.toml")


@cache
def facts(code: str) -> LanguageFacts:
    """The facts of one of the 26 languages, ISO 639-1. Raises RulerError for an unknown one."""
    table = language_table(code)
    known = {name: value for name, value in table.items() if name not in OF_SOURCES}
    return facts_of(known, FOLDER / f"{code}.toml")


def facts_in(languages: Mapping[str, LanguageEntry], code: str) -> LanguageFacts:
    """The facts of a language of a release, whose manifest has these; of the 26 or its own."""
    entry = languages.get(code)
    own = entry and entry.get("facts")
    return facts(code) if own is None else own_facts(own, f"the release's language {code}")


def own_languages(languages: Mapping[str, LanguageEntry]) -> list[str]:
    """The codes of the languages that a release brings along."""
    return [code for code, entry in languages.items() if "facts" in entry]


def own_facts(table: Mapping[str, Any], where: str | Path) -> LanguageFacts:
    """The facts of a language that is none of the 26. Raises RulerError for another table.

    It says who wrote it, and its lists are short.
    """
    found = facts_of(table, where)
    for name, lists in (("none", found.none), ("sentences", found.sentences)):
        _check_words(vars(lists), f"{name}.", where)
    _check_words({"forms": tuple(found.none.forms)}, "none.", where)
    _check_words(vars(found), "", where)
    if not found.written_by.strip():
        raise _wrong(where, "written_by does not say who wrote its prompts and words")
    if not all(text.strip() and text.isprintable() for text in (found.name, found.script)):
        raise _wrong(where, "name and script are no texts of one line")
    letters = "".join(letter for pair in found.fold for letter in pair)
    if any(unicodedata.category(letter)[0] not in "LM" for letter in letters):
        raise _wrong(where, "fold has what is no letter")
    if found.wikipedia_articles > _MOST_ARTICLES:
        raise _wrong(where, f"wikipedia_articles is above {_MOST_ARTICLES:,}")
    return found


def _check_words(lists: Mapping[str, Any], above: str, where: str | Path) -> None:
    """Refuse lists and words that are too long, and words that hold no letter and no digit."""
    for name, words in lists.items():
        words = words if isinstance(words, tuple) else ()
        if len(words) > _MOST_WORDS:
            raise _wrong(where, f"{above}{name} has more than {_MOST_WORDS} entries")
        texts = () if name == "fold" else words
        if any(len(text) > _LONGEST or not any(map(str.isalnum, text)) for text in texts):
            what = f"is longer than {_LONGEST} characters, or has no letter and no digit"
            raise _wrong(where, f"a text of {above}{name} {what}")


def facts_of(table: Mapping[str, Any], where: str | Path) -> LanguageFacts:
    """The facts in a table, that of a TOML file or of a manifest. Raises RulerError for others."""
    known = {"conjunctions" if name == "and" else name: value for name, value in table.items()}
    try:
        found: LanguageFacts = read_as(known, LanguageFacts)
    except (ValueError, TypeError) as error:
        raise _wrong(where, str(error)) from None
    if any([len(part) for part in pair] not in _FOLDS for pair in found.fold):
        raise _wrong(where, "fold is no list of pairs: a letter, and one or two that it becomes")
    if not all((found.answer_tags, found.none.prompt, found.sentences.stop)):
        raise _wrong(where, "it has no answer_tags, no none.prompt or no sentences.stop")
    if found.wikipedia_articles < 1:
        raise _wrong(where, "wikipedia_articles is below 1")
    return found


def _wrong(where: str | Path, what: str) -> RulerError:
    return RulerError(f"'{where}' does not describe a language: {what}. See docs/languages.md.")
