"""Rows in, records out: the prompt, the budget, the backend's answer, the state of the row.

with closing(Answerer(order)) as answerer:
    answerer.answer(rows, on_answered)         # once for each row, in any order
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ruler_common.errors import RulerError
from ruler_eval.run.backends.start import start
from ruler_eval.run.preparing.ahead import Ahead
from ruler_eval.run.preparing.row_reader import SentRow
from ruler_eval.run.prompts import OPENING, Prompt, Prompter
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

    def __init__(self, order: RunOrder, fast: bool = False) -> None:
        """Start the backend; with `fast` the fastest tokenizer there is makes token ids.

        Raises RulerError if it cannot start, or cannot serve the mode.
        """
        self.backend = start(order.backend, order.options, order.dataset, order.data_revision)
        try:
            mode = order.mode or ("chat" if order.reasoning.on else self.backend.default_mode())
            self.prompter = Prompter(
                mode, self.backend.tokenizer, order.direct, order.reasoning, fast=fast
            )
            self.backend.check_mode(mode, self.prompter.template_arguments)
            has_tokenizer = self.prompter.tokenizer is not None
            self.token_ids = self.prompter.token_ids if has_tokenizer else None
            """What makes token ids; made here, before there are threads."""
        except BaseException:
            self.backend.close()
            raise
        self.waiting: dict[tuple[str, int], Expected] = {}
        """What is known of the rows that are being answered."""
        self._ahead = Ahead(self._prepare)

    def settings(self) -> dict[str, Any]:
        """What backend and prompts add to run.json."""
        limit = self.backend.own_limit or self.backend.limit
        return {**self.backend.settings(), **self.prompter.settings(), "max_model_len": limit}

    def answer(self, rows: Iterator[SentRow], on_answered: OnAnswered) -> None:
        """Answer every row once."""
        for completion in self.backend.generate(self._prompts(rows, on_answered)):
            prompt = completion.prompt
            expected = self.waiting.pop((prompt.config, prompt.index))
            record = record_of(completion, expected, self.backend.tokenizer)
            on_answered(Answered(record, expected, prompt.row_tokens))

    def _prompts(self, rows: Iterator[SentRow], on_answered: OnAnswered) -> Iterator[Prompt]:
        for prompt, expected in self._ahead(rows):
            if over := over_limit(prompt, expected.prompt_tokens, expected.limit):
                self._check_window(expected.prompt_tokens, prompt)
                on_answered(Answered(over, None, prompt.row_tokens))
            else:
                self.waiting[prompt.config, prompt.index] = expected
                yield prompt

    def _check_window(self, tokens: int | None, prompt: Prompt) -> None:
        """Raise RulerError for a row that only the window of this engine has no room for."""
        own = self.backend.own_limit
        if own is not None and (tokens or 0) + prompt.max_tokens <= own:
            raise RulerError(
                f"{prompt.config} row {prompt.index} needs {(tokens or 0) + prompt.max_tokens:,} "
                f"tokens, more than the {self.backend.limit:,} that its configuration was thought "
                f"to need: give --max-model-len {own}."
            )

    def _prepare(self, sent: SentRow) -> tuple[Prompt, Expected]:
        """A row's prompt, and what is known before its answer; threads call this."""
        prompt = self.prompter(*sent)
        if prompt.token_ids is not None and prompt.text is not None:
            # nobody reads the text any more, and a list takes ten times the memory
            ids, end = array("I", prompt.token_ids), prompt.text[-OPENING:]
            prompt = replace(prompt, token_ids=ids, text=end)
        return prompt, Expected(self.backend.count(prompt), self.backend.limit)

    def close(self) -> None:
        """Free what the backend holds."""
        self._ahead.close()
        self.backend.close()
