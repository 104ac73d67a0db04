"""Rows in, records out: the prompt, the budget, the backend's answer, the state of the row.

    with closing(Answerer(order)) as answerer:
        answerer.answer(rows, on_answered)         # once for each row, in any order

It runs in this process, or in an actor of a cluster (ruler_eval/run/replicas/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from ruler_eval.run.backends.start import engine_of, start
from ruler_eval.run.preparing.row_reader import SentRow
from ruler_eval.run.prompts import Prompt, Prompter
from ruler_eval.run.records import Record
from ruler_eval.run.row_state import Expected, over_limit, record_of
from ruler_eval.run.run_order import RunOrder


class Answered(NamedTuple):
    """What became of a row; `expected` is None where it was not sent. Tokens are the release's."""

    record: Record
    expected: Expected | None
    row_tokens: int


OnAnswered = Callable[[Answered], None]


class Answerer:
    """A backend that is started, and who renders its prompts."""

    def __init__(self, order: RunOrder) -> None:
        """Start the backend. Raises RulerError if it cannot start, or cannot serve the mode."""
        self.backend = start(engine_of(order.backend), order.options)
        try:
            mode = order.mode or ("chat" if order.reasoning.on else self.backend.default_mode())
            self.prompter = Prompter(mode, self.backend.tokenizer, order.direct, order.reasoning)
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
            expected = Expected(self.backend.count(prompt), self.backend.limit)
            if over := over_limit(prompt, expected.prompt_tokens, expected.limit):
                on_answered(Answered(over, None, prompt.row_tokens))
            else:
                self.waiting[prompt.config, prompt.index] = expected
                yield prompt

    def close(self) -> None:
        """Free what the backend holds."""
        self.backend.close()
