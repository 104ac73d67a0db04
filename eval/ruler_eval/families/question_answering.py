r"""RULER's questions about documents, qa_1 and qa_2 (arXiv:2404.06654, section 3).

…Document 1:\nNormandy …\n\nDocument 2:\n…
Question: In what country is Normandy located?
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ruler_eval.families.family import Description, Family
from ruler_eval.families.given_answer import GivenAnswer
from ruler_score.ruler_score import QA_TASKS, normalize

_QUESTION = re.compile(r"\n\nQuestion: (?P<question>.+)$", re.DOTALL)
_STOP = {
    "the", "a", "an", "and", "or", "of", "in", "on", "at", "to", "from", "between", "by", "for",
    "is", "was", "were", "are", "it",
}  # fmt: skip
_DIGITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
)  # fmt: skip
_LONGEST_ANSWER = 15  # words of a short answer


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


def reworded(answer: GivenAnswer) -> bool:
    """The content words of a reference, or some of them, and no more than a few others."""
    text = _first_line(answer)
    if len(text.split()) > _LONGEST_ANSWER:
        return False
    given = _content(text)
    wanted = map(_content, answer.wanted)
    return any(given & words and (given <= words or words <= given) for words in wanted)


def _content(text: str) -> set[str]:
    """Words without stop words, plural endings and punctuation, small numbers as digits."""
    words = re.findall(r"[^\W_]+", text)
    numbers = {word: str(number) for number, word in enumerate(_DIGITS)}
    stems = (word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)
    return {numbers.get(word, word) for word in stems} - _STOP


def from_memory(answer: GivenAnswer) -> bool:
    """The words that the same model answers to the question without documents.

    `row["memory"]` holds that answer, where it is known (analysis/memory.py).
    """
    known = str(answer.row.get("memory") or "").strip().splitlines()
    said = _content(normalize(known[0])) if known else set()
    return bool(said) and said == _content(_first_line(answer))


def other_document(answer: GivenAnswer) -> float | None:
    """How far a short answer that stands in the documents stood from the gold ones, if in none."""
    gold = [evidence for evidence in answer.row["evidence"] if evidence["answer"]]
    short = _first_line(answer).strip(" .\"'")
    if not short or len(short.split()) > 12 or not gold:
        return None
    row, context = answer.row, answer.context
    inside = any(short in row["input"][span["start"] : span["end"]].casefold() for span in gold)
    place = context.casefold().find(short)
    if inside or place < 0 or len(short) < 4:
        return None
    return min(abs(place / max(1, len(context)) - float(span["depth"])) for span in gold)


def _first_line(answer: GivenAnswer) -> str:
    """The answer itself, normalized: small models put an explanation on the lines after it."""
    lines = answer.raw.strip().splitlines()
    return normalize(lines[0]) if lines else ""


def _described(params: Mapping[str, Any]) -> Description:
    """With documents and without are the two values of one parameter."""
    without = params.get("no_documents", False)
    return {"dataset": params["dataset"], "documents": "none" if without else "as many as fit"}


FAMILY = Family(
    rule="qa_1",
    tasks=QA_TASKS,
    solve=solve,
    kinds={"reworded": reworded, "from_memory": from_memory},
    distance=other_document,
    describe=_described,
    before_context="The following are given documents.",
    after_context="Answer the question based on the given documents.",
    evidence=re.compile(r"Document \d+:\n(?:(?!\n\nDocument \d+:\n).)+", re.DOTALL),
)
