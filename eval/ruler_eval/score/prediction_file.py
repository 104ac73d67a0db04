"""Read one prediction file: its records, as their form has them, as Predictions.

    file = PredictionFile(Path("4096/pred/vt.jsonl"), Naming())
    for prediction in file.read(damaged=[]): …
    file.model, file.run

forms.toml lists the known forms and says what each of their keys means; `--columns` is the form of
any other file. What a record does not say, the path of its file does, or another file beside it;
then the caller (`--length`, `--config`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import json_value, parse_yaml, read_bytes, read_toml
from ruler_common.names import check_name
from ruler_common.text import one_line
from ruler_eval.frozen_release import BATCH_ROWS, Release
from ruler_eval.prediction import FINISH_REASONS, Prediction, digest, read_references, row_number
from ruler_eval.score.config_naming import Naming, config_at_end, path_facts
from ruler_eval.score.records import parquet_records, records_of

MISSING = object()
"""What a field reads if the record does not have it."""
FIELDS: Mapping[str, type | None] = {
    "index": None,
    "prediction": None,
    "config": None,
    "task": None,
    "length": None,
    "languages": None,
    "outputs": None,
    "question": str,
    "prompt": None,
    "prefix": None,
    "finish_reason": str,
    "thinking": str,
    "thinking_ended": bool,
    "thinking_tokens": int,
    "prompt_tokens": int,
    "error": str,
    "sample": int,
    "columns": None,
    "model": None,
}
"""What can be read of a record: a Prediction's fields, or what names its configuration; and the
type of those that are taken as they are. `outputs` are the references, the prompt is `prompt` and
then `prefix`, `columns` are all of the row's."""
INDEX = ["index", "id"]
"""The usual names of a row's index."""
SIMPLEST = '{"config": "vt_4k", "index": 0, "prediction": "…"}'
"""The simplest line that is read, for messages."""
_NAMING = ("config", "task", "length", "languages")
_ANSWERING = ("assistant", "BOT")
"""Roles of turns that are not part of a prompt."""
Read = Callable[[Any], Any]


# ---- Forms -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form of prediction files; forms.toml describes the fields."""

    name: str
    has: Sequence[str | Sequence[str]]
    paths: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    file: str = "(?!)"
    search: str | None = None
    match: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    model: str = "{model}"
    slash: str = "/"
    dataset: str | None = None
    run: str = "folder"
    folders: bool = False
    unanswered: str | None = None
    lists: bool = True
    refused: str | None = None

    @cached_property
    def fields(self) -> dict[str, Read]:
        """Functions that read each field of a record: its value, None, or MISSING."""
        return {name: reader(path, self.match.get(name)) for name, path in self.paths.items()}

    def fits(self, record: Any) -> bool:
        """Return whether a record holds what identifies this form."""
        return all(reader(path)(record) is not MISSING for path in self.has)

    def fits_columns(self, names: Collection[str]) -> bool:
        """Return whether a Parquet file of these columns, `doc.id` and so on, is of this form."""
        return all(columns_below(path, names) for path in self.has)

    def is_of(self, file: Path) -> bool:
        """Return whether the tool writes such files to this place."""
        return re.search(self.search or self.file, file.absolute().as_posix()) is not None

    def of_path(self, file: Path) -> dict[str, str]:
        """Return the facts in the path of a file, and as `run` what the files of its run share."""
        facts = {"run": str(file.parent)}
        for path in (file.resolve(), file.absolute()):  # a linked folder may have another name
            if match := re.search(self.file, path.as_posix()):
                facts["run"] = path.as_posix()[: match.start()] or "/"
                for name, text in match.groupdict().items():
                    if text:
                        facts[name] = text
        if "model" in facts:
            facts["model"] = facts["model"].replace(self.slash, "/")
        return facts

    def label(self, facts: Mapping[str, Any]) -> str | None:
        """Return the model's name, made of the known facts; None if there are none."""
        parts = [facts.get(name) for name in re.findall(r"{(\w+)}", self.model)]
        return " ".join(str(part) for part in parts if part is not None) or None


def reader(paths: str | Sequence[str], pattern: str | None = None) -> Read:
    """Return a function that reads a place in records.

    Of several places the first that has a value counts; with a pattern, the value is its group.
    """
    if isinstance(paths, str) and pattern is None and not re.search(r"[.*]", paths):
        return lambda record: record.get(paths, MISSING) if isinstance(record, dict) else MISSING
    places = [path.split(".") for path in ([paths] if isinstance(paths, str) else paths)]

    def read(record: Any) -> Any:
        value: Any = MISSING
        for steps in places:
            found = _walk(record, steps)
            if found is MISSING:
                continue
            value = found
            if pattern is not None and found is not None:
                match = re.search(pattern, str(found))
                value = match[1] if match else None
            if value is not None and value != []:
                return value
        return value

    return read


def _walk(record: Any, steps: Sequence[str]) -> Any:
    """Follow steps into a record: keys, `key-*` for the first key that begins so, and numbers."""
    for step in steps:
        if isinstance(record, dict):
            key = step
            if step.endswith("*"):
                key = next((key for key in record if key.startswith(step[:-1])), step)
            record = record.get(key, MISSING)
        elif isinstance(record, list) and step.isdecimal() and int(step) < len(record):
            record = record[int(step)]
        else:
            return MISSING
    return record


def columns_below(paths: str | Sequence[str], names: Collection[str]) -> list[str]:
    """Return a Parquet file's columns at a place, the first of several that it has."""
    for path in [paths] if isinstance(paths, str) else paths:
        if found := [name for name in names if f"{name}.".startswith(f"{path}.")]:
            return found
    return []


@cache
def forms() -> tuple[Form, ...]:
    """Return the forms of forms.toml, in its order."""
    table = read_toml(files("ruler_eval.score").joinpath("forms.toml"))
    return tuple(Form(paths=form.pop("fields", {}), **form) for form in table["form"])


def form_of_path(file: Path) -> Form | None:
    """Return the form whose tool writes such files to this place."""
    for form in forms():
        if form.is_of(file):
            return form
    return None


def form_of_columns(columns: str) -> Form:
    """Return the form that --columns describes: `prediction=generation,index=id`.

    On the right is a place in a record, such as `choices.0.text`. Without an index the columns
    `index` or `id` are read, else rows are numbered in their order. Raises RulerError for an
    unknown field, and if the prediction is not among them.
    """
    paths: dict[str, str | Sequence[str]] = {}
    for part in columns.split(","):
        name, equals, path = part.strip().partition("=")
        if not equals or not path or name in paths:
            raise RulerError(
                f"--columns '{columns}' is not a list of FIELD=COLUMN, each field once, such as "
                "prediction=generation,index=id."
            )
        paths[check_name("--columns field", name, FIELDS, "ruler score --help")] = path
    if "prediction" not in paths:
        raise RulerError(
            f"--columns '{columns}' must name the prediction, such as "
            "prediction=generation,index=id."
        )
    prediction = paths["prediction"]
    paths.setdefault("index", INDEX)
    last = next(form for form in forms() if form.has == ["prediction"])
    return Form(name="--columns", has=[prediction], paths=paths, file=last.file, folders=True)


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
    """Return what another file beside one says, such as kvpress's config.yaml."""
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


# ---- Files -----------------------------------------------------------------------------------


@dataclass(kw_only=True)
class PromptCheck:
    """Compares the prompts of answers with a release's rows, some rows in memory at a time."""

    release: Release
    _held: dict[str, tuple[int, dict[int, str]]] = field(default_factory=dict)

    def check(self, prediction: Prediction) -> None:
        """Mark an answer whose prompt holds its row's text; RulerError for another row's prompt.

        Answers to rows that are not in the release are ignored.
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

        Raises RulerError for a file of no known form, and for a record without what it needs.
        """
        self.run = str(self.file.parent)
        if self.file.suffix == ".parquet":
            records = parquet_records(self.file, self._columns)
        else:
            records = records_of(self.file, damaged)
        reader: _RecordReader | None = None
        for where, record in records:
            if reader is None:
                form = self.form
                if form is None:
                    fitting = [form for form in forms() if form.fits(record)]
                    form = self._first(fitting, record if isinstance(record, Mapping) else ())
                reader = _RecordReader(form, self.file, self.naming, self.keep_prompts)
                self.run = run_of_path(form, self.file, reader.facts)
            try:
                found = reader.prediction(record, where)
            except RulerError:
                raise
            except (LookupError, TypeError, AttributeError, ValueError, SyntaxError) as error:
                why = f"no '{error.args[0]}'" if isinstance(error, KeyError) else error
                raise RulerError(f"'{where}' has a missing or wrong field: {why}.") from error
            if self.prompts is not None:
                self.prompts.check(found)
            if not self.keep_prompts:
                found.prompt = None
            self.model = reader.model
            yield found
        if reader is not None and reader.numbered and reader.form.name == "--columns":
            damaged.append(f"{self.file} has no index of its rows, which are numbered in order")

    def _columns(self, names: Collection[str]) -> Iterable[str]:
        """Identify the form by the columns of a Parquet file; return those that are read."""
        if self.form is None:
            fitting = [form for form in forms() if form.fits_columns(names)]
            self.form = self._first(fitting, {name.partition(".")[0] for name in names})
        chosen: set[str] = set()
        for path in self.form.paths.values():
            chosen.update(columns_below(path, names))
        return sorted(chosen)

    def _first(self, fitting: list[Form], names: Iterable[Any]) -> Form:
        if not fitting:
            fields = ", ".join(sorted(map(str, names))) or "no fields"
            raise RulerError(
                f"'{self.file}' is of no known format: its lines hold {fields}. The simplest line "
                f"is {SIMPLEST}; of any other file, say which columns to read, such as --columns "
                "prediction=answer,index=id."
            )
        if fitting[0].refused is not None:
            raise RulerError(fitting[0].refused.replace("{file}", str(self.file)))
        return fitting[0]


class _RecordReader:
    """Reads the records of a file that is of a form."""

    def __init__(self, form: Form, file: Path, naming: Naming, keep_prompts: bool) -> None:
        self.form, self._file, self._naming = form, file, naming
        self._keep_prompts = keep_prompts
        self._numbers: Counter[str] = Counter()
        self._configs: dict[tuple[Any, ...], str] = {}
        self._reads = [(name, read, FIELDS[name]) for name, read in form.fields.items()]
        self._naming_fields = [name for name in _NAMING if name in form.fields]
        self.facts = self._facts()
        self.model = form.label(self.facts)
        self.numbered = False  # whether rows had no index and were numbered in their order

    def prediction(self, record: Any, where: str) -> Prediction:
        """Return the answer that a record holds, read from the place `where`.

        Raises KeyError, TypeError or ValueError for a record with a missing or wrong field.
        """
        form = self.form
        values: dict[str, Any] = {}
        for name, read, kind in self._reads:
            value = read(record)
            if value is MISSING:
                continue
            if kind is not None and value is not None and type(value) is not kind:
                raise TypeError(f"{name} is {str(value)[:40]!r}, not of type {kind.__name__}")
            values[name] = value
        if "prediction" not in values:
            raise KeyError(_last(form.paths["prediction"]))
        text = _answer(values["prediction"], form.lists)
        if type(text) is not str:
            raise TypeError(f"the prediction is {str(text)[:40]!r}, not of type str")
        error = values.get("error")
        if values["prediction"] is None and form.unanswered:
            error = form.unanswered
        config = self._config(values)
        prompt = _text(values.get("prompt"))
        if prompt:
            prompt += _text(values.get("prefix")) or ""
        columns = values.get("columns") if self._keep_prompts else None
        if isinstance(values.get("model"), str):  # a folder's name may be a part of it
            self.model = values["model"]
        finish_reason: str | None = values.get("finish_reason")
        return Prediction(
            config,
            self._index(values, config),
            text,
            finish_reason=FINISH_REASONS.get(finish_reason or "", finish_reason),
            thinking=values.get("thinking"),
            thinking_ended=values.get("thinking_ended"),
            thinking_tokens=values.get("thinking_tokens"),
            prompt_tokens=values.get("prompt_tokens"),
            error=error,
            outputs=read_references(values.get("outputs"), self._file.suffix == ".csv"),
            question=values.get("question"),
            asked=digest(prompt) if prompt else None,
            prompt=prompt or None,
            columns=columns if isinstance(columns, Mapping) else None,
            where=where,
            sample=values.get("sample") or 0,
        )

    def _index(self, values: Mapping[str, Any], config: str) -> int:
        if values.get("index") is not None:
            return row_number(values["index"])
        paths = self.form.paths.get("index")
        if paths is not None and (self.form.name != "--columns" or paths is not INDEX):
            raise RulerError(
                f"'{self._file}' does not say which row an answer is of: it has no "
                f"'{_last(paths)}'. Add a column `index` (from 0), or name yours with --columns "
                "index=NAME,prediction=NAME."
            )
        self.numbered = True
        self._numbers[config] += 1
        return self._numbers[config] - 1

    def _config(self, values: Mapping[str, Any]) -> str:
        """Return the configuration: what the record says, then the path, then the caller."""
        key = tuple([values.get(name) for name in self._naming_fields])
        if key not in self._configs:
            facts = dict(self.facts)
            for name, value in zip(self._naming_fields, key, strict=True):
                if value is not None:
                    facts[name] = value
            self._configs[key] = self._name(facts)
        return self._configs[key]

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
        return self._naming.config_name(
            self.form.tasks.get(task, task), length, self._file, languages
        )

    def _facts(self) -> dict[str, Any]:
        """Return what the path says of the file, and another file beside it."""
        form, names = self.form, self._naming.names
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
