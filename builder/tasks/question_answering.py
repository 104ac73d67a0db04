"""Question answering among distractor documents: SQuAD and HotpotQA (section 3.4).

    Document 1:
    <paragraph>

    Document 2:
    …

The gold documents stand at random places; the rest of the window is filled with other documents of
the corpus, all different until the corpus is used up, then again; the gold ones never repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from builder.context.counted_sources import CountedTexts
from builder.context.prompt_builder import PromptBuilder
from builder.sources.corpora import Question
from builder.tasks.task import Row, Task, TaskParams
from ruler_dataset import RulerError

DATASETS = ("squad", "hotpotqa")
_FEWEST_TOKENS = 8  # of a document with its number
_TRIES = 8  # where a tokenizer's counts do not add up


@dataclass(frozen=True)
class QaParams(TaskParams):
    """The corpus, and how many documents at the most (0: as many as fit)."""

    dataset: str = "squad"
    documents: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.dataset in DATASETS, f"dataset must be one of {', '.join(DATASETS)}")
        self.need(self.documents >= 0, "documents must be 1 or more, or 0 for as many as fit")


class _Packed(NamedTuple):
    """Distractor documents, times the corpus began again, tokens of the smallest one left out.

    `left` are those left out.
    """

    documents: np.ndarray
    repeats: int
    unit: int | None
    left: np.ndarray


class QuestionAnswering(Task[QaParams]):
    """One qa task at one place."""

    params_type = QaParams

    @cached_property
    def _documents(self) -> CountedTexts:
        """The corpus' documents, each counted with the blank line after it."""
        return self.counted_sources.corpus(self.params.dataset).documents

    @cached_property
    def _questions(self) -> list[Question]:
        return self.counted_sources.corpus(self.params.dataset).questions

    @cached_property
    def _labels(self) -> CountedTexts:
        template = self.templates["document"].removesuffix("{document}")
        most = self.place.max_length // _FEWEST_TOKENS
        return self.counted_sources.counted([template.format(i=i) for i in range(1, most + 1)])

    @cached_property
    def _label_sums(self) -> np.ndarray:
        return np.cumsum([0, *self._labels.tokens])

    def limit(self) -> int:
        """As many rows as the corpus has questions."""
        return len(self._questions)

    def check(self, rows: int) -> None:
        """Refuse a window that a question's required documents do not fit."""
        for index in range(rows):
            question = self._questions[index]
            self._room(self._required(question), self.room - self._frame_tokens(question))

    def row(self, index: int) -> Row:
        """Row `index`: the same question and relative depths at every length."""
        question = self._questions[index]
        head, tail, prefix = self._frame(question)

        def lay(documents: np.ndarray) -> PromptBuilder:
            return self._lay(index, question, documents, head, tail + prefix)

        room, best = self.room - self._frame_tokens(question), None
        for _ in range(_TRIES):
            packed = self._pack(index, question, room)
            prompt = lay(packed.documents)
            spare = self.room - prompt.tokens
            if spare >= 0 and (best is None or spare < best[0]):
                best = spare, prompt, packed
            if spare >= 0 and (self.counter.split_points.proved or spare < _FEWEST_TOKENS):
                break
            room += spare
        if best is None:
            raise RulerError(
                f"No documents fill row {index} of {self.place.task}: other lengths may."
            )
        spare, prompt, packed = best
        if not self.counter.split_points.proved or spare >= (packed.unit or spare + 1):
            prompt, packed = self._filled(prompt, packed, lay)
        answers = list(question.answers)
        return self.finish(
            index, prompt, prefix, answers, question.text, packed.unit, packed.repeats
        )

    def _filled(
        self, prompt: PromptBuilder, packed: _Packed, lay: Callable[[np.ndarray], PromptBuilder]
    ) -> tuple[PromptBuilder, _Packed]:
        """Where counts do not add up: the smallest documents left out are tried, counted whole."""
        documents, left = packed.documents, packed.left
        while len(left):
            smallest = int(np.argmin(self._documents.tokens[left]))
            more = np.append(documents, left[smallest])
            fuller = lay(more)
            if fuller.tokens > self.room:
                unit = fuller.tokens - prompt.tokens
                return prompt, _Packed(documents, packed.repeats, unit, left)
            documents, prompt, left = more, fuller, np.delete(left, smallest)
        return prompt, _Packed(documents, packed.repeats, None, left)

    def _required(self, question: Question) -> list[int]:
        corpus = self.counted_sources.corpus(self.params.dataset)
        return [*question.gold, *(question.own if corpus.own_required else ())]

    def _room(self, required: list[int], room: int) -> int:
        """What is left of the room when the required documents are in."""
        need = int(self._documents.tokens[required].sum() + self._label_sums[len(required)])
        if need > room:
            raise RulerError(
                f"A question's own documents need {need} tokens, the window leaves {room}: "
                "take a longer length."
            )
        return room - need

    def _pack(self, index: int, question: Question, room: int) -> _Packed:
        """Distractors in random order while they fit, then smaller ones into what is left."""
        required = self._required(question)
        room = self._room(required, room)
        chosen: list[np.ndarray] = [np.array(required[len(question.gold) :], dtype=int)]
        number = len(required)
        for again in count():
            most = self.params.documents or len(self._labels.texts) - 1
            rest = self._candidates(index, question, again)[: max(0, most - number)]
            tokens = self._documents.tokens[rest]
            costs = np.cumsum(tokens) + self._label_sums[number + 1 : number + 1 + len(rest)]
            costs -= self._label_sums[number]
            fitting = int(np.searchsorted(costs, room, "right"))
            chosen.append(rest[:fitting])
            if fitting:
                room -= int(costs[fitting - 1])
                number += fitting
            if fitting < len(rest) or self.params.documents:
                break
        rest = rest[fitting:]
        while len(small := np.flatnonzero(self._sizes(rest, number) <= room)):
            chosen.append(rest[small[:1]])
            room -= int(self._sizes(chosen[-1], number)[0])
            number, rest = number + 1, np.delete(rest, small[0])
        unit = int(self._sizes(rest, number).min()) if len(rest) else None
        return _Packed(np.concatenate(chosen), again, unit, rest)

    def _sizes(self, documents: np.ndarray, number: int) -> np.ndarray:
        """Tokens of documents were they added after `number` others."""
        return self._documents.tokens[documents] + int(self._labels.tokens[number])

    def _candidates(self, index: int, question: Question, again: int) -> np.ndarray:
        """All documents but the gold and the required ones; the question's own come first."""
        draw = self.place.fill(index, "documents", again)
        taken = self._required(question) if again == 0 else list(question.gold)
        own = np.array([i for i in question.own if i not in taken], dtype=int)
        others = np.setdiff1d(np.arange(len(self._documents.texts)), [*taken, *own])
        if again:
            return draw.permutation(np.concatenate([own, others]))
        return np.concatenate([draw.permutation(own), draw.permutation(others)])

    def _lay(
        self, index: int, question: Question, documents: np.ndarray, head: str, tail: str
    ) -> PromptBuilder:
        """The documents in an order of the row's own, the gold ones at their relative depths."""
        depths = self.place.ask(index).random(len(question.gold))
        order = self.place.fill(index, "order").permutation(documents).tolist()
        places = sorted(zip(depths, question.gold, strict=True), reverse=True)
        for depth, gold in places:
            order.insert(int(depth * (len(documents) + 1)), gold)
        labels = self._labels.texts[: len(order)].tolist()
        texts = self._documents.texts[order].tolist()
        parts = [part for pair in zip(labels, texts, strict=True) for part in (*pair, "\n\n")]
        tokens = int(self._documents.tokens[order].sum() + self._label_sums[len(order)])
        prompt = self.prompt().add(head).begin_context()
        starts = np.cumsum([0, *map(len, parts)])
        carrying = self._carrying(question)
        for gold in question.gold:
            start = int(starts[3 * order.index(gold) + 1])
            prompt.mark(start, start + len(self._documents.texts[gold]), gold in carrying)
        return (
            prompt.run("".join(parts), tokens).end_context(trail=2).add(tail.removeprefix("\n\n"))
        )

    def _carrying(self, question: Question) -> list[int]:
        """The gold documents that hold an answer; all of them where none does (yes or no)."""
        answers = [answer.casefold() for answer in question.answers]
        texts = {gold: self._documents.texts[gold].casefold() for gold in question.gold}
        holding = [gold for gold, text in texts.items() if any(a in text for a in answers)]
        return holding or list(question.gold)

    def _frame(self, question: Question) -> tuple[str, str, str]:
        head, tail = self.templates["input"].split("{context}")
        return head, tail.replace("{question}", question.text), self.templates["prefix"]

    def _frame_tokens(self, question: Question) -> int:
        head, tail, prefix = self._frame(question)
        return sum(self.counter.counts([head, tail.removeprefix("\n\n") + prefix]))
