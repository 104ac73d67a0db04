"""The table of forms (forms.toml): which tool wrote a file, and where it puts what scoring needs.

form = next(form for form in forms() if form.fits({"index": 0, "pred": "A"}))
form.fields["prediction"](record)                       # the value, or MISSING
form.of_path(Path("4096/pred/vt.jsonl"))                # {"length": "4096", "task": "vt"}
own_form("prediction=generation,index=id")              # --columns: any other file

forms.toml says what each key of a form means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_common.parsing import read_toml

MISSING = object()
"""What a field reads where a record does not have it."""
FIELDS = (
    *("index", "prediction", "config", "task", "length", "languages", "outputs", "question"),
    *("prompt", "prefix", "finish_reason", "thinking", "thinking_ended", "thinking_tokens"),
    *("prompt_tokens", "error", "columns", "model"),
)
"""What can be read of a record: a Prediction's fields, or what names its configuration; `outputs`
are the references, the prompt is `prompt` and then `prefix`, `columns` are all of the row's."""
SIMPLEST = '{"config": "vt_4k", "index": 0, "prediction": "…"}'
"""The simplest line that is read, for messages."""
Read = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form of prediction files."""

    name: str
    has: Sequence[str | Sequence[str]]
    paths: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    file: str = "(?!)"
    search: str | None = None
    match: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    finish: Mapping[str, str] = field(default_factory=dict)
    records: str | None = None
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
        """Reads each field of a record: its value, None, or MISSING."""
        return {name: reader(path, self.match.get(name)) for name, path in self.paths.items()}

    @cached_property
    def _held(self) -> list[Read]:
        return [reader(path) for path in self.has]

    def fits(self, record: Any) -> bool:
        """Whether a record holds what tells this form."""
        return all(read(record) is not MISSING for read in self._held)

    def fits_columns(self, names: Collection[str]) -> bool:
        """Whether a Parquet file of these columns, `doc.id` and so on, is of this form."""
        return all(columns_below(path, names) for path in self.has)

    def columns(self, names: Collection[str]) -> list[str]:
        """The columns of a Parquet file that the fields are read from."""
        return sorted({name for path in self.paths.values() for name in columns_below(path, names)})

    def is_of(self, file: Path) -> bool:
        """Whether the tool writes such files where this one lies."""
        return re.search(self.search or self.file, file.absolute().as_posix()) is not None

    def of_path(self, file: Path) -> dict[str, str]:
        """What the path of a file tells, and as `run` what the files of its run have in common."""
        found = {"run": str(file.parent)}
        for path in (file.resolve(), file.absolute()):  # a linked folder may be named otherwise
            if match := re.search(self.file, path.as_posix()):
                told = {name: text for name, text in match.groupdict().items() if text}
                found |= {"run": path.as_posix()[: match.start()] or "/", **told}
        if "model" in found:
            found["model"] = found["model"].replace(self.slash, "/")
        return found

    def label(self, told: Mapping[str, Any]) -> str | None:
        """The model's name, of all that is told; None where nothing tells it."""
        parts = re.findall(r"{(\w+)}", self.model)
        return " ".join(str(told[part]) for part in parts if told.get(part) is not None) or None


def reader(paths: str | Sequence[str], pattern: str | None = None) -> Read:
    """Reads a place in records, the first of several that is there and matches the pattern."""
    places = [paths] if isinstance(paths, str) else list(paths)
    if pattern is None and len(places) == 1 and not set(".*") & set(places[0]):
        return _plain(places[0])
    readers = [_walk(place.split(".")) for place in places]

    def read(record: Any) -> Any:
        found: Any = MISSING
        for each in readers:
            value = each(record)
            if value is MISSING:
                continue
            if pattern is not None and value is not None:
                match = re.search(pattern, str(value))
                value = match[1] if match else None
            if value is not None and value != []:
                return value
            found = value
        return found

    return read


def _plain(name: str) -> Read:
    def read(record: Any) -> Any:
        return record.get(name, MISSING) if isinstance(record, dict) else MISSING

    return read


def _walk(steps: Sequence[str]) -> Read:
    def read(record: Any) -> Any:
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

    return read


def columns_below(paths: str | Sequence[str], names: Collection[str]) -> list[str]:
    """Of a Parquet file's columns those at a place, the first of several that is there."""
    for path in [paths] if isinstance(paths, str) else paths:
        if found := [name for name in names if f"{name}.".startswith(f"{path}.")]:
            return found
    return []


@cache
def forms() -> tuple[Form, ...]:
    """The forms of forms.toml, in its order."""
    table = read_toml(files("ruler_eval.score").joinpath("forms.toml"))
    return tuple(Form(paths=form.pop("fields", {}), **form) for form in table["form"])


def form_of_path(file: Path) -> Form | None:
    """The form whose tool writes such files where this one lies."""
    return next((form for form in forms() if form.is_of(file)), None)


def own_form(columns: str) -> Form:
    """The form that --columns describes: `prediction=generation,index=id`.

    What stands on the right is a place in a record, `choices.0.text` also. Raises RulerError for
    an unknown field, and where the prediction or the index is not among them.
    """
    paths: dict[str, str] = {}
    for part in columns.split(","):
        name, equals, path = part.strip().partition("=")
        if not equals or not path or name in paths:
            raise RulerError(
                f"--columns '{columns}' is not a list of FIELD=COLUMN, each field once, such as "
                "prediction=generation,index=id."
            )
        paths[check_name("--columns field", name, FIELDS, "ruler score --help")] = path
    if not {"prediction", "index"} <= paths.keys():
        raise RulerError(
            f"--columns '{columns}' must name the prediction and the index of its row, such as "
            "prediction=generation,index=id."
        )
    last = next(form for form in forms() if form.has == ["prediction"])
    return Form(
        name="--columns",
        has=[paths["prediction"]],
        paths=cast(Mapping[str, str], paths),
        file=last.file,
        folders=True,
    )
