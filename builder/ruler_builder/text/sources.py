"""The texts that a release is made of, and which file each is read from.

    sources = Sources(Store(mirror), SourceChoice(embedded=frozenset({"squad"})))
    sources.read("essays")          # checked bytes
    sources.read("book-pl")         # ONERULER: niah-, cwe-, book-, words-<language>
    sources.entry("essays")         # what the manifest records of it

sources.toml lists the corpora of RULER, and ruler_common/languages/*.toml the files of ONERULER's
languages. The texts that this project wrote itself (`embedded`) replace a source only if the user
asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import quote

from ruler_builder.pinned import Pinned, Store, WheelMember
from ruler_common.errors import RulerError
from ruler_common.files import read_toml
from ruler_common.languages import language_table
from ruler_common.manifest import BookRights, SourceEntry, Variant
from ruler_common.names import LANGUAGES, check_name

CANONICAL: Variant = "canonical"
EMBEDDED: Variant = "embedded"
CUSTOM: Variant = "custom"  # from the folder of a custom language
NOUNS = "oneruler-nouns"
LISTED_BY = "ruler sources"  # the command that an error about an unknown source names
State = Literal["present", "damaged", "missing"]


# ---- The sources: title, licence, citation and file of each --------------------------------------


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """The file of a source: as published, as this project wrote it, or from a language folder.

    Only a published file is downloaded; the others are in `folder`.
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
        """The path of the file; relative to the mirror or cache if it is not in a folder."""
        return f"{self.folder}/{self.file.path}" if self.folder else self.file.path


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source: its published file, and the text of this project that can replace it, if any."""

    name: str
    canonical: SourceFile
    embedded: SourceFile | None = None
    dataset: str = "ruler"
    language: str = ""  # of a source of ONERULER; empty for its nouns and for sources of RULER


@cache
def registry() -> dict[str, Source]:
    """Return all sources by name: those of RULER, then those of ONERULER."""
    return {**_ruler_sources(), **_oneruler_sources()}


def source_named(name: str) -> Source:
    """Return a source; one of RULER without reading the tables of 26 languages.

    Raises RulerError for an unknown name.
    """
    if name in _ruler_sources():
        return _ruler_sources()[name]
    return registry()[check_name("source", name, registry(), LISTED_BY)]


@cache
def _tables() -> dict[str, Any]:
    return read_toml(files("ruler_builder.text") / "sources.toml")


@cache
def _ruler_sources() -> dict[str, Source]:
    """Return the sources of RULER."""
    wheels = _tables()["wheels"]
    sources = {}
    for name, entry in _tables().items():
        if name in ("wheels", "oneruler"):
            continue
        file = Pinned(
            path=entry["path"],
            sha256=entry["sha256"],
            bytes=entry["bytes"],
            urls=tuple(entry.get("urls", ())),
            wheel=WheelMember(**wheels[entry["wheel"]], member=entry["member"]),
        )
        canonical = SourceFile(
            variant=CANONICAL,
            title=entry["title"],
            licence=entry["licence"],
            citation=entry["citation"],
            file=file,
        )
        replacement = {**entry["embedded"], "citation": entry["citation"]}
        sources[name] = Source(name=name, canonical=canonical, embedded=_embedded(replacement))
    return sources


def _oneruler_sources() -> dict[str, Source]:
    """Return the sources of ONERULER."""
    table = _tables()["oneruler"]
    nouns = table["nouns"]
    sources = {
        NOUNS: _oneruler_source(
            table,
            kind="nouns",
            code="",
            path=nouns["path"],
            title="Nouns in 26 languages",
            pin=nouns,
        )
    }
    for code in LANGUAGES:
        facts = language_table(code)
        name, book, pins = facts["name"], facts["book"], facts["files"]
        rights = BookRights(
            title=book["title"],
            author=book["author"],
            died=book["died"],
            published=book["published"],
            status=book["status"],
            restricted=book["restricted"],
            editor=book.get("editor", ""),
        )
        places = {  # in the authors' repository
            "niah": (f"prompt/{code}/niah.txt", f"Prompt of niah in {name}"),
            "cwe": (f"prompt/{code}/cwe.txt", f"Prompt of cwe in {name}"),
            "book": (f"books/{code}/{pins['book']['name']}", f"{book['author']}: {book['title']}"),
            "words": (f"vocab/dictionaries/{name}/{name}.csv", f"Words in {name}"),
        }
        for kind, (path, title) in places.items():
            if kind in pins:
                sources[f"{kind}-{code}"] = _oneruler_source(
                    table,
                    kind=kind,
                    code=code,
                    path=path,
                    title=title,
                    pin=pins[kind],
                    book=rights if kind == "book" else None,
                )
    return sources


def _oneruler_source(
    table: Mapping[str, Any],
    *,
    kind: str,
    code: str,
    path: str,
    title: str,
    pin: Mapping[str, Any],
    book: BookRights | None = None,
) -> Source:
    """Return a source of ONERULER.

    Args:
        table: The table of sources.toml that all of them share.
        kind: niah, cwe, book or words of a language; or nouns, which all languages share.
        code: The language; "" for the nouns.
        path: The path of the published file in the authors' repository.
        title: Its title.
        pin: Its size and digest.
        book: The rights of a book.
    """
    canonical = SourceFile(
        variant=CANONICAL,
        title=title,
        licence=table.get(f"licence_of_{kind}", table["licence"]),
        citation=table["citation"],
        file=Pinned(
            path=f"oneruler/{path}",
            sha256=pin["sha256"],
            bytes=pin["bytes"],
            urls=(f"{table['base']}/{quote(path)}",),
        ),
        book=book,
    )
    texts = table["embedded"]
    replacement = texts.get(code, {}).get(kind) if code else texts["nouns"]
    embedded = None
    if replacement:
        described = {"title": texts["title"], "licence": texts["licence"]}
        embedded = _embedded({**replacement, **described, "citation": table["citation"]})
    return Source(
        name=f"{kind}-{code}" if code else NOUNS,
        canonical=canonical,
        embedded=embedded,
        dataset="oneruler",
        language=code,
    )


def _embedded(entry: Mapping[str, Any]) -> SourceFile:
    """Return a text that this project wrote, given its entry in sources.toml."""
    return SourceFile(
        variant=EMBEDDED,
        title=entry["title"],
        licence=entry["licence"],
        citation=entry["citation"],
        file=Pinned(path=entry["path"], sha256=entry["sha256"], bytes=entry["bytes"]),
        folder=str(files("ruler_builder") / "embedded"),
    )


@dataclass(frozen=True)
class LanguageSources:
    """The names of the sources that a language of ONERULER is read from."""

    prompts: tuple[str, ...]  # its prompts and nouns
    book: str
    words: str | None  # None for English, whose words come with wonderwords, as in RULER


def language_sources(code: str, custom: bool) -> LanguageSources:
    """Return the names of a language's sources.

    A custom language comes from a folder, which also has a description of the language and a
    translation of the English nouns.
    """
    prompts = (f"niah-{code}", f"cwe-{code}", NOUNS)
    book, words = f"book-{code}", f"words-{code}"
    if custom:
        return LanguageSources((*prompts, f"language-{code}", f"nouns-{code}"), book, words)
    has_words = "words" in language_table(code)["files"]
    return LanguageSources(prompts, book, words if has_words else None)


def named_sources(words: list[str] | None = None) -> dict[str, Source]:
    """Return the sources that a source, dataset or language names; without words, all."""
    chosen: dict[str, Source] = {}
    for word in words or ["ruler", "oneruler"]:
        matches = {}
        for name, source in registry().items():
            if word and word in (name, source.dataset, source.language):
                matches[name] = source
        if not matches:
            check_name("source", word, registry(), LISTED_BY)  # raises
        chosen.update(matches)
    return chosen


def restricted_books() -> dict[str, str]:
    """Return the status of each book that may still be under copyright, by language."""
    statuses = {}
    for source in registry().values():
        book = source.canonical.book
        if book and book["restricted"]:
            statuses[source.language] = book["status"]
    return statuses


def embedded_languages() -> list[str]:
    """Return the languages of ONERULER for which this project wrote texts."""
    return [
        source.language
        for name, source in registry().items()
        if name.startswith("niah-") and source.embedded
    ]


def source_states(store: Store, dataset: str = "ruler") -> list[tuple[Source, State]]:
    """Return each source of a dataset with its state; `damaged` means that its size differs."""
    listed: list[tuple[Source, State]] = []
    for source in named_sources([dataset]).values():
        file = source.canonical.file
        path = store.local(file)
        state: State
        if path is None:
            state = "missing"
        elif path.stat().st_size == file.bytes:
            state = "present"
        else:
            state = "damaged"
        listed.append((source, state))
    return listed


# ---- The sources of one release ------------------------------------------------------------------


@dataclass(frozen=True)
class SourceChoice:
    """Which sources are replaced by embedded texts, and the files of custom languages."""

    embedded: frozenset[str] = frozenset()
    custom: Mapping[str, SourceFile] = field(default_factory=dict)


def choice_from_manifest(
    sources: Mapping[str, SourceEntry], custom: Mapping[str, SourceFile] | None = None
) -> SourceChoice:
    """Return the choice that a release was built with, given the sources in its manifest."""
    embedded = {name for name, entry in sources.items() if entry["variant"] == EMBEDDED}
    oneruler = named_sources(["oneruler"]).keys()
    if embedded & oneruler:  # embedded texts replace all of ONERULER's sources or none
        embedded |= oneruler
    return SourceChoice(frozenset(embedded & registry().keys()), custom or {})


@dataclass(frozen=True)
class Sources:
    """Reads sources from a store."""

    store: Store
    choice: SourceChoice = field(default_factory=SourceChoice)

    def file(self, name: str) -> SourceFile:
        """Return the file that is read for a source."""
        if name in self.choice.custom:
            return self.choice.custom[name]
        source = source_named(name)
        if name not in self.choice.embedded:
            return source.canonical
        if source.embedded is None:
            raise RulerError(
                f"This project has no embedded text for '{name}', only for the languages "
                f"{', '.join(embedded_languages())}. Build the others without --sources embedded."
            )
        return source.embedded

    def entry(self, name: str) -> SourceEntry:
        """Return the manifest's entry for the file of a source. Raises RulerError."""
        return source_entry(self.file(name))

    def quoted_name(self, name: str) -> str:
        """Return how an error names a source: by its file in a language folder, else by name."""
        return f"'{self.file(name).path if name in self.choice.custom else name}'"

    def has(self, name: str) -> bool:
        """Whether a source is on this machine; its digest is not checked. Raises RulerError."""
        file = self.file(name)
        return self._store_of(file).local(file.file) is not None

    def read(self, name: str) -> bytes:
        """Return the checked bytes of a source. Raises RulerError with the remedy."""
        file = self.file(name)
        try:
            return self._store_of(file).read(file.file)
        except RulerError as error:
            # The embedded text cannot replace a custom language's file or a damaged local file.
            if name not in registry() or self.has(name):
                raise
            which = ""
            if source_named(name).dataset == "oneruler":
                which = f" ({', '.join(embedded_languages())})"
            raise RulerError(
                f"{error} Or build from the project's own texts{which}: --sources embedded."
            ) from error

    def text(self, name: str) -> str:
        """Return the text of a source with line feeds at its line ends. Raises RulerError."""
        return self.read(name).decode("utf-8").replace("\r\n", "\n")

    def _store_of(self, file: SourceFile) -> Store:
        return Store(file.folder) if file.folder else self.store


def source_entry(file: SourceFile) -> SourceEntry:
    """Return the manifest's entry for the file of a source."""
    entry = SourceEntry(
        variant=file.variant,
        title=file.title,
        sha256=file.file.sha256,
        bytes=file.file.bytes,
        licence=file.licence,
        citation=file.citation,
        urls=file.file.origins,
    )
    if file.book:
        entry["book"] = file.book
    return entry
