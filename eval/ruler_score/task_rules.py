"""Score one row by the rule of its task, and find the references in its prediction.

    score_row("The number is 1234567.", ["1234567"], "niah_single_1").score            # 1.0
    score_row("<odpowiedź>brak</odpowiedź>", ["brak"], "niah_none", "pl").score        # 1.0

Scores are 0 … 1.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .language_table import LANGUAGES
from .language_text import Language, normalize
from .oneruler_rules import (
    answer_in,
    answer_numbers,
    authors_answer,
    authors_none,
    authors_numbers,
    authors_words,
    exact_none,
    exact_numbers,
    read_list,
    says_none,
)
from .ruler_rules import nothing_else, postprocess, whole_word_match
from .split_reasoning import ReasoningState, split_reasoning

QA_TASKS = ("qa_1", "qa_2")
# fmt: off
RULER_TASKS = (
    "niah_single_1", "niah_single_2", "niah_single_3",
    "niah_multikey_1", "niah_multikey_2", "niah_multikey_3",
    "niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe", *QA_TASKS,
)
ONERULER_TASKS = (
    "niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery", "niah_none",
    "cwe_easy", "cwe_hard", "niah_single_nonone",
)
# fmt: on

ANSWER_TAGS = {language: rules.tags[0] for language, rules in LANGUAGES.items()}
"""The tag around the answer that the prompts of each language ask for."""


class TextScore(NamedTuple):
    """The score of one prediction."""

    score: float  # 0 … 1
    strict: float  # 0 … 1, by the stricter rule: whole words, and nothing else in a list
    reasoning: ReasoningState  # whether the prediction has reasoning, and whether it ended
    found: int  # the number of references in the answer


def is_oneruler(task: str | None, language: Language | None) -> bool:
    """Return whether a task is ONERULER's; if RULER has the same name, the language decides."""
    return task in ONERULER_TASKS and (task not in RULER_TASKS or language is not None)


def score_row(
    prediction: str,
    references: Sequence[str],
    task: str | None = None,
    language: Language | None = None,
    none_word: str | None = None,
    compat: str | None = None,
    model: str = "",
) -> TextScore:
    """Score one row by the rule of its task; without a task, by RULER's `string_match_all`.

    Args:
        prediction: the model's text, with any reasoning.
        references: the row's `outputs`.
        task: the task's name, or None.
        language: the language of the instruction, for rows of ONERULER; None for RULER.
        none_word: the row's `none_word`, if it has one.
        compat: "authors" to score as ONERULER's authors' script does; None for our rules.
        model: the model's name; the authors' script has special rules for some models.

    Raises:
        ValueError: for an unknown task, language or `compat`, and for a row without references.
    """
    _check_row(task, language, compat)
    if not len(references):  # may be an array, which has no truth value
        raise ValueError("A row without references cannot be scored.")
    _, answer, reasoning = split_reasoning(prediction)
    if not is_oneruler(task, language):
        return _score_ruler(answer, references, task or "", reasoning)
    language = language or "en"
    authors_text = authors_answer(prediction, model)
    if str(task).startswith("cwe"):
        word_list = read_list(answer_in(answer, language), references, language)
        found, strict = len(word_list.found), float(word_list.exact)
        score = authors_words(authors_text, references) if compat else strict
    elif task == "niah_none":
        none_word = none_word or references[0]
        found = int(says_none(answer_in(answer, language), language, none_word))
        strict = exact_none(answer, language, none_word)
        score = authors_none(authors_text, language) if compat else strict
    else:
        expected = {normalize(reference, language) for reference in references}
        found = len(expected & answer_numbers(answer_in(answer, language)))
        strict = exact_numbers(answer, references, language, none_word)
        score = authors_numbers(authors_text, references, language) if compat else strict
    return TextScore(score, strict, reasoning, found)


def _score_ruler(
    answer: str, references: Sequence[str], task: str, reasoning: ReasoningState
) -> TextScore:
    """Score an answer as RULER's reference code does."""
    text = postprocess(answer).lower()
    found = sum(reference.lower() in text for reference in references)
    if task in QA_TASKS:
        score = float(found > 0)  # string_match_part in the reference code
        strict = score * whole_word_match(answer, references)
    else:
        score = found / len(references)  # string_match_all
        strict = float(score == 1 and nothing_else(answer, references, task))
    return TextScore(score, strict, reasoning, found)


@functools.lru_cache(maxsize=256)
def _check_row(task: str | None, language: Language | None, compat: str | None) -> None:
    check_names([task], [language], compat)


def check_names(
    tasks: Iterable[str | None], languages: Iterable[Language | None], compat: str | None
) -> None:
    """Raise ValueError for an unknown task, language or `compat`."""
    all_tasks = {*RULER_TASKS, *ONERULER_TASKS}
    for task in set(tasks) - all_tasks - {None}:
        raise ValueError(f"Unknown task {task!r}. The tasks: {', '.join(sorted(all_tasks))}.")
    codes = {language for language in languages if isinstance(language, str)}
    for code in codes - ANSWER_TAGS.keys():
        raise ValueError(
            f"Unknown language {code!r}. The languages: {', '.join(ANSWER_TAGS)}. Pass the rules "
            "of another language as language_rules=."
        )
    if compat not in (None, "authors"):
        raise ValueError(f"Unknown compat {compat!r}: pass 'authors' or None.")


def references_found(
    prediction: str, references: Sequence[str], task: str | None, language: Language | None = None
) -> list[bool]:
    """Return for each reference whether the prediction has it, by the benchmark's rules."""
    answer = split_reasoning(prediction).answer
    if not is_oneruler(task, language):
        text = postprocess(answer).lower()
        return [reference.lower() in text for reference in references]
    language = language or "en"
    answer = answer_in(answer, language)
    if task == "niah_none":
        return [says_none(answer, language, reference) for reference in references]
    if str(task).startswith("cwe"):
        in_answer = read_list(answer, references, language).found
    else:
        in_answer = answer_numbers(answer)
    return [normalize(reference, language).strip() in in_answer for reference in references]
