"""The parameters of ONERULER's niah, and its published prompt around a book (Figure 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ruler_builder.sources.registry import prompts_of
from ruler_builder.suites.params import MOST_NEEDLES, TaskParams
from ruler_builder.suites.wording import Frame, between_tags, split_at_context


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

    def sources(self, language: str, instruction_language: str) -> tuple[str, ...]:
        """The book of the context's language, and the prompts of both."""
        prompts = (prompts_of(code) for code in (language, instruction_language))
        return (f"book-{language}", *chain.from_iterable(prompts))

    right_answers = staticmethod(between_tags)


def needle_frame(
    parts: Mapping[str, str], separator: str, none_sentence: bool, keys: Sequence[str]
) -> Frame:
    """The text before and after the context, and the question."""
    head, tail = split_at_context(parts["task"])
    names = {f"query{i}": key for i, key in enumerate(keys, 1)}
    asked = parts["question_one" if len(keys) == 1 else "question_many"].format(**names)
    end = parts["if_no"]
    if not none_sentence:  # what closes the question stays
        end = end[end.rindex("</") :]
    tail += separator.join([asked, parts["please_list"], end])
    tail += parts["answer_prefix"] + separator + parts["answer"]
    return Frame(head, tail, "", asked[asked.index(">") + 1 :].strip())
