"""The perfect reader: no model, it answers from `input` alone, by regular expressions.

The upper bound of the whole pipeline: 100 on every synthetic task of RULER and ONERULER, on release
after release; on qa it quotes the sentence that shares most with the question, which is a guess. It
never sees `outputs` or `evidence`. If it misses, the data or the scoring is wrong. Each family
answers its own rows (families/table.py).

Where ONERULER's question is in another language than the text, the manifest's nouns, parallel in
all languages, are its dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ruler_common.manifest_form import FileEntry, Manifest
from ruler_eval.families.table import solve
from ruler_eval.run.backends.backend import Backend, Completion
from ruler_eval.run.prompts import Prompt


class Oracle(Backend):
    """Answers every prompt at once, in order, from its text alone."""

    name = "oracle"

    def __init__(self, manifest: Manifest | None = None) -> None:
        """`manifest` is that of the rows' release; without one no noun can be translated."""
        files = manifest["files"].values() if manifest else ()
        self._files = {file["config"]: file for file in files}
        self._tasks = manifest["tasks"] if manifest else {}
        entries = manifest["languages"] if manifest else {}
        self._nouns = {code: entry["nouns"] for code, entry in entries.items()}
        self._dictionary = cache(self._dictionary_between)
        self._told = False

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        """Answer each prompt from the user's turn alone."""
        for prompt in prompts:
            asked = prompt.messages[0]["content"] if prompt.messages else str(prompt.text)
            yield Completion(prompt, solve(asked, self._dictionary_of(prompt.config)))

    def _dictionary_of(self, config: str) -> Mapping[str, str]:
        """The text's nouns by the question's; none where both are in one language."""
        file = self._files.get(config)
        if file is None or file["language"] == file["instruction_language"]:
            return {}
        found = self._dictionary(file["language"], file["instruction_language"])
        if not found and not self._told and self._needs_nouns(file):
            self._told = True
            self.on_note(self._without_nouns())
        return found

    def _dictionary_between(self, language: str, asked_in: str) -> Mapping[str, str]:
        columns = [self._nouns.get(code, []) for code in (asked_in, language)]
        return dict(zip(*columns, strict=False))

    def _needs_nouns(self, file: FileEntry) -> bool:
        """Whether a file asks in another language for some of the keys that its texts hold."""
        task = self._tasks[file["task"]]
        some = task.get("keys", 1) > task.get("queries", 1) and not task.get("absent")
        return some and file["language"] != file["instruction_language"]

    def _without_nouns(self) -> str:
        """Which tasks are not solved, for want of which languages' nouns."""
        crossed = [file for file in self._files.values() if self._needs_nouns(file)]
        languages = {f[of] for f in crossed for of in ("language", "instruction_language")}
        lacking = ", ".join(sorted(languages - self._nouns.keys()))
        tasks = ", ".join(sorted({file["task"] for file in crossed}))
        return (
            f"The manifest has no nouns of {lacking}: where the question is in one language and "
            f"the text in another, the oracle cannot solve {tasks}."
        )

    def default_mode(self) -> str:
        """`chat`: it reads the user's turn and nothing else."""
        return "chat"

    def settings(self) -> dict[str, Any]:
        """Nothing can move its score but its own code."""
        return {"backend_version": "4"}
