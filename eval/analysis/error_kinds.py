"""What went wrong: every wrong answer sorted into the papers' kinds, from row and prediction alone.

RULER (arXiv:2404.06654), section 5; ONERULER (arXiv:2503.01996), section 4 and Table 1.

    error_of(row, prediction, "niah_multikey_1")           # Error("distractor", 0, 1, 0.07)

An answer has one kind, the first of KINDS' rules that surely holds; an unsure one stays `other`.
What was said wrongly comes before what is missing: three right values and a distractor's is
`distractor`, three right values alone are `incomplete`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from eval.frozen_release import Row
from eval.function_words import FREQUENT
from eval.ruler_score import ruler_score as rules_of
from eval.score.prediction import Prediction
from eval.score.scoring import ScoringRules, row_score

KINDS = {
    "missing": "no prediction",
    "failed": "the row ended with an error",
    "does_not_fit": "the prompt did not fit the model's window",
    "cut_in_thinking": "the answer ended within the reasoning",
    "cut": "the answer was truncated at the token limit",
    "empty": "an answer without a letter or a digit",
    "refused": "the model declined to answer",
    "says_none": "says that there is no answer though there is one",
    "copied_example": "words or names of the one-shot example",
    "copied_start": "a copy of the beginning of the context or of the prompt",
    "distractor": "a distractor's value, or words of another document",
    "other_chain": "a variable of another chain",
    "noise_word": "the noise word ...",
    "frequent_word": "frequent words of the language that are not in the list",
    "repeats": "some of the right ones, and one of them again instead of the others",
    "incomplete": "k of the n right ones",
    "extra": "all the right ones and something else",
    "wrong_format": "the answer in another format or language than asked for",
    "unrelated": "nothing of the answer is in the context",
    "other": "none of these for sure",
}
"""The kinds and what they mean."""

_REFUSAL = re.compile(
    r"\bi(?:'m| am)? (?:cannot|can't|can not|am unable|unable|won't|not able|sorry)\b|as an ai\b"
    r"|\bsorry, (?:but )?i\b|\bcannot (?:assist|help|comply|fulfill?)\b|je ne peux pas|no puedo"
    r"|ich kann (?:leider )?(?:nicht|keine|diese)|não posso|non posso|nie mogę|не могу|не можу"
    r"|申し訳|抱歉|无法(?:回答|提供|协助)|죄송"
)
_NOTHING = re.compile(
    r"\bnone\b|\bno such\b|\bthere (?:is|are) no\b|\bn/a\b|\bno answer\b|\bnot applicable\b"
    r"|\b(?:is|are|was|were) not (?:mentioned|provided|specified|given|stated|found|available)\b"
    r"|\bno (?:special )?(?:magic )?(?:number|uuid|word|variable|value|information)s?\b"
    r"|\b(?:does|do|did) ?n[o']t (?:mention|contain|specify|provide|state|include|appear|exist)\b"
)
_CAPITALS = re.compile(r"\b[A-Z]{2,8}\b")
_SCRIPTS = {
    "fa": "\u0600-\u06ff", "hi": "\u0900-\u097f", "ja": "\u3040-\u30ff\u4e00-\u9fff",
    "ko": "\uac00-\ud7af", "ru": "\u0400-\u04ff", "sr": "\u0400-\u04ff", "ta": "\u0b80-\u0bff",
    "uk": "\u0400-\u04ff", "zh": "\u4e00-\u9fff",
}  # fmt: skip
_LEAST_COPY = 20  # characters that no honest answer shares with the beginning by chance
_NEAR_START = 100  # characters


class Error(NamedTuple):
    """A kind of KINDS; k of n references found; how near a distractor stood, in depth (0 … 1)."""

    kind: str
    found: int
    of: int
    gap: float | None = None


@dataclass(frozen=True)
class GivenAnswer:
    """A wrong answer as the rules see it: normalized text, and the items it offers as answers."""

    row: Row
    task: str
    language: str | None
    raw: str
    text: str
    items: list[str]
    wanted: set[str]
    found: int

    @property
    def of(self) -> int:
        """How many references there are; alternatives count as one."""
        return 1 if self.task in rules_of.QA_TASKS else len(self.wanted)

    @property
    def wrong(self) -> list[str]:
        """The items that are no reference."""
        return [item for item in dict.fromkeys(self.items) if item not in self.wanted]

    @cached_property
    def context(self) -> str:
        """The row's context."""
        return str(self.row["input"][self.row["context_start"] : self.row["context_end"]])

    @cached_property
    def folded(self) -> str:
        """The context, normalized."""
        return rules_of.normalize(self.context)

    @cached_property
    def words(self) -> set[str]:
        """The context's words, normalized."""
        return set(re.findall(r"[^\s\d.,;:]+", self.folded))


def error_of(
    row: Row,
    prediction: Prediction | None,
    task: str,
    language: str | None = None,
    rules: ScoringRules | None = None,
    strict: bool = False,
) -> Error | None:
    """The kind of a wrong answer; None for a right one (with `strict`, a strictly right one).

    `row` holds input, outputs, context_start, context_end, evidence and none_word; `language` (of
    the instruction) marks a row of ONERULER.
    """
    result = row_score(row, prediction, task, language, rules or ScoringRules())
    if (result.strict if strict else result.score) == 1:
        return None
    of = 1 if task in rules_of.QA_TASKS else len(set(row["outputs"]))
    if prediction is None:
        return Error("missing", 0, of)
    if prediction.failed:
        unfit = prediction.finish_reason == "does_not_fit"
        return Error("does_not_fit" if unfit else "failed", 0, of)
    if result.thinking == "cut":
        return Error("cut_in_thinking", 0, of)
    if result.state == "cut" and not result.cut_scored:
        return Error("cut", 0, of)
    answer = read(row, prediction.text, task, language)
    if not re.search(r"[^\W_]|\.\.\.", answer.text):
        return Error("empty", 0, of)
    kind, gap = _kind(answer)
    return Error(kind, min(answer.found, answer.of), answer.of, gap)


def read(row: Row, prediction: str, task: str, language: str | None) -> GivenAnswer:
    """What a prediction offers as answers: numbers, UUIDs, names, or the items of a list."""
    said, _ = rules_of.strip_thinking(prediction)
    text = rules_of.normalize(said)
    asked = rules_of.is_oneruler(task, language)
    if asked:
        text = rules_of.read_answer(text, language or "en")
    wanted = {rules_of.normalize(reference) for reference in row["outputs"]}
    if task.startswith("cwe") or task == "fwe":
        items = rules_of.listed_items(text if asked else said)
    elif task == "vt":
        names = _CAPITALS.findall(said)
        items = [rules_of.normalize(name) for name in names if name != "VAR"]
    elif all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f-]{27}", reference) for reference in wanted):
        items = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text)
    elif task == "niah_none" or all(reference.isdecimal() for reference in wanted):
        numbers = rules_of.numbers(text)
        items = [item for item in re.findall(r"\d{2,}", text) if item in numbers]
        items += sorted(numbers - set(items))
    else:
        items = []
    found = sum(rules_of.references_found(prediction, sorted(set(row["outputs"])), task, language))
    return GivenAnswer(row, task, language, said, text, items, wanted, found)


def _kind(answer: GivenAnswer) -> tuple[str, float | None]:
    complete = answer.found >= answer.of and answer.task != "niah_none"
    if complete:
        return "extra", None
    if not answer.found and _REFUSAL.search(answer.text.replace("’", "'")):
        return "refused", None
    if _says_none(answer):
        return "says_none", None
    if _from_example(answer):
        return "copied_example", None
    if _begun(answer):
        return "incomplete", None
    if _from_start(answer):
        return "copied_start", None
    gap = _distractor(answer)
    if gap is not None:
        return "distractor", gap
    if answer.task == "vt" and _other_chain(answer):
        return "other_chain", None
    if answer.task == "fwe" and "..." in answer.items:
        return "noise_word", None
    if _frequent(answer):
        return "frequent_word", None
    if answer.found and answer.task == "niah_none":
        return "extra", None
    if answer.found and len(answer.items) > len(set(answer.items)):
        return "repeats", None
    if answer.found:
        return "incomplete", None
    if _wrong_format(answer):
        return "wrong_format", None
    return ("unrelated" if _unrelated(answer) else "other"), None


def _says_none(answer: GivenAnswer) -> bool:
    if answer.task == "niah_none" or answer.found:
        return False
    if answer.language is not None:
        none_word = answer.row.get("none_word") or None
        return not answer.task.startswith("cwe") and rules_of.says_none(
            answer.text, answer.language, none_word
        )
    listed = answer.task in ("cwe", "fwe")
    return not (answer.items and not listed) and bool(
        _NOTHING.search(answer.text.replace("’", "'"))
    )


def _from_example(answer: GivenAnswer) -> bool:
    """Half of the items or more stand in the example and not in the context."""
    if answer.task not in ("vt", "cwe") or not answer.items:
        return False
    example = rules_of.normalize(answer.row["input"][: answer.row["context_start"]])
    shown = set(re.findall(r"[^\s\d.,;:]+", example)) - answer.words
    return 2 * sum(item in shown for item in answer.items) >= len(answer.items)


def _from_start(answer: GivenAnswer) -> bool:
    said = " ".join(answer.text.split())[:60]
    if len(said) >= _LEAST_COPY:
        for start in (answer.context, answer.row["input"]):
            beginning = " ".join(rules_of.normalize(start[:1000]).split())
            if 0 <= beginning.find(said) <= _NEAR_START:
                return True
    if answer.task.startswith("cwe") and len(answer.items) >= 4:
        first = rules_of.listed_items(answer.context[:2000])
        return answer.items == first[: len(answer.items)]
    return False


def _distractor(answer: GivenAnswer) -> float | None:
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
        whole = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
        if (found := whole.search(answer.folded)) is None:
            continue  # said nowhere, or only part of a longer value
        place = found.start() + row["context_start"]
        line = row["input"].rfind("\n", 0, place) + 1
        held = any(
            whole.search(rules_of.normalize(row["input"][span["start"] : span["end"]]))
            for span in spans
        )
        if held or (needle is not None and row["input"].startswith(needle, line)):
            at = (place - row["context_start"]) / width
            gaps.append(min((abs(at - span["depth"]) for span in gold), default=0.0))
    return min(gaps, default=None)


def _other_document(answer: GivenAnswer, gold: Sequence[Row]) -> float | None:
    """A short answer that stands in the documents, but in none of the gold ones."""
    said = answer.text.strip(" .\n\"'")
    if not said or len(said.split()) > 12 or not gold:
        return None
    row, context = answer.row, answer.context
    inside = any(said in row["input"][span["start"] : span["end"]].casefold() for span in gold)
    place = context.casefold().find(said)
    if inside or place < 0 or len(said) < 4:
        return None
    return min(abs(place / max(1, len(context)) - float(span["depth"])) for span in gold)


def _other_chain(answer: GivenAnswer) -> bool:
    assigned = {name.casefold() for name in re.findall(r"VAR ([A-Z]+) =", answer.context)}
    return bool(assigned.intersection(answer.wrong))


def _frequent(answer: GivenAnswer) -> bool:
    """Two items or more, and half of the wrong ones, are function words and not in the list."""
    if not (answer.task.startswith("cwe") or answer.task == "fwe"):
        return False
    words = FREQUENT[answer.language or "en"] - answer.words
    hits = sum(item in words for item in answer.wrong)
    return hits >= 2 and 2 * hits >= len(answer.wrong)


def _begun(answer: GivenAnswer) -> bool:
    """A UUID's first 8 characters or more, and not all 36 (section 5, needle types)."""
    return not answer.items and any(
        len(reference) == 36 and reference[:8] in answer.text for reference in answer.wanted
    )


def _wrong_format(answer: GivenAnswer) -> bool:
    whole = rules_of.normalize(answer.raw)
    if answer.task == "niah_none":
        none = (rules_of.says_none(answer.text, language) for language in rules_of.NONE_WORDS)
        return not answer.items and any(none)
    if all(reference.isdecimal() for reference in answer.wanted):
        digits = re.sub(r"\D", "", answer.text)
        return answer.wanted <= rules_of.numbers(whole) or any(
            reference in digits and not answer.items for reference in answer.wanted
        )
    script = _SCRIPTS.get(answer.language or "")
    letters = re.findall(r"[^\W\d_]", answer.text)
    if script is None or not answer.task.startswith("cwe") or len(letters) < 10:
        return False
    return sum(re.fullmatch(f"[{script}]", letter) is not None for letter in letters) < 0.2 * len(
        letters
    )


def _unrelated(answer: GivenAnswer) -> bool:
    context = answer.folded
    if answer.items:
        return not any(item in context for item in answer.items)
    words = [word for word in re.findall(r"[^\W\d_]+", answer.text) if len(word) > 3]
    asked = answer.task in rules_of.QA_TASKS
    return asked and bool(words) and not any(word in context for word in words)
