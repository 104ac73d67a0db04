"""The known forms of prediction files (forms.toml), and `--columns` for all others.

    form = next(form for form in forms() if form.fits({"index": 0, "pred": "A"}))
    form.fields["prediction"](record)                       # the value, or MISSING
    form.of_path(Path("4096/pred/vt.jsonl"))                # {"length": "4096", "task": "vt"}
    form_of_columns("prediction=generation,index=id")       # any other file

forms.toml says what each key of a form means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_common.parsing import read_toml

MISSING = object()
"""What a field reads if the record does not have it."""
FIELDS = (
    *("index", "prediction", "config", "task", "length", "languages", "outputs", "question"),
    *("prompt", "prefix", "finish_reason", "thinking", "thinking_ended", "thinking_tokens"),
    *("prompt_tokens", "error", "columns", "model"),
)
"""What can be read of a record: a Prediction's fields, or what names its configuration. `outputs`
are the references, the prompt is `prompt` and then `prefix`, `columns` are all of the row's."""
INDEX = ["index", "id"]
"""The usual names of a row's index."""
SIMPLEST = '{"config": "vt_4k", "index": 0, "prediction": "…"}'
"""The simplest line that is read, for messages."""
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

    def columns(self, names: Collection[str]) -> list[str]:
        """Return the columns of a Parquet file that the fields are read from."""
        return sorted({name for path in self.paths.values() for name in columns_below(path, names)})

    def is_of(self, file: Path) -> bool:
        """Return whether the tool writes such files to this place."""
        return re.search(self.search or self.file, file.absolute().as_posix()) is not None

    def of_path(self, file: Path) -> dict[str, str]:
        """Return the facts in the path of a file, and as `run` what the files of its run share."""
        facts = {"run": str(file.parent)}
        for path in (file.resolve(), file.absolute()):  # a linked folder may have another name
            if match := re.search(self.file, path.as_posix()):
                facts["run"] = path.as_posix()[: match.start()] or "/"
                facts.update({name: text for name, text in match.groupdict().items() if text})
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
    return next((form for form in forms() if form.is_of(file)), None)


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
