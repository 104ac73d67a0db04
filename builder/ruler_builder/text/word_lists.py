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
    """Return wonderwords' nouns, adjectives and verbs, each once, sorted: the words of cwe."""
    words: list[str] = []
    for name in DIGESTS:
        words += _read(name)
    return sorted(_clean(words))


@cache
def maximal_places() -> np.ndarray:
    """Return the places in `vocabulary` of the words that are not part of another word."""
    return places_alone(vocabulary())


def places_alone(words: Sequence[str]) -> np.ndarray:
    """Return the places of words that are not part of another, whatever their case or width."""
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
    """Finds the words of a list that contain a text."""

    def __init__(self, words: Sequence[str]) -> None:
        self._joined = "\n" + "\n".join(words).casefold() + "\n"
        self._starts = np.cumsum([0, *(len(word) + 1 for word in words)])

    def holding(self, parts: Sequence[str]) -> np.ndarray:
        """Return for each word whether it contains one of the parts, whatever its case."""
        holding = np.zeros(len(self._starts) - 1, dtype=bool)
        for part in parts:
            folded = part.casefold()
            at = self._joined.find(folded)
            while at >= 0:
                holding[np.searchsorted(self._starts, at, "left") - 1] = True
                at = self._joined.find(folded, at + 1)
        return holding


@cache
def key_words() -> tuple[list[str], list[str]]:
    """Return adjectives and nouns for adjective-noun keys and values.

    Only words of letters that are not part of another word, so that no key is part of another.
    """
    words = vocabulary()
    safe = {words[place] for place in maximal_places() if words[place].isalpha()}
    adjectives = [word for word in _read("adjectivelist.txt") if word in safe]
    nouns = [word for word in _read("nounlist.txt") if word in safe]
    return adjectives, nouns


@cache
def extension() -> list[str]:
    """Return wordfreq's English words of three letters or more, without `vocabulary`'s."""
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
