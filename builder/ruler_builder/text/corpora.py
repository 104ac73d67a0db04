"""Read the corpora: essays (text or {"text": …}), SQuAD 2.0 and HotpotQA JSON.

Questions keep the order of their file: published predictions on them stay comparable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ruler_common.errors import RulerError

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
"""The noise sentences (section 3.1, footnote 3), one line."""


@dataclass(frozen=True)
class Question:
    """A question, its accepted answers, and its documents by their numbers in the corpus."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]  # documents that hold the answer
    own: tuple[int, ...]  # documents that fill the context before any other


@dataclass(frozen=True)
class Corpus:
    """Distinct documents, and the questions about them."""

    documents: list[str]
    questions: list[Question]
    own_required: bool  # whether a question's own documents are all in its context (HotpotQA)


_BETWEEN_ENTRIES = re.compile(r"[\s,\]]*")  # of a JSON list, and after the last one
_MAX_KEPT = 4
# The corpora that were read last, by name and digest of the file.
_kept: dict[tuple[str, bytes], Corpus] = {}


def essays(data: bytes) -> str:
    """Return the text of an essay corpus."""
    text = data.decode("utf-8")
    return str(json.loads(text)["text"]) if text.startswith("{") else text


def questions(name: str, data: bytes) -> Corpus:
    """Return the corpus of a question-answering source, `squad` or `hotpotqa`.

    The last ones are kept, since HotpotQA takes a second to read: do not change them.
    """
    readers: dict[str, Callable[[bytes], Corpus]] = {"squad": _squad, "hotpotqa": _hotpotqa}
    if name not in readers:
        raise RulerError(
            f"Unknown question-answering dataset '{name}'. Known: {', '.join(readers)}."
        )
    key = name, sha256(data).digest()
    if key not in _kept:
        if len(_kept) == _MAX_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = readers[name](data)
    return _kept[key]


def _squad(data: bytes) -> Corpus:
    """Read the answerable questions; a document is a paragraph, `own` are those of its article."""
    parts = json.loads(data)["data"]
    articles = [[paragraph["context"] for paragraph in part["paragraphs"]] for part in parts]
    every = dict.fromkeys(text for article in articles for text in article)
    index = {text: place for place, text in enumerate(every)}
    asked = []
    for part, article in zip(parts, articles, strict=True):
        for paragraph in part["paragraphs"]:
            gold = index[paragraph["context"]]
            own = tuple(dict.fromkeys(index[text] for text in article if index[text] != gold))
            for qa in paragraph["qas"]:
                answers = tuple(dict.fromkeys(answer["text"] for answer in qa["answers"]))
                if answers and not qa["is_impossible"]:
                    asked.append(Question(qa["question"], answers, (gold,), own))
    return Corpus(list(index), asked, own_required=False)


def _hotpotqa(data: bytes) -> Corpus:
    """Read HotpotQA: a document is a title, a newline and its sentences."""
    index: dict[str, int] = {}
    asked = []
    for entry in _entries(data.decode("utf-8")):
        texts = {title: f"{title}\n{''.join(sentences)}" for title, sentences in entry["context"]}
        places = {title: index.setdefault(text, len(index)) for title, text in texts.items()}
        gold = tuple(dict.fromkeys(places[title] for title, _ in entry["supporting_facts"]))
        own = tuple(dict.fromkeys(places.values()))
        rest = tuple(i for i in own if i not in gold)
        asked.append(Question(entry["question"], (entry["answer"],), gold, rest))
    return Corpus(list(index), asked, own_required=True)


def _entries(text: str) -> Iterator[Any]:
    """Yield the entries of a JSON list one by one; all of HotpotQA's would take 150 MB more."""
    decoder, start = json.JSONDecoder(), _BETWEEN_ENTRIES.match(text, text.index("[") + 1)
    while start and start.end() < len(text):
        entry, end = decoder.raw_decode(text, start.end())
        yield entry
        start = _BETWEEN_ENTRIES.match(text, end)
