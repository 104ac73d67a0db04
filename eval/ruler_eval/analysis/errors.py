"""Kinds of errors: what is wrong with each wrong answer, by facts that can be checked.

RULER (arXiv:2404.06654), section 5; ONERULER (arXiv:2503.01996), section 4 and Table 1.

    error_of(scored, "niah_multikey_1").kind             # "distractor"

A wrong answer has one kind: the first of KINDS, in their order, whose definition it meets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.rows import ConfigScores, RowScore
from ruler_eval.tasks import Answers, family_of, row_of_prompt
from ruler_score.language_text import (
    Language,
    has_whole_words,
    normalize,
    numbers,
    read_answer,
    rules_for,
)
from ruler_score.oneruler_rules import NONE_WORDS, says_none
from ruler_score.ruler_score import QA_TASKS, is_oneruler
from ruler_score.split_reasoning import split_reasoning

KINDS: Mapping[str, str] = {
    "missing": "there is no prediction",
    "does not fit": "the prompt did not fit the model's context window",
    "failed": "the row ended with an error",
    "truncated": "the answer ended at the token limit and counts as wrong, or ended within the "
    "reasoning",
    "empty": "the answer has no letter and no digit",
    "wrong count": "all references, plus more items than were asked for",
    "distractor": "the value of another needle, or a variable of another chain of the context",
    "incomplete": "some of the references, and no distractor",
    "refused": "the answer says that there is none, or declines to answer",
    "another language": "words in another script, or another language's word for none",
    "from memory": "the same answer as to the control, without documents",
    "repeats the prompt": "at least 40 consecutive characters of the context; or of the "
    "instruction, if the answer has no wrong words",
    "wrong words": "numbers, names or words of the right form, none of them right",
    "other": "none of these, such as a wrong answer in question answering",
}
"""The kinds of errors and their definitions, in the order in which they are tried."""

ERROR_COLUMNS = (
    *("index", "input", "outputs", "context_start", "context_end", "evidence", "none_word"),
    "question",
)
"""The columns of a release's rows that sorting errors takes."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGITS = re.compile(r"\d{2,}")
_WORD = re.compile(r"[^\W\d_][\w-]+")
_SENTENCE_END = re.compile(r"[.?!。？！।\n]")
_ASSIGNED = re.compile(r"VAR ([A-Z]+) =")
_NAME = re.compile(r"\b[A-Z]{2,}\b")
_REPEATED = 40
"""Consecutive characters of the prompt that make an answer a copy."""
_NEEDLE_BEGINNING = 20  # characters of a needle, before its key
_BEFORE_VALUE = 5  # characters of a needle, between its key and its value: " is: "
_MIN_LETTERS, _OTHER_SCRIPT = 10, 0.2  # of which at most this share is in the references' script
_LACKING = (
    "mentioned|provided|specified|given|stated|found|available|present|listed|included|known"
    "|associated|defined|shown"
)
_SOURCE = "documents?|texts?|passages?|contexts?|articles?|questions?|lists?|information"
_THING = "number|uuid|word|variable|value|information|answer|mention|record|data"
_REFUSAL = re.compile(
    # says that what is asked for is not there
    rf"\bnone\b|\bno such\b|\bthere (?:is|are) no\b|\bn/a\b|\bnot applicable\b|\bunknown\b"
    rf"|\b(?:not|isn't|aren't|wasn't|weren't) (?:\w+ )?(?:{_LACKING})"
    r"(?: (?:in|by|within|from|here|anywhere|explicitly|directly)\b| ?[^\w\s]|\s*$)"
    r"|\bnot (?:\w+ )?(?:one of|in the (?:given |provided |above )?(?:text|documents?|list))\b"
    rf"|\bno (?:\w+ ){{0,3}}(?:{_THING})s?\b|\b(?:not enough|insufficient) (?:{_THING})"
    rf"|\b(?:{_SOURCE}) (?:\w+ )?(?:(?:does|do|did) not|(?:does|do|did)n't) (?:\w+ )?"
    r"(?:mention|contain|specify|provide|state|include|appear|exist|give|say|list|have)\b"
    r"|\b(?:unable to|cannot|can't|could not|couldn't|did not|didn't) (?:be )?"
    r"(?:find|found|located?|determined?|identif(?:y|ied)|answered)\b|\bunanswer(?:ed|able)\b"
    # does not know
    r"|\bi (?:(?:do|did) not|don't|didn't|cannot|can't) (?:really |actually )?(?:know|tell|say)\b"
    r"|\bi (?:have|had) no (?:idea|clue)\b|\bi(?:'m| am) (?:not|un)(?: quite)? ?(?:sure|certain)\b"
    r"|\bi (?:do not|don't) have (?:enough|sufficient|any|the) (?:\w+ )?(?:information|context)\b"
    # declines
    r"|\bi(?:'m| am)? (?:cannot|can't|can not|am unable|unable|won't|not able|sorry)\b|as an ai\b"
    r"|\bsorry, (?:but )?i\b|\bcannot (?:assist|help|comply|fulfill?)\b"
)


@dataclass(frozen=True)
class Error:
    """What is wrong with an answer.

    It has `found` of `of` references. If it names a distractor, `needle` is the text of the one
    nearest to the answer's evidence, `depth` its depth (0 … 1), and `gap` the distance between the
    two depths; None if no needle carries the answer.
    """

    kind: str
    found: int
    of: int
    gap: float | None = None
    depth: float | None = None
    needle: str | None = None


def error_of(
    scored: RowScore, task: str, language: Language | None = None, strict: bool = False
) -> Error | None:
    """Return the error of a wrong answer; None for a right one.

    Args:
        scored: the answer; its row has ERROR_COLUMNS, as far as they are known, and the model's own
            answer to the control as `memory`.
        task: the task whose scoring rule applies.
        language: the language of the instruction in ONERULER; None in RULER.
        strict: whether an answer must be strictly right.
    """
    row, prediction = scored.row, scored.prediction
    if (scored.strict if strict else scored.score) == 1:
        return None
    rules = language
    references = {normalize(reference, rules) for reference in row["outputs"]}
    of = 1 if task in QA_TASKS else len(references)
    if scored.kind is not None:
        return Error(scored.kind, 0, of)
    raw = split_reasoning(prediction.text if prediction else "").answer
    text = normalize(raw, rules)
    if is_oneruler(task, rules):
        text = read_answer(text, rules or "en")
    if not re.search(r"[^\W_]", text):
        return Error("empty", 0, of)
    answers = family_of(task, "oneruler" if rules else "ruler").answers
    right = min(int(scored.found), of)
    if right == of and task != "niah_none":
        return Error("wrong count", right, of)
    pattern = _value_pattern(task, references)
    question = row.get("question") or row["input"][row["context_end"] :]
    keys = set() if pattern is _WORD else set(pattern.findall(normalize(str(question))))
    named = _names_or_values(answers, pattern, raw, text, keys, references) - references
    distractor = _distractor(row, answers, pattern, named)
    if distractor is not None:
        gap, depth, needle = distractor
        return Error("distractor", right, of, gap, depth, needle)
    if right:
        return Error("wrong count" if task == "niah_none" else "incomplete", right, of)
    names_value = answers == "values" and pattern is not _WORD and named - keys
    if task != "niah_none" and not names_value and _refuses(row, answers, raw, text, rules):
        return Error("refused", right, of)
    if rules is not None and _in_another_language(task, text, row["outputs"]):
        return Error("another language", right, of)
    if task in QA_TASKS and _plain(raw) and _plain(raw) == _plain(row.get("memory") or ""):
        return Error("from memory", right, of)
    context, instruction = _parts_to_copy(row, answers)
    if _copies(raw, context):
        return Error("repeats the prompt", right, of)
    if named or (answers == "words" and any(letter.isalpha() for letter in text)):
        return Error("wrong words", right, of)
    return Error("repeats the prompt" if _copies(raw, instruction) else "other", right, of)


def _value_pattern(task: str, references: Collection[str]) -> re.Pattern[str]:
    """Return the form of the values in needles: UUIDs, numbers or words."""
    if all(_UUID.fullmatch(reference) for reference in references):
        return _UUID
    if task == "niah_none" or all(reference.isdecimal() for reference in references):
        return _DIGITS
    return _WORD


def _names_or_values(
    answers: Answers,
    pattern: re.Pattern[str],
    raw: str,
    text: str,
    keys: Collection[str],
    references: Collection[str],
) -> set[str]:
    """Return the variables or values that an answer names; none if the task asks for neither.

    Two kinds of numbers and UUIDs are left out: numbers of less than half a value's digits, as in
    "100 times", and the question's keys after "for", which only repeat the question.
    """
    if answers == "variables":
        return {name.casefold() for name in _NAME.findall(raw)} - {"var"}
    if answers != "values":
        return set()
    for key in keys:
        text = text.replace(f"for {key}", "for")
    if pattern is not _DIGITS:
        return set(pattern.findall(text))
    lengths = [len(reference) for reference in references if reference.isdecimal()]
    return {value for value in numbers(text) if 2 * len(value) >= min(lengths, default=0)}


def _distractor(
    row: PartialRow, answers: Answers, pattern: re.Pattern[str], named: Collection[str]
) -> tuple[float | None, float, str] | None:
    """Return the distractor that an answer names; None if it names none.

    Args:
        row: the row.
        answers: what the task asks for.
        pattern: what a value looks like.
        named: the wrong values or variables in the answer.

    Returns:
        Its distance in depth from the answer's nearest needle, its own depth, and its text. If the
        answer names several distractors, the nearest one; if no needle carries the answer, as in
        niah_none, the first one, without a distance.
    """
    if not named:
        return None
    gold = [span for span in row["evidence"] if span["answer"]]
    needles: list[tuple[float, str]] = []
    for span in row["evidence"]:
        needle = row["input"][span["start"] : span["end"]]
        if answers == "variables":
            names = [name.casefold() for name in _ASSIGNED.findall(needle)]
        else:
            names = pattern.findall(normalize(needle))
        if not span["answer"] and names and names[-1] in named:
            needles.append((float(span["depth"]), needle))
    if gold and not needles and answers == "values":
        gold_needle = row["input"][gold[0]["start"] : gold[0]["end"]]
        needles += _needles_in_haystack(row, gold_needle, named)
    if not needles:
        return None
    if not gold:
        return None, *needles[0]
    return min(
        (abs(depth - float(span["depth"])), depth, needle)
        for depth, needle in needles
        for span in gold
    )


def _needles_in_haystack(
    row: PartialRow, gold: str, values: Collection[str]
) -> Iterator[tuple[float, str]]:
    """Yield depth and text of the needles with one of the values, in a haystack of needles.

    Such needles are not among the evidence. They begin like the answer's needle, `gold`, and have
    the same characters before the value.
    """
    context = row["input"][row["context_start"] : row["context_end"]]
    beginning = gold[:_NEEDLE_BEGINNING]
    places = [gold.rfind(reference) for reference in row["outputs"]]
    before_value = gold[: max(places)][-_BEFORE_VALUE:]
    if max(places) < 0 or not beginning.strip("."):
        return  # of a prompt in pieces, dots stand for the rest
    for value in values:
        match = re.search(re.escape(before_value + value) + r"(?!\w)", context)
        start = context.rfind(beginning, 0, match.start()) if match else -1
        if match and start >= 0 and "\n" not in context[start : match.end()]:
            yield start / len(context), context[start : match.end()]


def _refuses(
    row: PartialRow, answers: Answers, raw: str, text: str, language: Language | None
) -> bool:
    """Return whether an answer says that there is none, or declines to answer."""
    if answers == "text":  # small models explain on the lines after the first
        text = normalize(raw.strip().splitlines()[0])
    none_word = row.get("none_word") or ""
    if none_word:  # the prompt's sentence that asks for this word is not an answer
        for sentence in _SENTENCE_END.split(row["input"][row["context_end"] :]):
            if none_word in sentence and len(sentence) > 2 * len(none_word):
                text = text.replace(normalize(sentence, language).strip(), "")
    if _REFUSAL.search(text.replace("’", "'")):
        return True
    return answers == "values" and language is not None and _has_none(text, language, none_word)


def _has_none(text: str, language: Language, none_word: str) -> bool:
    """Return whether a normalized text says none, or has the word in a longer statement."""
    if says_none(text, language, none_word):
        return True
    rules = rules_for(language)
    words = () if rules.touching else (*rules.none, *rules.none_forms)
    return any(has_whole_words(text, normalize(word, language)) for word in words)


def _in_another_language(task: str, text: str, references: Collection[str]) -> bool:
    """Return whether a normalized answer is in the words or the script of another language."""
    if task == "niah_none":
        return any(says_none(text, language) for language in NONE_WORDS)
    expected = {_script(letter) for reference in references for letter in reference}
    letters = [letter for letter in text if letter.isalpha()]
    if not expected - {""} or len(letters) < _MIN_LETTERS:
        return False
    inside = sum(_script(letter) in expected for letter in letters)
    return inside < _OTHER_SCRIPT * len(letters)


def _script(character: str) -> str:
    """Return the script of a letter, such as LATIN; the scripts of Japanese are one."""
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").split()
    script = name[0] if name else ""
    return "CJK" if script.startswith(("HIRAGANA", "KATAKANA", "IDEOGRAPHIC")) else script


def _parts_to_copy(row: PartialRow, answers: Answers) -> tuple[str, str]:
    """Return the parts of a prompt that an answer should not copy: its context and instruction.

    Needles and the question are left out: to repeat their words is a way to answer.
    """
    needles = row["evidence"] if answers in ("values", "variables") else []
    parts, end = [], row["context_start"]
    for span in needles:
        parts.append(row["input"][end : span["start"]])
        end = max(end, span["end"])
    parts.append(row["input"][end : row["context_end"]])
    before, after = row["input"][: row["context_start"]], row["input"][row["context_end"] :]
    question = row.get("question")
    instruction = f"{before} \0 {after.replace(question, '')}" if question else before
    return " \0 ".join(parts), instruction


def _copies(answer: str, prompt: str) -> bool:
    """Return whether an answer copies _REPEATED consecutive characters of a part of the prompt.

    Case and white space make no difference. A copy begins with a word.
    """
    answer = " ".join(answer.casefold().split())
    if len(answer) < _REPEATED:
        return False
    prompt = " ".join(prompt.casefold().split())
    starts = [0, *(match.end() for match in re.finditer(" ", answer))]
    pieces = [answer[start : start + _REPEATED] for start in starts]
    return any(len(piece) == _REPEATED and piece in prompt for piece in pieces)


def _plain(text: str) -> str:
    """Return the words of a text's first line, without case and punctuation."""
    lines = text.strip().splitlines()
    return " ".join(re.findall(r"\w+", normalize(lines[0]))) if lines else ""


# ---- Answers from memory ---------------------------------------------------------------------


def answers_from_memory(
    answers: Mapping[str, Mapping[int, Prediction]], release: Release
) -> dict[str, dict[int, str]]:
    """Return a run's own answers, given without documents, to the questions of configurations.

    By configuration and row index, as `answers` are. RULER (section 5) calls wrong answers that
    repeat these hallucinations. A suite's tasks with `no_documents` ask the same
    questions in the control.
    """
    memories: dict[str, dict[int, str]] = {}  # by data set of the questions
    datasets: dict[str, str] = {}  # by configuration with documents
    for name, predictions in answers.items():
        parameters = release.manifest["tasks"][release.parse(name).task]
        dataset = str(parameters.get("dataset"))
        if not parameters.get("no_documents"):
            datasets[name] = dataset
            continue
        memories[dataset] = {}
        for index, answer in predictions.items():
            if not answer.failed:
                memories[dataset][index] = split_reasoning(answer.text).answer
    return {name: memories.get(dataset, {}) for name, dataset in datasets.items()}


# ---- The wrong rows of a run -----------------------------------------------------------------


def collect(
    configs: Mapping[str, ConfigScores], release: Release | None, strict: bool = False
) -> list[dict[str, Any]]:
    """Return every wrong row with its kind, in the order of the release's files.

    An item is also a line of `ruler errors --out`:

        {"config": "niah_multikey_1_4k", "languages": "en", "index": 7, "kind": "distractor",
         "found": 0, "of": 1, "gap": 0.07, "depth": 0.31, "needle": "One of the special …",
         "outputs": ["1234567"], "prediction": "7654321"}

    `memory` is the model's own answer without documents, if it was asked. Without a release the
    rows are made from the prompts in the files. Raises RulerError for files without prompts.
    """
    memories: dict[str, dict[int, str]] = {}
    names = list(configs)
    if release is not None:
        names = [name for name in release.configs if name in configs]
        answers = {name: scores.answers for name, scores in configs.items()}
        memories = answers_from_memory(answers, release)
    errors = []
    for name in names:
        scores = configs[name]
        memory = memories.get(name, {})
        wrong = {}
        for index, scored in scores.by_index.items():
            if (scored.strict if strict else scored.score) < 1:
                wrong[index] = scored
        rows = _rows_of_prompts(scores)
        if release:
            rows = release.some_rows(name, ERROR_COLUMNS, wrong)
        for row in rows:
            index = int(row["index"])
            if index not in wrong:
                continue
            answer = wrong[index].prediction
            row["memory"] = memory.get(index)
            scored = replace(wrong[index], row=row)
            error = error_of(scored, scores.task, scores.language_rules, strict)
            if error is None:
                continue
            place = {"config": name, "languages": scores.config.languages, "index": row["index"]}
            shown = {"outputs": row["outputs"], "prediction": answer.text if answer else None}
            item = {**place, **asdict(error), **shown}
            if row["memory"] is not None:
                item["memory"] = row["memory"]
            errors.append(item)
    return errors


def _rows_of_prompts(scores: ConfigScores) -> Iterator[PartialRow]:
    """Yield the rows that are made from the prompts in the prediction files."""
    family = family_of(scores.config.task, scores.config.dataset)
    for index, answer in sorted(scores.answers.items()):
        prompt = answer.known_prompt
        if prompt is None or not answer.outputs:
            raise RulerError(
                f"'{answer.where}' has no prompts, and the kinds of errors need the rows' "
                "contexts: add --dataset."
            )
        row = row_of_prompt(prompt, answer.outputs, family, answer.columns)
        yield {"index": index, **row}
