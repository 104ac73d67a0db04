"""The languages of a release as scoring reads them: the 26, and the custom ones it brings along.

    languages = ReleaseLanguages.from_manifest(release.manifest)
    languages.rules("tr")                  # what the metric takes: "pl", or a custom one's rules
    languages.facts("tr").script            # "Latin"

`ruler build --language-folder` makes a release with a custom language; its manifest has the facts
of that language, and so has a results.json made with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.languages import LanguageFacts, custom_facts, custom_languages, language_facts
from ruler_common.manifest import Manifest
from ruler_common.names import LANGUAGES
from ruler_score.language_rules import LanguageRules
from ruler_score.language_text import Language, read_rules


@dataclass(frozen=True)
class ReleaseLanguages:
    """The languages that rows may be in; `custom` has the tables of facts of the custom ones."""

    custom: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> ReleaseLanguages:
        """Return those of a release."""
        return cls(custom_languages(manifest))

    @classmethod
    def joined(cls, tables: Iterable[Mapping[str, Mapping[str, Any]]]) -> ReleaseLanguages:
        """Return those of several results. Raises RulerError if two of one code differ."""
        joined: dict[str, Mapping[str, Any]] = {}
        for custom in tables:
            for code, table in custom.items():
                if joined.setdefault(code, table) != table:
                    raise RulerError(
                        f"The results have rows of two languages named '{code}', whose words "
                        "differ: name results of one release."
                    )
        return cls(joined)

    @cached_property
    def _custom_facts(self) -> dict[str, LanguageFacts]:
        return {
            code: custom_facts(table, f"the language {code}") for code, table in self.custom.items()
        }

    @cached_property
    def _custom_rules(self) -> dict[str, LanguageRules]:
        return {code: read_rules(table) for code, table in self.custom.items()}

    def __iter__(self) -> Iterator[str]:
        """Yield the codes, the 26 first."""
        return iter((*LANGUAGES, *self.custom))

    def rules(self, code: str) -> Language:
        """Return a language as the metric takes it: it has the rules of the 26 by their codes."""
        return self._custom_rules.get(code, code)

    def facts(self, code: str) -> LanguageFacts:
        """Return the facts of a language. Raises RulerError for an unknown one."""
        return self._custom_facts.get(code) or language_facts(code)
