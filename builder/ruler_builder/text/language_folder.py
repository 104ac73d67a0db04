"""Read the folder of a custom language: its texts, and one TOML that describes it.

    given = language_folders([Path("tr")])      # "niah-tr": SourceFile(…), "book-tr": …
    restrictions(given)                         # {"tr": False}

docs/languages.md says what each file holds. They are sources like the published ones, known by
their digests; what scoring needs of the language goes into the manifest (`facts`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from ruler_builder.text.sources import GIVEN, Pinned, SourceFile
from ruler_common.errors import RulerError
from ruler_common.files import check_type, json_value, parse_toml, read_bytes
from ruler_common.languages import BUILDER_FIELDS, LanguageFacts, custom_facts
from ruler_common.manifest import BookRights
from ruler_common.names import CODE, LANGUAGES

FILES = {
    "language": "language.toml",
    "niah": "niah.txt",
    "cwe": "cwe.txt",
    "book": "book.txt",
    "words": "words.csv",
    "nouns": "nouns.tsv",
}
"""The kinds of source, and the file of each."""
_FORMS = {  # the parts of niah.txt, and the names in braces that each must hold
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
_TAKEN = (
    *LANGUAGES,
    "all",
    "aux",
    "con",
    "nul",
    "prn",
)  # Windows forbids the last four
_QUOTED = ("{key}", "{query1}", "{query2}")  # rows are read back by their quotation marks


class LanguageDescription(NamedTuple):
    """What a language.toml says: its code and licences, the book's rights, and the facts."""

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
    found: dict[str, SourceFile] = {}
    for folder in folders:
        sources = _sources_in(folder.resolve(), folder)
        if both := found.keys() & sources.keys():
            code = min(both).rpartition("-")[2]
            raise RulerError(f"Two folders describe the language '{code}': give one.")
        found |= sources
    return found


def restrictions(given: Mapping[str, SourceFile]) -> dict[str, bool]:
    """Return the languages of these sources, and whether the book of each may not be free."""
    return {
        name.removeprefix("book-"): one.book["restricted"]
        for name, one in given.items()
        if one.book
    }


def describe(data: bytes, where: str | Path) -> LanguageDescription:
    """Read a language.toml. Raises RulerError in a sentence that names the file and the field."""
    table = dict(parse_toml(data, where))
    code, licence, book, _ = (table.pop(name, None) for name in BUILDER_FIELDS)
    if not isinstance(code, str) or not re.fullmatch(CODE, code) or code in _TAKEN:
        raise RulerError(
            f"'{where}' has the code {code!r}: give the language's ISO 639 code in lower case, "
            "not one of the 26, and not a word with another meaning, such as 'all'."
        )
    if not isinstance(licence, str) or not licence:
        raise RulerError(f"'{where}' does not say under which licence its prompts and words are.")
    remedy = "See docs/languages.md."
    rights = {"died": None, "editor": "", **(book if isinstance(book, dict) else {})}
    book_licence = str(rights.pop("licence", licence))
    check_type(rights, BookRights, where, remedy, "wrong in its table [book]")
    facts = custom_facts(table, where)
    return LanguageDescription(code, licence, book_licence, cast(BookRights, rights), table, facts)


def _sources_in(folder: Path, shown: Path) -> dict[str, SourceFile]:
    if missing := [name for name in FILES.values() if not (folder / name).is_file()]:
        raise RulerError(
            f"'{shown}' is not the folder of a language: it has no {missing[0]}. "
            "See docs/languages.md."
        )
    data = {kind: read_bytes(folder / name) for kind, name in FILES.items()}
    texts = {kind: _text(data[kind], shown / name) for kind, name in FILES.items()}
    about = describe(data["language"], shown / FILES["language"])
    _check_prompts(texts, about, shown)
    titles = {"book": f"{about.book['author']}: {about.book['title']}"}
    rights = {"book": about.book}
    return {
        f"{kind}-{about.code}": SourceFile(
            variant=GIVEN,
            title=titles.get(kind, f"{about.facts.name}: {name}"),
            licence=about.book_licence if kind == "book" else about.licence,
            citation=about.facts.written_by,
            file=Pinned(
                path=name, sha256=hashlib.sha256(data[kind]).hexdigest(), bytes=len(data[kind])
            ),
            book=rights.get(kind),
            folder=str(folder),
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
    niah, cwe = folder / FILES["niah"], folder / FILES["cwe"]
    parts = _read_parts(texts["niah"], niah)
    none, stop = parts["none"], about.facts.sentences.stop
    if none not in about.facts.none.prompt:
        raise RulerError(
            f"'{niah}' asks for '{none}', which is not in none.prompt of {FILES['language']}."
        )
    for name in _FORMS:
        for key in _FORMS[name]:
            if key in _QUOTED:
                _check_quoted(parts[name], name, key, niah)
    _check_quoted(parts["if_no_numbers"], "if_no_numbers", none, niah)
    for text, path in ((parts["task"], niah), (texts["cwe"], cwe)):
        if text.count("{context}") != 1 or text.startswith("{context}"):
            raise RulerError(f"'{path}' must hold {{context}} once, after a text.")
    if re.search(r"[{}]", stop):
        raise RulerError(f"'{folder / FILES['language']}': sentences.stop must not have a brace.")
    if re.search(r"\d\{value\}|\{value\}\d", parts["needle_numbers"] + stop):
        raise RulerError(f"'{niah}': in needle_numbers a digit touches {{value}}.")
    closing = re.search(r"</([^<>/\n]+)>\s*\Z", parts["if_no_numbers"])
    for name in ("question_single_numbers", "question_multi_numbers"):
        opening = re.match(r"<([^<>/\n]+)>", parts[name])
        if opening is None:
            raise RulerError(f"'{niah}': {name} must begin with a tag, such as <Question>.")
        if closing is None or opening[1] != closing[1]:
            raise RulerError(
                f"'{niah}': if_no_numbers must end with the tag that closes the question, "
                f"</{opening[1]}>."
            )
    tag = about.facts.answer_tags[0]
    pattern = rf"<\s*{re.escape(tag)}\s*>[^<>]*</\s*{re.escape(tag)}\s*>"
    for text, path in ((parts["answer_numbers"], niah), (texts["cwe"], cwe)):
        if not re.search(pattern, text):
            raise RulerError(
                f"'{path}' does not ask for an answer in <{tag}> … </{tag}>, the first of the "
                f"answer_tags in {FILES['language']}."
            )


def _read_parts(text: str, path: Path) -> dict[str, str]:
    """Return the parts of a niah.txt, each with its names in braces. Raises RulerError."""
    try:
        table = json_value(text)
        parts = {name: table[name] for name in _FORMS}
        json.dumps(table, ensure_ascii=False).encode()  # fails for half characters
    except KeyError as error:
        raise RulerError(f"'{path}' has no part {error}. See docs/languages.md.") from None
    except (ValueError, TypeError) as error:
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


def _check_quoted(text: str, name: str, quoted: str, path: Path) -> None:
    """Refuse a part without quotation marks around a key, by which rows are read back."""
    if not re.search(rf"[\"“„«「]{re.escape(quoted)}[\"”“»」]", text):
        raise RulerError(f"'{path}': {name} must hold {quoted} between quotation marks.")
