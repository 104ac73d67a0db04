"""The prompts in the answers of a file: cut off, or noted if they are unknown.

    prompts = PromptCutter(Path("vt.jsonl"), names, release)
    prompts.cut_off(prediction, prompt)       # some programs write prompt and answer as one text
    prompts.notes(answers=500)                # "vt.jsonl: 500 predictions held the prompt, …"

A wrong answer finds its references in the prompt, so a file whose prompts cannot be cut off is
refused.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.names import Names
from ruler_common.text import number_of
from ruler_eval.frozen_release import BATCH_ROWS, PartialRow, Release
from ruler_eval.prediction import Prediction, dataset_of, read_name
from ruler_eval.run.prompt_in_text import MIN_PROMPT, has_most_of, text_after_prompt
from ruler_eval.tasks import FAMILIES, family_of
from ruler_score.split_reasoning import split_reasoning

_MIN_CHARACTERS = 0.5  # of a token
_LONG = 4  # times the characters that a prompt has at least
_LONG_ANSWER = 1000  # characters; RULER's answers have at most 128 tokens


class PromptCutter:
    """Cuts the prompts off the answers of a file."""

    def __init__(self, file: Path, names: Names, release: Release | None) -> None:
        self._file, self._names, self._release = file, names, release
        self._cut: list[str] = []  # the places of answers whose prompt was cut off
        self._uncut: list[str] = []  # those that hold a prompt which could not be cut off
        self._parts: list[str] = []  # those that may hold a part of a prompt that is unknown
        self._batch: tuple[str, int] | None = None  # of the release's rows in `_rows`
        self._rows: dict[int, PartialRow] = {}
        self._shortest: dict[str, int] = {}  # characters of a prompt, by configuration
        self._evidence: dict[str, re.Pattern[str] | None] = {}  # of prompts, by configuration

    def compare_with_row(self, prediction: Prediction) -> None:
        """Mark an answer whose prompt contains its row's text.

        Raises RulerError for the prompt of another row; answers without a prompt, and those to rows
        that are not in the release, are ignored.
        """
        if self._release is None or prediction.prompt is None:
            return
        row = self._release_row(self._release, prediction)
        if row is None:
            return
        if row["input"].strip() not in prediction.prompt:
            raise RulerError(
                f"The prompt of '{prediction.where}' is not that of row {prediction.index} of "
                f"'{prediction.config}' in '{self._release.source}': name the release it was made "
                "on with --dataset, or leave --dataset out to score it by its own references."
            )
        prediction.has_prompt_of_row = True

    def cut_off(self, prediction: Prediction, prompt: str | None) -> None:
        """Cut the prompt off an answer that holds it: that of the file, or of the release."""
        if len(prediction.text) < self._shortest_prompt(prediction.config):
            if self._release is None and prediction.prompt is None:
                self._note_part(prediction)
            return
        prompts = [(prompt, "")] if prompt else []
        if self._release is not None:
            row = self._release_row(self._release, prediction)
            if row is not None:
                prompts.append((row["input"], row["answer_prefix"]))
        for text, prefix in prompts:
            rest = text_after_prompt(prediction.text, text, prefix)
            if rest is not None:
                prediction.text = rest
                self._cut.append(prediction.where)
                if has_most_of(rest, text):  # the prompt twice
                    self._uncut.append(prediction.where)
                return
        has_prompt = any(has_most_of(prediction.text, text) for text, _ in prompts)
        if has_prompt or (not prompts and _has_wording(prediction)):
            self._uncut.append(prediction.where)
        elif not prompts:
            self._note_part(prediction)

    def notes(self, answers: int) -> list[str]:
        """Return the notes on the answers that hold their prompt, or may, after reading the file.

        `answers` is the number of all answers. Raises RulerError if many hold their prompts in a
        form that cannot be cut off.
        """
        notes = []
        if self._cut:
            predictions = number_of(len(self._cut), "prediction")
            notes.append(
                f"{self._file}: {predictions} held the prompt, which was cut off (the first at "
                f"{self._cut[0]})"
            )
        if self._uncut:
            predictions = number_of(len(self._uncut), "prediction")
            if 2 * len(self._uncut) >= answers:
                remedy = "" if self._release else ", or name the release, whose prompts are cut off"
                raise RulerError(
                    f"'{self._file}' has {predictions} that hold the prompt or most of it (the "
                    f"first at {self._uncut[0]}), in which every wrong answer finds the "
                    f"references: keep the generated text alone{remedy}."
                )
            notes.append(
                f"{self._file}: {predictions} with most of the prompt in the text (the first at "
                f"{self._uncut[0]})"
            )
        if 2 * len(self._parts) >= max(1, answers):
            notes.append(
                f"{self._file}: {number_of(len(self._parts), 'prediction')} that may hold a part "
                f"of the prompt, in which a wrong answer finds the references (the first at "
                f"{self._parts[0]}); without the prompts this is unknown: name the release with "
                "--dataset"
            )
        return notes

    def _shortest_prompt(self, config: str) -> int:
        """Return the characters that a prompt of a configuration has at least."""
        if config not in self._shortest:
            length = MIN_PROMPT
            with suppress(RulerError):  # an unknown name, which is refused later
                tokens = read_name(self._names, config, of_release=False).max_length
                length = max(MIN_PROMPT, int(tokens * _MIN_CHARACTERS))
            self._shortest[config] = length
        return self._shortest[config]

    def _note_part(self, prediction: Prediction) -> None:
        """Remember an answer that may hold a part of its prompt, which is unknown.

        It has a sentence of the prompt with evidence, or is longer than an answer of RULER may be;
        ONERULER lets models explain their answers.
        """
        config, text = prediction.config, prediction.text
        if dataset_of(config) == "oneruler":
            may_hold_it = len(text) >= _LONG * self._shortest_prompt(config)
        else:
            if config not in self._evidence:
                self._evidence[config] = self._evidence_of(config)
            evidence = self._evidence[config]
            may_hold_it = evidence is not None and evidence.search(text) is not None
            if len(text) > _LONG_ANSWER:
                may_hold_it = may_hold_it or len(split_reasoning(text).answer) > _LONG_ANSWER
        if may_hold_it:
            self._parts.append(prediction.where)

    def _evidence_of(self, config: str) -> re.Pattern[str] | None:
        """Return what evidence looks like in the prompts of a configuration."""
        with suppress(RulerError):  # a custom task, or an unknown name
            task = read_name(self._names, config, of_release=False).task
            return family_of(task, "ruler").evidence
        return None

    def _release_row(self, release: Release, prediction: Prediction) -> PartialRow | None:
        """Return the texts of a row of the release; one batch of rows is in memory at a time."""
        config, index = prediction.config, prediction.index
        if config not in release.configs:
            return None
        batch = config, index // BATCH_ROWS
        if self._batch != batch:
            first = index - index % BATCH_ROWS
            indices = range(first, first + BATCH_ROWS)
            rows = release.some_rows(config, ["input", "answer_prefix"], indices)
            self._batch, self._rows = batch, {row["index"]: row for row in rows}
        return self._rows.get(index)


def _has_wording(prediction: Prediction) -> bool:
    """Return whether an answer has the words around the context of the benchmark's prompts."""
    for family in FAMILIES.values():
        before, after = family.before_context, family.after_context
        if before and before in prediction.text and after in prediction.text:
            return True
    return False
