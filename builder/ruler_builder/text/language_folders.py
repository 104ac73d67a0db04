"""The folder of a custom language (`--language-folder`, docs/languages.md): its files, checked.

custom = language_folders([Path("tr")])          # "niah-tr": SourceFile(…), "book-tr": …
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from ruler_builder.pinned import Pinned
from ruler_builder.text.sources import CUSTOM, SourceFile
from ruler_common.errors import RulerError
from ruler_common.files import check_type, parse_toml
from ruler_common.languages import BUILDER_FIELDS, LanguageFacts, custom_facts
from ruler_common.manifest import BookRights
from ruler_common.names import LANGUAGES, check_new_name

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
    if not folder.is_dir():
        raise RulerError(f"There is no folder '{folder}': correct --language-folder.")
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
