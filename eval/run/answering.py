"""Rows in, records out: the prompt, the budget, the backend's answer, the state of the row.

    with closing(Answerer(ways)) as answerer:
        answerer.answer(rows, on_answered)         # once for each row, in any order

It runs in this process, or in an actor of a cluster (eval/run/replicas/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from eval.run.backends.backend import ModelOptions
from eval.run.backends.start import start
from eval.run.prompts import Prompt, Prompter, fits
from eval.run.reasoning import Reasoning
from eval.run.records import Record
from eval.run.row_state import Expected, does_not_fit, record_of

SentRow = tuple[str, Mapping[str, Any]]
"""A configuration and the columns of one row that make its prompt."""


@dataclass(frozen=True, kw_only=True)
class AnswerSettings:
    """Which backend answers, with what options, in which mode (None: the backend's default)."""

    backend: str
    options: ModelOptions
    mode: str | None = None
    direct: bool = False
    reasoning: Reasoning = field(default_factory=Reasoning)


class Answered(NamedTuple):
    """What became of a row; `expected` is None where it was not sent. Tokens are the release's."""

    record: Record
    expected: Expected | None
    row_tokens: int


OnAnswered = Callable[[Answered], None]


class Answerer:
    """A backend that is started, and who renders its prompts."""

    def __init__(self, how: AnswerSettings) -> None:
        """Start the backend. Raises RulerError if it cannot start, or cannot serve the mode."""
        self.backend = start(how.backend, how.options)
        try:
            mode = how.mode or ("chat" if how.reasoning.on else self.backend.default_mode())
            self.prompter = Prompter(mode, self.backend.tokenizer, how.direct, how.reasoning)
            self.backend.check_mode(mode, self.prompter.template_arguments)
        except BaseException:
            self.backend.close()
            raise
        self.waiting: dict[tuple[str, int], Expected] = {}
        """What is known of the rows that are being answered."""

    def settings(self) -> dict[str, Any]:
        """What backend and prompts add to run.json."""
        limit = self.backend.limit
        return {**self.backend.settings(), **self.prompter.settings(), "max_model_len": limit}

    def answer(self, rows: Iterator[SentRow | None], on_answered: OnAnswered) -> None:
        """Answer every row once.

        To vLLM, None among the rows means that no more are ready at the moment.
        """
        prompts = cast(Iterator[Prompt], self._prompts(rows, on_answered))  # None: vLLM alone
        for completion in self.backend.generate(prompts):
            prompt = completion.prompt
            expected = self.waiting.pop((prompt.config, prompt.index))
            record = record_of(completion, expected, self.backend.tokenizer)
            on_answered(Answered(record, expected, prompt.row_tokens))

    def _prompts(
        self, rows: Iterator[SentRow | None], on_answered: OnAnswered
    ) -> Iterator[Prompt | None]:
        for sent in rows:
            if sent is None:
                yield None
                continue
            prompt = self.prompter(*sent)
            tokens, limit = self.backend.count(prompt), self.backend.limit
            if fits(tokens, prompt, limit):
                self.waiting[prompt.config, prompt.index] = Expected(tokens, limit)
                yield prompt
            else:
                record = does_not_fit(prompt, tokens or 0, limit or 0)
                on_answered(Answered(record, None, prompt.row_tokens))

    def close(self) -> None:
        """Free what the backend holds."""
        self.backend.close()
