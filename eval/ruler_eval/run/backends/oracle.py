"""The perfect reader: no model, it answers from `input` alone, by regular expressions.

The upper bound of the whole pipeline: 100 on every synthetic task of RULER, on release after
release; on qa it quotes the sentence that shares most with the question, which is a guess. It
never sees `outputs` or `evidence`. If it misses, the data or the scoring is wrong. Each family
answers its own rows (families/table.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ruler_eval.families.table import solve
from ruler_eval.run.backends.backend import Backend, Completion
from ruler_eval.run.prompts import Prompt


class Oracle(Backend):
    """Answers every prompt at once, in order, from its text alone."""

    name = "oracle"

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        """Answer each prompt from the user's turn alone."""
        for prompt in prompts:
            asked = prompt.messages[0]["content"] if prompt.messages else str(prompt.text)
            yield Completion(prompt, solve(asked))

    def default_mode(self) -> str:
        """`chat`: it reads the user's turn and nothing else."""
        return "chat"

    def settings(self) -> dict[str, Any]:
        """Nothing can move its score but its own code."""
        return {"backend_version": "3"}
