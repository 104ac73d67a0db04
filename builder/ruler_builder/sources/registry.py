"""The registry of corpora, and what a release reads of it.

    sources = Sources(Store(mirror), parse_choice(["squad=embedded"]))
    essays = sources.read("essays")          # checked bytes
    sources.read("book-pl")                  # ONERULER's: niah-, cwe-, book-, words-<language>
    sources.used                             # their entries in the manifest

sources.toml has the corpora; of a language its own file does, ruler_common/languages/pl.toml.
The project's own texts stand in for a source only where the caller names it (`squad=embedded`, or
`embedded` for all). Those for ONERULER are never mixed with the published files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast
from urllib.parse import quote

from typing_extensions import TypedDict

from ruler_builder.sources.download import Pinned, Store
from ruler_builder.sources.package_wheels import WheelMember
from ruler_common.errors import RulerError
from ruler_common.languages import language_table
from ruler_common.manifest_form import BookRights, SourceEntry, Variant
from ruler_common.names import CODE, LANGUAGES, check_name
from ruler_common.parsing import read_toml

CANONICAL: Variant = "canonical"
EMBEDDED: Variant = "embedded"
GIVEN: Variant = "given"
State = Literal["present", "damaged", "missing"]  # in mirror or cache; of another size: damaged
NOUNS = "oneruler-nouns"
_SEE = "ruler sources"


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


class SourceState(TypedDict):
    """A row of `ruler sources`."""

    source: str
    language: str
    restricted: bool  # whether the language's book may not be free everywhere
    state: State
    bytes: int
    licence: str
    title: str


def prompts_of(code: str) -> tuple[str, ...]:
    """The sources of a language's prompts and nouns in ONERULER.

    One that is none of the 26 describes itself, and says which noun stands for which of the list.
    """
    own = () if code in LANGUAGES else (f"language-{code}", f"nouns-{code}")
    return f"niah-{code}", f"cwe-{code}", NOUNS, *own


@cache
def registry() -> dict[str, Source]:
    """All sources of sources.toml, by name: ruler's, then ONERULER's."""
    tables = read_toml(files("ruler_builder.sources") / "sources.toml")
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
        chosen |= group or {check_name("source", word, registry(), _SEE): registry()[word]}
    return chosen


def restricted() -> dict[str, str]:
    """The languages whose book may not be free everywhere: code -> what is known of its rights."""
    books = [(source.language, source.canonical.book) for source in registry().values()]
    return {code: book["status"] for code, book in books if book and book["restricted"]}


@dataclass(frozen=True)
class SourceChoice:
    """Which sources the project's own texts stand in for; and the files of languages' folders."""

    variants: Mapping[str, Variant] = field(default_factory=dict)
    given: Mapping[str, SourceFile] = field(default_factory=dict)


def parse_choice(
    words: Iterable[str], given: Mapping[str, SourceFile] | None = None
) -> SourceChoice:
    """Read `--sources`: `embedded` for all, or `NAME=embedded` for each."""
    choice: dict[str, Variant] = {}
    for word in words:
        name, equals, variant = word.rpartition("=")
        known = cast(Variant, check_name("kind of source", variant, (CANONICAL, EMBEDDED), _SEE))
        names = [check_name("source", name, registry(), _SEE)] if equals else list(registry())
        choice |= dict.fromkeys(names, known)
    return SourceChoice(choice, given or {})


def choice_in(
    sources: Mapping[str, SourceEntry], given: Mapping[str, SourceFile] | None = None
) -> SourceChoice:
    """The choice with which a release was built that lists these sources in its manifest.

    `given` are the files of the languages' folders that are here.
    """
    own = {name for name, entry in sources.items() if entry["variant"] == EMBEDDED}
    others = {name for name, source in registry().items() if source.dataset == "oneruler"}
    if own & others:  # the project's own texts stand in for all of them, or for none
        own |= others
    return SourceChoice(dict.fromkeys(own & registry().keys(), EMBEDDED), given or {})


@dataclass
class Sources:
    """Reads sources through a store; `used` collects what was read, for the manifest."""

    store: Store
    choice: SourceChoice = field(default_factory=SourceChoice)
    used: dict[str, SourceEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse ONERULER's stand-ins beside the published files."""
        names = [name for name, source in registry().items() if source.dataset == "oneruler"]
        if len({self.choice.variants.get(name) == EMBEDDED for name in names}) > 1:
            raise RulerError(
                "The project's own texts do not stand beside ONERULER's published files: choose "
                "--sources embedded for all of them, or for none."
            )

    def file(self, name: str) -> SourceFile:
        """The file that stands for a source: the canonical one, or the project's own text."""
        if name in self.choice.given:
            return self.choice.given[name]
        if is_given(name):
            raise RulerError(
                f"Unknown language '{name.rpartition('-')[2]}': it is none of the 26, and no "
                "--language-folder describes it."
            )
        source = registry()[check_name("source", name, registry(), _SEE)]
        if self.choice.variants.get(name, CANONICAL) == CANONICAL:
            return source.canonical
        if source.embedded is None:
            raise RulerError(
                f"The project has no text of its own for '{name}': its languages are "
                f"{', '.join(embedded_languages())}; for others do without --sources embedded."
            )
        return source.embedded

    def read(self, name: str) -> bytes:
        """The checked bytes of a source. Raises RulerError with the remedy."""
        chosen = self.file(name)
        try:
            data = chosen.read(self.store)
        except RulerError as error:
            raise RulerError(f"{error}{_other_way(name)}") from error
        self.used[name] = entry_of(chosen)
        return data


def is_given(name: str) -> bool:
    """Whether a source is of a language that is none of the 26."""
    code = name.rpartition("-")[2]
    return bool(re.fullmatch(f"(?:language|niah|cwe|book|words|nouns)-{CODE}", name)) and (
        code not in LANGUAGES
    )


def entry_of(chosen: SourceFile) -> SourceEntry:
    """What a manifest says of a source's file."""
    entry = SourceEntry(
        variant=chosen.variant,
        title=chosen.title,
        sha256=chosen.file.sha256,
        bytes=chosen.file.bytes,
        licence=chosen.licence,
        citation=chosen.citation,
        urls=chosen.file.origins,
    )
    if chosen.book:
        entry["book"] = chosen.book
    return entry


def _other_way(name: str) -> str:
    if is_given(name):
        return ""
    own = embedded_languages() if registry()[name].dataset == "oneruler" else []
    which = f" ({', '.join(own)})" if own else ""
    return f" Or build from the project's own texts{which}: --sources embedded."


def embedded_languages() -> list[str]:
    """The languages of ONERULER that the project has texts of its own for."""
    return [
        source.language
        for name, source in registry().items()
        if name.startswith("niah-") and source.embedded
    ]


def states(store: Store, dataset: str = "ruler") -> list[SourceState]:
    """Each source of a dataset with its state in the mirror or the cache."""
    perhaps_not_free = restricted()
    return [
        SourceState(
            source=source.name,
            language=source.language,
            restricted=source.language in perhaps_not_free,
            state=_state(store, source.canonical.file),
            bytes=source.canonical.file.bytes,
            licence=source.canonical.licence,
            title=source.canonical.title,
        )
        for source in named_sources([dataset]).values()
    ]


def _state(store: Store, file: Pinned) -> State:
    path = store.local(file)
    if path is None:
        return "missing"
    return "present" if path.stat().st_size == file.bytes else "damaged"
