"""A stand-in for a perfect model: it answers each row with the row's references.

It tests the runner and the scoring, because every task of RULER and ONERULER must score 100 in
every language. Answers have the form that the task asks for; in ONERULER they are between the
answer tags of the instruction's language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ruler_eval.frozen_release import Release
from ruler_eval.run.backend import Backend, Completion, Completions
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompt
from ruler_score.language_text import rules_for


class Oracle(Backend):
    """Answers every prompt at once, in order."""

    name = "oracle"

    def __init__(self, options: RunOptions, release: Release) -> None:
        """Take the release whose references are the answers."""
        self.options = options
        self._release = release
        self._answers = cache(self._read_answers)

    def generate(self, prompts: Iterator[Prompt]) -> Completions:
        """Answer each prompt with the references of its row."""
        for prompt in prompts:
            yield Completion(prompt, self._answers(prompt.config)[prompt.index])

    def _read_answers(self, config: str) -> Mapping[int, str]:
        """Return the right answer to each row of a configuration."""
        parsed = self._release.parse(config)
        # a question's references are alternatives
        needs_one = self._release.family(parsed.task) == "question_answering"
        opening = closing = ""
        if self._release.dataset == "oneruler":
            language = self._release.languages.rules(parsed.instruction_language)
            tag = rules_for(language).tags[0]
            opening, closing = f"<{tag}> ", f" </{tag}>"
        answers = {}
        for row in self._release.rows(config, ("index", "outputs")):
            references = row["outputs"][:1] if needs_one else row["outputs"]
            answers[row["index"]] = opening + ", ".join(references) + closing
        return answers

    def default_mode(self) -> str:
        """Return `chat`; the oracle does not read the prompt."""
        return "chat"

    def settings(self) -> dict[str, Any]:
        """Return the version of the oracle; nothing else can change its score."""
        return {"backend_version": "5"}
