"""A prediction file of another tool while it is read: whose rows it answers, and its answers.

    source = Source(Path("4096/pred/vt.jsonl"), options, names, release)
    config = source.config(task="vt", length="4096")                   # "vt_4k"
    source.answers(config, 0, "It is 42.", outputs=["42"], where="…:1")

The configuration of an answer comes from its record, else from --config, else from the path of its
file. If two of them disagree, the file is refused. Files of other tools may have any length; one
without a name such as `4k` is written as its number of tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import (
    DEFAULT_TOKENIZER,
    TASKS,
    Config,
    Names,
    check_name,
    length_name,
    parse_length,
)
from ruler_common.text import number_of
from ruler_eval.frozen_release import BATCH_ROWS, PartialRow, Release
from ruler_eval.prediction import (
    ABLATION,
    Prediction,
    dataset_of,
    digest,
    finish_reason_of,
    read_name,
    row_number,
)
from ruler_eval.score.file_records import COMPRESSED_SUFFIXES
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.values import (
    MIN_PROMPT,
    Answer,
    has_most_of,
    read_answers,
    read_prompt,
    read_references,
    text_after_prompt,
)
from ruler_eval.tasks import FAMILIES, family_of
from ruler_score.split_reasoning import split_reasoning

TASK_ALIASES = {
    "qa_squad": "qa_1",
    "qa_hotpot": "qa_2",
    "qa_hotpotqa": "qa_2",
    "niah_mk_1": "niah_multikey_1",
    "niah_mk_2": "niah_multikey_2",
    "niah_mk_3": "niah_multikey_3",
    "niah_mq": "niah_multiquery",
    "niah_mv": "niah_multivalue",
    "niah_s_1": "niah_single_1",
    "niah_s_2": "niah_single_2",
    "niah_s_3": "niah_single_3",
}
"""Other tools' names of tasks, without the prefix `ruler_`."""
SEED = re.compile(r"(?:(?<=[-_./])|^)(?:rs|seed|sample|repeat)[-_]?(\d{1,9})(?=[-_./]|$)")
"""The number of a seed or sample in a path: `output-rs1.jsonl`, `seed_42/vt_4k.jsonl`."""
_WORDS_AND_NUMBERS = re.compile("(?:niah|vt|cwe|fwe)_")
"""The beginning of configurations whose references are words or numbers."""
_ROUNDED = re.compile(r"\d(?:[.,]\d+)?E\+\d\d")
"""A number as a spreadsheet prints it."""
_MIN_CHARACTERS = 0.5  # of a token
_LONG = 4  # times the characters that a prompt has at least
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
        self.records_name_config = False
        """Whether the records name their configuration, so that the file may have any name."""
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
        self._configs: dict[tuple[Any, ...], str] = {}
        self._nulls: list[str] = []  # the places of predictions that are null
        self._lists: list[str] = []  # the places of records with several answers
        self._empty: list[str] = []  # the places of answers without text
        self._batch: tuple[str, int] | None = None  # of the release's rows in `_rows`
        self._rows: dict[int, PartialRow] = {}
        self._free_text: dict[str, bool] = {}  # whether references are texts, by configuration
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
            known[name] = field if type(field) is kind else _converted(name, field, kind)
        if config not in self._free_text:
            self._free_text[config] = not _WORDS_AND_NUMBERS.match(config)
        outputs = read_references(fields.get("outputs"), self._free_text[config])
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
        answers = [Answer(value)] if type(value) is str else read_answers(value)
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
        outputs = read_references(references, not _WORDS_AND_NUMBERS.match(config)) or ()
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

    # ---- The configuration -----------------------------------------------------------------------

    def config(
        self,
        config: Any = None,
        task: Any = None,
        length: Any = None,
        languages: Any = None,
    ) -> str:
        """Return the configuration of an answer, by what its record and the file's path say.

        `length` is a name or a number of tokens. Raises RulerError if the configuration is unknown,
        or not the one of --config or --length.
        """
        key = config, task, length, languages
        try:
            is_new = key not in self._configs
        except TypeError as error:  # a list or an object has no hash
            raise RulerError(
                f"'{self.file}' has a list or an object as the name of a configuration: write a "
                "record for each answer, such as pandas' to_json(orient='records') does."
            ) from error
        if is_new:
            name = self._config(config, task, length, languages)
            parsed = None
            with suppress(RulerError):  # an unknown name, which is refused later
                parsed = self.names.parse(name)
            if parsed is not None:
                self._check_name_of_file(parsed.task, parsed.length)
            self._configs[key] = name
        return self._configs[key]

    def config_of_record(self, config: Any) -> str:
        """Return the configuration that a record names."""
        self.records_name_config = True
        return self.config(config)

    def config_by_name(self, task: str | None, length: Any) -> str:
        """Return the configuration by the task and length, else by the file's name or folders.

        The name of a file may be that of a configuration (`cwe_4k.csv`), and the task of a tool may
        be one too (`ruler_qa_squad_4k`).
        """
        key = "by name", task, length
        if key not in self._configs:
            self._configs[key] = self._config_by_name(task, length)
        return self._configs[key]

    def _config_by_name(self, task: str | None, length: Any) -> str:
        for text in (task, stem_of(self.file)):
            config = config_in_name(self.names, text) if text else None
            if config is not None and self.options.config is None:
                if text != task:
                    self._check_name_of_file(task, length)
                self._check_name_of_file(None, self.options.length)
                return self.config(config)
        if task is not None and task_named(task, self.names) in self.names.tasks:
            return self.config(task=task, length=length)
        facts = facts_of_folders(self.file, self.names)
        return self.config(
            task=facts.get("task") or task,
            length=facts.get("length") or length,
            languages=facts.get("languages"),
        )

    def _check_name_of_file(self, task: str | None, length: Any) -> None:
        """Raise RulerError if a task or length is not the one in the file's name."""
        name = config_in_name(self.names, stem_of(self.file))
        if name is None or self.is_own_run:
            return
        parsed = self.names.parse(name)
        task = None if task is None else task_named(task, self.names)
        is_other_task = task in self.names.tasks and task != parsed.task
        if is_other_task or (length is not None and self._is_other_length(length, parsed.length)):
            fact = task if is_other_task else length
            raise RulerError(
                f"'{self.file}' is called '{name}', but its records or the options say '{fact}': "
                "correct the file's name, or the option."
            )

    def _config(self, config: Any, task: Any, length: Any, languages: Any) -> str:
        wanted = self.options.config
        if config is not None:
            if wanted is not None and str(config) not in (wanted, self.names.parse(wanted).name):
                raise self._contradiction(f"'{config}'", "--config", wanted)
            self._check_length_of(str(config))
            return str(config)
        if length is not None and not re.fullmatch(r"\d+[kmKM]", str(length)):
            length = row_number(length)
        if task is not None:
            task = task_named(str(task), self.names)
        if wanted is not None:
            parsed = self.names.parse(wanted)
            if task in self.names.tasks and task != parsed.task:
                raise self._contradiction(f"'{task}'", "--config", wanted)
            if self._is_other_length(length, parsed.length):
                raise self._contradiction(f"{length} tokens", "--config", wanted)
            return parsed.name
        if task is None:
            raise RulerError(
                f"'{self.file}' does not name its configuration: add --config, such as vt_4k or "
                "niah_none_64k_pl, or call the file so (vt_4k.csv), or keep it in folders "
                "LANGUAGE, LENGTH and TASK."
            )
        return self._name_config(task, length, languages)

    def _check_length_of(self, config: str) -> None:
        """Raise RulerError if --length is not the length of a configuration that a record names."""
        asked = self.options.length
        length = None
        with suppress(RulerError):  # an unknown name, which is refused later
            length = self.names.parse(config).length
        if asked is not None and self._is_other_length(length, asked):
            raise self._contradiction(f"'{config}'", "--length", asked)

    def _name_config(self, task: str, length: str | int | None, languages: str | None) -> str:
        """Return the configuration of a task, at the length that the file gives or --length."""
        dataset = self.names.dataset
        check_name("task", task, self.names.tasks, "ruler score --help")
        if dataset == "oneruler" and languages is None:
            raise RulerError(f"'{self.file}' does not name its language: add --config NAME.")
        if self.options.length is not None:
            if self._is_other_length(length, self.options.length):
                raise self._contradiction(f"{length} tokens", "--length", self.options.length)
            length = self.options.length
        if length is None:
            raise RulerError(
                f"'{self.file}' does not give the length of '{task}': add --length, such as 4k."
            )
        if isinstance(length, int):
            length = name_of_tokens(length, dataset)
        parts = [task, length]
        if dataset == "oneruler" and languages:
            parts.append(languages)
        tokenizer = self.options.tokenizer or self._find_tokenizer(task, length, languages)
        if tokenizer != DEFAULT_TOKENIZER:
            parts.append(tokenizer)
        return "_".join(parts)

    def _is_other_length(self, file_length: str | int | None, length: str) -> bool:
        """Return whether a file gives another length; a number such as a year is not a length."""
        tokens = tokens_in(str(file_length), self.names.dataset)
        return tokens is not None and tokens != parse_length(length, self.names.dataset)

    def _contradiction(self, answers: str, flag: str, value: str) -> RulerError:
        return RulerError(
            f"'{self.file}' has answers for {answers}, but {flag} is {value}: leave {flag} out."
        )

    def _find_tokenizer(self, task: str, length: str, languages: str | None) -> str:
        """Return the only tokenizer for which the release has such rows.

        Raises RulerError if there are several; without a release it is the default tokenizer.
        """
        if self.release is None:
            return DEFAULT_TOKENIZER
        configs = [self.release.parse(name) for name in self.release.configs]
        candidates = set()
        for config in configs:
            same_languages = languages is None or languages == config.languages
            if config.task == task and config.length == length and same_languages:
                candidates.add(config.tokenizer)
        tokenizers = sorted(candidates or {config.tokenizer for config in configs})
        if len(tokenizers) > 1:
            raise RulerError(
                f"The release has these rows under {' and '.join(tokenizers)}: add --tokenizer."
            )
        return tokenizers[0]


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


# ---- Names in paths ------------------------------------------------------------------------------


def path_text(file: Path) -> str:
    """Return the path of a file with forward slashes, without the suffix of a compression."""
    text = file.absolute().as_posix()
    for suffix in COMPRESSED_SUFFIXES:
        text = text.removesuffix(suffix)
    return text


def without_seed(file: Path) -> str:
    """Return the folder of a file, without the number of its seed or sample."""
    folder = str(file.parent)
    seeds = [*SEED.finditer(folder)]
    return folder[: seeds[-1].start()] + folder[seeds[-1].end() :] if seeds else folder


def stem_of(file: Path) -> str:
    """Return the name of a file without its suffixes."""
    return Path(path_text(file)).stem


def is_oneruler(file: Path) -> bool:
    """Return whether a file's name or its folders name a task that only ONERULER has."""
    if dataset_of(stem_of(file)) == "oneruler":
        return True
    folders = {folder.name for folder in file.absolute().parents}
    only_there = {*TASKS["oneruler"]} - {*TASKS["ruler"]}
    return bool(folders & only_there)


def task_named(text: str, names: Names) -> str:
    """Return the task that another tool calls so; other texts are returned unchanged."""
    if text in names.tasks:
        return text
    short = text.removeprefix("ruler_")
    return TASK_ALIASES.get(short, short if short in names.tasks else text)


def config_in_name(names: Names, text: str) -> str | None:
    """Return the longest configuration name at the end of a text: `vt_4k` of `general_qa_vt_4k`.

    A task may have another tool's name, and a length may be a number of tokens.
    """
    found = _split_name(names, text)
    return found[1].name if found else None


def label_of(file: Path, names: Names) -> str | None:
    """Return what a file's name says besides its configuration: `qwen` of qwen_vt_4k.jsonl.

    Seeds and numbers that tell the files of one run apart say nothing (01_vt_4k.jsonl), and a
    tokenizer may be the name of a model (vt_4k_qwen.jsonl). None without a configuration.
    """
    found = _split_name(names, stem_of(file))
    if found is None:
        return None
    before, config = found
    tokenizer = "" if config.tokenizer == DEFAULT_TOKENIZER else config.tokenizer
    parts = [SEED.sub("", before), tokenizer]
    return " ".join(part for part in parts if re.search(r"[^\W\d_]", part))


def _split_name(names: Names, text: str) -> tuple[str, Config] | None:
    """Split a name into what stands before the configuration at its end, and that."""
    words = text.split("_")
    for start in range(len(words) - 1):
        for end in range(len(words) - 1, start, -1):
            task = task_named("_".join(words[start:end]), names)
            if task not in names.tasks and task != ABLATION:
                continue
            with suppress(RulerError):
                config = names.parse("_".join([task, *words[end:]]))
                return "_".join(words[:start]), config
    return None


def facts_of_folders(file: Path, names: Names) -> dict[str, Any]:
    """Return the task, length (tokens) and languages that a file's name and its folders give.

    `en-ko/niah_none/64000/prediction_o3.jsonl` gives niah_none, 64000 and en-ko. The folders may be
    in any order, and the nearest ones count. Many folders have names of two letters, so a language
    has to be next to the file, or to a folder that is one of the three.
    """
    code = "|".join(names.languages)
    facts: dict[str, Any] = {}
    is_next = True
    parts = [stem_of(file), *(folder.name for folder in file.absolute().parents)]
    for number, part in enumerate(parts):
        fact: tuple[str, Any] | None = None
        if part in (*names.tasks, ABLATION):
            fact = "task", part
        elif tokens := tokens_in(part, names.dataset):
            fact = "length", tokens
        elif is_next and re.fullmatch(rf"(?:{code})(?:-(?:{code}))?", part):
            fact = "languages", part
        if fact is not None:
            facts.setdefault(*fact)
        is_next = fact is not None or number == 0
    return facts


def tokens_in(word: str, dataset: str) -> int | None:
    """Return the length that a word names, in tokens; None for other words, such as a year."""
    if re.fullmatch(r"[1-9]\d{3,6}", word):
        return int(word) if int(word) % 1000 == 0 or int(word) % 1024 == 0 else None
    try:
        return parse_length(word, dataset) if re.fullmatch(r"\d+[km]", word) else None
    except RulerError:
        return None


def name_of_tokens(tokens: int, dataset: str) -> str:
    """Return the name of a length in tokens, or the number if the data set has no name for it.

    In ruler 4096 is `4k`. 128000 stays 128000: it is 125 times 1024, but is not called 125k.
    """
    try:
        name = length_name(tokens, dataset)
        parse_length(name, dataset)  # names end at 4m
    except RulerError:
        return str(tokens)
    return name
