"""Question answering among distractor documents: SQuAD and HotpotQA (section 3.4).

    Document 1:
    <paragraph>

    Document 2:
    …

The gold documents are at random places; the rest of the window is filled with other documents of
the corpus, all different until the corpus is used up, then again; the gold ones never repeat. In
SQuAD the paragraphs of the question's own article come before any other article's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from ruler_builder.tasks.audit_parts import AuditContext, context_of
from ruler_builder.tasks.base import NewRow, Task, TaskParams
from ruler_builder.tasks.randomness import all_but
from ruler_builder.tasks.templates import Frame, frame_of
from ruler_builder.text.corpora import Question
from ruler_builder.text.sources import LanguageSources
from ruler_builder.window.counted_sources import CountedTexts
from ruler_builder.window.fit import Documents, Pool, pack, refuse_if_over
from ruler_builder.window.prompt import PromptBuilder
from ruler_common.errors import RulerError
from ruler_common.rows import Row

# ---- Parameters --------------------------------------------------------------------------------

_CORPORA = ("squad", "hotpotqa")
WITHOUT_DOCUMENTS = (
    "Answer the question. Only give me the answer and do not output any other words."
    "{context}\n\nQuestion: {question}"
)
"""The prompt without documents, Figure 3's dotted line; its context is empty."""


@dataclass(frozen=True, kw_only=True)
class QaParams(TaskParams):
    """The corpus, and how many documents at the most (0: as many as fit), or none at all."""

    optional = ("no_documents",)
    from_corpus = True

    dataset: str = "squad"
    documents: int = 0
    no_documents: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need_one_of("dataset", _CORPORA)
        self.need(self.documents >= 0, "documents must be 1 or more, or 0 for as many as fit")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the corpus."""
        return (self.dataset,)

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """One for each annotator."""
        return [f" {reference}" for reference in references]


# ---- Wording -----------------------------------------------------------------------------------

TEMPLATES: dict[str, Any] = {
    "max_new_tokens": 32,
    "input": (
        "Answer the question based on the given documents. Only give me the answer and do not "
        "output any other words.\n\nThe following are given documents.\n\n{context}\n\nAnswer the "
        "question based on the given documents. Only give me the answer and do not output any "
        "other words.\n\nQuestion: {question}"
    ),
    "document": "Document {i}:\n{document}",
    "prefix": " Answer:",
}


# ---- Rows --------------------------------------------------------------------------------------

_FEWEST_TOKENS = 8  # of a document with its number
_BETWEEN = "\n\n"  # two documents
_MOST_GOLD = 100  # documents of one question
_SURELY = 0.7  # of the room: required documents guessed to need less do fit


class QuestionAnswering(Task[QaParams]):
    """One qa task for one window."""

    cost = 2

    @cached_property
    def _documents(self) -> CountedTexts:
        """The corpus' documents, each counted with the blank line after it."""
        return self.counted_sources.corpus(self.params.dataset).documents

    @cached_property
    def _questions(self) -> list[Question]:
        return self.counted_sources.corpus(self.params.dataset).questions

    @cached_property
    def _document_wording(self) -> tuple[str, str]:
        """The text before a document, and after it."""
        before, _, after = self.templates["document"].partition("{document}")
        return before, after + _BETWEEN

    @cached_property
    def _labels(self) -> CountedTexts:
        most = max(_MOST_GOLD, self.key.max_length // _FEWEST_TOKENS)
        before = self._document_wording[0]
        return self.counted_sources.counted([before.format(i=i) for i in range(1, most + 1)])

    @cached_property
    def _label_sums(self) -> np.ndarray:
        return np.cumsum([0, *self._labels.tokens])

    def limit(self) -> int:
        """As many rows as the corpus has questions."""
        return len(self._questions)

    def check(self, rows: int) -> None:
        """Refuse a window that a question's required documents do not fit, or too few documents."""
        required = [self._required(question) for question in self._questions[:rows]]
        most, index = max((len(documents), index) for index, documents in enumerate(required))
        if 0 < self.params.documents < most:
            raise RulerError(
                f"documents is {self.params.documents}, but question {index} brings {most} of its "
                f"own: make it {most} or more, or 0 for as many as fit."
            )
        for index in range(rows):
            documents, frame = np.array(required[index]), self._frame(self._questions[index])
            if self._ends(frame) + self._sum(documents) > _SURELY * self.budget:
                refuse_if_over(self._lay(index, documents, frame).tokens, self.budget)

    def row(self, index: int) -> NewRow:
        """Row `index`: the same question and relative depths at every length."""
        question = self._questions[index]
        frame, required = self._frame(question), np.array(self._required(question))

        if self.params.no_documents:
            prompt = PromptBuilder(self.counter).add(frame.head).begin_context().end_context()
            prompt.add(frame.tail + frame.prefix)
            return self.finish(index, prompt, frame, self.references(index), None)
        if self.evidence_only:
            prompt = self._lay(index, required, frame)
            return self.finish(index, prompt, frame, self.references(index), None)
        ends = self._ends(frame)

        def summed(documents: Documents) -> int:
            return ends + self._sum(documents)

        def counted(documents: Documents) -> int:
            return self._lay(index, documents, frame).tokens

        count_exactly = summed if self.counter.split_points.proved else counted
        packed = pack(self._pools(index), required, count_exactly, self._sizes, self.budget)
        prompt = self._lay(index, packed.documents, frame)
        if count_exactly is summed and not self._adds_up(packed.documents, prompt):
            packed = pack(self._pools(index), required, counted, self._sizes, self.budget)
            prompt = self._lay(index, packed.documents, frame)
        answers = self.references(index)
        return self.finish(index, prompt, frame, answers, packed.next_unit_tokens, packed.repeats)

    def references(self, index: int) -> list[str]:
        """All annotators' answers."""
        return list(self._questions[index].answers)

    def _required(self, question: Question) -> list[int]:
        """Return the documents that must be in.

        The gold ones, and in HotpotQA all of the question's.

        At `0k` the gold ones alone.
        """
        corpus = self.counted_sources.corpus(self.params.dataset)
        return [
            *question.gold,
            *(question.own if corpus.own_required and not self.evidence_only else ()),
        ]

    def _pools(self, index: int) -> Iterator[Pool]:
        """Yield the other documents, in random order.

        The rest of the own article's, then any others.

        Then all of them again, but the gold ones, as often as the window takes them. With a number
        of documents given, no more than that.
        """
        question = self._questions[index]
        required = self._required(question)
        own = np.array([i for i in question.own if i not in required], dtype=int)
        most = self.params.documents - len(required) if self.params.documents else None
        for repeats in count():
            draw = self.key.draw_filling(index, "documents", repeats)
            if repeats == 0:
                rest = all_but(len(self._documents.texts), [*required, *own])
                pools = [draw.permutation(own), draw.permutation(rest)]
            else:
                own_again = np.array([i for i in question.own if i not in question.gold], dtype=int)
                rest = all_but(len(self._documents.texts), [*question.gold, *own_again])
                pools = [draw.permutation(np.concatenate([own_again, rest]))]
            for pool in pools:
                yield Pool(pool[:most], repeats)
                most = None if most is None else most - len(pool)
                if most is not None and most <= 0:
                    return

    def _sizes(self, documents: Documents, number: int) -> np.ndarray:
        """Tokens of each document were it added after `number` others, about."""
        return np.asarray(self._documents.tokens[documents] + self._labels.tokens[number])

    def _sum(self, documents: Documents) -> int:
        """Tokens of the context with these documents; exact if the pieces' tokens add up."""
        return int(self._documents.tokens[documents].sum() + self._label_sums[len(documents)])

    def _ends(self, frame: Frame) -> int:
        """Tokens of the text before the context and after it."""
        tail = frame.tail.removeprefix(_BETWEEN) + frame.prefix
        return sum(self.counter.counts([frame.head, tail]))

    def _adds_up(self, documents: Documents, prompt: PromptBuilder) -> bool:
        """Whether the tokens of a prompt are those of its pieces, with all the documents' ends."""
        before, after = self._document_wording
        between = self.counter.split_points.between
        return (
            after == _BETWEEN
            and self.counter.split_points.hold_in(prompt.text)
            and all(
                between(before, text) and between(text + after, before)
                for text in self._documents.texts[documents]
            )
        )

    def _lay(self, index: int, documents: Documents, frame: Frame) -> PromptBuilder:
        """Return the prompt with these documents in an order of the row's own.

        The gold ones, which are the first of them, are at their relative depths.
        """
        question = self._questions[index]
        gold, others = list(question.gold), documents[len(question.gold) :]
        order = self.key.draw_filling(index, "order").permutation(others).tolist()
        depths = self.key.draw_asked(index).random(len(gold))
        for depth, document in sorted(zip(depths, gold, strict=True), reverse=True):
            order.insert(int(depth * (len(others) + 1)), document)
        after = self._document_wording[1]
        labels = self._labels.texts[: len(order)].tolist()
        texts = self._documents.texts[order].tolist()
        parts = [part for pair in zip(labels, texts, strict=True) for part in (*pair, after)]
        prompt = PromptBuilder(self.counter).add(frame.head).begin_context()
        starts = np.cumsum([0, *map(len, parts)])
        carrying = self._carrying(question)
        for document in gold:
            start = int(starts[3 * order.index(document) + 1])
            end = start + len(self._documents.texts[document])
            prompt.mark_evidence(start, end, document in carrying)
        prompt.add_counted("".join(parts), self._sum(documents)).end_context(trail=len(_BETWEEN))
        return prompt.add(frame.tail.removeprefix(_BETWEEN) + frame.prefix)

    def _carrying(self, question: Question) -> list[int]:
        """Return the gold documents that hold an answer; all of them if none does (yes or no)."""
        answers = [answer.casefold() for answer in question.answers]
        texts = {gold: self._documents.texts[gold].casefold() for gold in question.gold}
        holding = [gold for gold, text in texts.items() if any(a in text for a in answers)]
        return holding or list(question.gold)

    def _frame(self, question: Question) -> Frame:
        template = WITHOUT_DOCUMENTS if self.params.no_documents else self.templates["input"]
        return frame_of(template, question.text, self.templates["prefix"])


# ---- Audit: without the code that makes rows ---------------------------------------------------


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with a qa row: documents, their numbers, gold documents, answers."""
    params: QaParams = about.params
    context = context_of(row)
    if params.no_documents:
        if context or row["evidence"]:
            yield "there are documents or evidence in a prompt without documents"
        return
    before, after = about.templates["document"].split("{document}")
    documents = _documents(context, before, after)
    if not documents:
        yield "the context does not begin with the first document"
    gold = [row["input"][span["start"] : span["end"]] for span in row["evidence"]]
    if not gold:
        yield "there is no gold document in the evidence"
    if row["evidence"] != sorted(row["evidence"], key=lambda span: span["start"]):
        yield "the evidence is not in the order of the text"
    answers = [output.casefold() for output in row["outputs"]]
    holding = [any(answer in text.casefold() for answer in answers) for text in gold]
    for span, text, holds in zip(row["evidence"], gold, holding, strict=True):
        if documents.get(span["start"] - row["context_start"]) != text:
            yield f"the evidence at {span['start']} is not one whole document"
        if (times := context.count(text)) != 1:
            yield f"gold document '{text[:60]}' occurs {times} times"
        if span["answer"] is not (holds or not any(holding)):
            yield f"gold document '{text[:60]}' is marked answer={span['answer']}"
    if not about.entry["repeats"] and len(set(documents.values())) < len(documents):
        yield "a document occurs twice, though the corpus did not begin again"
    if about.evidence_only and len(documents) != len(gold):
        yield "there is more than the evidence"
    if params.documents and len(documents) > params.documents:
        yield f"there are {len(documents)} documents, more than {params.documents}"


def _documents(context: str, before: str, after: str) -> dict[int, str]:
    """Return the documents by their offset in the context, read label by label."""
    found: dict[int, str] = {}
    label, number = before.format(i=1), 1
    if not context.startswith(label):
        return found
    at = len(label)
    while True:
        number += 1
        label = f"{after}{_BETWEEN}{before.format(i=number)}"
        end = context.find(label, at)
        if end < 0:
            break
        found[at] = context[at:end]
        at = end + len(label)
    found[at] = context[at:].removesuffix(after)
    return found
