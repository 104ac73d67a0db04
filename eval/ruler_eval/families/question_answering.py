r"""RULER's questions about documents, qa_1 and qa_2 (arXiv:2404.06654, section 3).

…Document 1:\nNormandy …\n\nDocument 2:\n…
Question: In what country is Normandy located?
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ruler_eval.families.answer_text import find_whole, loops
from ruler_eval.families.family import Description, Family
from ruler_eval.families.given_answer import GivenAnswer
from ruler_eval.families.short_answers import (
    begins_in,
    content,
    has_endings,
    near,
    same_words,
    stands_in,
    without_marks,
)
from ruler_score.language_text import normalize
from ruler_score.ruler_score import QA_TASKS

_QUESTION = re.compile(r"\n\nQuestion: (?P<question>.+)$", re.DOTALL)
_DOCUMENT = re.compile(r"document \d+:\n")  # of a text in lower case
_SENTENCE_END = re.compile(r"[.!?]\s")
_YES_OR_NO = re.compile(r"\W*(yes|no)(?:\W*$|\s*[,.;:!–-])")
_OPPOSITES = {"yes": "no", "no": "yes"}
_LONGEST_PHRASE = 8  # words; what is longer is a sentence
_NAME = re.compile(r"[^\W_a-z][\w'-]*|\d[\w.,]*")
_HELD = 0.6  # of an answer's words, in a document that is taken for its source
_HELD_OF_SENTENCE = 0.5


def solve(text: str) -> str | None:
    """A guess: the sentence that shares the rarest words with the question, and what precedes."""
    match = _QUESTION.search(text)
    if match is None or "\n\nDocument 1:\n" not in text:
        return None
    sentences = re.split(r"(?<=[.!?])\s+|\n+", text[: match.start()])
    bags = [set(re.findall(r"\w+", sentence.lower())) for sentence in sentences]
    seen = Counter(word for bag in bags for word in bag)
    asked = {word for word in re.findall(r"\w+", match["question"].lower()) if word in seen}

    def overlap(position: int) -> float:
        near = bags[position] | bags[max(0, position - 1)]  # the title or the sentence before
        shared = [*(asked & near), *(asked & bags[position])]
        return math.fsum(math.log(len(bags) / seen[word]) for word in shared)  # in any order

    return " ".join(sentences[max(range(len(bags)), key=overlap)].split()[:24])


def opposite(answer: GivenAnswer) -> bool:
    """Yes where no is right, or the reverse."""
    said = _YES_OR_NO.match(answer.first_line)
    return said is not None and answer.wanted == {_OPPOSITES[said[1]]}


def loops_at_once(answer: GivenAnswer) -> bool:
    """The first line is one piece of text again and again."""
    return loops(answer.first_line)


def reworded(answer: GivenAnswer) -> bool:
    """The content words of a reference, or some of them, and no more than a few others."""
    return same_words(answer.first_line, answer.wanted)


def near_miss(answer: GivenAnswer) -> bool:
    """Most words or letters of a reference."""
    return near(answer.first_line, answer.wanted, answer.question)


def from_memory(answer: GivenAnswer) -> bool:
    """The words that the same model answers to the question without documents.

    `row["memory"]` holds that answer, where it is known (analysis/errors/memory.py).
    """
    known = str(answer.row.get("memory") or "").strip().splitlines()
    said = set(content(normalize(known[0]))) if known else set()
    return bool(said) and said == set(content(answer.first_line))


class _Source(NamedTuple):
    """The document that holds most of an answer: how much (0 … 1), and how many words at once."""

    held: float
    in_a_sentence: int
    gold: bool
    depth: float  # where it begins, 0 … 1


_NONE = _Source(0, 0, False, 0)


_Document = tuple[str, bool, float]  # normalized; whether it is gold; its depth, 0 … 1


def _source(answer: GivenAnswer) -> _Source | None:
    """The document that an answer is from; of two like ones, the gold. None where it is not known.

    Where no document holds enough of it, `held` is 0. The gold documents are the row's evidence:
    in a release's rows those without the reference too.
    """
    evidence = answer.row["evidence"]
    words = _telling(answer.raw, answer.first_line, answer.question)
    if not answer.context or not evidence or not words:
        return None
    spans = tuple(answer.row["input"][one["start"] : one["end"]] for one in evidence)
    documents = _documents(answer.context, answer.folded, spans)
    return _best(documents, words, without_marks(answer.first_line.strip(" .\"'")))


@lru_cache(maxsize=8)  # several rules ask for it
def _best(documents: tuple[_Document, ...], words: frozenset[str], phrase: str) -> _Source:
    is_phrase = len(phrase.split()) <= _LONGEST_PHRASE
    everything = "\n".join(text for text, *_ in documents)
    has_phrase = is_phrase and find_whole(phrase, everything) >= 0
    ways = (stands_in, begins_in)  # as they are; else with other endings
    for has in ways if any(map(has_endings, words)) else ways[:1]:
        there = [word for word in words if has(everything, word)]  # most stand in no document
        found = []
        for text, gold, depth in documents:
            known = [word for word in there if has(text, word)]
            whole = has_phrase and find_whole(phrase, text) >= 0
            found.append((1.0 if whole else len(known) / len(words), known, text, gold, depth))
        most = max(held for held, *_ in found)
        if most >= (_HELD if is_phrase else _HELD_OF_SENTENCE):
            best = (
                _Source(held, _at_once(known, text, has), gold, depth)
                for held, known, text, gold, depth in found
                if held == most
            )
            return max(best, key=lambda source: source[:3])
    return _NONE


@lru_cache(maxsize=4)  # several runs answer one row
def _documents(context: str, folded: str, spans: tuple[str, ...]) -> tuple[_Document, ...]:
    """The gold documents, which are the `spans`, and after them the others."""
    gold = [without_marks(normalize(span)) for span in spans]
    text = without_marks(folded)
    for own in gold:
        text = text.replace(own, "\n")
    lower, width = context.replace("İ", "I").lower(), max(1, len(context))  # as long as it was
    depths = [0.0, *(found.start() / width for found in _DOCUMENT.finditer(lower))]
    others = zip(_DOCUMENT.split(text), depths, strict=False)
    return (*((own, True, 0.0) for own in gold), *((one, False, depth) for one, depth in others))


def _at_once(words: list[str], text: str, has: Callable[[str, str], bool]) -> int:
    """How many of a document's words one of its sentences holds."""
    if len(words) < 2:
        return len(words)
    return max(sum(has(part, word) for word in words) for part in _SENTENCE_END.split(text))


@lru_cache(maxsize=8)
def _telling(raw: str, first_line: str, question: str) -> frozenset[str]:
    """The words by which a source is known: of a sentence its names and numbers, if it has any.

    Words of the question count where there are no others; what only repeats it tells nothing.
    """
    asked, given = frozenset(content(question)), frozenset(content(first_line))
    if len(first_line.split()) > _LONGEST_PHRASE:
        first, _, rest = raw.strip().splitlines()[0].partition(" ")
        named = first if _NAME.match(rest) else ""  # any sentence begins with a capital
        names = frozenset(content(normalize(" ".join([named, *_NAME.findall(rest)]))))
        if names - asked:
            return names - asked
        if len(asked & given) > len(asked) / 2 and given <= asked:
            return frozenset()
    return given - asked or given


def same_document(answer: GivenAnswer) -> bool:
    """Something else that a gold document says."""
    source = _source(answer)
    return source is not None and source.gold


def other_document(answer: GivenAnswer) -> float | None:
    """How far in depth the document that the answer is from stood from a gold one; None: none."""
    source = _source(answer)
    if source is None or source.gold or not source.held:
        return None
    return min(abs(source.depth - float(one["depth"])) for one in answer.row["evidence"])


def in_no_document(answer: GivenAnswer) -> bool:
    """No document holds most of it."""
    source = _source(answer)
    return source is not None and not source.held


def _described(params: Mapping[str, Any]) -> Description:
    """With documents and without are the two values of one parameter."""
    without = params.get("no_documents", False)
    return {"dataset": params["dataset"], "documents": "none" if without else "as many as fit"}


FAMILY = Family(
    rule="qa_1",
    tasks=QA_TASKS,
    solve=solve,
    kinds={
        "loop": loops_at_once,
        "opposite": opposite,
        "reworded": reworded,
        "near_miss": near_miss,
        "from_memory": from_memory,
        "same_document": same_document,
        "unrelated": in_no_document,
    },
    distance=other_document,
    describe=_described,
    before_context="The following are given documents.",
    after_context="Answer the question based on the given documents.",
    evidence=re.compile(r"Document \d+:\n(?:(?!\n\nDocument \d+:\n).)+", re.DOTALL),
)
