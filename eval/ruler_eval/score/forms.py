"""The forms of other tools' prediction files: what forms.toml and `--columns` say about them.

    form_of_columns("prediction=generation,index=id").fields["index"]({"id": 3})      # 3
    run_of_path(Path("out/llama/4096/pred/vt.jsonl"))      # what the files of one run share

forms.toml lists the known forms and says what each of their keys means. other_files.py reads the
records of a file by its form.
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
from ruler_common.names import check_name
from ruler_common.text import one_line
from ruler_eval.prediction import dataset_of

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
Read = Callable[[Any], Any]


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
            at_place = _walk(record, steps)
            if at_place is MISSING:
                continue
            value = at_place
            if pattern is not None and value is not None:
                match = re.search(pattern, str(value))
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


def run_of_path(file: Path, again: str | None = None) -> str:
    """Return what the files of one run have in common: the folder above them, and the model.

    `again` tells several repetitions apart.
    """
    for form in forms():
        if form.is_of(file):
            return run_of_form(form, file, again)
    return str(file.parent)


def run_of_form(form: Form, file: Path, again: str | None = None) -> str:
    """Return the same for a file of a form."""
    of_path = form.of_path(file)
    model = form.label({**of_path, **facts_beside(form, file)})
    shared = model if form.run == "model" and model else of_path["run"]
    parts = [shared, model if shared != model else None, again]
    return " ".join(part for part in parts if part)


def is_oneruler(file: Path) -> bool:
    """Return whether a file has the place and name of those of ONERULER's authors or runs."""
    for form in forms():
        if form.is_of(file):
            dataset = form.dataset or form.of_path(file).get("dataset")
            return dataset == "oneruler" or dataset_of(file.stem) == "oneruler"
    return dataset_of(file.stem) == "oneruler"


def facts_beside(form: Form, file: Path, again: str = "") -> dict[str, Any]:
    """Return what another file beside one says, such as kvpress's config.yaml."""
    name = form.beside.get("file", "").replace("{again}", again)
    if not name or not (path := file.with_name(name)).is_file():
        return {}
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    try:
        table = json.loads(text) if path.suffix == ".json" else parse_yaml(text)
        facts = {fact: table.get(key) for fact, key in form.beside.items() if fact != "file"}
    except (ValueError, AttributeError, RecursionError) as error:
        why = one_line(error)
        raise RulerError(f"'{path}' is damaged: {why}. Get it again, or move it away.") from error
    return {fact: value for fact, value in facts.items() if value is not None}
