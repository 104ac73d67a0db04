"""Read files of no known tool by what --columns says: `prediction=generation,index=id`.

Columns("prediction=choices.0.text,index=id").read(records, source)
at_path({"choices": [{"text": "It is 42."}]}, "choices.0.text")          # "It is 42."
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_eval.file_records import Record
from ruler_eval.prediction import Prediction
from ruler_eval.score.source import Source

INDEX = ("index", "id")
"""The usual names of a row's index."""
SAMPLE = ("sample", "seed", "repeat", "epoch")
"""The usual names of the number of a sample of a row."""
MISSING = object()
"""The value of a field that a record does not have."""
FIELDS = (
    "index", "prediction", "config", "task", "length", "languages", "outputs", "question", "prompt",
    "prefix", "finish_reason", "thinking", "thinking_ended", "thinking_tokens", "prompt_tokens",
    "error", "sample", "model",
)  # fmt: skip
"""What --columns can name. `outputs` are the references; the prompt is `prompt` and `prefix`."""
_NAME_FIELDS = ("config", "task", "length", "languages")


class Columns:
    """What --columns says: `prediction=generation,index=id`.

    On the right is a column, or a path in a record, such as `choices.0.text`. If no index is named,
    the columns `index` or `id` are read; without them, rows are numbered in their order.
    """

    def __init__(self, text: str) -> None:
        self.paths: dict[str, str] = {}
        for part in text.split(","):
            name, equals, path = (side.strip() for side in part.partition("="))
            if not equals or not path or name in self.paths:
                raise RulerError(
                    f"--columns '{text}' is not a list of FIELD=COLUMN, each field once, such as "
                    "prediction=generation,index=id."
                )
            if name not in FIELDS and path in FIELDS:
                raise RulerError(
                    f"--columns '{part.strip()}' is reversed: the field comes first, then the "
                    f"column of the file: {path}={name}."
                )
            self.paths[check_name("--columns field", name, FIELDS, "ruler score --help")] = path
        if "prediction" not in self.paths:
            raise RulerError(
                f"--columns '{text}' must name the prediction, such as "
                "prediction=generation,index=id."
            )
        for name in ("outputs", "prompt", "question"):
            if self.paths.get(name) == self.paths["prediction"]:
                raise RulerError(
                    f"--columns '{text}' names '{self.paths['prediction']}' as prediction and as "
                    f"{name}: name the column of each."
                )

    def leaves(self, names: Collection[str]) -> list[str]:
        """Return the leaf columns of a Parquet file that the paths need."""
        wanted = []
        for path in (*self.paths.values(), *INDEX, *SAMPLE):
            top = re.split(r"\.\d+(?:\.|$)", path)[0]
            wanted += [name for name in names if f"{name}.".startswith(f"{top}.")]
        return list(dict.fromkeys(wanted))

    def has_prediction(self, value: Any) -> bool:
        """Return whether a document is a record itself."""
        return at_path(value, self.paths["prediction"]) is not MISSING

    def read(self, records: Iterable[Record], source: Source) -> Iterator[Prediction]:
        """Read the records of a file by these columns."""
        source.says_numbered = True
        found: set[str] = set()
        for where, record in records:
            values = {}
            for name, path in self.paths.items():
                value = at_path(record, path)
                if value is not MISSING:
                    values[name] = value
            found |= values.keys()
            prediction = values.pop("prediction", MISSING)
            if prediction is MISSING:
                raise KeyError(self.paths["prediction"])
            facts = {name: values.pop(name, None) for name in _NAME_FIELDS}
            source.add_model(values.pop("model", None))
            index = self._index(source, record, values.pop("index", MISSING))
            sample = values.pop("sample", first_of(record, SAMPLE[:1]))
            yield from source.answers(
                self._config(source, facts),
                index,
                prediction,
                sample=None if sample is MISSING else sample,
                where=where,
                **values,
            )
        for name, path in self.paths.items():
            if name not in found:
                raise RulerError(
                    f"'{source.file}' has no '{path}' in any record: correct --columns "
                    f"{name}={path}, or leave it out."
                )

    def _index(self, source: Source, record: Any, value: Any) -> Any:
        if value is not MISSING and value is not None:
            return value
        if "index" in self.paths:
            raise no_index(source.file, self.paths["index"])
        index = first_of(record, INDEX) if isinstance(record, Mapping) else MISSING
        return None if index is MISSING else index

    def _config(self, source: Source, facts: Mapping[str, Any]) -> str:
        if facts["config"] is not None:
            return source.configs.of_record(facts["config"])
        if facts["task"] is not None and facts["length"] is not None:
            return source.configs.find(None, facts["task"], facts["length"], facts["languages"])
        task = None if facts["task"] is None else str(facts["task"])
        return source.configs.by_name(task, facts["length"])


def at_path(record: Any, path: str) -> Any:
    """Return the value at a path of keys and numbers, which a dot separates; MISSING without one.

    A key may itself have dots (`answer-llama-3.1-8b`): the longest key that fits is used.
    """
    if isinstance(record, Mapping):
        if path in record:
            return record[path]
        for dot in reversed([match.start() for match in re.finditer(r"\.", path)]):
            if path[:dot] in record:
                return at_path(record[path[:dot]], path[dot + 1 :])
    elif isinstance(record, list | tuple):
        step, has_more, rest = path.partition(".")
        if step.isdecimal() and int(step) < len(record):
            return at_path(record[int(step)], rest) if has_more else record[int(step)]
    return MISSING


def no_index(file: Path, column: str) -> RulerError:
    """Return the error of a file with an answer whose row is unknown."""
    return RulerError(
        f"'{file}' does not say which row an answer belongs to: it has no '{column}'. Add a column "
        "`index` (from 0), or name yours with --columns index=NAME,prediction=NAME."
    )


def first_of(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the first of some fields that a record has; MISSING without one."""
    for name in names:
        if record.get(name) not in (None, ""):
            return record[name]
    return MISSING
