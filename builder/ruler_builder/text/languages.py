"""A language of ONERULER: its prompts, nouns, book and words.

    polish = read_language("pl", sources)
    polish.parts["needle"]          # 'Specjalna magiczna liczba dla hasła „{key}” to: {value}.'
    polish.none_word                # 'brak'
    next(polish.sentences())        # the book, sentence by sentence
    polish.words()                  # the words of cwe

All that a task needs to know about a language is in one object, whether the language is one of the
26 or comes from a folder (language_folders.py). The errors of the published files and their
corrections are in errata.toml. Source: ONERULER (arXiv:2503.01996), section 2 and appendix.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ruler_builder.text import errata
from ruler_builder.text.borders import folded, read_borders, sliced
from ruler_builder.text.corpora import vocabulary
from ruler_builder.text.language_folders import describe
from ruler_builder.text.sentences import split
from ruler_builder.text.sources import CANONICAL, NOUNS, LanguageSources, Sources, language_sources
from ruler_common.errors import RulerError
from ruler_common.languages import LanguageFacts, language_facts
from ruler_common.manifest import LanguageEntry
from ruler_common.names import check_name

CLASSES = ("noun", "adjective", "verb")
"""The labels of the words of cwe; a word with several labels (`verb,noun`) is not among them."""
PARTS = {
    "task": "task",
    "needle": "needle_numbers",
    "question_one": "question_single_numbers",
    "question_many": "question_multi_numbers",
    "please_list": "please_list",
    "if_no": "if_no_numbers",
    "answer_prefix": "answer_prefix",
    "answer": "answer_numbers",
    "none": "none",
}
"""The parts of a niah.txt: this project's name and the file's."""


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language with its prompts and nouns; the book and the words are read when asked for."""

    code: str  # ISO 639
    facts: LanguageFacts  # name, script, how sentences end, whether it is one of the 26
    source_names: LanguageSources
    # task ({context}), needle ({key}, {value}; ends with the full stop), question_one ({query1}),
    # question_many ({query1}, {query2}), please_list, if_no, answer_prefix, answer
    parts: dict[str, str]
    cwe: str  # the template of a cwe prompt, with {context} once
    none_word: str  # the word to answer when there is no number, as `if_no` asks for it
    nouns: tuple[str, ...]  # the keys: noun i means the same in every language; each occurs once
    errata: tuple[str, ...]  # ids of the applied errata; empty if the files are not published ones
    custom_facts: Mapping[str, Any] | None  # a custom language's TOML, for the manifest
    sources: Sources

    @property
    def separator(self) -> str:
        """The text between sentences, and between the parts of a prompt: a space or nothing."""
        return self.facts.sentences.separator

    @property
    def is_published(self) -> bool:
        """Whether its files are the published ones, so that their corrected texts are known."""
        return self.sources.file(f"niah-{self.code}").variant == CANONICAL

    @property
    def entry(self) -> LanguageEntry:
        """The language's entry in a manifest."""
        entry = LanguageEntry(
            code=self.code,
            parts=self.parts,
            cwe=self.cwe,
            none_word=self.none_word,
            separator=self.separator,
            stop=self.facts.sentences.stop,
            nouns=[*self.nouns],
            errata=[*self.errata],
        )
        if self.custom_facts is not None:
            entry["facts"] = dict(self.custom_facts)
        return entry

    def quoted_name(self, kind: str) -> str:
        """Return how an error message names a file of the language; `kind` is a key of FILES."""
        return self.sources.quoted_name(f"{kind}-{self.code}")

    def corrected_prompts(self) -> dict[str, list[str]]:
        """Return the texts of its prompts with their errata applied, by source."""
        return {
            f"niah-{self.code}": [*self.parts.values(), self.none_word],
            f"cwe-{self.code}": [self.cwe],
        }

    def book(self) -> str:
        """Return the text of the book, with its errata applied. Raises RulerError."""
        text = self.sources.text(self.source_names.book)
        if not text.strip():
            raise RulerError(f"{self.quoted_name('book')} has no text.")
        return errata.fix("book", self.code, [text])[0]

    def sentences(self) -> Iterator[str]:
        """Return the book's sentences from its beginning, white space folded. Raises RulerError."""
        if self.facts.is_custom:
            return split(self.book(), self.code, self.facts.sentences)
        name, text = self.source_names.book, folded(self.book())
        return sliced(text, read_borders(name, self.sources.file(name).variant, text))

    def words(self) -> list[str]:
        """Return the words of cwe: nouns, adjectives and verbs, each once, in the file's order.

        English has no file of words and uses wonderwords', as in RULER. A word may contain single
        spaces (Vietnamese) but no digit. Raises RulerError.
        """
        if self.source_names.words is None:
            return vocabulary()
        words = self.unchecked_words(self.source_names.words)
        if self.is_published:
            errata.check_corrected(self.source_names.words, words)
        return words

    def unchecked_words(self, source: str) -> list[str]:
        """Return the words of a source, whatever their digest. Raises RulerError."""
        text = self.sources.text(source)
        try:
            entries = word_entries(text)
        except (ValueError, IndexError, csv.Error):
            raise RulerError(
                f"{self.quoted_name('words')} must have the header words,pos and on every line "
                "a word and its class."
            ) from None
        return errata.fix("words", self.code, [word for word, kind in entries if kind in CLASSES])


def read_language(code: str, sources: Sources) -> Language:
    """Read the prompts and nouns of a language, with its errata applied.

    Raises RulerError for a language that is neither one of the 26 nor in a folder that was given,
    for a file that is missing or cannot be read, and for a corrected text that is not the recorded
    one.
    """
    language = unchecked_language(code, sources)
    if language.is_published:
        for name, texts in language.corrected_prompts().items():
            errata.check_corrected(name, texts)
    if sources.file(NOUNS).variant == CANONICAL:
        errata.check_corrected(NOUNS, noun_list(shared_nouns(sources)))
    return language


def unchecked_language(code: str, sources: Sources) -> Language:
    """Read the prompts and nouns of a language, whatever their digests. Raises RulerError."""
    custom = f"language-{code}" in sources.choice.custom
    names = language_sources(code, custom)
    table = None
    if custom:
        name = f"language-{code}"
        description = describe(sources.read(name), sources.file(name).path)
        facts, table = description.facts, description.table
    else:
        facts = language_facts(code)
    published = json.loads(sources.text(f"niah-{code}"))
    parts = {
        name: errata.fix("niah", code, [published[part]], part)[0] for name, part in PARTS.items()
    }
    parts["needle"] += facts.sentences.stop
    none_word = parts.pop("none")
    columns = shared_nouns(sources)
    if custom:
        nouns = _translated_nouns(code, columns["en"], sources)
    else:
        nouns = columns[check_name("language of the nouns", code, columns)]
    applied: tuple[str, ...] = ()
    if sources.file(f"niah-{code}").variant == CANONICAL:
        applied = tuple(erratum.id for erratum in errata.applied(code))
    return Language(
        code=code,
        facts=facts,
        source_names=names,
        parts=parts,
        cwe=errata.fix("cwe", code, [sources.text(f"cwe-{code}")])[0],
        none_word=none_word,
        nouns=nouns,
        errata=applied,
        custom_facts=table,
        sources=sources,
    )


def word_entries(text: str) -> list[tuple[str, str]]:
    """Return the entries of a file of words: each word with its class."""
    header, *rows = filter(None, csv.reader(io.StringIO(text, newline="")))
    word, kind = header.index("words"), header.index("pos")
    return [(row[word], row[kind]) for row in rows]


def shared_nouns(sources: Sources) -> dict[str, tuple[str, ...]]:
    """Return the nouns of the 26 languages as parallel columns, by code.

    Only rows whose noun is unique in all of them and not ambiguous.
    """
    return _columns(sources.text(NOUNS))


def noun_list(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the columns of the noun list one after another, each with its code before it."""
    return [text for code, nouns in columns.items() for text in (code, *nouns)]


def _translated_nouns(code: str, english: Sequence[str], sources: Sources) -> tuple[str, ...]:
    """Return the nouns of a custom language, in the order of the English ones.

    Raises RulerError for a noun that is missing, and for two that are the same word.
    """
    name = f"nouns-{code}"
    where = sources.quoted_name(name)
    rows = [line.split("\t") for line in sources.text(name).splitlines() if line.strip()]
    if not rows or rows[0] != ["en", code] or any(len(row) != 2 for row in rows):
        raise RulerError(f"{where} must have two columns, a tab between: en, {code}.")
    translated = {noun.strip(): word.strip() for noun, word in rows[1:]}
    if missing := [noun for noun in english if not translated.get(noun)]:
        listed = ", ".join(missing[:5])
        if len(missing) > 5:
            listed += " …"
        raise RulerError(
            f"{where} has no translation of {len(missing)} of the {len(english)} nouns: {listed}."
        )
    nouns = errata.fix("nouns", code, [translated[noun] for noun in english])
    for noun in nouns:
        if re.search(r"[{}<>\d]", noun):
            raise RulerError(
                f"{where} has '{noun}': a noun holds no digit, brace or angle bracket."
            )
    for noun, times in Counter(map(errata.identity, nouns)).items():
        if times > 1:
            raise RulerError(f"{where} has '{noun}' for two nouns: each needs its own word.")
    return tuple(nouns)


@lru_cache(maxsize=1)
def _columns(text: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of the noun list; cached, since every language reads the same list."""
    rows = [line.split("\t") for line in text.splitlines()]
    columns = {
        name: errata.fix("nouns", name, column)
        for name, *column in zip(*rows, strict=True)
        if name != "definition"
    }
    kept = errata.kept_rows(columns)
    return {name: tuple(column[row] for row in kept) for name, column in columns.items()}
