"""The languages of ONERULER: which to build, the folders of custom languages, and their texts.

    language_pairs("oneruler", ("pl", "en-ko"))     # pl with pl, en with Korean instructions
    custom = language_folders([Path("tr")])          # "niah-tr": SourceFile(…), "book-tr": …
    polish = read_language("pl", sources)
    polish.parts["needle"]          # 'Specjalna magiczna liczba dla hasła „{key}” to: {value}.'
    polish.none_word                # 'brak'
    next(polish.sentences())        # the book, sentence by sentence
    polish.words()                  # the words of cwe

All that a task needs to know about a language is in one object, whether the language is one of the
26 or comes from a folder (`--language-folder`, docs/languages.md). The errors of the published
files and their corrections are in errata.toml. Source: ONERULER (arXiv:2503.01996), section 2 and
appendix.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple, cast

from ruler_builder.text import errata
from ruler_builder.text.borders import folded, read_borders, sliced
from ruler_builder.text.corpora import vocabulary
from ruler_builder.text.sentences import split
from ruler_builder.text.sources import (
    CANONICAL,
    CUSTOM,
    NOUNS,
    LanguageSources,
    Pinned,
    SourceFile,
    Sources,
    language_sources,
    restricted_books,
)
from ruler_common.errors import RulerError
from ruler_common.files import check_type, parse_toml
from ruler_common.languages import BUILDER_FIELDS, LanguageFacts, custom_facts, language_facts
from ruler_common.manifest import BookRights, LanguageEntry
from ruler_common.names import LANGUAGES, check_name, check_new_name

# ---- Which languages to build --------------------------------------------------------------------

CROSSED = ("en", "ko", "pl")
"""The languages that the paper crosses, in all six directions."""


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
        check_name("language", instruction, (*LANGUAGES, *custom), "ruler build --help")
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
        check_name("language", code, names, "ruler build --help")
    if len(codes) > 2 or (len(codes) == 2 and instruction):
        raise RulerError(
            f"'{name}' is not a language: write pl, or en-ko for text in English with instructions "
            "in Korean (then without --instruction-language)."
        )
    if len(codes) == 2:
        return [Pair(*codes)]
    return [Pair(name, instruction or name)]


# ---- The folder of a custom language -------------------------------------------------------------

FILES = {
    "language": "language.toml",
    "niah": "niah.txt",
    "cwe": "cwe.txt",
    "book": "book.txt",
    "words": "words.csv",
    "nouns": "nouns.tsv",
}
"""The file of each kind of source."""
_FORMS = {  # the parts of niah.txt, and the names in braces that each must contain
    "task": ("{context}",),
    "needle_numbers": ("{key}", "{value}"),
    "question_single_numbers": ("{query1}",),
    "question_multi_numbers": ("{query1}", "{query2}"),
    "please_list": (),
    "if_no_numbers": (),
    "answer_prefix": (),
    "answer_numbers": (),
    "none": (),
}
_QUOTED = ("{key}", "{query1}", "{query2}")  # rows are read back by their quotation marks


class LanguageDescription(NamedTuple):
    """The contents of a language.toml: code, licences, the book's rights, and the facts."""

    code: str
    licence: str
    book_licence: str
    book: BookRights
    table: Mapping[str, Any]
    facts: LanguageFacts


def language_folders(folders: Iterable[Path]) -> dict[str, SourceFile]:
    """Return the sources in the folders of languages, by name.

    Raises RulerError for what is wrong.
    """
    custom: dict[str, SourceFile] = {}
    for folder in folders:
        sources = _sources_in(folder)
        if both := custom.keys() & sources.keys():
            name = min(both)
            raise RulerError(
                f"'{custom[name].folder}' and '{sources[name].folder}' describe the same language, "
                f"'{name.rpartition('-')[2]}': give one of them."
            )
        custom |= sources
    return custom


def describe(data: bytes, where: str | Path) -> LanguageDescription:
    """Read a language.toml. Raises RulerError with a sentence that names the file and the field."""
    table = dict(parse_toml(data, where))
    code, licence, book, _ = (table.pop(name, None) for name in BUILDER_FIELDS)
    if not isinstance(code, str) or code in LANGUAGES:
        raise RulerError(
            f"'{where}' has the code {code!r}: give the language's ISO 639 code, such as 'tr', "
            "and not one of the 26."
        )
    try:
        check_new_name("language", code)
    except RulerError as error:
        raise RulerError(f"'{where}': {error}") from error
    if not isinstance(licence, str) or not licence:
        raise RulerError(
            f"'{where}' does not name the licence of its prompts and words: add `licence`."
        )
    remedy = "See docs/languages.md."
    rights = {"died": None, "editor": "", **(book if isinstance(book, dict) else {})}
    book_licence = str(rights.pop("licence", licence))
    check_type(rights, BookRights, where, remedy, "wrong in its table [book]")
    facts = custom_facts(table, where)
    return LanguageDescription(code, licence, book_licence, cast(BookRights, rights), table, facts)


def _sources_in(folder: Path) -> dict[str, SourceFile]:
    """Return the sources in the folder of a language. Raises RulerError for what is wrong."""
    if missing := [name for name in FILES.values() if not (folder / name).is_file()]:
        raise RulerError(
            f"'{folder}' is not the folder of a language: it has no {missing[0]}. "
            "See docs/languages.md."
        )
    data = {kind: (folder / name).read_bytes() for kind, name in FILES.items()}
    texts = {kind: _text(data[kind], folder / name) for kind, name in FILES.items()}
    about = describe(data["language"], folder / FILES["language"])
    _check_prompts(texts, about, folder)
    titles = {"book": f"{about.book['author']}: {about.book['title']}"}
    rights = {"book": about.book}
    return {
        f"{kind}-{about.code}": SourceFile(
            variant=CUSTOM,
            title=titles.get(kind, f"{about.facts.name}: {name}"),
            licence=about.book_licence if kind == "book" else about.licence,
            citation=about.facts.written_by,
            file=Pinned(
                path=name, sha256=hashlib.sha256(data[kind]).hexdigest(), bytes=len(data[kind])
            ),
            book=rights.get(kind),
            folder=str(folder.resolve()),
        )
        for kind, name in FILES.items()
    }


def _text(data: bytes, path: Path) -> str:
    """Return the text of a file, in UTF-8. Raises RulerError for other bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or text.startswith("\ufeff"):
        raise RulerError(
            f"'{path}' is not plain UTF-8: save it as UTF-8 without a byte order mark."
        )
    return text


def _check_prompts(texts: Mapping[str, str], about: LanguageDescription, folder: Path) -> None:
    """Refuse prompts that cannot be filled or read back, or whose answers scoring does not know."""
    parts = _read_parts(texts["niah"], folder / FILES["niah"])
    problems = [*_niah_problems(parts, about), *_tag_problems(parts, texts["cwe"], about)]
    if problems:
        kind, problem = problems[0]
        raise RulerError(f"'{folder / FILES[kind]}'{problem}")


def _niah_problems(
    parts: Mapping[str, str], about: LanguageDescription
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with needles and none word, each with the kind of the file."""
    none, stop = parts["none"], about.facts.sentences.stop
    if none not in about.facts.none.prompt:
        yield "niah", f" asks for '{none}', which is not in none.prompt of {FILES['language']}."
    if re.search(r"[{}]", stop):
        yield "language", ": sentences.stop must not have a brace."
    if re.search(r"\d\{value\}|\{value\}\d", parts["needle_numbers"] + stop):
        yield "niah", ": in needle_numbers a digit touches {value}."
    quoted = [("if_no_numbers", none)]  # rows are read back by these quotation marks
    for name, keys in _FORMS.items():
        quoted += [(name, key) for key in keys if key in _QUOTED]
    for name, key in quoted:
        if not re.search(rf"[\"“„«「]{re.escape(key)}[\"”“»」]", parts[name]):
            yield "niah", f": {name} must hold {key} between quotation marks."


def _tag_problems(
    parts: Mapping[str, str], cwe: str, about: LanguageDescription
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the tags and the context, each with the kind of the file."""
    tag = about.facts.answer_tags[0]
    closing = re.search(r"</([^<>/\n]+)>\s*\Z", parts["if_no_numbers"])
    for name in ("question_single_numbers", "question_multi_numbers"):
        opening = re.match(r"<([^<>/\n]+)>", parts[name])
        if not opening:
            yield "niah", f": {name} must begin with a tag, such as <Question>."
        elif not closing or opening[1] != closing[1]:
            problem = ": if_no_numbers must end with the tag that closes the question"
            yield "niah", f"{problem}, </{opening[1]}>."
    answer = rf"<\s*{re.escape(tag)}\s*>[^<>]*</\s*{re.escape(tag)}\s*>"
    for kind, text, asking in (
        ("niah", parts["task"], parts["answer_numbers"]),
        ("cwe", cwe, cwe),
    ):
        if text.count("{context}") != 1 or text.startswith("{context}"):
            yield kind, " must hold {context} once, after a text."
        if not re.search(answer, asking):
            problem = f" does not ask for an answer in <{tag}> … </{tag}>, the first of the"
            yield kind, f"{problem} answer_tags in {FILES['language']}."


def _read_parts(text: str, path: Path) -> dict[str, str]:
    """Return the parts of a niah.txt, their names in braces checked. Raises RulerError."""
    try:
        table = json.loads(text)
        parts = {name: table[name] for name in _FORMS}
        json.dumps(table, ensure_ascii=False).encode()  # fails for half characters
    except KeyError as error:
        raise RulerError(f"'{path}' has no part {error}. See docs/languages.md.") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise RulerError(
            f"'{path}' is not a JSON object with the parts of a prompt: {error}."
        ) from None
    for name, part in parts.items():
        names = list(_FORMS[name])
        if not isinstance(part, str) or re.findall(r"\{\w+\}|[{}]", part) != names:
            raise RulerError(
                f"'{path}': {name} must hold {' and '.join(names) or 'a text'} once, in this order "
                "and with no other brace."
            )
    return parts


# ---- A language ----------------------------------------------------------------------------------

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
        text = read_text(self.source_names.book, self.sources)
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
        text = read_text(source, self.sources)
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
    published = json.loads(read_text(f"niah-{code}", sources))
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
        cwe=errata.fix("cwe", code, [read_text(f"cwe-{code}", sources)])[0],
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
    return _columns(read_text(NOUNS, sources))


def noun_list(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the columns of the noun list one after another, each with its code before it."""
    return [text for code, nouns in columns.items() for text in (code, *nouns)]


def _translated_nouns(code: str, english: Sequence[str], sources: Sources) -> tuple[str, ...]:
    """Return the nouns of a custom language, in the order of the English ones.

    Raises RulerError for a noun that is missing, and for two that are the same word.
    """
    name = f"nouns-{code}"
    where = sources.quoted_name(name)
    rows = [line.split("\t") for line in read_text(name, sources).splitlines() if line.strip()]
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


def read_text(name: str, sources: Sources) -> str:
    """Return the text of a source with line feeds at its line ends."""
    return sources.read(name).decode("utf-8").replace("\r\n", "\n")
