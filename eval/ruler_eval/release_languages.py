"""The languages of a release as scoring reads them: the 26, and those that it brings along.

    spoken = Languages.of(release.manifest)
    spoken.rules("tr")                  # what the metric takes: "pl", or the rules of another
    spoken.facts("tr").function_words

`ruler build --language-folder` makes such a release; its manifest has the language's words, and so
has a results.json made with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.languages import LanguageFacts, facts, own_facts
from ruler_common.manifest_form import Manifest
from ruler_common.names import LANGUAGES
from ruler_score.language_rules import LanguageRules
from ruler_score.language_text import Language, read_rules


@dataclass(frozen=True)
class Languages:
    """The languages that are known; `own` has the tables of those that are none of the 26."""

    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: Manifest) -> Languages:
        """Those of a release."""
        entries = manifest.get("languages", {})
        return cls({code: entry["facts"] for code, entry in entries.items() if "facts" in entry})

    @classmethod
    def joined(cls, several: Iterable[Mapping[str, Mapping[str, Any]]]) -> Languages:
        """Those of several results; RulerError where a language is not the same in all."""
        found: dict[str, Mapping[str, Any]] = {}
        for own in several:
            for code, table in own.items():
                if found.setdefault(code, table) != table:
                    raise RulerError(
                        f"The results have rows of two languages named '{code}', whose words "
                        "differ: name results of one release."
                    )
        return cls(found)

    @cached_property
    def _known(self) -> dict[str, tuple[LanguageFacts, LanguageRules]]:
        return {
            code: (own_facts(table, f"the language {code}"), read_rules(table))
            for code, table in self.own.items()
        }

    def __iter__(self) -> Iterator[str]:
        """The codes, the 26 first."""
        return iter((*LANGUAGES, *self.own))

    def rules(self, code: str) -> Language:
        """A language as the metric takes it."""
        return self._known[code][1] if code in self.own else code

    def facts(self, code: str) -> LanguageFacts:
        """What is known of a language. Raises RulerError for an unknown one."""
        return self._known[code][0] if code in self.own else facts(code)
