"""The sources of a release, where they are here: embedded, in the mirror or in the cache.

    sources = SourcesAtHand(manifest, mirror)
    sources.essays()             # the essays' words joined by single spaces, or None
    sources.corpus("squad")      # questions, references and documents, or None

Nothing is downloaded. What is not here is noted in `missing`, so that verify can say what it did
not check against its source.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from ruler_builder.oneruler import languages
from ruler_builder.sources import corpora, word_lists
from ruler_builder.sources.chosen_sources import Sources, choice_in, entry_of
from ruler_builder.sources.download import Store
from ruler_builder.sources.registry import SourceFile, prompts_of, registry
from ruler_builder.sources.sentences import sentence_starts
from ruler_common.errors import RulerError
from ruler_common.manifest_form import LanguageEntry, Manifest, SourceEntry


class RunningText(NamedTuple):
    """A text that haystacks begin again when it runs out.

    `text` ends with its separator; in one pass of it a needle may stand before the offsets `starts`
    (or at the end), and a unit, a word or sentence, begins at the offsets `units`, ascending. Of a
    book, `paragraphs` are the offsets at which its lines begin.
    """

    text: str
    separator: str
    starts: frozenset[int]
    units: tuple[int, ...]
    paragraphs: frozenset[int] = frozenset()

    def begins(self, haystack: str) -> bool:
        """Whether a haystack is this text from its beginning."""
        whole, left = divmod(len(haystack), len(self.text))
        return haystack == self.text * whole + self.text[:left]

    def may_start(self, offset: int) -> bool:
        """Whether a needle may stand before this offset of a haystack."""
        return offset % len(self.text) in self.starts

    def begins_paragraph(self, offset: int) -> bool:
        """Whether a paragraph of the book begins at this offset of a haystack."""
        return offset % len(self.text) in self.paragraphs

    def may_end(self, length: int) -> bool:
        """Whether a haystack of so many characters ends at a whole unit."""
        at = (length + len(self.separator)) % len(self.text)
        return at == self.units[bisect_left(self.units, at) % len(self.units)]

    def repeats(self, length: int) -> int:
        """How many times the text begins again within a haystack of so many characters."""
        return max(0, length + len(self.separator) - 1) // len(self.text)

    def next_unit(self, length: int) -> str:
        """The word or sentence after a haystack of so many characters, without separator."""
        at = (length + len(self.separator)) % len(self.text)
        place = bisect_right(self.units, at)
        end = self.units[place] if place < len(self.units) else len(self.text)
        return self.text[at:end].removesuffix(self.separator)


class SourcesAtHand:
    """Reads the sources that the manifest names, in the variant it names, if they are here."""

    def __init__(
        self,
        manifest: Manifest,
        mirror: str | None,
        given: Mapping[str, SourceFile] | None = None,
    ) -> None:
        """`given` are the sources in the folders of languages that are none of the 26."""
        self.missing: set[str] = set()
        self._store = Store(mirror)
        self._sources = Sources(self._store, choice_in(manifest["sources"], given))
        self._books: dict[str, tuple[RunningText, bool]] = {}  # with whether it is whole
        self.essays = cache(self._essays)
        self.corpus = cache(self._corpus)
        self.words = cache(self._words)
        self.language = cache(self._language)

    def have(self, *names: str) -> bool:
        """Whether these sources can be read without a network; else they are noted."""
        for name in names:
            try:
                here = self._sources.file(name).is_here(self._store)
                if here:
                    self._sources.read(name)
            except RulerError:
                here = False
            if not here:
                self.missing.add(name)
                return False
        return True

    def _essays(self) -> RunningText | None:
        """The essays: needles stand before a sentence, the text ends with a whole word."""
        if not self.have("essays"):
            return None
        words = corpora.essays(self._sources.read("essays")).split()
        text = " ".join(words) + " "
        units = tuple(accumulate((len(word) + 1 for word in words[:-1]), initial=0))
        words_at = frozenset(units)
        found = (at + (text[at] == " ") for at in sentence_starts(text, "en"))
        starts = frozenset(at for at in found if at in words_at)
        return RunningText(text, " ", starts, units)

    def book(self, code: str, length: int) -> RunningText | None:
        """The beginning of a language's book, at least `length` characters of it or the whole."""
        known, whole = self._books.get(code, (None, False))
        if whole or (known is not None and len(known.text) > length):
            return known
        if not self.have(f"book-{code}", *prompts_of(code)):
            return None
        separator = languages.facts_of(code, self._sources).sentences.separator
        sentences: list[str] = []
        total = 0
        for sentence in languages.sentences(code, self._sources):
            if total > length:
                break
            sentences.append(sentence)
            total += len(sentence) + len(separator)
        else:
            whole = True
        text = separator.join(sentences) + separator
        units = tuple(accumulate((len(s) + len(separator) for s in sentences[:-1]), initial=0))
        lines = [" ".join(line.split()) for line in languages.book(code, self._sources).split("\n")]
        sizes = (len(line) + len(separator) for line in lines if line)
        paragraphs = frozenset(accumulate(sizes, initial=0))
        book = RunningText(text, separator, frozenset(units), units, paragraphs)
        self._books[code] = book, whole
        return book

    def _corpus(self, name: str) -> corpora.Corpus | None:
        """The questions and documents of `squad` or `hotpotqa`."""
        return corpora.questions(name, self._sources.read(name)) if self.have(name) else None

    def _words(self, code: str) -> frozenset[str] | None:
        """The words of a language's dictionary in cwe; English has wonderwords' own."""
        if code != "en" and not self.have(f"words-{code}"):
            return None
        return frozenset(languages.dictionary(code, self._sources))

    def _language(self, code: str) -> LanguageEntry | None:
        """The published prompts and nouns of a language, its errata applied."""
        if not self.have(*prompts_of(code)):
            return None
        return languages.language(code, self._sources)

    def entry(self, name: str) -> SourceEntry | None:
        """What the manifest says of a source; None for one whose language's folder is not here."""
        try:
            return entry_of(self._sources.file(name))
        except RulerError:  # of no such folder, or of no such text of the project's own
            return entry_of(registry()[name].canonical) if name in registry() else None


@cache
def vocabulary(extended: bool) -> frozenset[str]:
    """The words of RULER's cwe; `extended` with those of lists above 128k."""
    return frozenset(word_lists.vocabulary() + (word_lists.extension() if extended else []))


@cache
def key_words() -> tuple[frozenset[str], frozenset[str]]:
    """The adjectives and nouns that keys and values are made of."""
    adjectives, nouns = word_lists.key_words()
    return frozenset(adjectives), frozenset(nouns)
