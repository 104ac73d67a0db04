"""Reads one prediction file: its records, as their form (forms.py) has them, as Predictions.

    file = PredictionFile(Path("4096/pred/vt.jsonl"), Naming())
    for prediction in file.read(damaged=[]): …
    file.model, file.run

What a record does not say, the path of its file does, or another file beside it; then the caller
(`--length`, `--config`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.parsing import json_value, parse_yaml
from ruler_common.text import one_line
from ruler_eval.frozen_release import BATCH_ROWS, Release
from ruler_eval.prediction import FINISH_REASONS, Prediction, digest, read_references, row_number
from ruler_eval.score.config_naming import Naming, config_at_end, path_facts
from ruler_eval.score.forms import INDEX, MISSING, SIMPLEST, Form, forms
from ruler_eval.score.records import parquet_records, records_of

_AS_IT_IS = (
    *("question", "thinking_ended", "thinking_tokens", "prompt_tokens", "error", "thinking"),
)
_NAMING = ("config", "task", "length", "languages")
_ANSWERING = ("assistant", "BOT")
"""Roles of turns that are not part of a prompt."""


@dataclass(kw_only=True)
class PromptCheck:
    """Compares the prompts of answers with a release's rows, some rows in memory at a time."""

    release: Release
    _held: dict[str, tuple[int, dict[int, str]]] = field(default_factory=dict)

    def check(self, prediction: Prediction) -> None:
        """Mark an answer whose prompt holds its row's text; RulerError for another row's prompt.

        Answers to rows that the release lacks are passed over.
        """
        config, index = prediction.config, prediction.index
        if prediction.prompt is None or config not in self.release.configs:
            return
        batch = index // BATCH_ROWS
        if self._held.get(config, (None, None))[0] != batch:
            places = range(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS)
            rows = self.release.some_rows(config, ["input"], places)
            self._held = {config: (batch, {row["index"]: row["input"] for row in rows})}
        text = self._held[config][1].get(index)
        if text is None:
            return
        if text.strip() not in prediction.prompt:
            raise RulerError(
                f"'{prediction.where}' was asked another prompt than row {index} of '{config}' in "
                f"'{self.release.source}': name the release it was made on with --dataset, or "
                "leave --dataset out to score it by its own references."
            )
        prediction.asked_row = True


@dataclass
class PredictionFile:
    """One file to read: its path, what the caller adds, and whether prompts are kept.

    `prompts` compares each prompt that the file holds with its row's, if there is a release;
    `form` is that of --columns; without it the first record identifies the form.
    """

    file: Path
    naming: Naming
    _: KW_ONLY
    form: Form | None = None
    keep_prompts: bool = False
    prompts: PromptCheck | None = None
    model: str | None = None
    """The model's name, once the file is read, if the file, its path or a file beside it has it."""
    run: str = ""
    """What the files of one run have in common, once the file is read."""

    def read(self, damaged: list[str]) -> Iterator[Prediction]:
        """Yield the predictions in file order; note lines that are not JSON in `damaged`.

        Raises RulerError for a file of no known form, and for a record that lacks what it needs.
        """
        self.run = str(self.file.parent)
        if self.file.suffix == ".parquet":
            records = parquet_records(self.file, self._columns)
        else:
            records = records_of(self.file, damaged)
        reader: _RecordReader | None = None
        for where, record in records:
            if reader is None:
                form = self.form or self._known_form(record)
                reader = _RecordReader(form, self.file, self.naming, self.keep_prompts)
                self.run = run_of_path(form, self.file, reader.facts)
            try:
                found = reader.prediction(record)
                found.where = where
                found.check()
            except RulerError:
                raise
            except (LookupError, TypeError, AttributeError, ValueError, SyntaxError) as error:
                why = f"no '{error.args[0]}'" if isinstance(error, KeyError) else error
                raise RulerError(f"'{where}' lacks a field or misuses one: {why}.") from error
            if self.prompts is not None:
                self.prompts.check(found)
            if not self.keep_prompts:
                found.prompt = None
            self.model = reader.model
            yield found
        if reader is not None and reader.numbered and form.name == "--columns":
            damaged.append(f"{self.file} has no index of its rows, which are numbered in order")

    def _known_form(self, record: Any) -> Form:
        fitting = [form for form in forms() if form.fits(record)]
        return self._first(fitting, record if isinstance(record, Mapping) else ())

    def _columns(self, names: Collection[str]) -> Iterable[str]:
        if self.form is None:
            fitting = [form for form in forms() if form.fits_columns(names)]
            self.form = self._first(fitting, {name.partition(".")[0] for name in names})
        return self.form.columns(names)

    def _first(self, fitting: list[Form], names: Iterable[Any]) -> Form:
        if not fitting:
            shown = ", ".join(sorted(map(str, names))) or "no fields"
            raise RulerError(
                f"'{self.file}' is of no known format: its lines hold {shown}. The simplest line "
                f"is {SIMPLEST}; of any other file, say which columns to read, such as --columns "
                "prediction=answer,index=id."
            )
        if fitting[0].refused is not None:
            raise RulerError(fitting[0].refused.replace("{file}", str(self.file)))
        return fitting[0]


class _RecordReader:
    """Reads the records of a file that is of a form."""

    def __init__(self, form: Form, file: Path, naming: Naming, keep_prompts: bool) -> None:
        self._form, self._file, self._naming = form, file, naming
        self._keep_prompts = keep_prompts
        self._numbers: Counter[str] = Counter()
        self._configs: dict[tuple[Any, ...], str] = {}
        self._naming_fields = [name for name in _NAMING if name in form.fields]
        self.facts = self._facts()
        self.model = form.label(self.facts)
        self.numbered = False  # whether rows had no index and were numbered in their order

    def _get(self, name: str, record: Any) -> Any:
        """Return a field of a record; None if the record or the form does not have it."""
        if name not in self._form.fields:
            return None
        value = self._form.fields[name](record)
        return None if value is MISSING else value

    def prediction(self, record: Any) -> Prediction:
        """Return the answer that a record holds.

        Raises KeyError, TypeError or ValueError for a record that lacks a field or misuses one.
        """
        form = self._form
        if form.fields["prediction"](record) is MISSING:
            raise KeyError(_last(form.paths["prediction"]))
        text = self._get("prediction", record)
        config = self._config(record)
        fields = {name: self._get(name, record) for name in _AS_IT_IS}
        if text is None and form.unanswered:
            fields["error"] = form.unanswered
        finish_reason = self._get("finish_reason", record)
        if isinstance(finish_reason, str):
            finish_reason = FINISH_REASONS.get(finish_reason, finish_reason)
        prompt = _text(self._get("prompt", record))
        if prompt:
            prompt += _text(self._get("prefix", record)) or ""
        columns = self._get("columns", record) if self._keep_prompts else None
        model = self._get("model", record)
        if isinstance(model, str):  # a folder's name may be a part of it
            self.model = model
        printed = self._file.suffix == ".csv"
        return Prediction(
            config,
            self._index(record, config),
            _answer(text, form.lists),
            **fields,
            finish_reason=finish_reason,
            prompt=prompt or None,
            asked=digest(prompt) if prompt else None,
            columns=columns if isinstance(columns, Mapping) else None,
            outputs=read_references(self._get("outputs", record), printed),
        )

    def _index(self, record: Any, config: str) -> int:
        value = self._get("index", record)
        if value is not None:
            return row_number(value)
        paths = self._form.paths.get("index")
        if paths is not None and (self._form.name != "--columns" or paths is not INDEX):
            raise KeyError(_last(paths))
        self.numbered = True
        self._numbers[config] += 1
        return self._numbers[config] - 1

    def _config(self, record: Any) -> str:
        """Return the configuration: what the record says, then the path, then the caller."""
        values = tuple([self._get(name, record) for name in self._naming_fields])
        if values not in self._configs:
            named = zip(self._naming_fields, values, strict=True)
            known = {name: value for name, value in named if value is not None}
            self._configs[values] = self._name({**self.facts, **known})
        return self._configs[values]

    def _name(self, facts: Mapping[str, Any]) -> str:
        if "config" in facts:
            return str(facts["config"])
        if self._naming.config is None and "task" not in facts:
            raise RulerError(
                f"'{self._file}' does not name its configuration: add --config, such as "
                "vt_4k or niah_none_64k_pl, or call the file so, or keep it in folders LANGUAGE, "
                "LENGTH and TASK."
            )
        task = str(facts.get("task", ""))
        length = facts.get("length")
        if length is not None and not re.fullmatch(r"\d+[km]", str(length)):
            length = row_number(length)
        languages = facts.get("languages")
        return self._naming.of(self._form.tasks.get(task, task), length, self._file, languages)

    def _facts(self) -> dict[str, Any]:
        """Return what the path tells of the file, and another file beside it."""
        form, names = self._form, self._naming.names
        facts: dict[str, Any] = dict(form.of_path(self._file))
        if "config" in facts:
            facts["config"] = names.parse(facts["config"]).name
        elif self._naming.config is not None:
            pass  # the caller's word counts
        elif config := config_at_end(names, facts.get("tail", "")):
            facts["config"] = config
        elif form.folders:
            of_folders = zip(_NAMING[1:], path_facts(self._file.absolute(), names), strict=True)
            facts |= {name: fact for name, fact in of_folders if fact is not None}
        return facts | _facts_beside(form, self._file, facts.get("again", ""))


def run_of_path(form: Form, file: Path, facts: Mapping[str, Any] | None = None) -> str:
    """Return what the files of one run have in common: the folder above them, and the model.

    With the `facts` of an opened file also which of several repetitions it is of.
    """
    of_path = form.of_path(file)
    model = form.label({**of_path, **_facts_beside(form, file)})
    shared = model if form.run == "model" and model else of_path["run"]
    parts = [shared, model if shared != model else None, (facts or {}).get("again")]
    return " ".join(part for part in parts if part)


def _facts_beside(form: Form, file: Path, again: str = "") -> dict[str, Any]:
    """Return what another file beside one tells, such as kvpress's config.yaml."""
    name = form.beside.get("file", "").replace("{again}", again)
    if not name or not (path := file.with_name(name)).is_file():
        return {}
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    try:
        held = json_value(text) if path.suffix == ".json" else parse_yaml(text)
        found = {fact: held.get(key) for fact, key in form.beside.items() if fact != "file"}
    except (ValueError, AttributeError) as error:
        why = one_line(error)
        raise RulerError(f"'{path}' is damaged: {why}. Get it again, or move it away.") from error
    return {fact: value for fact, value in found.items() if value is not None}


def _last(paths: Any) -> str:
    return paths if isinstance(paths, str) else str(paths[-1])


def _answer(value: Any, lists: bool) -> Any:
    """Return the text of an answer: the first of several, or the text parts of a message."""
    while lists and isinstance(value, list) and value and not isinstance(value[0], Mapping):
        value = value[0]
    if lists and isinstance(value, list):
        return "".join(part["text"] for part in value if part.get("type") == "text")
    return "" if value is None else value


def _text(prompt: Any) -> str | None:
    """Return the text of a prompt, which may be a list of turns, a turn's of parts."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    if isinstance(prompt, Mapping):
        if prompt.get("role") in _ANSWERING:
            return ""
        return _text(prompt.get("content", prompt.get("prompt", prompt.get("text"))))
    return "".join(_text(part) or "" for part in prompt)
