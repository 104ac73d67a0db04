"""A wrong answer as the rules of its kind see it: its text, the items it offers, the row it is to.

`ruler_eval/analysis/errors/error_kinds.py` makes one; its `wrong` is            # ["5555555"]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ruler_eval.families.answer_text import UUID, normalize_long, words_of
from ruler_eval.frozen_release import PartialRow
from ruler_eval.prediction import Prediction
from ruler_score import ruler_score as rules_of
from ruler_score.language_text import Language, normalize

_UUID_LIKE = re.compile(r"(?<!\w)[0-9a-fx]{3,}(?:-[0-9a-f]{2,}){2,}")


@dataclass(kw_only=True, eq=False)  # not frozen: that takes twice as long to make
class GivenAnswer:
    """A wrong answer: the row, the prediction, and the items that it offers as answers.

    `task` is the one whose scoring rule holds; `state` and `thinking` say how the answer ended, in
    the words of RowScore (score/row_score.py). `raw` is the text without reasoning, `text`
    the same normalized (in ONERULER the answer alone); `language` is None in RULER,
    `function_words` are the language's commonest; `wanted` are the normalized references, `found`
    how many of them stand in the answer; `is_list`: a list of words was asked for.
    """

    row: PartialRow
    task: str
    language: Language | None
    function_words: Sequence[str]
    prediction: Prediction | None
    state: str
    thinking: str
    cut_scored: bool
    raw: str
    text: str
    items: list[str]
    wanted: set[str]
    found: int
    is_list: bool

    @property
    def of(self) -> int:
        """How many references there are; alternatives count as one."""
        return 1 if self.is_qa else len(self.wanted)

    @property
    def is_qa(self) -> bool:
        """Whether one of the references is enough."""
        return self.task in rules_of.QA_TASKS

    @property
    def wants_uuids(self) -> bool:
        """Whether every reference is a UUID."""
        return bool(self.wanted) and all(map(UUID.fullmatch, self.wanted))

    @cached_property
    def wrong(self) -> list[str]:
        """The items that are no reference and not the key that was asked for."""
        return [item for item in dict.fromkeys(self.items) if item not in self.wanted | self.asked]

    @cached_property
    def asked(self) -> set[str]:
        """The UUIDs that the question names: keys, no answers."""
        return set(UUID.findall(self.question))

    @cached_property
    def question(self) -> str:
        """The question, normalized; where it is not known alone, what follows the context."""
        known = self.row.get("question") or self.row["input"][self.row["context_end"] :]
        return normalize(str(known))

    @cached_property
    def first_line(self) -> str:
        """The answer's first line, normalized: small models explain on the lines after it."""
        lines = self.raw.strip().splitlines()
        return normalize(lines[0]) if lines else ""

    @cached_property
    def context(self) -> str:
        """The row's context; empty where it is not known."""
        return _part(self.row["input"], self.row["context_start"], self.row["context_end"])

    @cached_property
    def folded(self) -> str:
        """The context, normalized."""
        return normalize_long(self.context)

    @cached_property
    def words(self) -> frozenset[str]:
        """The context's words, normalized."""
        return words_of(self.folded)


@lru_cache(maxsize=4)  # several runs answer one row, and what is made of its context is kept too
def _part(text: str, start: int, end: int) -> str:
    return text[start:end]


def candidates(answer: GivenAnswer) -> list[str]:
    """What may be a damaged copy of a value: numbers, names, or strings that look like a UUID."""
    if not answer.wants_uuids:
        return answer.wrong
    known = answer.wanted | answer.asked
    return [text for text in _UUID_LIKE.findall(answer.text) if text not in known]
