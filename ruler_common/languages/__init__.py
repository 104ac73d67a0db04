"""What is known of each of ONERULER's 26 languages, a TOML each, and above all its words.

    facts("pl").none.published      # ('brak',)

A file has the tags an answer may stand in (the published one first), the words for "and", the words
of a lead-in and of a count beside a word of a list, what passes as "there is no such number", the
commonest function words, the script of its book, and the size of its Wikipedia.
The metric works alone, so docs/embed_languages.py writes what it reads of them into it.

What passes as none has four sources, kept apart and printed so in the card: `published` is the word
that the prompt asks for, with the variants that the authors' script accepts; `inflected` are other
forms of it, and the short answers that mean the same; `prompt` is how the prompt itself says that
there is none; `usual` is how the language usually says so. The last three are this project's own
lists; no native speaker has checked them yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import LANGUAGES, check_name
from ruler_common.parsing import read_toml
from ruler_common.text import one_line


@dataclass(frozen=True, kw_only=True)
class NoneFacts:
    """What passes as "there is no such number".

    `published` passes anywhere in an answer, and an answer of numbers that holds it is wrong.
    `inflected` passes as the whole answer; `prompt` and `usual` anywhere, where … stands for up to
    three words. Where no space sets words apart, the published word may end a longer word, but not
    after `not_after`; may follow one of the letters of `may_follow`; may stand before
    `may_end_before`; or begin what the regular expression `may_begin` matches.
    """

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

    lead_in: tuple[str, ...]
    counts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LanguageFacts:
    """What is known of a language.

    `script` is that of its book; `wikipedia_articles` as the paper counts them (Table 2);
    `function_words` are the commonest; where `touching`, an "and" may touch the words beside it.
    """

    script: str
    wikipedia_articles: int
    answer_tags: tuple[str, ...]
    conjunctions: tuple[str, ...]
    function_words: tuple[str, ...]
    none: NoneFacts
    cwe: ListFacts
    touching: bool = False


@cache
def facts(code: str) -> LanguageFacts:
    """The facts of a language, ISO 639-1. Raises RulerError for an unknown one."""
    check_name("language", code, LANGUAGES)
    return read_facts(Path(__file__).with_name(f"{code}.toml"))


def read_facts(path: Path) -> LanguageFacts:
    """Read the facts of a file. Raises RulerError for a file of another form."""
    read = _tuples(read_toml(path))
    try:
        none, cwe = NoneFacts(**read.pop("none")), ListFacts(**read.pop("cwe"))
        return LanguageFacts(conjunctions=read.pop("and"), none=none, cwe=cwe, **read)
    except (KeyError, TypeError) as error:
        raise RulerError(f"'{path}' is no file of a language: {one_line(error)}") from None


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    """A TOML table whose lists are tuples."""
    return {
        key: tuple(value)
        if isinstance(value, list)
        else _tuples(value)
        if isinstance(value, dict)
        else value
        for key, value in table.items()
    }
