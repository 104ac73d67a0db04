"""The registry of corpora (sources.toml) and the choice of a variant for each.

    sources = Sources(Store(mirror), choice={"squad": "rebuilt"})
    essays = sources.read("essays")          # checked bytes
    sources.used                             # what the manifest says of them

A variant stands in for the canonical file only where the caller names it (`squad=rebuilt`,
`embedded` for all) or allows any (`allow_variants`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from builder.fetch import Pinned, Store
from builder.toml import read_toml
from ruler_dataset import RulerError, check_name

CANONICAL = "canonical"
EMBEDDED = "embedded"


@dataclass(frozen=True)
class Variant:
    """One accepted form of a source."""

    name: str
    title: str
    licence: str
    file: Pinned

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


@cache
def registry() -> dict[str, Source]:
    """All sources of sources.toml, by name."""
    sources = {}
    for name, entry in read_toml(files("builder") / "sources.toml").items():
        variants = {CANONICAL: _variant(CANONICAL, entry)}
        for variant, fields in entry.get("variants", {}).items():
            variants[variant] = _variant(variant, fields)
        sources[name] = Source(name, entry["citation"], variants)
    return sources


def _variant(name: str, fields: Mapping[str, Any]) -> Variant:
    urls = tuple(fields.get("urls", ()))
    file = Pinned(fields["path"], fields["sha256"], fields["bytes"], urls)
    return Variant(name, fields["title"], fields["licence"], file)


def parse_choice(words: list[str]) -> dict[str, str]:
    """Read `--sources`: `embedded` for all, or `NAME=VARIANT` for each."""
    choice: dict[str, str] = {}
    for word in words:
        name, equals, variant = word.partition("=")
        if not equals:
            check_name("source variant", word, [CANONICAL, EMBEDDED], "ruler sources")
            choice |= dict.fromkeys(registry(), word)
        else:
            check_name("source", name, registry(), "ruler sources")
            check_name(f"variant of {name}", variant, registry()[name].variants, "ruler sources")
            choice[name] = variant
    return choice


@dataclass
class Sources:
    """Reads sources through a store; `used` collects what was read, for the manifest."""

    store: Store
    choice: Mapping[str, str] = field(default_factory=dict)
    allow_variants: bool = False
    used: dict[str, dict[str, Any]] = field(default_factory=dict)

    def variant(self, name: str) -> Variant:
        """The variant to read: the named one, the canonical one, or an allowed one that is here."""
        source = registry()[check_name("source", name, registry(), "ruler sources")]
        chosen = self.choice.get(name)
        if chosen is not None:
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
        return data

    def _other_ways(self, name: str) -> str:
        canonical, *others = registry()[name].variants.values()
        here = [v.name for v in others if not v.is_embedded and self.store.local(v.file)]
        if here and name not in self.choice and not self.store.local(canonical.file):
            return f" (Its variant '{here[0]}' is here: --allow-variants uses it.)"
        return " Or build from the project's own texts: --sources embedded."


def states(store: Store) -> list[dict[str, Any]]:
    """Each source with its state.

    `present`, `variant` (only another form is here), `damaged` (of another size) or `missing`.
    """
    rows = []
    for source in registry().values():
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
                "state": state if here else "missing",
                "variant": shown.name,
                "bytes": shown.file.bytes,
                "licence": shown.licence,
                "title": shown.title,
            }
        )
    return rows
