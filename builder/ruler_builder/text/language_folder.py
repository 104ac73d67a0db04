"""Read the folder of a language that is none of the 26: its texts, and one TOML that describes it.

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
from ruler_common.files import read_bytes
from ruler_common.languages import BUILDER_FIELDS, LanguageFacts, custom_facts
from ruler_common.manifest_form import BookRights
from ruler_common.names import CODE, LANGUAGES
from ruler_common.parsing import check_type, json_value, parse_toml

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
    **dict.fromkeys(("please_list", "if_no_numbers", "answer_prefix"), ()),
    **dict.fromkeys(("answer_numbers", "none"), ()),
}
_TAKEN = (*LANGUAGES, "all", "aux", "con", "nul", "prn")  # the last are no folders on Windows
_QUOTED = ("{key}", "{query1}", "{query2}")  # what reads rows finds it between quotation marks


class Described(NamedTuple):
    """What a language.toml says: its code and licences, the book's rights, and the facts."""

    code: str
    licence: str
    book_licence: str
    book: BookRights
    table: Mapping[str, Any]
    facts: LanguageFacts


def language_folders(folders: Iterable[Path]) -> dict[str, SourceFile]:
    """The sources in the folders of languages, by name. Raises RulerError for what is wrong."""
    found: dict[str, SourceFile] = {}
    for folder in folders:
        sources = _sources_in(folder.resolve(), folder)
        if both := found.keys() & sources.keys():
            code = min(both).rpartition("-")[2]
            raise RulerError(f"Two folders describe the language '{code}': give one.")
        found |= sources
    return found


def restrictions(given: Mapping[str, SourceFile]) -> dict[str, bool]:
    """The languages whose sources these are, and whether the book of each may not be free."""
    return {
        name.removeprefix("book-"): one.book["restricted"]
        for name, one in given.items()
        if one.book
    }


def describe(data: bytes, where: str | Path) -> Described:
    """Read a language.toml. Raises RulerError in a sentence that names the file and the field."""
    table = dict(parse_toml(data, where))
    code, licence, book, _ = (table.pop(name, None) for name in BUILDER_FIELDS)
    if not isinstance(code, str) or not re.fullmatch(CODE, code) or code in _TAKEN:
        raise RulerError(
            f"'{where}' has the code {code!r}: give the language's ISO 639 code in lower case, "
            "none of the 26 languages', and none that means something else, as 'all' does."
        )
    if not isinstance(licence, str) or not licence:
        raise RulerError(f"'{where}' does not say under which licence its prompts and words are.")
    remedy = "See docs/languages.md."
    rights = {"died": None, "editor": "", **(book if isinstance(book, dict) else {})}
    book_licence = str(rights.pop("licence", licence))
    check_type(rights, BookRights, where, remedy, "wrong in its table [book]")
    facts = custom_facts(table, where)
    return Described(code, licence, book_licence, cast(BookRights, rights), table, facts)


def _sources_in(folder: Path, shown: Path) -> dict[str, SourceFile]:
    if missing := [name for name in FILES.values() if not (folder / name).is_file()]:
        raise RulerError(
            f"'{shown}' is no folder of a language: it has no {missing[0]}. See docs/languages.md."
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
    """The text of a file, in UTF-8. Raises RulerError for other bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or text.startswith("\ufeff"):
        raise RulerError(
            f"'{path}' is not plain UTF-8: save it as UTF-8 without a byte order mark."
        )
    return text


def _check_prompts(texts: Mapping[str, str], about: Described, folder: Path) -> None:
    """Refuse prompts that cannot be filled or read back, or whose answers scoring does not know."""
    path = folder / FILES["niah"]
    try:
        found = json_value(texts["niah"])
        parts = {name: found[name] for name in _FORMS}
        json.dumps(found, ensure_ascii=False).encode()  # no half characters
    except (ValueError, KeyError, TypeError) as error:
        raise RulerError(f"'{path}' is no JSON object with a prompt's parts: {error}.") from None
    parts |= {"the full stop": about.facts.sentences.stop}
    for name, text in parts.items():
        names = _FORMS.get(name, ())
        held = isinstance(text, str) and re.findall(r"\{\w+\}|[{}]", text)
        if not isinstance(text, str) or held != list(names):
            raise RulerError(
                f"'{path}': {name} must hold {' and '.join(names) or 'a text'} once, in this order "
                "and with no other brace."
            )
    if (none := parts["none"]) not in about.facts.none.prompt:
        raise RulerError(f"'{path}' asks for '{none}', which none.prompt does not have.")
    for name, quoted in (
        *((name, one) for name, names in _FORMS.items() for one in names if one in _QUOTED),
        ("if_no_numbers", none),
    ):
        if not re.search(rf"[\"“„«「]{re.escape(quoted)}[\"”“»」]", parts[name]):
            raise RulerError(f"'{path}': {name} must hold {quoted} between quotation marks.")
    for name, text in (("niah", parts["task"]), ("cwe", texts["cwe"])):
        if text.count("{context}") != 1 or text.startswith("{context}"):
            raise RulerError(f"'{folder / FILES[name]}' must hold {{context}} once, after a text.")
    needle = parts["needle_numbers"] + about.facts.sentences.stop
    if re.search(r"\d\{value\}|\{value\}\d", needle):
        raise RulerError(f"'{path}': in needle_numbers a digit touches {{value}}.")
    opened = [re.match(r"<([^<>/\n]+)>", parts[name]) for name in _FORMS if "question" in name]
    closed = re.search(r"</([^<>/\n]+)>\s*\Z", parts["if_no_numbers"])
    if not all(opened):
        raise RulerError(f"'{path}': its questions must begin with a tag, such as <Question>.")
    if not closed or any(tag and tag[1] != closed[1] for tag in opened):
        raise RulerError(f"'{path}': if_no_numbers must end with the tag that closes the question.")
    tag = about.facts.answer_tags[0]
    for name, text in (("niah", parts["answer_numbers"]), ("cwe", texts["cwe"])):
        if not re.search(rf"<\s*{re.escape(tag)}\s*>[^<>]*</\s*{re.escape(tag)}\s*>", text):
            raise RulerError(
                f"'{folder / FILES[name]}' does not ask for an answer in <{tag}> … </{tag}>, the "
                "first of the answer_tags."
            )
