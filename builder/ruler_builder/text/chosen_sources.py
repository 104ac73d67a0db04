"""What a release reads of the registry: the published files, or what stands in for them.

    sources = Sources(Store(mirror), parse_choice(["squad=embedded"]))
    essays = sources.read("essays")          # checked bytes
    sources.read("book-pl")                  # ONERULER's: niah-, cwe-, book-, words-<language>
    sources.used                             # their entries in the manifest

The project's own texts stand in for a source only where the caller names it (`squad=embedded`, or
`embedded` for all). Those for ONERULER are never mixed with the published files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from ruler_builder.text.download import Store
from ruler_builder.text.registry import (
    CANONICAL,
    EMBEDDED,
    SEE,
    SourceFile,
    embedded_languages,
    registry,
)
from ruler_common.errors import RulerError
from ruler_common.manifest_form import SourceEntry, Variant
from ruler_common.names import check_name


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
        known = cast(Variant, check_name("kind of source", variant, (CANONICAL, EMBEDDED), SEE))
        names = [check_name("source", name, registry(), SEE)] if equals else list(registry())
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
        source = registry()[check_name("source", name, registry(), SEE)]
        if self.choice.variants.get(name, CANONICAL) == CANONICAL:
            return source.canonical
        if source.embedded is None:
            raise RulerError(
                f"The project has no text of its own for '{name}': its languages are "
                f"{', '.join(embedded_languages())}; for others do without --sources embedded."
            )
        return source.embedded

    def file_in_words(self, name: str) -> str:
        """Return what an error calls a source: its file in a language's folder, else its name."""
        return f"'{self.file(name).path if name in self.choice.given else name}'"

    def read(self, name: str) -> bytes:
        """The checked bytes of a source. Raises RulerError with the remedy."""
        chosen = self.file(name)
        try:
            data = chosen.read(self.store)
        except RulerError as error:
            raise RulerError(f"{error}{_other_way(name)}") from error
        self.used[name] = entry_of(chosen)
        return data


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
    if name not in registry():
        return ""
    own = embedded_languages() if registry()[name].dataset == "oneruler" else []
    which = f" ({', '.join(own)})" if own else ""
    return f" Or build from the project's own texts{which}: --sources embedded."
