"""A prediction file of another tool while it is read: whose rows it answers, and its answers.

source = Source(Path("4096/pred/vt.jsonl"), options, names, release)
config = source.configs.find(task="vt", length="4096")             # "vt_4k"
source.answers(config, 0, "It is 42.", outputs=["42"], where="…:1")
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import Names
from ruler_common.text import number_of
from ruler_eval.frozen_release import Release
from ruler_eval.prediction import Prediction, digest, finish_reason_of, row_number
from ruler_eval.score.file_configs import FileConfigs
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.paths import SEED, label_of, path_text, without_seed
from ruler_eval.score.prompt_cutter import PromptCutter
from ruler_eval.score.row_finder import RowFinder
from ruler_eval.score.values import (
    Answer,
    are_free_text,
    read_answers,
    read_finish_reason,
    read_prompt,
    read_references,
)

_ROUNDED = re.compile(r"\d(?:[.,]\d+)?E\+\d\d")
"""A number as a spreadsheet prints it."""
_MANY_LENGTHS = 4  # without a name such as 4k, in one file
_PRINTED_NULLS = ("", "none", "null", "nan", "<na>", "na", "n/a", "false", "0", "no")
"""How programs print that there is no error and no reasoning, in small letters."""
_TYPES: Mapping[str, type] = {
    "question": str,
    "finish_reason": str,
    "thinking": str,
    "thinking_ended": bool,
    "thinking_tokens": int,
    "prompt_tokens": int,
    "seconds": float,
}
"""The types of the fields that are used unchanged."""


class Source:
    """A file, what it is read with, and what its reader finds out about it."""

    def __init__(
        self,
        file: Path,
        options: PredictionOptions,
        names: Names,
        release: Release | None = None,
        keep_prompts: bool = False,
    ) -> None:
        self.file, self.options, self.names = file, options, names
        self.release, self.keep_prompts = release, keep_prompts
        self.path = path_text(file)
        self.run = without_seed(file)
        """What the files of one run have in common; a reader that knows better replaces it."""
        self.session = ""
        """What tells two runs of one folder apart, such as their time."""
        self.model: str | None = None
        self.label = label_of(file, names)
        """What the file's name says besides its configuration: `qwen` of qwen_vt_4k.jsonl."""
        self.configs = FileConfigs(file, options, names, release)
        self.notes: list[str] = []
        seeds = [*SEED.finditer(self.path)]
        self.sample = int(seeds[-1][1]) if seeds else None
        self.is_own_run = False
        """Whether `ruler run` wrote the file, whose answers never have the prompt."""
        self.says_numbered = False
        """Whether to note that rows are numbered: not if the tool never writes an index."""
        self.row_finder = RowFinder(release)
        """For answers that are known to belong to a row only by its question."""
        self._prompts = PromptCutter(file, names, release)
        self._numbered: Counter[str] = Counter()  # rows without an index, by configuration
        self._nulls: list[str] = []  # the places of predictions that are null
        self._lists: list[str] = []  # the places of records with several answers
        self._empty: list[str] = []  # the places of answers without text
        self._count = 0  # of answers

    def add_model(self, model: Any) -> None:
        """Name the model of an answer, if it is known; refuse a file of two models."""
        if not isinstance(model, str) or not model:
            return
        if self.model not in (None, model):
            raise RulerError(
                f"'{self.file}' has the answers of two models ({self.model} and {model}): give "
                "those of one model at a time."
            )
        self.model = model

    def answers(
        self, config: str, index: Any, value: Any, *, where: str, **fields: Any
    ) -> list[Prediction]:
        """Return the answers in a record, of which there are several if it has several samples.

        Args:
            config: the configuration.
            index: the row; None numbers the rows in their order.
            value: the text, or an object or list that has it.
            where: the place of the record, for messages.
            fields: `outputs` (the references), `prompt` and `prefix`, `sample`, `error`, `columns`,
                and fields of a Prediction that are used unchanged.

        Raises RulerError for a value that cannot be read, and for the prompt of another row.
        """
        try:
            made = self._predictions(config, index, value, where, fields)
        except RulerError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, SyntaxError) as error:
            raise RulerError(f"'{where}' has a missing or wrong field: {error}.") from error
        self._count += len(made)
        prompt = read_prompt(fields.get("prompt"))
        for prediction in made:
            self._prompts.compare_with_row(prediction)
            if not self.is_own_run:
                self._prompts.cut_off(prediction, prompt)
            if not self.keep_prompts:
                prediction.prompt = None
        return made

    def _predictions(
        self, config: str, index: Any, value: Any, where: str, fields: Mapping[str, Any]
    ) -> list[Prediction]:
        known: dict[str, Any] = {}
        for name, field in fields.items():
            kind = _TYPES.get(name)
            if field is None or kind is None or field != field:  # NaN of pandas
                continue
            if name == "thinking" and _is_null(field):
                continue
            if name == "finish_reason" and isinstance(field, Mapping):
                field = read_finish_reason({name: field})
            known[name] = field if type(field) is kind else _converted(name, field, kind)
        outputs = read_references(fields.get("outputs"), are_free_text(config))
        prompt = fields.get("prompt")
        if prompt is not None and (prompt := read_prompt(prompt)):
            prompt += read_prompt(fields.get("prefix")) or ""
        columns = fields.get("columns") if self.keep_prompts else None
        error = fields.get("error")
        sample = fields.get("sample")
        is_unknown = sample in (None, "") or sample != sample
        sample = self.sample if is_unknown else row_number(sample)
        finish_reason = known.pop("finish_reason", None)
        number = self._number(config) if index is None else row_number(index)
        made = []
        is_text = self.is_own_run and type(value) is str
        answers = [Answer(value)] if is_text else read_answers(value)
        for place, answer in enumerate(answers):
            reason = finish_reason or answer.finish_reason
            made.append(
                Prediction(
                    config,
                    number,
                    answer.text or "",
                    finish_reason=finish_reason_of(reason),
                    error=str(error) if error and error == error and not _is_null(error) else None,
                    outputs=outputs,
                    prompt_digest=digest(prompt) if prompt else None,
                    prompt=prompt or None,
                    columns=columns if isinstance(columns, Mapping) else None,
                    where=where,
                    sample=sample if len(answers) == 1 and sample is not None else place,
                    **known,
                )
            )
        self._count_answers(answers, made)
        return made

    def _count_answers(self, answers: Sequence[Answer], made: Sequence[Prediction]) -> None:
        """Remember the places for the notes. Raises ValueError for what a spreadsheet rounded."""
        if len(made) > 1:
            self._lists.append(made[0].where)
        for answer, prediction in zip(answers, made, strict=True):
            text = answer.text
            if text is None and not prediction.failed:
                self._nulls.append(prediction.where)
            elif text == "" and not prediction.failed:
                self._empty.append(prediction.where)
            elif text and "E+" in text[-5:] and _ROUNDED.fullmatch(text.strip()):
                raise ValueError(
                    f"the prediction '{text.strip()}' was rounded by a spreadsheet: export the "
                    "column as text"
                )

    def _number(self, config: str) -> int:
        """Return the index of an answer without one: its place among those of a configuration."""
        self._numbered[config] += 1
        return self._numbered[config] - 1

    def notes_after_reading(self) -> list[str]:
        """Return the notes on the file, after it was read.

        Raises RulerError if the answers hold their prompts in a form that cannot be cut off.
        """
        notes = [*self.notes]
        if self._numbered and self.says_numbered:
            notes.append(f"{self.file} has no index of its rows, which are numbered in order")
        if count := self.row_finder.ambiguous:
            notes.append(
                f"{self.file}: {number_of(count, 'answer')} to a row that asks the same as another "
                "row, and may be the other's"
            )
        lengths = self.configs.unusual_lengths
        if len(lengths) >= _MANY_LENGTHS:
            notes.append(
                f"{self.file} has rows of {len(lengths)} lengths from {min(lengths)} to "
                f"{max(lengths)} tokens, each scored by itself: if these are the rows' own numbers "
                "of tokens, leave the length out of --columns and give --length"
            )
        if self._nulls:
            predictions = number_of(len(self._nulls), "null prediction")
            notes.append(
                f"{self.file}: {predictions} read as an empty answer (the first at "
                f"{self._nulls[0]})"
            )
        if self._lists:
            records = number_of(len(self._lists), "record")
            notes.append(
                f"{self.file}: {records} with several answers, read as samples of a row (the first "
                f"at {self._lists[0]})"
            )
        if not self.is_own_run and 1 < len(self._empty) > self._count / 2:
            notes.append(
                f"{self.file}: {number_of(len(self._empty), 'empty prediction')} (the first at "
                f"{self._empty[0]})"
            )
        return [*notes, *self._prompts.notes(self._count)]


def _is_null(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in _PRINTED_NULLS


def _converted(name: str, value: Any, kind: type) -> Any:
    """Return a value of another type as the type of its field, if nothing is lost."""
    if value == "":
        return None
    if kind is float and type(value) is int:
        return float(value)
    if kind is int and type(value) in (float, str):
        return row_number(value)
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise TypeError(f"{name} is {str(value)[:40]!r}, not of type {kind.__name__}")
