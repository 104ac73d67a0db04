"""The registry of corpora (sources.toml) and the choice of a variant for each.

    sources = Sources(Store(mirror), choice={"squad": "rebuilt"})
    essays = sources.read("essays")          # checked bytes
    sources.read("book-pl")                  # ONERULER's: niah-, cwe-, book-, words-<language>
    sources.used                             # what the manifest says of them

A variant stands in for the canonical file only where the caller names it (`squad=rebuilt`,
`embedded` for all) or allows any (`allow_variants`). The project's own stand-ins for ONERULER are
never mixed with the published files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from builder.common.toml import read_toml
from builder.sources.download import Pinned, Store
from ruler_dataset import RulerError, check_name

CANONICAL = "canonical"
EMBEDDED = "embedded"
NOUNS = "oneruler-nouns"
_SEE = "ruler sources"


@dataclass(frozen=True)
class Book:
    """A book, its rights as far as they are known, and whether it may not be free everywhere."""

    title: str
    author: str
    died: int | None
    """Year of the author's death."""
    published: str
    """Years of the first publication."""
    status: str
    restricted: bool
    editor: str = ""


@dataclass(frozen=True)
class Variant:
    """One accepted form of a source."""

    name: str
    title: str
    licence: str
    file: Pinned
    book: Book | None = None

    @property
    def is_embedded(self) -> bool:
        """Whether the project ships it."""
        return self.name == EMBEDDED

    def read(self, store: Store) -> bytes:
        """The checked bytes. Raises RulerError where they are missing or differ."""
        if self.is_embedded:
            store = Store(Path(str(files("builder") / "embedded")))
        return store.read(self.file)


@dataclass(frozen=True)
class Source:
    """A corpus: its citation and its variants, the canonical one first."""

    name: str
    citation: str
    variants: dict[str, Variant]
    dataset: str = "ruler"
    language: str = ""
    """Of an ONERULER source, empty for the nouns; empty in ruler."""


@cache
def registry() -> dict[str, Source]:
    """All sources of sources.toml, by name: ruler's, then ONERULER's."""
    tables = read_toml(files("builder.sources") / "sources.toml")
    oneruler = tables.pop("oneruler")
    sources = {}
    for name, entry in tables.items():
        variants = {CANONICAL: _variant(CANONICAL, entry)}
        for variant, fields in entry.get("variants", {}).items():
            variants[variant] = _variant(variant, fields)
        sources[name] = Source(name, entry["citation"], variants)
    return sources | {source.name: source for source in _oneruler(oneruler)}


def _variant(name: str, fields: Mapping[str, Any]) -> Variant:
    urls = tuple(fields.get("urls", ()))
    file = Pinned(fields["path"], fields["sha256"], fields["bytes"], urls)
    return Variant(name, fields["title"], fields["licence"], file)


def _oneruler(table: Mapping[str, Any]) -> Iterator[Source]:
    """ONERULER's sources: where each lies below `base`, in a mirror, and the project's stand-in."""
    own = table["embedded"]

    def source(name: str, code: str, path: str, title: str, pin: Any, stand_in: Any) -> Source:
        book = _book(pin) if name.startswith("book-") else None
        licence = table.get(f"licence_of_{name.split('-')[0]}", table["licence"])
        url = f"{table['base']}/{quote(path)}"
        file = Pinned(f"oneruler/{path}", pin["sha256"], pin["bytes"], (url,))
        variants = {CANONICAL: Variant(CANONICAL, title, licence, file, book)}
        if stand_in:
            file = Pinned(stand_in["path"], stand_in["sha256"], stand_in["bytes"])
            variants[EMBEDDED] = Variant(EMBEDDED, own["title"], own["licence"], file)
        return Source(name, table["citation"], variants, "oneruler", code)

    nouns = table["nouns"]
    yield source(NOUNS, "", nouns["path"], "Nouns in 26 languages", nouns, own.get("nouns"))
    for code, entry in table["languages"].items():
        name, book = entry["name"], entry["book"]
        published = {
            "niah": (f"prompt/{code}/niah.txt", f"Prompt of niah in {name}"),
            "cwe": (f"prompt/{code}/cwe.txt", f"Prompt of cwe in {name}"),
            "book": (f"books/{code}/{book['file']}", f"{book['author']}: {book['title']}"),
            "words": (f"vocab/dictionaries/{name}/{name}.csv", f"Words in {name}"),
        }
        for kind, (path, title) in published.items():
            if kind in entry:
                stand_in = own.get(code, {}).get(kind)
                yield source(f"{kind}-{code}", code, path, title, entry[kind], stand_in)


def _book(fields: Mapping[str, Any]) -> Book:
    return Book(**{key: fields[key] for key in Book.__dataclass_fields__ if key in fields})


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
    books = [(s.language, s.variants[CANONICAL].book) for s in registry().values()]
    return {code: book.status for code, book in books if book and book.restricted}


def parse_choice(words: list[str]) -> dict[str, str]:
    """Read `--sources`: `embedded` for all, or `NAME=VARIANT` for each."""
    choice: dict[str, str] = {}
    for word in words:
        name, equals, variant = word.partition("=")
        if not equals:
            check_name("source variant", word, [CANONICAL, EMBEDDED], _SEE)
            choice |= dict.fromkeys(registry(), word)
        else:
            check_name("source", name, registry(), _SEE)
            check_name(f"variant of {name}", variant, registry()[name].variants, _SEE)
            choice[name] = variant
    return choice


@dataclass
class Sources:
    """Reads sources through a store; `used` collects what was read, for the manifest."""

    store: Store
    choice: Mapping[str, str] = field(default_factory=dict)
    allow_variants: bool = False
    used: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse ONERULER's stand-ins beside the published files."""
        names = [name for name, source in registry().items() if source.dataset == "oneruler"]
        if len({self.choice.get(name) == EMBEDDED for name in names}) > 1:
            raise RulerError(
                "The project's own texts do not stand beside ONERULER's published files: choose "
                "--sources embedded for all of them, or for none."
            )

    def variant(self, name: str) -> Variant:
        """The variant to read: the named one, the canonical one, or an allowed one that is here."""
        source = registry()[check_name("source", name, registry(), _SEE)]
        chosen = self.choice.get(name)
        if chosen is not None:
            if chosen not in source.variants:
                raise RulerError(
                    f"The project has no text of its own for '{name}': its languages are "
                    f"{', '.join(embedded_languages())}; for others do without --sources embedded."
                )
            return source.variants[chosen]
        canonical = source.variants[CANONICAL]
        if self.store.local(canonical.file) is None:
            stand_ins = [
                variant
                for variant in source.variants.values()
                if not variant.is_embedded and self.store.local(variant.file)
            ]
            if stand_ins and self.allow_variants:
                return stand_ins[0]
        return canonical

    def read(self, name: str) -> bytes:
        """The checked bytes of a source. Raises RulerError with the remedy."""
        variant = self.variant(name)
        try:
            data = variant.read(self.store)
        except RulerError as error:
            raise RulerError(f"{error}{self._other_ways(name)}") from error
        self.used[name] = {
            "variant": variant.name,
            "title": variant.title,
            "sha256": variant.file.sha256,
            "bytes": variant.file.bytes,
            "licence": variant.licence,
            "citation": registry()[name].citation,
            "urls": list(variant.file.urls),
        }
        if variant.book:
            self.used[name]["book"] = asdict(variant.book)
        return data

    def _other_ways(self, name: str) -> str:
        canonical, *others = registry()[name].variants.values()
        here = [v.name for v in others if not v.is_embedded and self.store.local(v.file)]
        if here and name not in self.choice and not self.store.local(canonical.file):
            return f" (Its variant '{here[0]}' is here: --allow-variants uses it.)"
        own = embedded_languages() if registry()[name].dataset == "oneruler" else []
        which = f" ({', '.join(own)})" if own else ""
        return f" Or build from the project's own texts{which}: --sources embedded."


def embedded_languages() -> list[str]:
    """The languages of ONERULER that the project has texts of its own for."""
    return [
        source.language
        for name, source in registry().items()
        if name.startswith("niah-") and EMBEDDED in source.variants
    ]


def states(store: Store, dataset: str = "ruler") -> list[dict[str, Any]]:
    """Each source of a dataset with its state.

    `present`, `variant` (only another form is here), `damaged` (of another size) or `missing`.
    """
    rows, perhaps_not_free = [], restricted()
    for source in named_sources([dataset]).values():
        here = [
            variant
            for variant in source.variants.values()
            if not variant.is_embedded and store.local(variant.file)
        ]
        shown = here[0] if here else source.variants[CANONICAL]
        path = store.local(shown.file)
        state = "present" if shown.name == CANONICAL else "variant"
        if path is not None and path.stat().st_size != shown.file.bytes:
            state = "damaged"
        rows.append(
            {
                "source": source.name,
                "language": source.language,
                "restricted": source.language in perhaps_not_free,
                "state": state if here else "missing",
                "variant": shown.name,
                "bytes": shown.file.bytes,
                "licence": shown.licence,
                "title": shown.title,
            }
        )
    return rows
