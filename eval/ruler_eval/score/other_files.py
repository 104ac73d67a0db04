"""Read a prediction file of another tool: its records, by their form, as Predictions.

    read_other_file(Path("4096/pred/vt.jsonl"), options, None, names, release, False, []).rows

forms.py has the forms. The configuration of a record comes from the record, else from the path of
its file, from a second file in the same folder, or from the caller (`--length`, `--config`). Files
of other tools may have any length; one without a name such as `4k` is written as its number of
tokens.

A file is JSON Lines, a JSON document, CSV or Parquet. The records of a JSON document are a list,
the only list of objects in an object, or objects by number, which is then their `index`. The
separator of a CSV file is the most frequent of comma, semicolon and tab in its first line.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruler_common.errors import RulerError
from ruler_common.files import leaf_columns, rows_of
from ruler_common.names import DEFAULT_TOKENIZER, Names, check_name, parse_length
from ruler_common.text import one_line
from ruler_eval.frozen_release import BATCH_ROWS, Release
from ruler_eval.prediction import (
    Prediction,
    digest,
    finish_reason_of,
    read_references,
    row_number,
)
from ruler_eval.score.forms import (
    FIELDS,
    INDEX,
    MISSING,
    Form,
    columns_below,
    config_at_end,
    facts_beside,
    facts_of_folders,
    forms,
    name_of_tokens,
    run_of_form,
    tokens_in,
)
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.own_run import NOT_UTF_8, json_lines

SIMPLEST = '{"config": "vt_4k", "index": 0, "prediction": "…"}'
"""The simplest line that can be read, for messages."""
_NAME_FIELDS = ("config", "task", "length", "languages")
_ANSWER_ROLES = ("assistant", "BOT")
"""Roles of turns that are not part of a prompt."""


# ---- Records ---------------------------------------------------------------------------------


class OtherFile(NamedTuple):
    """The answers in a file."""

    rows: list[Prediction]
    run: str
    """What the files of one run have in common."""
    model: str | None
    """The model's name, if the file, its path or a second file in the folder has it."""


def read_other_file(
    file: Path,
    options: PredictionOptions,
    form: Form | None,
    names: Names,
    release: Release | None,
    keep_prompts: bool,
    damaged: list[str],
) -> OtherFile:
    """Read a file.

    Args:
        file: the file.
        options: the options of the caller.
        form: the form of --columns; None if the first record identifies the form.
        names: the names of tasks.
        release: the release whose rows the prompts in the file must be of, if there is one.
        keep_prompts: whether the prompts are kept.
        damaged: a list to which notes on lines that are not JSON are added.

    Raises:
        RulerError: for a file of no known form, a record with a missing field, and the prompt of
            another row.
    """
    if file.suffix == ".parquet":
        records: Iterable[tuple[str, Any]] = _parquet(file, form)
    elif file.suffix == ".csv":
        records = _csv(file, damaged)
    elif file.suffix == ".json":
        records = _document(file)
    else:
        records = json_lines(file, damaged)
    reader: _Reader | None = None
    rows = []
    for where, record in records:
        if reader is None:
            if form is None:
                fitting = [candidate for candidate in forms() if candidate.fits(record)]
                form = _first_form(file, fitting, record if isinstance(record, Mapping) else ())
            reader = _Reader(form, file, options, names, release, keep_prompts)
        rows.append(reader.read(record, where))
    if reader is None:
        return OtherFile(rows, str(file.parent), None)
    if reader.is_numbered and reader.form.name == "--columns":
        damaged.append(f"{file} has no index of its rows, which are numbered in order")
    run = run_of_form(reader.form, file, reader.facts.get("start_time"))
    return OtherFile(rows, run, reader.model)


def _first_form(file: Path, fitting: Sequence[Form], names: Collection[Any]) -> Form:
    """Return the first of the forms that fit a file with these fields, or raise RulerError."""
    if not fitting:
        fields = f"the fields {', '.join(sorted(map(str, names)))}" if names else "no fields"
        raise RulerError(
            f"'{file}' is not in a known format: its lines have {fields}. The simplest line is "
            f"{SIMPLEST}. For any other file, name the columns to read, such as --columns "
            "prediction=answer,index=id."
        )
    if fitting[0].refused is not None:
        raise RulerError(fitting[0].refused.replace("{file}", str(file)))
    return fitting[0]


class _Reader:
    """Reads the records of a file by its form."""

    def __init__(
        self,
        form: Form,
        file: Path,
        options: PredictionOptions,
        names: Names,
        release: Release | None,
        keep_prompts: bool,
    ) -> None:
        self.form, self.file, self.options, self.names = form, file, options, names
        self.release, self.keep_prompts = release, keep_prompts
        self.is_csv = file.suffix == ".csv"
        self.facts = self._facts()
        self.model = form.label(self.facts)
        self.is_numbered = False  # whether rows had no index and were numbered in their order
        self._counts: Counter[str] = Counter()  # rows by configuration
        self._configs: dict[tuple[Any, ...], str] = {}
        self._fields = [(name, read, FIELDS[name]) for name, read in form.fields.items()]
        self._name_fields = [name for name in _NAME_FIELDS if name in form.fields]
        self._batch: tuple[str, int] | None = None  # of the release's rows in `_inputs`
        self._inputs: dict[int, str] = {}

    def read(self, record: Any, where: str) -> Prediction:
        """Return the answer in a record; `where` is its place, for messages."""
        try:
            prediction = self._prediction(record, where)
        except RulerError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, SyntaxError) as error:
            why = f"no '{error.args[0]}'" if isinstance(error, KeyError) else error
            raise RulerError(f"'{where}' has a missing or wrong field: {why}.") from error
        if self.release is not None and prediction.prompt is not None:
            self._check_prompt(self.release, prediction, prediction.prompt)
        if not self.keep_prompts:
            prediction.prompt = None
        return prediction

    def _prediction(self, record: Any, where: str) -> Prediction:
        """Raise KeyError, TypeError or ValueError for a record with a missing or wrong field."""
        form = self.form
        values: dict[str, Any] = {}
        for name, read, kind in self._fields:
            value = read(record)
            if value is MISSING:
                continue
            if kind is not None and value is not None and type(value) is not kind:
                raise TypeError(f"{name} is {str(value)[:40]!r}, not of type {kind.__name__}")
            values[name] = value
        if "prediction" not in values:
            raise KeyError(_last_path(form.paths["prediction"]))
        text = _answer(values["prediction"])
        if type(text) is not str:
            raise TypeError(f"the prediction is {str(text)[:40]!r}, not of type str")
        error = values.get("error") or None
        if values["prediction"] is None and form.unanswered:
            error = form.unanswered
        config = self._config(values)
        prompt = _text(values.get("prompt"))
        if prompt:
            prompt += _text(values.get("prefix")) or ""
        columns = values.get("columns") if self.keep_prompts else None
        if isinstance(values.get("model"), str):  # a folder's name may be a part of it
            self.model = values["model"]
        finish_reason: str | None = values.get("finish_reason")
        return Prediction(
            config,
            self._index(values, config),
            text,
            finish_reason=finish_reason_of(finish_reason),
            thinking=values.get("thinking"),
            thinking_ended=values.get("thinking_ended"),
            thinking_tokens=values.get("thinking_tokens"),
            prompt_tokens=values.get("prompt_tokens"),
            error=error,
            outputs=read_references(values.get("outputs"), self.is_csv),
            question=values.get("question"),
            asked=digest(prompt) if prompt else None,
            prompt=prompt or None,
            columns=columns if isinstance(columns, Mapping) else None,
            where=where,
            sample=values.get("sample") or 0,
        )

    def _check_prompt(self, release: Release, prediction: Prediction, prompt: str) -> None:
        """Mark an answer whose prompt contains its row's text.

        Raises RulerError for the prompt of another row; answers to rows that are not in the release
        are ignored. Only one batch of rows is in memory at a time.
        """
        config, index = prediction.config, prediction.index
        if config not in release.configs:
            return
        batch = config, index // BATCH_ROWS
        if self._batch != batch:
            first = index - index % BATCH_ROWS
            rows = release.some_rows(config, ["input"], range(first, first + BATCH_ROWS))
            self._batch, self._inputs = batch, {row["index"]: row["input"] for row in rows}
        text = self._inputs.get(index)
        if text is None:
            return
        if text.strip() not in prompt:
            raise RulerError(
                f"The prompt of '{prediction.where}' is not that of row {index} of '{config}' in "
                f"'{release.source}': name the release it was made on with --dataset, or leave "
                "--dataset out to score it by its own references."
            )
        prediction.asked_row = True

    def _index(self, values: Mapping[str, Any], config: str) -> int:
        if values.get("index") is not None:
            return row_number(values["index"])
        paths = self.form.paths.get("index")
        if paths is not None and (self.form.name != "--columns" or paths is not INDEX):
            raise RulerError(
                f"'{self.file}' does not say which row an answer belongs to: it has no "
                f"'{_last_path(paths)}'. Add a column `index` (from 0), or name yours with "
                "--columns index=NAME,prediction=NAME."
            )
        self.is_numbered = True
        self._counts[config] += 1
        return self._counts[config] - 1

    def _config(self, values: Mapping[str, Any]) -> str:
        """Return the configuration by the record, else by the path, else by the caller."""
        key = tuple([values.get(name) for name in self._name_fields])
        if key not in self._configs:
            facts = dict(self.facts)
            for name, value in zip(self._name_fields, key, strict=True):
                if value is not None:
                    facts[name] = value
            self._configs[key] = self._config_of_facts(facts)
        return self._configs[key]

    def _config_of_facts(self, facts: Mapping[str, Any]) -> str:
        if "config" in facts:
            return str(facts["config"])
        if self.options.config is None and "task" not in facts:
            raise RulerError(
                f"'{self.file}' does not name its configuration: add --config, such as "
                "vt_4k or niah_none_64k_pl, or call the file so, or keep it in folders LANGUAGE, "
                "LENGTH and TASK."
            )
        task = str(facts.get("task", ""))
        task = self.form.tasks.get(task, task)
        length = facts.get("length")
        if length is not None and not re.fullmatch(r"\d+[km]", str(length)):
            length = row_number(length)
        if self.options.config is not None:
            config = self.names.parse(self.options.config)
            if task in self.names.tasks and task != config.task:
                raise self._contradiction(f"'{task}'", "--config", self.options.config)
            if self._is_other_length(length, config.length):
                raise self._contradiction(f"{length} tokens", "--config", self.options.config)
            return config.name
        return self._name_config(task, length, facts.get("languages"))

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

    def _facts(self) -> dict[str, Any]:
        """Return the facts in the file's path and in a second file of its folder."""
        form = self.form
        facts: dict[str, Any] = dict(form.of_path(self.file))
        if "config" in facts:
            facts["config"] = self.names.parse(facts["config"]).name
        elif self.options.config is None:
            if config := config_at_end(self.names, facts.get("tail", "")):
                facts["config"] = config
            elif form.folders:
                facts |= facts_of_folders(self.file.absolute(), self.names)
        return facts | facts_beside(form, self.file, facts.get("start_time", ""))


def _last_path(paths: Any) -> str:
    return paths if isinstance(paths, str) else str(paths[-1])


def _answer(value: Any) -> Any:
    """Return the text of an answer: the first of several, or the text parts of a message."""
    while isinstance(value, list) and value and not isinstance(value[0], Mapping):
        value = value[0]
    if isinstance(value, list):
        return "".join(part["text"] for part in value if part.get("type") == "text")
    return "" if value is None else value


def _text(prompt: Any) -> str | None:
    """Return the text of a prompt, which may be a list of turns; a turn may be a list of parts."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    if isinstance(prompt, Mapping):
        if prompt.get("role") in _ANSWER_ROLES:
            return ""
        return _text(prompt.get("content", prompt.get("prompt", prompt.get("text"))))
    return "".join(_text(part) or "" for part in prompt)


# ---- Kinds of files ----------------------------------------------------------------------------


def _check_columns(file: Path, columns: Collection[str]) -> None:
    """Raise RulerError for two columns of one name, of which only one would be read."""
    for name, count in Counter(columns).items():
        if count > 1:
            raise RulerError(f"'{file}' has several columns named '{name}': keep one of them.")


def _parquet(file: Path, form: Form | None) -> Iterator[tuple[str, Any]]:
    """Yield the rows, with only the columns that their form reads."""
    names = leaf_columns(file)
    _check_columns(file, names)
    if form is None:
        fitting = [candidate for candidate in forms() if candidate.fits_columns(names)]
        form = _first_form(file, fitting, {name.partition(".")[0] for name in names})
    columns: set[str] = set()
    for path in form.paths.values():
        columns.update(columns_below(path, names))
    for number, row in enumerate(rows_of(file, sorted(columns)), 1):
        yield f"{file}:{number}", row


def _document(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        document = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise RulerError(f"'{file}' is not a JSON document: {one_line(error)}.") from error
    for number, record in enumerate(_records_in(document), 1):
        yield f"{file}:{number}", record


def _records_in(document: Any) -> list[Any]:
    """Return the records of a document.

    They are the document if it is a list, the one list of objects in it, or numbered objects.
    """
    if not isinstance(document, dict):
        return document if isinstance(document, list) else [document]
    if document and all(key.isdecimal() and isinstance(document[key], dict) for key in document):
        return [{"index": key, **record} for key, record in document.items()]
    lists = [value for value in document.values() if _is_list_of_objects(value)]
    return lists[0] if len(lists) == 1 else [document]


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _csv(file: Path, damaged: list[str]) -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(1 << 30)
    data = file.read_bytes()
    utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if utf_16 else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        damaged.append(f"{file} {NOT_UTF_8}")
    header = text.partition("\n")[0]
    separator = max(",;\t", key=header.count)  # a comma if the line has none of them
    # not strict, a missing quotation mark would join the lines up to the next one into one answer
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        columns = next(reader, [])
        _check_columns(file, columns)
        for cells in filter(None, reader):
            where, count = f"{file}:{reader.line_num}", len(columns)
            if len(cells) < count or any(cells[count:]):  # part of an answer would be lost
                raise RulerError(
                    f"'{where}' has {len(cells)} cells and the first line {count}: put texts "
                    "with commas or line breaks between quotation marks."
                )
            yield where, dict(zip(columns, cells, strict=False))
    except csv.Error as error:
        where = f"{file}:{reader.line_num}"
        raise RulerError(f"'{where}' is not valid CSV: {error}.") from error
