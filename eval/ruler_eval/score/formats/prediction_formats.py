"""The formats of prediction files: this project's and those of other tools, one reader each.

    RUN/vt_4k.jsonl          {"config": "vt_4k", "index": 0, "prediction": "…", …}
    4096/pred/vt.jsonl       {"index": 0, "pred": "…", "input": "…", "outputs": […], "others": {…}}
    4096/pred/submission.csv Task,ID,Prediction                         (the reference code's)
    samples_ruler_vt_*.jsonl {"doc_id": 0, "doc": {"outputs": […], "max_length": 4096, …},
                              "filtered_resps": ["…"]}; of an exported task folder, the name has
                              the configuration: samples_ruler_frozen_vt_4k_*.jsonl
    prediction_MODEL.jsonl   {"index": 0, "outputs": […], "response-MODEL": "…"}     (ONERULER's)
    predictions.csv          predicted_answer,task,question,answer,…  beside config.yaml (kvpress)

Where a format does not give the length or the language, the folders do (`4096/pred`, `en/8000`), or
`--length`; `--config` names the configuration outright.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import MOST_LINE, lines_of, read_bytes, read_text
from ruler_common.parsing import json_value
from ruler_eval.prediction import Prediction, row_number
from ruler_eval.score.config_naming import Naming, path_facts
from ruler_eval.score.formats.prompt_check import PromptCheck

LM_EVAL_TASKS = {
    "ruler_vt": "vt",
    "ruler_cwe": "cwe",
    "ruler_fwe": "fwe",
    "ruler_qa_squad": "qa_1",
    "ruler_qa_hotpot": "qa_2",
}
"""lm-evaluation-harness's names that are not the reference code's."""
DIGEST_BYTES = 4
MOST_TABLE = 1 << 30
"""Bytes of a CSV file: of all tasks at a length, with questions but without prompts."""
Record = Mapping[str, Any]


def digest(text: str) -> str:
    """A short digest of a text: 8 hex digits."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=DIGEST_BYTES).hexdigest()


@dataclass(frozen=True)
class FileReader:
    """Reads one file: its path, what the caller adds, and whether prompts are kept.

    `prompts` compares each prompt that the file holds with its row's, where there is a release.
    """

    file: Path
    naming: Naming
    _: KW_ONLY
    keep_prompts: bool = False
    prompts: PromptCheck | None = None
    _named: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def read(self, damaged: list[str]) -> Iterator[Prediction]:
        """The predictions in file order; notes lines that are no JSON in `damaged`."""
        if self.file.suffix == ".csv":
            yield from self._csv()
            return
        reader: Callable[[Record], Prediction] | None = None
        for number, data in lines_of(self.file):
            line = data.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
            if not line or line.isspace():
                continue
            where = f"{self.file}:{number}"
            try:
                record = json_value(line, strict=False)
            except ValueError:
                damaged.append(f"{where} is no JSON")
                continue
            reader = reader or self._reader(record)
            try:
                found = reader(record)
                found.where = where
                found.check()
            except RulerError:
                raise
            except (LookupError, TypeError, AttributeError, ValueError) as error:
                why = f"no '{error.args[0]}'" if isinstance(error, KeyError) else error
                raise RulerError(f"'{where}' lacks a field or misuses one: {why}.") from error
            if self.prompts is not None:
                self.prompts.of(found)
            if not self.keep_prompts:
                found.prompt = None
            yield found

    def _name(self, task: str, length: str | int | None, languages: str | None = None) -> str:
        key = (task, length, languages)
        if key not in self._named:
            self._named[key] = self.naming.of(task, length, self.file, languages)
        return self._named[key]

    @cached_property
    def _of_folder(self) -> str:
        """The configuration that the reference code's file name and folder tell."""
        return self._name(re.sub(r"-\d+$", "", self.file.stem), self._length)

    @cached_property
    def _length(self) -> int | None:
        return length_of(self.file)

    @cached_property
    def _press_length(self) -> int | None:
        folder = kvpress_settings(self.file).get("data_dir", "").partition("-")[0]
        return int(folder) if folder.isdecimal() else self._length

    def _reader(self, record: Any) -> Callable[[Record], Prediction]:
        keys = set(record) if isinstance(record, Mapping) else set()
        if {"config", "index", "prediction"} <= keys:
            return self._project
        if {"index", "pred"} <= keys:
            return self._reference
        if "doc" in keys and keys & {"filtered_resps", "resps"}:
            return self._lm_eval
        if any(key.startswith("response-") for key in keys):
            return self._oneruler_authors
        held = ", ".join(sorted(keys)) or "no fields"
        raise RulerError(f"'{self.file}' is of no known format: its lines hold {held}.")

    def _project(self, record: Record) -> Prediction:
        usage = record.get("usage") or {}
        return Prediction(
            str(record["config"]),
            row_number(record["index"]),
            record["prediction"] or "",
            finish_reason=record.get("finish_reason"),
            thinking=record.get("thinking"),
            thinking_ended=record.get("thinking_ended"),
            thinking_tokens=usage.get("thinking_tokens"),
            prompt_tokens=usage.get("prompt_tokens"),
            error=record.get("error"),
        )

    def _reference(self, record: Record) -> Prediction:
        others = record.get("others") or {}
        outputs = record.get("outputs", [record["output"]] if "output" in record else None)
        return Prediction(
            self._of_folder,
            row_number(others["id"] if "id" in others else record["index"]),
            record["pred"] or "",
            outputs=as_tuple(outputs),
            **self._prompt(record, record.get("answer_prefix")),
        )

    def _prompt(self, row: Record, prefix: str | None = None) -> dict[str, Any]:
        """The digest of a row's prompt, and the prompt itself."""
        prompt = row.get("input")
        if prompt is not None:
            prompt += prefix or ""
        return {"asked": digest(prompt) if prompt else None, "prompt": prompt}

    def _lm_eval(self, record: Record) -> Prediction:
        doc = record["doc"]
        name, config = self._sampled
        if config is None:
            tokens = doc.get("max_length", doc.get("max_seq_length"))
            length = row_number(tokens) if tokens is not None else None
            config = self._name(LM_EVAL_TASKS.get(name, name), length)
        text = (record.get("filtered_resps") or record["resps"])[0]
        while isinstance(text, list):
            text = text[0]
        return Prediction(
            config,
            row_number(doc["index"] if "index" in doc else record["doc_id"]),
            text or "",
            outputs=as_tuple(doc["outputs"]),
            question=doc.get("question"),
            columns=doc if self.keep_prompts else None,
            **self._prompt(doc, doc.get("answer_prefix") or doc.get("gen_prefix")),
        )

    def _oneruler_authors(self, record: Record) -> Prediction:
        task, tokens, languages = self._facts
        if self.naming.config is None and None in (task, languages):
            raise RulerError(
                f"'{self.file}' does not name its configuration: add --config, such as "
                "niah_none_64k_pl, or keep such files in folders LANGUAGE/TASK/LENGTH."
            )
        answers = [value for key, value in record.items() if key.startswith("response-")]
        return Prediction(
            self._name(task or "", tokens, languages),
            row_number(record["index"]),
            answers[0] or "",
            finish_reason=record.get("finish_reason"),
            thinking_tokens=record.get("reasoning_tokens"),
            error="no response" if answers[0] is None else None,
            outputs=as_tuple(record.get("outputs")),
            **self._prompt(record),
        )

    @cached_property
    def _sampled(self) -> tuple[str, str | None]:
        """The harness's task name, and the configuration where it is an exported one's."""
        name = re.sub(r"^samples_|_\d{4}-\d\d-\d\dT.*$", "", self.file.stem)
        frozen = re.fullmatch(r"(?:one)?ruler_frozen_(.+)", name)
        return name, self.naming.names.parse(frozen[1]).name if frozen else None

    @cached_property
    def _facts(self) -> tuple[str | None, int | None, str | None]:
        return path_facts(self.file.absolute(), self.naming.names)

    def _csv(self) -> Iterator[Prediction]:
        csv.field_size_limit(MOST_LINE)
        text = read_bytes(self.file, MOST_TABLE).decode("utf-8-sig", errors="replace")
        try:
            yield from self._rows(csv.DictReader(io.StringIO(text, newline="")))
        except csv.Error as error:
            raise RulerError(f"'{self.file}' is no CSV file: {error}.") from error

    def _rows(self, reader: csv.DictReader[str]) -> Iterator[Prediction]:
        fields = set(reader.fieldnames or ())
        row_of: Callable[[Mapping[str, str], int], Prediction]
        if {"Task", "ID", "Prediction"} <= fields:
            row_of = self._submission
        elif {"predicted_answer", "task", "answer"} <= fields:
            row_of = self._kvpress
        else:
            raise RulerError(
                f"'{self.file}' is of no known format: a submission.csv has Task, ID, Prediction, "
                "kvpress's predictions.csv predicted_answer, task, answer."
            )
        seen: Counter[str] = Counter()
        for row in reader:
            task = row.get("Task") or row.get("task") or ""
            try:
                found = row_of(row, seen[task])
            except (TypeError, ValueError, SyntaxError) as error:
                where = f"{self.file}:{reader.line_num}"
                raise RulerError(f"'{where}' lacks a field or misuses one: {error}.") from error
            found.where = f"{self.file}:{reader.line_num}"
            seen[task] += 1
            yield found

    def _submission(self, row: Mapping[str, str], _: int) -> Prediction:
        config = self._name(row["Task"], self._length)
        return Prediction(config, row_number(row["ID"]), row["Prediction"] or "")

    def _kvpress(self, row: Mapping[str, str], number: int) -> Prediction:
        """The rows of a task stand in its data set's order; there is no index."""
        return Prediction(
            self._name(row["task"], self._press_length),
            number,
            row["predicted_answer"] or "",
            outputs=listed(row["answer"]),
            question=question_of(row.get("question") or ""),
        )


def kvpress_settings(file: Path) -> dict[str, str]:
    """What kvpress's config.yaml beside a predictions.csv, or its folder's name, tells of the run.

    The folder is called `ruler__4096__MODEL__PRESS__RATIO`.
    """
    names = file.absolute().parent.name.split("__")
    found = {}
    if len(names) >= 5 and names[1].isdecimal():
        found = {"data_dir": names[1], "model": "/".join(names[2].split("--"))}
        found |= {"press_name": names[-2], "compression_ratio": names[-1]}
    path = file.with_name("config.yaml")
    if path.is_file():
        for line in read_text(path).splitlines():
            name, _, value = line.partition(":")
            if re.fullmatch(r"data_dir|model|press_name|compression_ratio", name):
                found[name] = value.strip().strip("'\"")
    return found


def length_of(file: Path) -> int | None:
    """The tokens that the reference code's folders tell: 4096 for `…/4096/pred/vt.jsonl`."""
    for path in (file.absolute(), file.resolve()):
        folder = path.parent.parent if path.parent.name == "pred" else path.parent
        if re.fullmatch(r"[1-9]\d{3,6}", folder.name):
            return int(folder.name)
    return None


def question_of(text: str) -> str | None:
    """The question alone: what stands behind "Question:" where the instruction is repeated."""
    return text.rpartition("Question:")[2].strip() or None


def listed(text: str) -> tuple[str, ...]:
    """The strings of a printed list: `['a', 'b']`, or `['a' 'b']` as numpy prints one."""
    strings = re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", text)
    return tuple(str(ast.literal_eval(string)) for string in strings)


def as_tuple(outputs: Any) -> tuple[str, ...] | None:
    """References as a tuple of strings; one string is one reference."""
    if outputs is None:
        return None
    return (outputs,) if isinstance(outputs, str) else tuple(map(str, outputs))
