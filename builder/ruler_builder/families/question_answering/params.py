"""The parameters of RULER's qa: the corpus, how many of its documents, the prompt without any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ruler_builder.suites.params import TaskParams

_CORPORA = ("squad", "hotpotqa")
WITHOUT_DOCUMENTS = (
    "Answer the question. Only give me the answer and do not output any other words."
    "{context}\n\nQuestion: {question}"
)
"""The prompt where no documents are given, Figure 3's dotted line; its context is empty."""


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

    def sources(self, language: str, instruction_language: str) -> tuple[str, ...]:
        """The corpus."""
        return (self.dataset,)

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """One for each annotator."""
        return [f" {reference}" for reference in references]
