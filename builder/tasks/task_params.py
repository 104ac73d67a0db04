"""The parameters of a task, family by family, checked: what a suite or a manifest may say.

    read_params("vt", {"family": "variable_tracking", "hops": 8, "max_new_tokens": 30}).hops    # 8

Table 5 of RULER and section 2 of ONERULER have the usual ones. It imports nothing that builds rows,
so that the laws read a manifest's tasks by the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from builder.tasks.task_rules import LAYOUTS, OPTIONAL
from ruler_dataset import RulerError, check_name

TYPES = {"words": "word", "numbers": "number", "uuids": "uuid"}
"""Of niah's keys and values, with the word for one."""
MOST_NEEDLES = 40
"""Needles in an essay or book: there are so many depths."""
_NIAH_HAYSTACKS = ("noise", "essay", "needles")
_CHAIN_HAYSTACKS = ("noise", "essay")
_CORPORA = ("squad", "hotpotqa")
_MOST_COMMON = 200  # words of cwe: so many that no other contains are surely there
_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "str": (str,), "bool": (bool,),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TaskParams:
    """A task's parameters, checked; `max_new_tokens` is the family's unless given."""

    max_new_tokens: int

    def __post_init__(self) -> None:
        self.need(self.max_new_tokens >= 1, "max_new_tokens must be at least 1")

    def need(self, condition: bool, sentence: str) -> None:
        """Refuse impossible parameters with a sentence."""
        if not condition:
            raise RulerError(f"{sentence}.")


@dataclass(frozen=True, kw_only=True)
class NiahParams(TaskParams):
    """Haystack, types of key and value, and how many of each (Table 5)."""

    haystack: str = "essay"
    key_type: str = "words"
    value_type: str = "numbers"
    keys: int = 1
    values: int = 1
    queries: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        there = ", ".join(_NIAH_HAYSTACKS)
        self.need(self.haystack in _NIAH_HAYSTACKS, f"haystack must be one of {there}")
        for name in (self.key_type, self.value_type):
            self.need(name in TYPES, f"key_type and value_type must be of {', '.join(TYPES)}")
        self.need(
            min(self.keys, self.values, self.queries) >= 1, "keys, values, queries start at 1"
        )
        self.need(self.queries <= self.keys, "queries cannot be more than keys")
        most = MOST_NEEDLES if self.haystack == "essay" else 1000
        self.need(self.keys * self.values <= most, f"keys x values cannot be more than {most}")


@dataclass(frozen=True, kw_only=True)
class ChainParams(TaskParams):
    """How many chains and hops (Table 5), names' letters, solved examples, haystack and layout."""

    chains: int = 1
    hops: int = 4
    layout: str = OPTIONAL["variable_tracking"]["layout"]
    haystack: str = OPTIONAL["variable_tracking"]["haystack"]
    name_letters: int = OPTIONAL["variable_tracking"]["name_letters"]
    examples: int = OPTIONAL["variable_tracking"]["examples"]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.chains <= 100, "chains must be 1 to 100")
        self.need(1 <= self.hops <= 100, "hops must be 1 to 100")
        self.need(self.layout in LAYOUTS, f"layout must be one of {', '.join(LAYOUTS)}")
        there = ", ".join(_CHAIN_HAYSTACKS)
        self.need(self.haystack in _CHAIN_HAYSTACKS, f"haystack must be one of {there}")
        self.need(4 <= self.name_letters <= 10, "name_letters must be 4 to 10: examples have 3")
        self.need(0 <= self.examples <= 5, "examples must be 0 to 5")
        if self.layout == "2024":
            self.need(self.haystack == "noise", "layout 2024 has the noise haystack alone")
            self.need(self.examples <= 1, "layout 2024 has one example at the most")
        if self.haystack == "essay":
            enough = self.chains * (self.hops + 1) <= MOST_NEEDLES
            self.need(enough, f"in essays, chains x (hops + 1) cannot be over {MOST_NEEDLES}")


@dataclass(frozen=True, kw_only=True)
class CommonParams(TaskParams):
    """Number of common words and the counts (Table 5); the short ones apply below 4096 tokens."""

    num_cw: int = 10
    freq_cw: int = 30
    freq_ucw: int = 3
    short_freq_cw: int = 6
    short_freq_ucw: int = 1
    layout: str = OPTIONAL["common_words"]["layout"]
    examples: int = OPTIONAL["common_words"]["examples"]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.num_cw <= _MOST_COMMON, f"num_cw must be 1 to {_MOST_COMMON}")
        self.need(self.layout in LAYOUTS, f"layout must be one of {', '.join(LAYOUTS)}")
        self.need(0 <= self.examples <= 5, "examples must be 0 to 5")
        self.need(
            self.freq_cw > self.freq_ucw >= 1, "freq_cw must be more than freq_ucw, from 1 on"
        )
        short = self.short_freq_cw > self.short_freq_ucw >= 1
        self.need(short, "short_freq_cw must be more than short_freq_ucw, from 1 on")


@dataclass(frozen=True, kw_only=True)
class FrequentParams(TaskParams):
    """The distribution's exponent and how many words are asked for (Table 5); the words' letters.

    `vocabulary` is the number of different words, the noise word too; 0 is a fiftieth of the
    window's tokens.
    """

    alpha: float = 2.0
    words: int = 3
    vocabulary: int = OPTIONAL["frequent_words"]["vocabulary"]
    word_letters: int = OPTIONAL["frequent_words"]["word_letters"]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 < self.alpha <= 10, "alpha must be above 1 and at most 10")
        self.need(1 <= self.words <= 10, "words must be 1 to 10")
        self.need(4 <= self.word_letters <= 12, "word_letters must be 4 to 12")
        enough = self.words + 2 <= self.vocabulary <= 100_000
        self.need(
            enough or self.vocabulary == 0,
            f"vocabulary must be {self.words + 2} to 100000, or 0 for a fiftieth of the window",
        )


@dataclass(frozen=True, kw_only=True)
class QaParams(TaskParams):
    """The corpus, and how many documents at the most (0: as many as fit), or none at all."""

    dataset: str = "squad"
    documents: int = 0
    no_documents: bool = OPTIONAL["question_answering"]["no_documents"]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.dataset in _CORPORA, f"dataset must be one of {', '.join(_CORPORA)}")
        self.need(self.documents >= 0, "documents must be 1 or more, or 0 for as many as fit")


@dataclass(frozen=True, kw_only=True)
class MultilingualNiahParams(TaskParams):
    """How many keys hide, with how many values each, and how many keys are asked for.

    `absent` asks for a key that hides nowhere. `none_sentence` is false for the ablation of Figure
    14, which then asks as the task `same_as` does.
    """

    keys: int = 1
    values: int = 1
    queries: int = 1
    absent: bool = False
    none_sentence: bool = True
    same_as: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(min(self.keys, self.values) >= 1, "keys and values start at 1")
        self.need(1 <= self.queries <= 2, "queries must be 1 or 2: the prompts have no other form")
        self.need(self.queries <= self.keys, "queries cannot be more than keys")
        self.need(not self.absent or self.queries == 1, "one absent key can be asked for")
        self.need(
            self.none_sentence or not self.absent,
            "an absent key needs the sentence that says what to answer: none_sentence = true",
        )
        most = MOST_NEEDLES
        self.need(self.keys * self.values <= most, f"keys x values cannot be more than {most}")
        self.need(self.keys <= 8, "keys cannot be more than 8, so that they differ clearly")


@dataclass(frozen=True, kw_only=True)
class MultilingualWordsParams(TaskParams):
    """Number of common words and the counts; the short ones apply up to 8000 tokens."""

    num_cw: int = 10
    freq_cw: int = 30
    freq_ucw: int = 3
    short_freq_cw: int = 10
    short_freq_ucw: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.num_cw == 10, "num_cw must be 10: the published prompts ask for ten words")
        for common, uncommon in (
            (self.freq_cw, self.freq_ucw),
            (self.short_freq_cw, self.short_freq_ucw),
        ):
            self.need(common > uncommon >= 1, "freq_cw must be more than freq_ucw, from 1 on")


PARAMS: dict[str, type[TaskParams]] = {
    "niah": NiahParams,
    "variable_tracking": ChainParams,
    "common_words": CommonParams,
    "frequent_words": FrequentParams,
    "question_answering": QaParams,
    "multilingual_niah": MultilingualNiahParams,
    "multilingual_words": MultilingualWordsParams,
}
"""Each task family's."""


def read_params(task: str, described: Mapping[str, Any]) -> TaskParams:
    """A task's parameters from its table, `family` and `max_new_tokens` among them.

    Raises RulerError for what is unknown, of a wrong type or impossible.
    """
    kind = PARAMS[described["family"]]
    known = {item.name: str(item.type) for item in fields(kind)}
    values = {name: value for name, value in described.items() if name != "family"}
    for name, value in values.items():
        check_name(f"parameter of task '{task}'", name, known, "builder/tasks/suites")
        of = known[name]
        if not isinstance(value, _KINDS[of]) or isinstance(value, bool) != (of == "bool"):
            raise RulerError(f"Task '{task}': {name} must be {of}, not {value!r}.")
    try:
        return kind(**values)
    except RulerError as error:
        raise RulerError(f"Task '{task}': {error}") from None
