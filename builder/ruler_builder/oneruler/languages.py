"""Read a language of ONERULER: prompts, book, nouns and dictionary, with the errata applied.

    polish = language("pl", sources)
    polish["parts"]["needle"]       # 'Specjalna magiczna liczba dla hasła „{key}” to: {value}.'
    next(sentences("pl", sources))  # the book, sentence by sentence
    dictionary("pl", sources)       # the words of cwe

The errors of the published files and their corrections are in ruler_builder/oneruler/errata.toml.
Source: ONERULER (arXiv:2503.01996), section 2 and appendix.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from ruler_builder.oneruler import errata
from ruler_builder.text import language_folder
from ruler_builder.text.sentences import split
from ruler_builder.text.sources import CANONICAL, NOUNS, Sources
from ruler_builder.text.word_lists import vocabulary
from ruler_common.errors import RulerError
from ruler_common.languages import LanguageFacts, facts
from ruler_common.manifest_form import LanguageEntry
from ruler_common.names import LANGUAGES, check_name

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


def facts_of(code: str, sources: Sources) -> LanguageFacts:
    """What is known of a language: one of the 26, or one whose folder is here; RulerError."""
    return facts(code) if code in LANGUAGES else _described(code, sources).facts


def _described(code: str, sources: Sources) -> language_folder.Described:
    name = f"language-{code}"
    return language_folder.describe(sources.read(name), name)


def language(code: str, sources: Sources) -> LanguageEntry:
    """The published prompts and nouns of a language, with its errata applied.

    `parts`: task ({context}), needle ({key}, {value}; ends with `stop`, the full stop),
    question_one ({query1}), question_many ({query1}, {query2}), please_list, if_no, answer_prefix,
    answer. `cwe` is the template of a cwe prompt, with {context} once; `none_word` the word to
    answer when there is no number, as `if_no` asks for it; `separator` stands between sentences and
    between parts of a prompt: a space, or nothing (ja, zh). `nouns` are the keys: noun i means the
    same in every language, and no noun occurs twice. `errata` has the ids of those applied; none
    for texts that are not the published ones. `facts` is what is known of a language that is none
    of the 26, as its TOML has it. Raises RulerError for an unknown language or a missing one.
    """
    about = facts_of(code, sources).sentences
    published = json.loads(_text(f"niah-{code}", sources))
    parts = {
        name: errata.fix("niah", code, [published[part]], part)[0] for name, part in PARTS.items()
    }
    parts["needle"] += about.stop
    none_word, published_here = parts.pop("none"), sources.file(f"niah-{code}").variant == CANONICAL
    cwe = errata.fix("cwe", code, [_text(f"cwe-{code}", sources)])[0]
    columns = nouns(sources, (code,))
    check_name("language of the nouns", code, columns)
    found = LanguageEntry(
        code=code,
        parts=parts,
        cwe=cwe,
        none_word=none_word,
        separator=about.separator,
        stop=about.stop,
        nouns=[*columns[code]],
        errata=[one.id for one in errata.applied(code)] if published_here else [],
    )
    if code not in LANGUAGES:
        found["facts"] = dict(_described(code, sources).table)
    return found


def sentences(code: str, sources: Sources) -> Iterator[str]:
    """The book's sentences from its beginning, white space folded; a lazy iterator."""
    return split(book(code, sources), code, facts_of(code, sources).sentences)


def book(code: str, sources: Sources) -> str:
    """The text of a language's book, with its errata applied."""
    text = _text(f"book-{code}", sources)
    if not text.strip():
        raise RulerError(f"'book-{code}' has no text.")
    return errata.fix("book", code, [text])[0]


def dictionary(code: str, sources: Sources) -> list[str]:
    """The words of cwe: nouns, adjectives and verbs, each once, NFC, in the order of the file.

    English: wonderwords', as in ruler. A word may hold single spaces (Vietnamese) but no digit.
    """
    if code == "en":
        return vocabulary()
    text = _text(f"words-{code}", sources)
    try:
        listed = entries(text)
    except (ValueError, IndexError, csv.Error):
        raise RulerError(
            f"'words-{code}' must have the header words,pos and on every line a word and its class."
        ) from None
    return errata.fix("words", code, [word for word, kind in listed if kind in CLASSES])


def entries(text: str) -> list[tuple[str, str]]:
    """The entries of a dictionary's file: each word with its class."""
    header, *rows = filter(None, csv.reader(io.StringIO(text, newline="")))
    word, kind = header.index("words"), header.index("pos")
    return [(row[word], row[kind]) for row in rows]


def nouns(sources: Sources, codes: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """The nouns of every language as parallel columns: rows unique in all and not ambiguous.

    With those of `codes` that are none of the 26; they change nothing in the other columns.
    """
    columns = _columns(_text(NOUNS, sources))
    own = [code for code in codes if code not in LANGUAGES]
    return {**columns, **{code: _own_nouns(code, columns["en"], sources) for code in own}}


def _own_nouns(code: str, english: Sequence[str], sources: Sources) -> tuple[str, ...]:
    """The nouns of a language's folder, in the order of the list. Raises RulerError.

    For one that is missing, and where two of them are the same word.
    """
    where = f"nouns-{code}"
    rows = [line.split("\t") for line in _text(where, sources).splitlines() if line.strip()]
    if not rows or rows[0] != ["en", code] or any(len(row) != 2 for row in rows):
        raise RulerError(f"'{where}' must have two columns, a tab between: en, {code}.")
    known = {noun.strip(): own.strip() for noun, own in rows[1:]}
    if missing := [noun for noun in english if not known.get(noun)]:
        shown = ", ".join(missing[:5]) + " …" * (len(missing) > 5)
        raise RulerError(f"'{where}' lacks {len(missing)} of the {len(english)} nouns: {shown}.")
    found = errata.fix("nouns", code, [known[noun] for noun in english])
    if odd := [noun for noun in found if re.search(r"[{}<>\d]", noun)]:
        raise RulerError(
            f"'{where}' has '{odd[0]}': a noun holds no digit, brace or angle bracket."
        )
    if twice := [item for item, times in Counter(map(errata.identity, found)).items() if times > 1]:
        raise RulerError(f"'{where}' has '{twice[0]}' for two nouns: each needs a word of its own.")
    return tuple(found)


@lru_cache(maxsize=1)
def _columns(text: str) -> dict[str, tuple[str, ...]]:
    """The columns of the noun list; kept, since every language reads the same list."""
    rows = [line.split("\t") for line in text.splitlines()]
    columns = {
        name: errata.fix("nouns", name, column)
        for name, *column in zip(*rows, strict=True)
        if name != "definition"
    }
    kept = errata.kept_rows(columns)
    return {name: tuple(column[row] for row in kept) for name, column in columns.items()}


def _text(name: str, sources: Sources) -> str:
    """The text of a source with line feeds alone at its line ends."""
    return sources.read(name).decode("utf-8").replace("\r\n", "\n")
