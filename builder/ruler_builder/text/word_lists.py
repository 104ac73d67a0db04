"""Word lists: wonderwords' nouns, adjectives and verbs, and more words for the longest lists.

The lists differ between versions of wonderwords, so they are pinned by digest. cwe above 128k needs
more words than wonderwords has: wordfreq's English list, most frequent first (the extra `long`).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.extras import missing

DIGESTS = {
    "nounlist.txt": "8d88b3ebc2e2969ed92ebe49cdb0c8a87c2ad3b27493d7afdff608f2e51c5bc9",
    "adjectivelist.txt": "66814d46b7e292c83e839d12fe2fa083c8f66779b14b294e1be4e1342c5d4131",
    "verblist.txt": "9fbf5e4e69b8869aebd88e6d545312ff9f878a747327ede5f6dbbba5c27b08ad",
}
"""sha256 of wonderwords 3.0.1's lists."""
EXTENSION_DIGEST = "5d58b1b75536518324788fdc60d766d6342b2680a2a00f1eb28fe1bc0398700e"
"""sha256 of wordfreq 3.1.1's words as `extension` gives them, joined by newlines."""


def _read(name: str) -> list[str]:
    """Return the single words of one of wonderwords' lists, each once whatever its case."""
    data = (files("wonderwords") / "assets" / name).read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != DIGESTS[name]:
        raise RulerError(
            f"wonderwords' {name}: expected sha256 {DIGESTS[name]}, found {digest}. "
            "Run: pip install wonderwords==3.0.1"
        )
    return _clean(data.decode("utf-8").split("\n"))


def _clean(lines: Iterable[str]) -> list[str]:
    """Return the lines that are one word, each once whatever its case: its last spelling."""
    words: dict[str, str] = {}
    for line in lines:
        word = line.strip()
        if word and " " not in word:
            words[word.casefold()] = word
    return list(words.values())


@cache
def vocabulary() -> list[str]:
    """List wonderwords' nouns, adjectives and verbs, each once, sorted: the words of cwe."""
    return sorted(_clean(chain.from_iterable(map(_read, DIGESTS))))


@cache
def maximal_places() -> np.ndarray:
    """Return the places in `vocabulary` of words that no other contains: none can be mistaken."""
    return places_alone(vocabulary())


def places_alone(words: Sequence[str]) -> np.ndarray:
    """Return the places of the words that are part of no other, whatever their case or width."""
    folded = []
    for word in words:
        folded.append(unicodedata.normalize("NFKC", word).casefold())
    times = Counter(folded)  # how often each is listed, and then also found in the words
    for word in folded:
        for end in range(1, len(word) + 1):
            for start in range(end):
                part = word[start:end]
                if part in times:
                    times[part] += 1
    return np.array([place for place, word in enumerate(folded) if times[word] == 2])


class WordParts:
    """A list of words, to be searched for those that have some text in them."""

    def __init__(self, words: Sequence[str]) -> None:
        self._joined = "\n" + "\n".join(words).casefold() + "\n"
        self._starts = np.cumsum([0, *(len(word) + 1 for word in words)])

    def holding(self, parts: Sequence[str]) -> np.ndarray:
        """Which of the words have one of the parts in them, as booleans."""
        holding = np.zeros(len(self._starts) - 1, dtype=bool)
        for part in map(str.casefold, parts):
            at = self._joined.find(part)
            while at >= 0:
                holding[np.searchsorted(self._starts, at, "left") - 1] = True
                at = self._joined.find(part, at + 1)
        return holding


@cache
def key_words() -> tuple[list[str], list[str]]:
    """Return adjectives and nouns for adjective-noun keys and values.

    Only words of letters that no other word contains: then no key is part of another.
    """
    words = vocabulary()
    safe = {words[place] for place in maximal_places() if words[place].isalpha()}
    adjectives = filter(safe.__contains__, _read("adjectivelist.txt"))
    nouns = filter(safe.__contains__, _read("nounlist.txt"))
    return list(adjectives), list(nouns)


@cache
def extension() -> list[str]:
    """List wordfreq's English words, from three letters, not in `vocabulary`, by frequency."""
    try:
        from wordfreq import top_n_list
    except ImportError:
        raise missing("long", "Above 128k common_words") from None
    listed = {word.casefold() for word in vocabulary()}
    ranked = top_n_list("en", 400_000)
    words = [word for word in ranked if re.fullmatch("[a-z]{3,}", word) and word not in listed]
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()
    if digest != EXTENSION_DIGEST:
        raise RulerError(
            f"wordfreq's words: expected sha256 {EXTENSION_DIGEST}, found {digest}. "
            "Run: pip install wordfreq==3.1.1"
        )
    return words


def digests(extended: bool = False) -> dict[str, str]:
    """Return the sha256 of each list that is used, for the manifest."""
    named = {f"wonderwords 3.0.1 {name}": digest for name, digest in DIGESTS.items()}
    if extended:
        named["wordfreq 3.1.1 (en)"] = EXTENSION_DIGEST
    return named
