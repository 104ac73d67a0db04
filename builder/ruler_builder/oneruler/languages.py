"""Read a language of ONERULER: prompts, book, nouns and dictionary, with the errata applied.

    polish = language("pl", sources)
    polish.parts["needle"]          # 'Specjalna magiczna liczba dla hasła „{key}” to: {value}.'
    next(sentences("pl", sources))  # the book, sentence by sentence
    dictionary("pl", sources)       # the words of cwe

The errors of the published files and their corrections are in ruler_builder/oneruler/errata.toml.
Source: ONERULER (arXiv:2503.01996), section 2 and appendix.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ruler_builder.oneruler import errata
from ruler_builder.sources.registry import NOUNS, Sources
from ruler_builder.sources.sentences import split
from ruler_builder.sources.word_lists import vocabulary
from ruler_common.names import LANGUAGES, check_name

UNSPACED = ("ja", "zh")
"""Languages without spaces: sentences and prompt parts are joined by nothing."""
CLASSES = ("noun", "adjective", "verb")
"""The labels of the words of cwe; a word with several labels (`verb,noun`) is not among them."""
STOPS = dict.fromkeys(UNSPACED, "。") | {"hi": "।"}
"""The full stop of needles, as the book writes it; other languages end theirs with a dot."""
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
    """The published prompts and nouns of a language, with its errata applied.

    `parts`: task ({context}), needle ({key}, {value}; ends with `stop`, the full stop),
    question_one ({query1}), question_many ({query1}, {query2}), please_list, if_no, answer_prefix,
    answer. `cwe` is the template of a cwe prompt, with {context} once; `none_word` the word to
    answer when there is no number, as `if_no` asks for it; `separator` stands between sentences and
    between parts of a prompt: a space, or nothing (ja, zh). `nouns` are the keys: noun i means the
    same in every language, and no noun occurs twice. `errata` has the ids of those applied; none
    for the project's own (embedded) texts.
    """

    code: str
    parts: Mapping[str, str]
    cwe: str
    none_word: str
    separator: str
    stop: str
    nouns: tuple[str, ...]
    errata: tuple[str, ...]


def language(code: str, sources: Sources) -> Language:
    """Read a language's prompts and nouns. Raises RulerError for an unknown or missing one."""
    check_name("language", code, LANGUAGES)
    published = json.loads(_text(f"niah-{code}", sources))
    parts = {
        name: errata.fix("niah", code, [published[part]], part)[0] for name, part in PARTS.items()
    }
    stop = STOPS.get(code, ".")
    parts["needle"] += stop
    none_word, own = parts.pop("none"), sources.file(f"niah-{code}").is_embedded
    cwe = errata.fix("cwe", code, [_text(f"cwe-{code}", sources)])[0]
    columns = nouns(sources)
    check_name("language of the nouns", code, columns)
    return Language(
        code=code,
        parts=parts,
        cwe=cwe,
        none_word=none_word,
        separator="" if code in UNSPACED else " ",
        stop=stop,
        nouns=columns[code],
        errata=() if own else tuple(erratum.id for erratum in errata.applied(code)),
    )


def sentences(code: str, sources: Sources) -> Iterator[str]:
    """The book's sentences from its beginning, white space folded; a lazy iterator."""
    return split(book(code, sources), code, spaced=code not in UNSPACED)


def book(code: str, sources: Sources) -> str:
    """The text of a language's book, with its errata applied."""
    check_name("language", code, LANGUAGES)
    return errata.fix("book", code, [_text(f"book-{code}", sources)])[0]


def dictionary(code: str, sources: Sources) -> list[str]:
    """The words of cwe: nouns, adjectives and verbs, each once, NFC, in the order of the file.

    English: wonderwords', as in ruler. A word may hold single spaces (Vietnamese) but no digit.
    """
    check_name("language", code, LANGUAGES)
    if code == "en":
        return vocabulary()
    listed = entries(_text(f"words-{code}", sources))
    return errata.fix("words", code, [word for word, kind in listed if kind in CLASSES])


def entries(text: str) -> list[tuple[str, str]]:
    """The entries of a dictionary's file: each word with its class."""
    header, *rows = filter(None, csv.reader(io.StringIO(text, newline="")))
    word, kind = header.index("words"), header.index("pos")
    return [(row[word], row[kind]) for row in rows]


def nouns(sources: Sources) -> dict[str, tuple[str, ...]]:
    """The nouns of every language as parallel columns: rows unique in all and not ambiguous."""
    return _columns(_text(NOUNS, sources))


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
