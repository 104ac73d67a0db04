"""Kinds of errors: what is wrong with each wrong answer, by facts that can be checked.

RULER (arXiv:2404.06654), section 5; ONERULER (arXiv:2503.01996), section 4 and Table 1.

    error_of(joined_row).kind                              # "distractor"

A wrong answer has one kind: the first of KINDS, in their order, whose definition it meets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.join import JoinedConfig, JoinedRow, RowScore, ScoringRules, join_predictions
from ruler_eval.score.predictions import Predictions
from ruler_eval.tasks import (
    Answers,
    family_of,
    find_whole,
    row_of_prompt,
)
from ruler_score.language_text import Language, normalize, numbers, read_answer
from ruler_score.oneruler_rules import NONE_WORDS, says_none
from ruler_score.ruler_score import QA_TASKS, is_oneruler
from ruler_score.split_reasoning import split_reasoning

KINDS: Mapping[str, str] = {
    "missing": "there is no prediction",
    "does not fit": "the prompt did not fit the model's window",
    "failed": "the row ended with an error",
    "truncated": "the answer ended at the token limit, or within the reasoning",
    "empty": "the answer has no letter and no digit",
    "wrong count": "every reference, and more than was asked for",
    "distractor": "the value of another needle, or a variable of another chain",
    "incomplete": "some of the references, and no distractor",
    "refused": "the answer says that there is none, or declines to answer",
    "another language": "words in another script, or another language's word for none",
    "from memory": "the same answer as the model's own without documents (at 0k)",
    "repeats the prompt": "40 characters in a row, or more, of the context",
    "wrong words": "numbers, names or words as the task asks for, and none that is right",
    "other": "none of these",
}
"""The kinds of errors and their definitions, in the order in which they are tried."""

COLUMNS = (
    *("index", "input", "outputs", "context_start", "context_end", "evidence", "none_word"),
    "question",
)
"""The columns of a release's rows that sorting errors takes."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ASSIGNED = re.compile(r"VAR ([A-Z]+) =")
_NAME = re.compile(r"\b[A-Z]{2,}\b")
_REPEATED = 40
"""Characters of the context in a row that make an answer a copy."""
_NEEDLE_BEGINNING = 20  # characters of a needle, before its key
_MIN_LETTERS, _OTHER_SCRIPT = 10, 0.2  # of which at most this share is in the references' script
_LACKING = (
    "mentioned|provided|specified|given|stated|found|available|present|listed|included|known"
    "|associated|defined|shown|one of|in the (?:given |provided |above )?(?:text|documents?|list)"
)
_THING = "number|uuid|word|variable|value|information|answer|mention|record|data"
_REFUSAL = re.compile(
    # says that what is asked for is not there
    rf"\bnone\b|\bno such\b|\bthere (?:is|are) no\b|\bn/a\b|\bnot applicable\b|\bunknown\b"
    rf"|\b(?:not|isn't|aren't|wasn't|weren't) (?:\w+ )?(?:{_LACKING})\b(?! (?:if|whether|to)\b)"
    rf"|\bno (?:\w+ ){{0,3}}(?:{_THING})s?\b|\b(?:not enough|insufficient) (?:{_THING})"
    r"|\b(?:(?:does|do|did) not|(?:does|do|did)n't) (?:\w+ )?"
    r"(?:mention|contain|specify|provide|state|include|appear|exist|give|say|list|have)\b"
    r"|\b(?:unable to|cannot|can't|could not|couldn't|did not|didn't) (?:be )?"
    r"(?:find|found|located?|determined?|identif(?:y|ied)|answered)\b"
    # declines
    r"|\bi(?:'m| am)? (?:cannot|can't|can not|am unable|unable|won't|not able|sorry)\b|as an ai\b"
    r"|\bsorry, (?:but )?i\b|\bcannot (?:assist|help|comply|fulfill?)\b"
)


@dataclass(frozen=True)
class Error:
    """What is wrong with an answer.

    `found` of `of` references are in it. If it names a distractor: `needle` is the text of the one
    nearest to the evidence of the answer, `depth` its depth (0 … 1), and `gap` the distance of the
    two depths.
    """

    kind: str
    found: int
    of: int
    gap: float | None = None
    depth: float | None = None
    needle: str | None = None


def error_of(joined: JoinedRow, strict: bool = False) -> Error | None:
    """Return the error of a wrong answer; None for a right one.

    Args:
        joined: the row and its answer; the row has COLUMNS, as far as they are known, and the
            model's own answer at 0k as `memory`.
        strict: whether an answer must be strictly right.
    """
    row, prediction, result = joined.row, joined.prediction, joined.results[0]
    task, language = joined.task, joined.language
    if (result.strict if strict else result.score) == 1:
        return None
    spoken = joined.rules.languages.rules(language) if language else None
    references = {normalize(reference, spoken) for reference in row["outputs"]}
    of = 1 if task in QA_TASKS else len(references)
    if kind := _kind_without_text(prediction, result):
        return Error(kind, 0, of)
    raw = split_reasoning(prediction.text if prediction else "").answer
    text = normalize(raw, spoken)
    if is_oneruler(task, spoken):
        text = read_answer(text, spoken or "en")
    if not re.search(r"[^\W_]", text):
        return Error("empty", 0, of)
    answers = family_of(task, "oneruler" if language else "ruler").answers
    right = min(int(result.found), of)
    if right == of and task != "niah_none":
        return Error("wrong count", right, of)
    named = _named_in(row, task, answers, raw, text, references)
    distractor = _distractor(row, answers, named - references, references)
    if distractor is not None:
        gap, depth, needle = distractor
        return Error("distractor", right, of, gap, depth, needle)
    if right:
        return Error("wrong count" if task == "niah_none" else "incomplete", right, of)
    names_wrong = _names_wrong(task, answers, text, named, references)
    names_value = names_wrong and answers == "values"
    if task != "niah_none" and not names_value and _refuses(row, answers, raw, text, spoken):
        return Error("refused", right, of)
    if spoken is not None and _in_another_language(task, text, row["outputs"]):
        return Error("another language", right, of)
    if task in QA_TASKS and _plain(raw) and _plain(raw) == _plain(row.get("memory") or ""):
        return Error("from memory", right, of)
    if _repeats(row, raw):
        return Error("repeats the prompt", right, of)
    if names_wrong:
        return Error("wrong words", right, of)
    return Error("other", right, of)


def _kind_without_text(prediction: Prediction | None, result: RowScore) -> str | None:
    """Return the kind of a row without an answer to read."""
    if prediction is None:
        return "missing"
    if result.state == "does_not_fit":
        return "does not fit"
    if result.state == "failed":
        return "failed"
    if result.thinking == "truncated" or (result.state == "truncated" and not result.cut_scored):
        return "truncated"
    return None


def _named_in(
    row: PartialRow,
    task: str,
    answers: Answers,
    raw: str,
    text: str,
    references: Collection[str],
) -> set[str]:
    """Return the variables or values that an answer names; none if the task asks for neither.

    Values are UUIDs or numbers, as the references are. UUIDs of the question are keys, not values.
    """
    if answers == "variables":
        return {name.casefold() for name in _NAME.findall(raw)}
    if answers != "values":
        return set()
    if task != "niah_none":
        if all(_UUID.fullmatch(reference) for reference in references):
            question = row.get("question") or row["input"][row["context_end"] :]
            return set(_UUID.findall(text)) - set(_UUID.findall(str(question).casefold()))
        if not all(reference.isdecimal() for reference in references):
            return set()
    return set(numbers(text))


def _distractor(
    row: PartialRow, answers: Answers, named: Collection[str], references: Collection[str]
) -> tuple[float, float, str] | None:
    """Return the distractor nearest to the answer's evidence of those that an answer names.

    Its distance from the evidence in depth, its own depth, and its text. None if it names none. A
    needle without evidence, in a haystack of needles, is found in the context by its
    beginning. `named` are the wrong values or variables in the answer.
    """
    if not named:
        return None
    gold = [span for span in row["evidence"] if span["answer"]]
    needles: list[tuple[float, str]] = []
    for span in row["evidence"]:
        piece = row["input"][span["start"] : span["end"]]
        if not span["answer"] and _named_by(piece, answers) in named:
            needles.append((float(span["depth"]), piece))
    if gold and answers == "values":
        beginning = row["input"][gold[0]["start"] : gold[0]["end"]][:_NEEDLE_BEGINNING]
        if beginning.strip("."):  # of a prompt in pieces, dots stand for the rest
            needles += _needles_in_context(row, named, references, beginning)
    if not needles:
        return None
    if not gold:  # in niah_none no needle carries an answer
        return 0.0, *needles[0]
    gaps = [
        (abs(depth - float(span["depth"])), depth, needle)
        for depth, needle in needles
        for span in gold
    ]
    return min(gaps)


def _named_by(piece: str, answers: Answers) -> str:
    """Return the value of a needle, which ends it, or the variable that an assignment names."""
    if answers == "variables":
        names = _ASSIGNED.findall(piece)
    else:
        folded = normalize(piece)
        names = _UUID.findall(folded) or re.findall(r"\d{2,}", folded)
    return names[-1].casefold() if names else ""


def _needles_in_context(
    row: PartialRow, named: Collection[str], references: Collection[str], beginning: str
) -> Iterator[tuple[float, str]]:
    """Yield depth and text of needles in the context that have a value named in the answer."""
    context = row["input"][row["context_start"] : row["context_end"]]
    for value in named:
        at = find_whole(value, context)
        start = context.rfind(beginning, 0, max(0, at))
        before = context[start:at]
        if start < 0 or "\n" in before or any(text in before for text in references):
            continue  # not in a needle
        line = context[at:].partition("\n")[0].partition(beginning)[0]
        if _named_by(line, "values") == value:  # not a key, which a value follows
            yield start / len(context), before + value


def _refuses(
    row: PartialRow, answers: Answers, raw: str, text: str, language: Language | None
) -> bool:
    """Return whether an answer says that there is none, or declines to answer."""
    if language is not None and answers == "values":
        none_word = row.get("none_word") or None
        if says_none(text, language, none_word):
            return True
    if answers == "text":  # small models explain on the lines after the first
        text = normalize(raw.strip().splitlines()[0]) if raw.strip() else ""
    return bool(_REFUSAL.search(text.replace("’", "'")))


def _in_another_language(task: str, text: str, references: Collection[str]) -> bool:
    """Return whether a normalized answer is in the words or the script of another language."""
    if task == "niah_none":
        return any(says_none(text, language, forms=False) for language in NONE_WORDS)
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


def _repeats(row: PartialRow, raw: str) -> bool:
    """Return whether an answer copies _REPEATED characters in a row of the context.

    Case and spaces aside. A copy begins with a word. A needle is not counted: to repeat its words
    is a way to answer.
    """
    text = " ".join(raw.casefold().split())
    if len(text) < _REPEATED:
        return False
    parts, end = [], row["context_start"]
    for span in row["evidence"]:
        parts.append(row["input"][end : span["start"]])
        end = max(end, span["end"])
    parts.append(row["input"][end : row["context_end"]])
    context = " \0 ".join(" ".join(part.casefold().split()) for part in parts)
    starts = [0, *(match.end() for match in re.finditer(" ", text))]
    for start in starts:
        piece = text[start : start + _REPEATED]
        if len(piece) == _REPEATED and piece in context:
            return True
    return False


def _names_wrong(
    task: str, answers: Answers, text: str, named: Collection[str], references: Collection[str]
) -> bool:
    """Return whether an answer without any reference names what the task asks for."""
    if answers == "words":
        return any(letter.isalpha() for letter in text)
    if answers == "values" and task != "niah_none":
        # shorter numbers, as in "100 times", are not meant as a value
        shortest = min(len(reference) for reference in references)
        return any(2 * len(value) >= shortest for value in named)
    return bool(named)


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
    repeat these hallucinations. A suite's tasks with `no_documents` ask the same questions at `0k`.
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
    predictions: Predictions, release: Release | None, rules: ScoringRules, strict: bool = False
) -> list[dict[str, Any]]:
    """Return every wrong row with its kind, in the order of the release's files.

    An item is also a line of `ruler errors --out`:

        {"config": "niah_multikey_1_4k", "languages": "en", "index": 7, "kind": "distractor",
         "found": 0, "of": 1, "gap": 0.07, "depth": 0.31, "needle": "One of the special …",
         "outputs": ["1234567"], "prediction": "7654321"}

    `memory` is the model's own answer without documents, if it was asked. Without a release the
    rows are made from the prompts in the files. Raises RulerError for files without prompts, and
    for predictions of other rows than the release's.
    """
    joined = join_predictions(predictions, release, rules)
    memories: dict[str, dict[int, str]] = {}
    names = list(joined)
    if release is not None:
        names = [name for name in release.configs if name in joined]
        memories = answers_from_memory({n: config.answers for n, config in joined.items()}, release)
    errors = []
    for name in names:
        config = joined[name]
        memory = memories.get(name, {})
        for joined_row in config.rows(COLUMNS) if release else _rows_of_prompts(config):
            row, answer = joined_row.row, joined_row.prediction
            row["memory"] = memory.get(int(row["index"]))
            error = error_of(joined_row, strict)
            if error is None:
                continue
            place = {"config": name, "languages": config.config.languages, "index": row["index"]}
            shown = {"outputs": row["outputs"], "prediction": answer.text if answer else None}
            item = {**place, **asdict(error), **shown}
            if row["memory"] is not None:
                item["memory"] = row["memory"]
            errors.append(item)
    return errors


def _rows_of_prompts(config: JoinedConfig) -> Iterator[JoinedRow]:
    """Yield the rows that are made from the prompts in the prediction files."""
    family = family_of(config.config.task, config.config.dataset)
    for index, answer in sorted(config.answers.items()):
        prompt = answer.known_prompt
        if prompt is None or not answer.outputs:
            raise RulerError(
                f"'{answer.where}' has no prompts, and the kinds of errors need the rows' "
                "contexts: add --dataset."
            )
        row = row_of_prompt(prompt, answer.outputs, family, answer.columns)
        yield config.join({"index": index, **row})
