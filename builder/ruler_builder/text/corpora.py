"""The corpora and word lists of RULER.

The corpora are essays (text or {"text": …}), SQuAD 2.0 and HotpotQA JSON. Questions keep the order
of their file: published predictions on them stay comparable.

The words are wonderwords' nouns, adjectives and verbs. The lists differ between versions, so they
are pinned by digest. cwe above 128k needs more words: wordfreq's English list, most frequent first
(the extra `long`).
"""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ruler_common.errors import RulerError, missing_packages

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
"""The noise sentences (section 3.1, footnote 3), one line."""


@dataclass(frozen=True)
class Question:
    """A question, its accepted answers, and its documents by their numbers in the corpus."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]  # documents that hold the answer
    related: tuple[int, ...]  # documents that fill the context before any other


@dataclass(frozen=True)
class Corpus:
    """Distinct documents, and the questions about them."""

    documents: list[str]
    questions: list[Question]
    related_required: bool  # whether a question's related documents are all in its context


_BETWEEN_ENTRIES = re.compile(r"[\s,\]]*")  # of a JSON list, and after the last one
_MAX_KEPT = 4
# The corpora that were read last, by name and digest of the file.
_kept: dict[tuple[str, bytes], Corpus] = {}


def essays(data: bytes) -> str:
    """Return the text of an essay corpus."""
    text = data.decode("utf-8")
    return str(json.loads(text)["text"]) if text.startswith("{") else text


def questions(name: str, data: bytes) -> Corpus:
    """Return the corpus of a question-answering source, one of READERS.

    The last ones are kept, since HotpotQA takes a second to read: do not change them.
    """
    key = name, sha256(data).digest()
    if key not in _kept:
        if len(_kept) == _MAX_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = READERS[name](data)
    return _kept[key]


def _squad(data: bytes) -> Corpus:
    """Read the answerable questions; documents are paragraphs, related to those of the article."""
    parts = json.loads(data)["data"]
    articles = [[paragraph["context"] for paragraph in part["paragraphs"]] for part in parts]
    every = dict.fromkeys(text for article in articles for text in article)
    index = {text: place for place, text in enumerate(every)}
    asked = []
    for part, article in zip(parts, articles, strict=True):
        for paragraph in part["paragraphs"]:
            gold = index[paragraph["context"]]
            others = (index[text] for text in article if index[text] != gold)
            related = tuple(dict.fromkeys(others))
            for qa in paragraph["qas"]:
                answers = tuple(dict.fromkeys(answer["text"] for answer in qa["answers"]))
                if answers and not qa["is_impossible"]:
                    asked.append(Question(qa["question"], answers, (gold,), related))
    return Corpus(list(index), asked, related_required=False)


def _hotpotqa(data: bytes) -> Corpus:
    """Read HotpotQA: a document is a title, a newline and its sentences."""
    index: dict[str, int] = {}
    asked = []
    for entry in _entries(data.decode("utf-8")):
        texts = {title: f"{title}\n{''.join(sentences)}" for title, sentences in entry["context"]}
        places = {title: index.setdefault(text, len(index)) for title, text in texts.items()}
        gold = tuple(dict.fromkeys(places[title] for title, _ in entry["supporting_facts"]))
        related = tuple(i for i in dict.fromkeys(places.values()) if i not in gold)
        asked.append(Question(entry["question"], (entry["answer"],), gold, related))
    return Corpus(list(index), asked, related_required=True)


def _entries(text: str) -> Iterator[Any]:
    """Yield the entries of a JSON list one by one; all of HotpotQA's would take 150 MB more."""
    decoder, start = json.JSONDecoder(), _BETWEEN_ENTRIES.match(text, text.index("[") + 1)
    while start and start.end() < len(text):
        entry, end = decoder.raw_decode(text, start.end())
        yield entry
        start = _BETWEEN_ENTRIES.match(text, end)


READERS: dict[str, Callable[[bytes], Corpus]] = {"squad": _squad, "hotpotqa": _hotpotqa}
"""For each question-answering source, the function that reads its file."""

# ---- Word lists ----------------------------------------------------------------------------------

DIGESTS = {
    "nounlist.txt": "8d88b3ebc2e2969ed92ebe49cdb0c8a87c2ad3b27493d7afdff608f2e51c5bc9",
    "adjectivelist.txt": "66814d46b7e292c83e839d12fe2fa083c8f66779b14b294e1be4e1342c5d4131",
    "verblist.txt": "9fbf5e4e69b8869aebd88e6d545312ff9f878a747327ede5f6dbbba5c27b08ad",
}
"""sha256 of wonderwords 3.0.1's lists."""
EXTENSION_DIGEST = "5d58b1b75536518324788fdc60d766d6342b2680a2a00f1eb28fe1bc0398700e"
"""sha256 of wordfreq 3.1.1's words as `extension` gives them, joined by newlines."""
_WORDFREQ_FILE = "data/large_en.msgpack.gz"
_WORDFREQ_DIGEST = "dffae8066b78dce0a6667cf5f58e567054f902674667090a7ac8a8a44628b05c"


def _packaged(package: str, path: str, digest: str, version: str) -> bytes:
    """Return a file of an installed package, which is not imported: only the file is used.

    Raises RulerError if the package does not have it with this digest; `version` does.
    """
    remedy = f"Run: pip install {package}=={version}"
    spec = find_spec(package)
    folders = (spec and spec.submodule_search_locations) or []
    found = [Path(folder) / path for folder in folders if (Path(folder) / path).is_file()]
    if not found:
        raise RulerError(f"{package}'s {Path(path).name} is not installed. {remedy}")
    data = found[0].read_bytes()
    if (sha := sha256(data).hexdigest()) != digest:
        raise RulerError(
            f"{package}'s {found[0].name}: expected sha256 {digest}, found {sha}. {remedy}"
        )
    return data


def _read(names: Iterable[str]) -> list[str]:
    """Return the single words of wonderwords' lists, each once whatever its case.

    Of several spellings the last one is kept.
    """
    words: dict[str, str] = {}
    for name in names:
        data = _packaged("wonderwords", f"assets/{name}", DIGESTS[name], "3.0.1")
        for line in data.decode("utf-8").split("\n"):
            word = line.strip()
            if word and " " not in word:
                words[word.casefold()] = word
    return list(words.values())


@cache
def vocabulary() -> list[str]:
    """Return wonderwords' nouns, adjectives and verbs, each once, sorted: the words of cwe."""
    return sorted(_read(DIGESTS))


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


def words_with(words: Sequence[str], parts: Sequence[str]) -> np.ndarray:
    """Return for each word whether it contains one of the parts, whatever its case."""
    joined = "\n" + "\n".join(words).casefold() + "\n"
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])
    containing = np.zeros(len(words), dtype=bool)
    for part in parts:
        folded = part.casefold()
        at = joined.find(folded)
        while at >= 0:
            containing[np.searchsorted(starts, at, "left") - 1] = True
            at = joined.find(folded, at + 1)
    return containing


@cache
def key_words() -> tuple[list[str], list[str]]:
    """Return adjectives and nouns for adjective-noun keys and values.

    Only words of letters that are not part of another word, so that no key is part of another.
    """
    words = vocabulary()
    safe = set()
    for place in maximal_places():
        if words[place].isalpha():
            safe.add(words[place])
    adjectives = [word for word in _read(["adjectivelist.txt"]) if word in safe]
    nouns = [word for word in _read(["nounlist.txt"]) if word in safe]
    return adjectives, nouns


@cache
def extension() -> list[str]:
    """Return wordfreq's English words of three letters or more, without `vocabulary`'s."""
    if not (find_spec("msgpack") and find_spec("wordfreq")):
        raise missing_packages("long", "Above 128k common_words")
    import msgpack

    packed = _packaged("wordfreq", _WORDFREQ_FILE, _WORDFREQ_DIGEST, "3.1.1")
    listed = {word.casefold() for word in vocabulary()}
    words = []
    # A header, then the words of each frequency, the most frequent first
    for ranked in msgpack.unpackb(gzip.decompress(packed))[1:]:
        for word in ranked:
            if re.fullmatch("[a-z]{3,}", word) and word not in listed:
                words.append(word)
    return words


def digests(extended: bool = False) -> dict[str, str]:
    """Return the sha256 of each list that is used, for the manifest."""
    named = {}
    for name, digest in DIGESTS.items():
        named[f"wonderwords 3.0.1 {name}"] = digest
    if extended:
        named["wordfreq 3.1.1 (en)"] = EXTENSION_DIGEST
    return named
