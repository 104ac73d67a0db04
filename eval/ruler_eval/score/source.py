"""A prediction file of another tool while it is read: whose rows it answers, and its answers.

source = Source(Path("4096/pred/vt.jsonl"), options, names, release)
config = source.configs.find(task="vt", length="4096")             # "vt_4k"
source.answers(config, 0, "It is 42.", outputs=["42"], where="…:1")
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import Names
from ruler_common.text import number_of
from ruler_eval.frozen_release import BATCH_ROWS, PartialRow, Release
from ruler_eval.prediction import (
    Prediction,
    dataset_of,
    digest,
    finish_reason_of,
    read_name,
    row_number,
)
from ruler_eval.run.prompt_in_text import MIN_PROMPT, has_most_of, text_after_prompt
from ruler_eval.score.file_configs import FileConfigs
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.paths import SEED, label_of, path_text, without_seed
from ruler_eval.score.values import (
    Answer,
    are_free_text,
    read_answers,
    read_finish_reason,
    read_prompt,
    read_references,
)
from ruler_eval.tasks import FAMILIES, family_of
from ruler_score.split_reasoning import split_reasoning

_ROUNDED = re.compile(r"\d(?:[.,]\d+)?E\+\d\d")
"""A number as a spreadsheet prints it."""
_MIN_CHARACTERS = 0.5  # of a token
_LONG = 4  # times the characters that a prompt has at least
_MANY_LENGTHS = 4  # without a name such as 4k, in one file
_LONG_ANSWER = 1000  # characters; RULER's answers have at most 128 tokens
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


class AskedRows:
    """The rows of a configuration by what they ask, for answers that have no index."""

    def __init__(self, rows: Iterable[PartialRow], knows_questions: bool) -> None:
        self._knows_questions = knows_questions
        self._remaining: dict[tuple[str | None, tuple[str, ...]], list[int]] = {}
        for row in rows:
            self._remaining.setdefault(self._key(row["question"], row["outputs"]), []).append(
                row["index"]
            )
        self._taken: Counter[tuple[str | None, tuple[str, ...]]] = Counter()

    def _key(
        self, question: str | None, outputs: Iterable[str]
    ) -> tuple[str | None, tuple[str, ...]]:
        return (question if self._knows_questions else None), tuple(outputs)

    def take(self, question: str | None, outputs: Iterable[str]) -> int | None:
        """Return the first row that asks this and was not taken before."""
        key = self._key(question, outputs)
        indices = self._remaining.get(key)
        if not indices:
            return None
        self._taken[key] += 1
        return indices.pop(0)

    @property
    def ambiguous(self) -> int:
        """The number of rows taken for which another row that asks the same was not taken."""
        return sum(count for key, count in self._taken.items() if self._remaining[key])


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
        self.is_numbered = False
        """Whether rows had no index and were numbered in their order."""
        self._counts: Counter[str] = Counter()  # rows without an index, by configuration
        self._nulls: list[str] = []  # the places of predictions that are null
        self._lists: list[str] = []  # the places of records with several answers
        self._empty: list[str] = []  # the places of answers without text
        self._batch: tuple[str, int] | None = None  # of the release's rows in `_rows`
        self._rows: dict[int, PartialRow] = {}
        self._shortest: dict[str, int] = {}  # characters of a prompt, by configuration
        self._asked: dict[str, AskedRows] = {}  # by configuration
        self._count = 0  # of answers
        self._cut: list[str] = []  # the places of answers whose prompt was cut off
        self._parts: list[str] = []  # those that may hold a part of a prompt that is unknown
        self._evidence: dict[str, re.Pattern[str] | None] = {}  # of prompts, by configuration
        self._uncut: list[str] = []  # those that hold a prompt which could not be cut off

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

    # ---- Answers ---------------------------------------------------------------------------------

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
        for prediction in made:
            if self.release is not None and prediction.prompt is not None:
                self._check_prompt(self.release, prediction, prediction.prompt)
            if len(prediction.text) >= self._shortest_prompt(config):
                self._cut_prompt(prediction, read_prompt(fields.get("prompt")))
            elif self.release is None and prediction.prompt is None and not self.is_own_run:
                self._note_part(prediction)
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
        self.is_numbered = True
        self._counts[config] += 1
        return self._counts[config] - 1

    def notes_after_reading(self) -> list[str]:
        """Return the notes on the file, after it was read.

        Raises RulerError if the answers hold their prompts in a form that cannot be cut off.
        """
        notes = [*self.notes]
        if self.is_numbered and self.says_numbered:
            notes.append(f"{self.file} has no index of its rows, which are numbered in order")
        if count := sum(rows.ambiguous for rows in self._asked.values()):
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
        return [*notes, *self._notes_on_prompts()]

    def _notes_on_prompts(self) -> list[str]:
        """Return the notes on answers that hold their prompt, or may; see notes_after_reading."""
        notes = []
        if self._cut:
            predictions = number_of(len(self._cut), "prediction")
            notes.append(
                f"{self.file}: {predictions} held the prompt, which was cut off (the first at "
                f"{self._cut[0]})"
            )
        if self._uncut:
            predictions = number_of(len(self._uncut), "prediction")
            if 2 * len(self._uncut) >= self._count:
                remedy = "" if self.release else ", or name the release, whose prompts are cut off"
                raise RulerError(
                    f"'{self.file}' has {predictions} that hold the prompt or most of it (the "
                    f"first at {self._uncut[0]}), in which every wrong answer finds the "
                    f"references: keep the generated text alone{remedy}."
                )
            notes.append(
                f"{self.file}: {predictions} with most of the prompt in the text (the first at "
                f"{self._uncut[0]})"
            )
        if 2 * len(self._parts) >= max(1, self._count):
            notes.append(
                f"{self.file}: {number_of(len(self._parts), 'prediction')} that may hold a part of "
                f"the prompt, in which a wrong answer finds the references (the first at "
                f"{self._parts[0]}); without the prompts this is unknown: name the release with "
                "--dataset"
            )
        return notes

    # ---- Rows without an index -------------------------------------------------------------------

    def row_that_asks(
        self, config: str, question: str | None, references: Any, where: str
    ) -> int | None:
        """Return the release's row with a question and references; None if there is no release.

        Rows that ask the same are taken in their order.

        Args:
            config: the configuration.
            question: the question; None if only the references are known.
            references: the references, as the file has them.
            where: the place of the record, for messages.

        Raises RulerError if no row is left that asks this.
        """
        if self.release is None or config not in self.release.configs:
            return None
        if config not in self._asked:
            rows = self.release.rows(config, ("index", "question", "outputs"))
            self._asked[config] = AskedRows(rows, knows_questions=question is not None)
        outputs = read_references(references, are_free_text(config)) or ()
        index = self._asked[config].take(question, outputs)
        if index is None:
            raise RulerError(
                f"'{where}' has a question or references that no other row of {config} in "
                f"'{self.release.source}' has: leave --dataset out to score it by its own "
                "references."
            )
        return index

    # ---- Prompts ---------------------------------------------------------------------------------

    def _shortest_prompt(self, config: str) -> int:
        """Return the characters that a prompt of a configuration has at least."""
        if config not in self._shortest:
            length = MIN_PROMPT
            with suppress(RulerError):  # an unknown name, which is refused later
                tokens = read_name(self.names, config, of_release=False).max_length
                length = max(MIN_PROMPT, int(tokens * _MIN_CHARACTERS))
            self._shortest[config] = length
        return self._shortest[config]

    def _cut_prompt(self, prediction: Prediction, prompt: str | None) -> None:
        """Cut the prompt off the answer if it holds it: that of the file, or of the release."""
        if self.is_own_run:
            return
        prompts = [(prompt, "")] if prompt else []
        if self.release is not None:
            row = self._release_row(self.release, prediction)
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
        if has_prompt or (not prompts and self._has_wording(prediction)):
            self._uncut.append(prediction.where)
        elif not prompts:
            self._note_part(prediction)

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
            task = read_name(self.names, config, of_release=False).task
            return family_of(task, "ruler").evidence
        return None

    def _has_wording(self, prediction: Prediction) -> bool:
        """Return whether an answer has the words around the context of the benchmark's prompts."""
        for family in FAMILIES.values():
            before, after = family.before_context, family.after_context
            if before and before in prediction.text and after in prediction.text:
                return True
        return False

    def _check_prompt(self, release: Release, prediction: Prediction, prompt: str) -> None:
        """Mark an answer whose prompt contains its row's text.

        Raises RulerError for the prompt of another row; answers to rows that are not in the release
        are ignored.
        """
        config, index = prediction.config, prediction.index
        row = self._release_row(release, prediction)
        if row is None:
            return
        text = row["input"]
        if text.strip() not in prompt:
            raise RulerError(
                f"The prompt of '{prediction.where}' is not that of row {index} of '{config}' in "
                f"'{release.source}': name the release it was made on with --dataset, or leave "
                "--dataset out to score it by its own references."
            )
        prediction.has_prompt_of_row = True

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
