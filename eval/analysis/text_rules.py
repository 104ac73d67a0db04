"""When a wrong answer is of a kind that shows in the row's texts: copies, distractors, rewordings.

Each takes a GivenAnswer of a wrong row, as those of error_rules.py do; error_kinds.RULES has their
order. They hold the answer against the example, the context, its needles or documents, and the
references.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eval.analysis.given_answer import GivenAnswer, find_whole, normalize_long, words_of
from eval.frozen_release import Row
from eval.ruler_score import ruler_score as rules_of

_STOP = {
    "the", "a", "an", "and", "or", "of", "in", "on", "at", "to", "from", "between", "by", "for",
    "is", "was", "were", "are", "it",
}  # fmt: skip
_DIGITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
)  # fmt: skip
_LEAST_COPY = 20  # characters that no honest answer shares with the beginning by chance
_NEAR_START = 100  # characters
_LONGEST_ANSWER = 15  # words of a short answer


def from_example(answer: GivenAnswer) -> bool:
    """Half of the items or more stand in the example and not in the context."""
    if answer.task not in ("vt", "cwe") or not answer.items:
        return False
    example = normalize_long(answer.row["input"][: answer.row["context_start"]])
    shown = words_of(example) - answer.words
    return 2 * sum(item in shown for item in answer.items) >= len(answer.items)


def from_start(answer: GivenAnswer) -> bool:
    """The answer begins as the context or the prompt does."""
    beginning_of_answer = " ".join(answer.text.split())[:60]
    if len(beginning_of_answer) >= _LEAST_COPY:
        for start in (answer.context, answer.row["input"]):
            beginning = normalize_long(start[:1000])
            if beginning_of_answer.split(" ", 1)[0] not in beginning:
                continue
            if 0 <= " ".join(beginning.split()).find(beginning_of_answer) <= _NEAR_START:
                return True
    if answer.task.startswith("cwe") and len(answer.items) >= 4:
        first = rules_of.listed_items(answer.context[:2000])
        return answer.items == first[: len(answer.items)]
    return False


def reworded(answer: GivenAnswer) -> bool:
    """qa: the content words of a reference, or some of them, and no more than a few others."""
    text = _first_line(answer)
    if not answer.is_qa or len(text.split()) > _LONGEST_ANSWER:
        return False
    given = _content(text)
    return any(
        given & wanted and (given <= wanted or wanted <= given)
        for wanted in map(_content, answer.wanted)
    )


def _content(text: str) -> set[str]:
    """Words without stop words, plural endings and punctuation, small numbers as digits."""
    words = re.findall(r"[^\W_]+", text)
    numbers = {word: str(number) for number, word in enumerate(_DIGITS)}
    stems = (word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)
    return {numbers.get(word, word) for word in stems} - _STOP


def distractor(answer: GivenAnswer) -> bool:
    """A value of another needle, or a short answer that stands in another document."""
    return distance(answer) is not None


def distance(answer: GivenAnswer) -> float | None:
    """How near in depth the nearest wrong value stood to the gold, if it is a distractor's."""
    row, gaps = answer.row, []
    gold = [evidence for evidence in row["evidence"] if evidence["answer"]]
    spans = [evidence for evidence in row["evidence"] if not evidence["answer"]]
    if answer.task in rules_of.QA_TASKS:
        return _other_document(answer, gold)
    if not answer.task.startswith("niah"):
        return None
    width = max(1, row["context_end"] - row["context_start"])
    needle = row["input"][gold[0]["start"] : gold[0]["end"]][:_LEAST_COPY] if gold else None
    for value in answer.wrong:
        if (found := find_whole(value, answer.folded)) < 0:
            continue  # nowhere, or only part of a longer value
        place = found + row["context_start"]
        line = row["input"].rfind("\n", 0, place) + 1
        held = any(
            find_whole(value, rules_of.normalize(row["input"][span["start"] : span["end"]])) >= 0
            for span in spans
        )
        if held or (needle is not None and row["input"].startswith(needle, line)):
            at = (place - row["context_start"]) / width
            gaps.append(min((abs(at - span["depth"]) for span in gold), default=0.0))
    return min(gaps, default=None)


def _other_document(answer: GivenAnswer, gold: Sequence[Row]) -> float | None:
    """A short answer that stands in the documents, but in none of the gold ones."""
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
    return rules_of.normalize(lines[0]) if lines else ""


def other_chain(answer: GivenAnswer) -> bool:
    """A variable that another chain assigns."""
    if answer.task != "vt":
        return False
    assigned = {name.casefold() for name in re.findall(r"VAR ([A-Z]+) =", answer.context)}
    return bool(assigned.intersection(answer.wrong))


def unrelated(answer: GivenAnswer) -> bool:
    """Nothing of the answer stands in the context, as far as that is known."""
    if not answer.context:
        return False
    context = answer.folded
    if answer.is_list and answer.items:
        return not answer.words.intersection(answer.items)
    if answer.items:
        return not any(item in context for item in answer.items)
    words = [word for word in re.findall(r"[^\W\d_]+", answer.text) if len(word) > 3]
    asked = answer.task in rules_of.QA_TASKS
    return asked and bool(words) and not any(word in context for word in words)
