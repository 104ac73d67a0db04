"""The forms of other tools' prediction files: how forms.toml and `--columns` describe them.

    form_of_columns("prediction=generation,index=id").fields["index"]({"id": 3})      # 3
    run_of_path(Path("out/llama/4096/pred/vt.jsonl"))      # what the files of one run share

forms.toml lists the known forms and explains its keys. other_files.py reads the records of a file
by its form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import parse_yaml, read_toml
from ruler_common.names import Names, check_name, length_name, parse_length
from ruler_common.text import one_line
from ruler_eval.prediction import ABLATION, dataset_of

MISSING = object()
"""The value of a field that the record does not have."""
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
"""The fields that can be read from a record, with the type of those that are used unchanged.

They are a Prediction's fields, or parts of the configuration's name. `outputs` are the references;
the prompt is `prompt` followed by `prefix`; `columns` are all columns of the row."""
INDEX = ["index", "id"]
"""The usual names of a row's index."""
Read = Callable[[Any], Any]
"""Reads a field of a record: its value, None, or MISSING."""


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
    facts_file: Mapping[str, str] = field(default_factory=dict)
    model: str = "{model}"
    slash: str = "/"
    dataset: str | None = None
    run: str = "folder"
    folders: bool = False
    unanswered: str | None = None
    refused: str | None = None

    @cached_property
    def fields(self) -> dict[str, Read]:
        """A function for each field of a record."""
        return {name: reader(path, self.match.get(name)) for name, path in self.paths.items()}

    def fits(self, record: Any) -> bool:
        """Return whether a record has the fields that identify this form."""
        return all(reader(path)(record) is not MISSING for path in self.has)

    def fits_columns(self, names: Collection[str]) -> bool:
        """Return whether a Parquet file with these columns (`doc.id`, …) has this form."""
        return all(columns_below(path, names) for path in self.has)

    def is_of(self, file: Path) -> bool:
        """Return whether the tool writes files to such a path."""
        return re.search(self.search or self.file, file.absolute().as_posix()) is not None

    def of_path(self, file: Path) -> dict[str, str]:
        """Return the facts in a file's path; `run` is what all files of its run share."""
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
        """Return the model's name, built from the facts that are known; None without any."""
        parts = [facts.get(name) for name in re.findall(r"{(\w+)}", self.model)]
        return " ".join(str(part) for part in parts if part is not None) or None


def reader(paths: str | Sequence[str], pattern: str | None = None) -> Read:
    """Return a function that reads a field of records.

    Args:
        paths: where the field is; of several paths, the first that has a value is used.
        pattern: a regular expression whose first group is the value.
    """
    if isinstance(paths, str) and pattern is None and not re.search(r"[.*]", paths):
        return lambda record: record.get(paths, MISSING) if isinstance(record, dict) else MISSING
    steps_of_paths = [path.split(".") for path in ([paths] if isinstance(paths, str) else paths)]

    def read(record: Any) -> Any:
        value: Any = MISSING
        for steps in steps_of_paths:
            at_path = _walk(record, steps)
            if at_path is MISSING:
                continue
            value = at_path
            if pattern is not None and value is not None:
                match = re.search(pattern, str(value))
                value = match[1] if match else None
            if value is not None and value != []:
                return value
        return value

    return read


def _walk(record: Any, steps: Sequence[str]) -> Any:
    """Follow steps into a record: keys, `key-*` for the first key with that prefix, and numbers."""
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
    """Return a Parquet file's columns at or below a path; of several paths, the first it has."""
    for path in [paths] if isinstance(paths, str) else paths:
        if columns := [name for name in names if f"{name}.".startswith(f"{path}.")]:
            return columns
    return []


@cache
def forms() -> tuple[Form, ...]:
    """Return the forms of forms.toml, in its order."""
    table = read_toml(files("ruler_eval.score").joinpath("forms.toml"))
    return tuple(Form(paths=form.pop("fields", {}), **form) for form in table["form"])


def form_of_columns(columns: str) -> Form:
    """Return the form that --columns describes: `prediction=generation,index=id`.

    On the right is a path in a record, such as `choices.0.text`. If no index is named, the columns
    `index` or `id` are read; without them, rows are numbered in their order. Raises RulerError for
    an unknown field, and if the prediction is not named.
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


def run_of_path(file: Path) -> str:
    """Return what the files of one run have in common: the folder above them, and the model."""
    for form in forms():
        if form.is_of(file):
            return run_of_form(form, file)
    return str(file.parent)


def run_of_form(form: Form, file: Path, start_time: str | None = None) -> str:
    """Return the same for a file of a form; repetitions of a run differ in their start time."""
    of_path = form.of_path(file)
    model = form.label({**of_path, **facts_beside(form, file)})
    shared = model if form.run == "model" and model else of_path["run"]
    parts = [shared, model if shared != model else None, start_time]
    return " ".join(part for part in parts if part)


def is_oneruler(file: Path) -> bool:
    """Return whether a file's path and name are those of ONERULER's authors or of runs on it."""
    for form in forms():
        if form.is_of(file):
            dataset = form.dataset or form.of_path(file).get("dataset")
            return dataset == "oneruler" or dataset_of(file.stem) == "oneruler"
    return dataset_of(file.stem) == "oneruler"


def facts_beside(form: Form, file: Path, start_time: str = "") -> dict[str, Any]:
    """Return the facts in a second file of the same folder, such as kvpress's config.yaml."""
    name = form.facts_file.get("file", "").replace("{start_time}", start_time)
    if not name or not (path := file.with_name(name)).is_file():
        return {}
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    try:
        table = json.loads(text) if path.suffix == ".json" else parse_yaml(text)
        facts = {fact: table.get(key) for fact, key in form.facts_file.items() if fact != "file"}
    except (ValueError, AttributeError, RecursionError) as error:
        why = one_line(error)
        raise RulerError(f"'{path}' is damaged: {why}. Get it again, or move it away.") from error
    return {fact: value for fact, value in facts.items() if value is not None}


def facts_of_folders(file: Path, names: Names) -> dict[str, Any]:
    """Return the task, length (tokens) and languages that a file's name and its folders give.

    `en-ko/niah_none/64000/prediction_o3.jsonl` gives niah_none, 64000 and en-ko. The folders may be
    in any order, and the nearest ones count. Many folders have names of two letters, so a language
    has to be next to the file, or to a folder that is one of the three.
    """
    code = "|".join(names.languages)
    facts: dict[str, Any] = {}
    is_next = True
    for number, part in enumerate([file.stem, *(folder.name for folder in file.parents)]):
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


def config_at_end(names: Names, text: str) -> str | None:
    """Return the longest configuration name at the end of a text: `vt_4k` of `general_qa_vt_4k`."""
    words = text.split("_")
    for start in range(len(words) - 1):
        try:
            config = names.parse("_".join(words[start:]))
        except RulerError:
            continue
        if config.task in names.tasks:
            return config.name
    return None
