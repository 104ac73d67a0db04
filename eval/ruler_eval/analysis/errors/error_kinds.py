"""What went wrong: every wrong answer sorted into the papers' kinds, from row and prediction alone.

RULER (arXiv:2404.06654), section 5; ONERULER (arXiv:2503.01996), section 4 and Table 1.

    error_of(row, prediction, "niah_multikey_1")           # Error("distractor", 0, 1, 0.07)
    family_of_kind("distractor")                           # "other item"

An answer has one kind: that of the first of RULES that holds; on some the row's family decides.
What was answered wrongly comes before what is missing: three right values and a distractor's is
`distractor`, three right values alone are `incomplete`. Where a row's context is not known, rules
that need it do not hold. How often a reader gave the same kind: tests/bench/bench_error_kinds.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ruler_eval.analysis.errors import error_rules as is_
from ruler_eval.families.answer_text import loops
from ruler_eval.families.family import Family
from ruler_eval.families.given_answer import GivenAnswer
from ruler_eval.families.table import family_of
from ruler_eval.frozen_release import PartialRow
from ruler_eval.prediction import Prediction
from ruler_eval.release_languages import Languages
from ruler_eval.score.row_score import RowScore, ScoringRules, row_score
from ruler_score import ruler_score as rules_of
from ruler_score.language_text import normalize, read_answer
from ruler_score.split_reasoning import split_reasoning

DISTRACTOR = "distractor"
_TOO_LONG = "the answer was truncated at the token limit"
_MORE = "all the right ones and something else"
_NONE = "says that there is no answer though there is one"
_LOOP = "one piece of text again and again, to the end"
_GARBLED = "the right value with characters lost, added or changed"
_NOWHERE = "the context does not hold the answer"
_START = "a copy of the beginning of the context or of the prompt"


class Rule(NamedTuple):
    """A kind of error, what it means, and when it holds; None: the row's family decides."""

    kind: str
    meaning: str
    holds: Callable[[GivenAnswer], bool] | None

    def of(self, family: Family) -> Callable[[GivenAnswer], bool] | None:
        """When it holds of a family's wrong answers, if no earlier rule does; None: never."""
        if self.kind == DISTRACTOR:
            return lambda answer: family.distance(answer) is not None
        return self.holds or family.kinds.get(self.kind)


RULES = (
    Rule("missing", "no prediction", lambda a: a.state == "missing"),
    Rule("does_not_fit", "the prompt did not fit the model's window", is_.over_the_window),
    Rule("failed", "the row ended with an error", lambda a: a.state == "failed"),
    Rule("cut_in_thinking", "the answer ended within the reasoning", lambda a: a.thinking == "cut"),
    Rule("cut", _TOO_LONG, lambda a: a.state == "cut" and not a.cut_scored),
    Rule("empty", "an answer without a letter or a digit", is_.empty),
    Rule("extra", _MORE, lambda a: a.found >= a.of and a.task != "niah_none"),
    Rule("opposite", "yes where no is right, or the reverse", None),
    Rule("refused", "the model declined to answer", is_.refused),
    Rule("says_none", _NONE, is_.says_none),
    Rule("says_none", _NONE, None),
    Rule("asked_key", "only the key that the question names, or a damaged copy", None),
    Rule("copied_example", "words or names of the one-shot example", None),
    Rule("copied_start", _START, is_.from_start),
    Rule("copied_start", _START, None),
    Rule("loop", _LOOP, None),
    Rule("reworded", "words of the right answer, or some, written otherwise", None),
    Rule("near_miss", "most words or letters of a right answer, but not all", None),
    Rule("from_memory", "what the same model answers without documents", None),
    Rule("same_document", "something else that a document with the answer says", None),
    Rule(DISTRACTOR, "a distractor's value, or words of another document", None),
    Rule("other_chain", "a variable of another chain", None),
    Rule("noise_word", "the noise word ...", None),
    Rule("frequent_word", "frequent words of the language, not in the list", None),
    Rule("wrong_format", "the answer in another format or language than asked", is_.wrong_format),
    Rule("garbled", _GARBLED, is_.garbled),
    Rule("garbled", _GARBLED, None),
    Rule("extra", _MORE, None),
    Rule("repeats", "some of the right ones, and one of them again", is_.repeats),
    Rule("loop", _LOOP, lambda a: loops(a.text)),
    Rule("incomplete", "k of the n right ones", lambda a: a.found > 0),
    Rule("unfinished", "an explanation that ends before an answer", is_.unfinished),
    Rule("unrelated", _NOWHERE, is_.unrelated),
    Rule("unrelated", _NOWHERE, None),
    Rule("other", "none of these for sure", lambda answer: True),
)
KINDS = {rule.kind: rule.meaning for rule in RULES}
"""The kinds and what they mean."""
FAMILIES = {
    "no answer": (
        *("missing", "does_not_fit", "failed", "cut_in_thinking", "cut", "empty", "refused"),
        "unfinished",
    ),
    "says none": ("says_none",),
    "other item": (
        *("distractor", "same_document", "other_chain", "asked_key", "noise_word"),
        "frequent_word",
    ),
    "copied": ("copied_example", "copied_start", "repeats", "loop"),
    "nearly right": ("extra", "reworded", "near_miss", "wrong_format", "garbled", "incomplete"),
    "other": ("from_memory", "opposite", "unrelated", "other"),
}
"""The families, and the kinds of each; a kind that stands in none is `other`."""
MEANINGS = {
    "no answer": "missing, failed, truncated, empty, declined or unfinished",
    "says none": "says that there is no answer though there is one",
    "other item": "another item of the context: a distractor, another chain or fact, the asked key",
    "copied": "the example or the context copied, or one text repeated",
    "nearly right": "some of it, all and more, or the right one damaged or in another form",
    "other": "from memory, unrelated to the context, the opposite, or none of these for sure",
}
_FAMILY_OF = {kind: family for family, kinds in FAMILIES.items() for kind in kinds}


def family_of_kind(kind: str) -> str:
    """The family that a kind is pooled in."""
    return _FAMILY_OF.get(kind, "other")


@cache
def _rules_of(family: Family) -> list[tuple[str, Callable[[GivenAnswer], bool]]]:
    return [(rule.kind, holds) for rule in RULES if (holds := rule.of(family)) is not None]


class Error(NamedTuple):
    """A kind of KINDS; k of n references found; how near a distractor stood, in depth (0 … 1)."""

    kind: str
    found: int
    of: int
    gap: float | None = None


def error_of(
    row: PartialRow,
    prediction: Prediction | None,
    task: str,
    language: str | None = None,
    rules: ScoringRules | None = None,
    strict: bool = False,
    family: Family | None = None,
) -> Error | None:
    """The kind of a wrong answer; None for a right one (with `strict`, a strictly right one).

    `row` holds input, outputs, context_start, context_end, evidence and none_word; `language` (of
    the instruction) marks a row of ONERULER. `task` is the one whose scoring rule holds; `family`,
    if not given, is that task's.
    """
    rules = rules or ScoringRules()
    result = row_score(row, prediction, task, language, rules)
    if (result.strict if strict else result.score) == 1:
        return None
    family = family or family_of(task, "ruler" if language is None else "oneruler")
    answer = _read(row, prediction, task, language, result, family, rules.languages)
    kind = next(kind for kind, holds in _rules_of(family) if holds(answer))
    if kind in is_.WITHOUT_TEXT:
        return Error(kind, 0, answer.of)
    gap = family.distance(answer) if kind == DISTRACTOR else None
    return Error(kind, min(answer.found, answer.of), answer.of, gap)


def _read(
    row: PartialRow,
    prediction: Prediction | None,
    task: str,
    language: str | None,
    result: RowScore,
    family: Family,
    languages: Languages,
) -> GivenAnswer:
    """A wrong answer, read as its family reads answers: what it offers, beside what is asked."""
    raw = split_reasoning(prediction.text if prediction else "").answer
    spoken = languages.rules(language) if language else None
    text = normalize(raw, spoken)
    if rules_of.is_oneruler(task, spoken):
        text = read_answer(text, spoken or "en")
    wanted = {normalize(reference, spoken) for reference in row["outputs"]}
    references = sorted(set(row["outputs"]))
    return GivenAnswer(
        row=row,
        task=task,
        language=spoken,
        function_words=languages.facts(language or "en").function_words,
        prediction=prediction,
        state=result.state,
        thinking=result.thinking,
        cut_scored=result.cut_scored,
        raw=raw,
        text=text,
        items=family.items(raw, text, wanted),
        wanted=wanted,
        found=sum(rules_of.references_found(raw, references, task, spoken)),
        is_list=family.is_list,
    )
