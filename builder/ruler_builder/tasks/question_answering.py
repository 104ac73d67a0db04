"""Question answering among distractor documents: SQuAD and HotpotQA (section 3.4).

    Document 1:
    <paragraph>

    Document 2:
    …

The gold documents, which the annotators answered from, are at random depths. Other documents of
the corpus fill the rest of the window: each of them once and, when the corpus is used up, all of
them again. Gold documents never repeat. In SQuAD, the other paragraphs of the question's article
are added before those of other articles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ruler_builder.tasks.base import NewRow, Task, TaskParams
from ruler_builder.tasks.draws import all_but
from ruler_builder.tasks.templates import CONTEXT, Frame
from ruler_builder.text.corpora import READERS, Question
from ruler_builder.text.sources import LanguageSources
from ruler_builder.window.prompt import PromptBuilder, fit, refuse_if_over
from ruler_common.errors import RulerError

# ---- Parameters --------------------------------------------------------------------------------

WITHOUT_DOCUMENTS = (
    "Answer the question. Only give me the answer and do not output any other words."
    "{context}\n\nQuestion: {question}"
)
"""The prompt without documents (the dotted line in Figure 3); its context is empty."""


@dataclass(frozen=True, kw_only=True)
class QaParams(TaskParams):
    """The corpus, and the maximum number of documents (0: as many as fit), or no documents."""

    optional = ("no_documents",)
    from_corpus = True

    dataset: str = "squad"
    documents: int = 0
    no_documents: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.dataset in READERS, f"dataset must be one of {', '.join(READERS)}")
        self.need(self.documents >= 0, "documents must be 1 or more, or 0 for as many as fit")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the corpus."""
        return (self.dataset,)

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """Return one answer for each annotator."""
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

_MIN_TOKENS = 8  # of a document with its label
_BETWEEN = "\n\n"  # between two documents
_MAX_GOLD = 100  # documents of one question
_SAFE_FRACTION = 0.7  # of the budget: required documents estimated to need less are sure to fit


class QuestionAnswering(Task[QaParams]):
    """One qa task for one window."""

    cost = 2

    def prepare(self) -> None:
        """Read the corpus, and count its documents and the labels `Document 1:` and so on."""
        # Each document is counted with the blank line after it.
        self._corpus, self._documents = self.counted_sources.documents(self.params.dataset)
        self.max_rows = len(self._corpus.questions)
        before, _, after = self.templates["document"].partition("{document}")
        self._before, self._after = before, after + _BETWEEN  # the text around a document
        max_documents = max(_MAX_GOLD, self.key.max_length // _MIN_TOKENS)
        labels = [before.format(i=number) for number in range(1, max_documents + 1)]
        self._labels = self.counted_sources.counted(labels)
        # The tokens of the first 0, 1, 2 … labels together
        self._label_sums = np.cumsum([0, *self._labels.tokens])

    def check(self, rows: int) -> None:
        """Refuse a window, or a maximum of documents, too small for the required documents."""
        required = [self._required(question) for question in self._corpus.questions[:rows]]
        max_required, index = max((len(documents), i) for i, documents in enumerate(required))
        if 0 < self.params.documents < max_required:
            raise RulerError(
                f"documents is {self.params.documents}, but question {index} requires "
                f"{max_required}: make it {max_required} or more, or 0 for as many as fit."
            )
        for index in range(rows):
            documents, frame = np.array(required[index]), self._frame(self._corpus.questions[index])
            if self._ends(frame) + self._sum(documents) > _SAFE_FRACTION * self.budget:
                refuse_if_over(self._draft(index, documents, frame).tokens, self.budget)

    def row(self, index: int) -> NewRow:
        """Make row `index`: the same question and relative depths at every length."""
        question = self._corpus.questions[index]
        frame, required = self._frame(question), np.array(self._required(question))

        if self.params.no_documents:
            prompt = PromptBuilder(self.counter).add(frame.head)
            prompt.context_start = prompt.context_end = prompt.length
            prompt.add(frame.tail + frame.prefix)
            return self.new_row(index, prompt, frame, self.references(index), None)
        if self.is_control:
            prompt = self._draft(index, required, frame)
            return self.new_row(index, prompt, frame, self.references(index), None)
        ends = self._ends(frame)

        def sum_of_pieces(documents: Documents) -> int:
            return ends + self._sum(documents)

        def count_prompt(documents: Documents) -> int:
            return self._draft(index, documents, frame).tokens

        # Adding up the pieces is fast, but exact only if the tokenizer splits the prompt at all
        # their borders. If it does not, pack again and count every prompt as a whole.
        summing = self.counter.split_points.proved
        count_tokens = sum_of_pieces if summing else count_prompt
        packed = pack(self._pools(index), required, count_tokens, self._sizes, self.budget)
        prompt = self._draft(index, packed.documents, frame)
        if summing and not self._adds_up(packed.documents, prompt):
            packed = pack(self._pools(index), required, count_prompt, self._sizes, self.budget)
            prompt = self._draft(index, packed.documents, frame)
        answers = self.references(index)
        return self.new_row(index, prompt, frame, answers, packed.next_unit_tokens, packed.repeats)

    def references(self, index: int) -> list[str]:
        """Return the answers of all annotators."""
        return list(self._corpus.questions[index].answers)

    def _required(self, question: Question) -> list[int]:
        """Return the documents that every prompt of a question has, the gold ones first.

        HotpotQA has ten documents for each question: all of them are required, except in the
        control.
        """
        required = list(question.gold)
        if self._corpus.related_required and not self.is_control:
            required += question.related
        return required

    def _pools(self, index: int) -> Iterator[tuple[Documents, int]]:
        """Yield pools of distractor documents, and how often the corpus was used up before each.

        A pool is in random order. First come the other paragraphs of the question's article, then
        the rest of the corpus, then the whole corpus without the gold documents again and again.
        The `documents` parameter limits their number.
        """
        question = self._corpus.questions[index]
        required = self._required(question)
        related = np.array([i for i in question.related if i not in required], dtype=int)
        corpus_size = len(self._documents.texts)
        limit = self.params.documents - len(required) if self.params.documents else None
        for repeats in count():
            draws = self.key.filling_draws(index, "documents", repeats)
            if repeats == 0:
                rest = all_but(corpus_size, [*required, *related])
                pools = [draws.shuffled(related), draws.shuffled(rest)]
            else:
                related = np.array(question.related, dtype=int)
                rest = all_but(corpus_size, [*question.gold, *related])
                pools = [draws.shuffled(np.concatenate([related, rest]))]
            for pool in pools:
                yield pool[:limit], repeats
                if limit is not None:
                    limit -= len(pool)
                    if limit <= 0:
                        return

    def _sizes(self, documents: Documents, number: int) -> np.ndarray:
        """Estimate how many tokens each document adds to a prompt that has `number` of them."""
        return np.asarray(self._documents.tokens[documents] + self._labels.tokens[number])

    def _sum(self, documents: Documents) -> int:
        """Return the tokens of a context with these documents: the sum of its pieces."""
        return int(self._documents.tokens[documents].sum() + self._label_sums[len(documents)])

    def _ends(self, frame: Frame) -> int:
        """Return the tokens of the text before the context and after it."""
        tail = frame.tail.removeprefix(_BETWEEN) + frame.prefix
        return sum(self.counter.counts([frame.head, tail]))

    def _adds_up(self, documents: Documents, prompt: PromptBuilder) -> bool:
        """Return whether the tokens of a prompt are exactly the sum of those of its pieces."""
        before, after = self._before, self._after
        between = self.counter.split_points.between
        return (
            after == _BETWEEN
            and self.counter.split_points.hold_in(prompt.text)
            and all(
                between(before, text) and between(text + after, before)
                for text in self._documents.texts[documents]
            )
        )

    def _draft(self, index: int, documents: Documents, frame: Frame) -> PromptBuilder:
        """Return the prompt with these documents, of which the gold ones come first.

        The others are shuffled, and each gold document is put at its random depth.
        """
        question = self._corpus.questions[index]
        gold, others = list(question.gold), documents[len(question.gold) :]
        order = self.key.filling_draws(index, "order").shuffled(others).tolist()
        depths = self.key.question_draws(index).floats(len(gold)).tolist()
        for depth, document in sorted(zip(depths, gold, strict=True), reverse=True):
            order.insert(int(depth * (len(others) + 1)), document)
        labels = self._labels.texts[: len(order)].tolist()
        texts = self._documents.texts[order].tolist()
        parts: list[str] = []  # three for each document
        for label, text in zip(labels, texts, strict=True):
            parts += [label, text, self._after]
        prompt = PromptBuilder(self.counter).add(frame.head)
        prompt.context_start = prompt.length
        starts = np.cumsum([0, *map(len, parts)])
        with_answer = self._gold_with_answer(question)
        for document in gold:
            start = int(starts[3 * order.index(document) + 1])
            end = start + len(self._documents.texts[document])
            prompt.mark_evidence(start, end, document in with_answer)
        prompt.add("".join(parts), self._sum(documents))
        prompt.context_end = prompt.length - len(_BETWEEN)
        return prompt.add(frame.tail.removeprefix(_BETWEEN) + frame.prefix)

    def _gold_with_answer(self, question: Question) -> list[int]:
        """Return the gold documents that contain an answer; all if none does (yes or no)."""
        answers = [answer.casefold() for answer in question.answers]
        with_answer = []
        for gold in question.gold:
            text = self._documents.texts[gold].casefold()
            if any(answer in text for answer in answers):
                with_answer.append(gold)
        return with_answer or list(question.gold)

    def _frame(self, question: Question) -> Frame:
        template = WITHOUT_DOCUMENTS if self.params.no_documents else self.templates["input"]
        head, _, tail = template.partition(CONTEXT)
        tail = tail.format(question=question.text)
        return Frame(head.format(), tail, self.templates["prefix"], question.text)


# ---- Packing documents --------------------------------------------------------------------------

Documents = np.ndarray


class Packed(NamedTuple):
    """The chosen documents and the tokens of their prompt.

    `next_unit_tokens` is what the smallest document that did not fit would have added; None if all
    fit. `repeats` is how many times the corpus was used up.
    """

    documents: Documents
    tokens: int
    next_unit_tokens: int | None
    repeats: int


def pack(
    pools: Iterable[tuple[Documents, int]],
    required: Documents,
    tokens: Callable[[Documents], int],
    estimate: Callable[[Documents, int], np.ndarray],
    budget: int,
) -> Packed:
    """Return the documents that fill a budget of tokens, the required ones first.

    `estimate(documents, n)` estimates how many tokens each document adds to n others.
    Raises Impossible if the required documents do not fit.
    """
    packed = Packed(required, tokens(required), None, 0)
    refuse_if_over(packed.tokens, budget)
    for pool, repeats in pools:
        number = len(packed.documents)
        packed = _from_pool(pool, packed, tokens, estimate, budget)
        if len(packed.documents) > number:
            packed = packed._replace(repeats=repeats)
        if packed.next_unit_tokens is not None:
            break
    return packed


def _from_pool(
    pool: Documents,
    packed: Packed,
    tokens: Callable[[Documents], int],
    estimate: Callable[[Documents, int], np.ndarray],
    budget: int,
) -> Packed:
    """Add the first documents of a pool while they fit, then smaller ones that still fit."""
    before = len(packed.documents)
    sums = np.concatenate([[0], np.cumsum(estimate(pool, before))])

    def draft(count: int) -> Packed:
        if not count:
            return packed
        documents = np.concatenate([packed.documents, pool[:count]])
        return packed._replace(documents=documents, tokens=tokens(documents))

    def step(count: int, more_tokens: int) -> int:
        return int(np.searchsorted(sums, sums[count] + more_tokens, "right")) - 1

    fitted = fit(draft, budget, step, len(pool))
    packed, untried = fitted.draft, pool[fitted.units :]
    failed = False  # whether the last document was larger than its estimate and did not fit
    while len(untried):
        guesses = estimate(untried, len(packed.documents))
        fitting = np.flatnonzero(guesses <= budget - packed.tokens)
        smallest = int(np.argmin(guesses))
        tried = smallest if failed or not len(fitting) else int(fitting[0])
        documents = np.append(packed.documents, untried[tried])
        total = tokens(documents)
        if total <= budget:
            packed = packed._replace(documents=documents, tokens=total)
            untried, failed = np.delete(untried, tried), False
        elif tried == smallest:
            return packed._replace(next_unit_tokens=total - packed.tokens)
        else:
            failed = True
    return packed
