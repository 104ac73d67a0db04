"""Readers of prediction files: this project's, the reference code's, lm-evaluation-harness's.

    RUN/vt_4k.jsonl          {"config": "vt_4k", "index": 0, "prediction": "…", …}
    4096/pred/vt.jsonl       {"index": 0, "pred": "…", "input": "…", "outputs": […], "others": {…}}
    4096/pred/submission.csv Task,ID,Prediction
    samples_ruler_vt_*.jsonl {"doc_id": 0, "doc": {"outputs": […], "max_length": 4096, …},
                              "filtered_resps": ["…"]}; of an exported task folder, the name says
                              the configuration: samples_ruler_frozen_vt_4k_*.jsonl
    prediction_MODEL.jsonl   {"index": 0, "outputs": […], "response-MODEL": "…"}     (ONERULER's)

Where a format does not say the length, the folder above `pred` does, as in the reference code, or
`--length`; `--config` names the configuration outright.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruler_dataset import (
    DEFAULT_TOKENIZER,
    Config,
    Names,
    RulerError,
    check_name,
    length_name,
    parse_length,
    sha256_of,
)

LM_EVAL_TASKS = {
    "ruler_vt": "vt",
    "ruler_cwe": "cwe",
    "ruler_fwe": "fwe",
    "ruler_qa_squad": "qa_1",
    "ruler_qa_hotpot": "qa_2",
}
"""lm-evaluation-harness's names that are not the reference code's."""
RUN_FILE = "run.json"
FAILED = ("error", "does_not_fit")
"""The finish reasons of rows without an answer (eval/run/records.py)."""


@dataclass(frozen=True)
class Prediction:
    """One answer, whatever file it came from; `outputs` are the references of self-contained files.

    `finish_reason`, `thinking_ended` and `error` are None where the format does not tell.
    """

    config: str
    index: int
    text: str
    finish_reason: str | None = None
    thinking: str | None = None
    thinking_ended: bool | None = None
    error: str | None = None
    outputs: tuple[str, ...] | None = None
    where: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no answer to score: an error, or a prompt that did not fit."""
        return self.error is not None or self.finish_reason in FAILED


@dataclass(frozen=True)
class Naming:
    """What the caller says where a format is silent about the configuration."""

    names: Names = field(default_factory=lambda: Names.of("ruler"))
    length: str | None = None
    tokenizer: str = DEFAULT_TOKENIZER
    config: str | None = None

    def of(self, task: str, length: str | None, where: Path) -> str:
        """The name of a task's configuration; a RulerError where the length is not known."""
        if self.config is not None:
            return self.names.parse(self.config).name
        check_name("task", task, self.names.tasks, "ruler score --help")
        if self.names.dataset != "ruler":
            raise RulerError(f"'{where}' does not say its language: add --config NAME.")
        length = self.length or length
        if length is None:
            raise RulerError(
                f"'{where}' does not say the length of '{task}': add --length, such as 4k."
            )
        parse_length(length, self.names.dataset)
        return Config(self.names.dataset, task, length, self.tokenizer).name


@dataclass
class Predictions:
    """All that was read: the answers in file order, the run's settings, digests of the files.

    `names` are the tasks the configurations are of; a release brings its own.
    """

    rows: list[Prediction] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    run_folder: Path | None = None
    names: Names = field(default_factory=lambda: Names.of("ruler"))


def read(paths: Iterable[Path], naming: Naming | None = None) -> Predictions:
    """Read folders and files of any known format. Raises RulerError for what it cannot read."""
    naming = naming or Naming()
    found = Predictions(names=naming.names)
    for path in map(Path, paths):
        if path.is_dir() and (path / RUN_FILE).is_file():
            found.run_folder = path
        for file in files_of(path):
            before = len(found.rows)
            if file.suffix == ".csv":
                found.rows.extend(_submission(file, naming))
            else:
                found.rows.extend(_json_lines(file, naming, found.damaged))
            found.files[str(file)] = sha256_of(file)
            if len(found.rows) == before:
                found.damaged.append(f"{file} holds no predictions")
        found.run.update(_settings(path))
    if not found.rows:
        raise RulerError("There are no predictions in what was given: name a RUN folder or files.")
    return found


def files_of(path: Path) -> list[Path]:
    """The prediction files of a folder (of any format), or the file itself."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise RulerError(f"There is no file or folder '{path}'.")
    found = sorted(path.glob("*.jsonl"))
    if not found:
        nested = [file for file in path.rglob("*.jsonl") if _is_nested(file, path)]
        found = sorted(nested) or sorted(path.rglob("submission.csv"))
    if not found:
        raise RulerError(f"'{path}' holds no prediction files (*.jsonl, or submission.csv).")
    return found


def _is_nested(file: Path, path: Path) -> bool:
    return "pred" in file.relative_to(path).parts or file.name.startswith("samples_")


def _settings(path: Path) -> dict[str, Any]:
    folder = path if path.is_dir() else path.parent
    file = folder / RUN_FILE
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _json_lines(file: Path, naming: Naming, damaged: list[str]) -> Iterator[Prediction]:
    reader = None
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{file}:{number}"
            try:
                record = json.loads(line)
            except ValueError:
                damaged.append(f"{where} is no JSON")
                continue
            reader = reader or _reader(record, file)
            try:
                yield reader(record, file, naming, where)
            except RulerError:
                raise
            except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
                raise RulerError(f"'{where}' lacks a field or misuses one: {error}.") from error


def _reader(record: Any, file: Path) -> Any:
    keys = set(record) if isinstance(record, Mapping) else set()
    if {"config", "index", "prediction"} <= keys:
        return _project
    if {"index", "pred"} <= keys:
        return _reference
    if "doc" in keys and keys & {"filtered_resps", "resps"}:
        return _lm_eval
    if any(key.startswith("response-") for key in keys):
        return _authors
    raise RulerError(
        f"'{file}' is of no known format: its lines hold {', '.join(sorted(keys)) or 'no fields'}."
    )


def _project(record: Mapping[str, Any], file: Path, naming: Naming, where: str) -> Prediction:
    return Prediction(
        str(record["config"]),
        int(record["index"]),
        record["prediction"] or "",
        record.get("finish_reason"),
        record.get("thinking"),
        record.get("thinking_ended"),
        record.get("error"),
        where=where,
    )


def _reference(record: Mapping[str, Any], file: Path, naming: Naming, where: str) -> Prediction:
    task = re.sub(r"-\d+$", "", file.stem)
    others = record.get("others") or {}
    config = naming.of(task, length_of(file), file)
    outputs = record.get("outputs", [record["output"]] if "output" in record else None)
    index = int(others.get("id", record["index"]))
    return Prediction(config, index, record["pred"] or "", outputs=_tuple(outputs), where=where)


def _lm_eval(record: Mapping[str, Any], file: Path, naming: Naming, where: str) -> Prediction:
    doc = record["doc"]
    name = re.sub(r"^samples_|_\d{4}-\d\d-\d\dT.*$", "", file.stem)
    frozen = re.fullmatch(r"(?:one)?ruler_frozen_(.+)", name)
    if frozen:
        config = naming.names.parse(frozen[1]).name
    else:
        tokens = doc.get("max_length", doc.get("max_seq_length"))
        length = length_name(int(tokens), "ruler") if tokens is not None else None
        config = naming.of(LM_EVAL_TASKS.get(name, name), length, file)
    text = (record.get("filtered_resps") or record["resps"])[0]
    while isinstance(text, list):
        text = text[0]
    index = int(doc.get("index", record.get("doc_id")))
    return Prediction(config, index, text or "", outputs=_tuple(doc["outputs"]), where=where)


def _authors(record: Mapping[str, Any], file: Path, naming: Naming, where: str) -> Prediction:
    if naming.config is None:
        raise RulerError(
            f"'{file}' does not say its configuration: add --config, such as niah_none_64k_pl."
        )
    answers = [value for key, value in record.items() if key.startswith("response-")]
    return Prediction(
        naming.of("", None, file),
        int(record["index"]),
        answers[0] or "",
        record.get("finish_reason"),
        error="no response" if answers[0] is None else None,
        outputs=_tuple(record.get("outputs")),
        where=where,
    )


def _submission(file: Path, naming: Naming) -> Iterator[Prediction]:
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if not {"Task", "ID", "Prediction"} <= set(reader.fieldnames or ()):
            raise RulerError(f"'{file}' is no submission.csv: it needs Task, ID, Prediction.")
        for row in reader:
            config = naming.of(row["Task"], length_of(file), file)
            where = f"{file}:{reader.line_num}"
            yield Prediction(config, int(row["ID"]), row["Prediction"] or "", where=where)


def length_of(file: Path) -> str | None:
    """The length the reference code's folders tell: `…/4096/pred/vt.jsonl` is `4k`."""
    folder = file.resolve().parent
    name = folder.parent.name if folder.name == "pred" else ""
    return length_name(int(name), "ruler") if name.isdecimal() and int(name) >= 1000 else None


def _tuple(outputs: Any) -> tuple[str, ...] | None:
    if outputs is None:
        return None
    if isinstance(outputs, str):
        return (outputs,)
    return tuple(map(str, outputs))
