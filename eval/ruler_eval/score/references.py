"""References from the reference code's data files, for predictions that hold none.

    ruler score 4096/pred/submission.csv --references 4096/data

Its `data/TASK/validation.jsonl` (or `TASK.jsonl`) has one line per row: {"index", "outputs", …}, in
the order in which the predictions stand. Its index may be no number of a row (for niah it is an
offset, and not unique), so lines are paired by their place, and the indices must agree.

A line may hold the prompt, as `input`, or parts of it where the rest may not be passed on: `pieces`
are [offset, text] in characters, `characters` is the prompt's length, and context_start,
context_end and evidence are a release's. Sorting errors reads them.

The folder may hold a rows.json with the `rows_sha256` of the rows that its lines are of, by
configuration. It ties the references to a run that recorded the same digests.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError
from ruler_common.files import parse_json
from ruler_eval.prediction import Prediction, digest, read_name, read_references, row_number
from ruler_eval.score.config_naming import path_facts

if TYPE_CHECKING:
    from ruler_eval.score.predictions import Predictions

ROWS_FILE = "rows.json"


@dataclass(frozen=True, kw_only=True)
class ReferenceLine:
    """The index, the references and the prompt's digest of one line of a data file.

    `prompt` and `columns` are what the line holds of the row's text, if that was asked for.
    """

    index: int
    outputs: tuple[str, ...]
    asked: str | None
    question: str | None
    prompt: str | None = None
    columns: Mapping[str, Any] | None = None


def add_references(predictions: Predictions, folder: Path, keep_prompts: bool = False) -> None:
    """Give every prediction without references those of its line, and its line's number as index.

    With `keep_prompts` also what the line holds of the prompt, for sorting errors. Configurations
    whose references are not in the folder are left out, with a note. Raises RulerError where there
    are none at all, or the lines are others than the predictions'.
    """
    lines_of_config = _read(folder, predictions, keep_prompts)
    groups: dict[str, list[Prediction]] = {}
    for row in predictions.rows:
        groups.setdefault(row.config, []).append(row)
    if not lines_of_config.keys() & groups.keys():
        raise RulerError(
            f"'{folder}' has no references for {', '.join(groups)}: name the folder of their data "
            "files (TASK.jsonl or TASK/validation.jsonl, below a folder named by the length)."
        )
    digests = folder / ROWS_FILE
    if digests.is_file():
        predictions.reference_rows = parse_json(
            digests.read_bytes(), dict[str, str], digests, "Remove it, or write it again."
        )
    for name, rows in groups.items():
        digest_of_run = predictions.run.get("rows", {}).get(name)
        if predictions.reference_rows.get(name, digest_of_run) != digest_of_run:
            raise RulerError(
                f"'{folder}' holds the references of other rows of {name} than the run answered: "
                "name the references of its rows."
            )
        if name in lines_of_config:
            _pair(name, rows, lines_of_config[name], folder)
        else:
            predictions.damaged.append(f"{name}: no references in '{folder}', left out")
    predictions.rows = [row for row in predictions.rows if row.config in lines_of_config]


def _pair(name: str, rows: list[Prediction], lines: list[ReferenceLine], folder: Path) -> None:
    numbers = list(range(len(rows)))
    if [row.index for row in rows] != [line.index for line in lines]:
        by_index = {line.index: number for number, line in enumerate(lines)}
        if len(by_index) < len(lines) or not {row.index for row in rows} <= by_index.keys():
            raise RulerError(
                f"'{folder}' holds other rows of {name} than the predictions answer: {len(lines)} "
                f"lines beginning with index {lines[0].index}, {len(rows)} predictions beginning "
                f"with {rows[0].index}."
            )
        numbers = [by_index[row.index] for row in rows]
    for row, number in zip(rows, numbers, strict=True):
        line = lines[number]
        if row.outputs not in (None, line.outputs):
            raise RulerError(
                f"'{row.where}' has other references than '{folder}' for row {row.index}: "
                "leave --references out to score it by its own."
            )
        row.by_line = row.outputs != line.outputs and (row.asked or "") != line.asked
        row.index, row.outputs, row.asked = number, line.outputs, row.asked or line.asked
        row.prompt, row.columns = row.prompt or line.prompt, row.columns or line.columns
        row.question = row.question or line.question


def _read(
    folder: Path, predictions: Predictions, keep_prompts: bool
) -> dict[str, list[ReferenceLine]]:
    """Return the lines of the data files below a folder, by the predictions' configurations."""
    if not folder.is_dir():
        raise RulerError(
            f"There is no folder '{folder}': --references takes a folder of data files."
        )
    wanted = {row.config for row in predictions.rows}
    lines_of_config: dict[str, list[ReferenceLine]] = {}
    for file in sorted(folder.rglob("*.jsonl")):
        task, tokens, _ = path_facts(file.absolute(), predictions.names)
        if task is None or "pred" in file.parts:
            continue
        status = file.stat()
        lines = _data_lines(file, status.st_mtime_ns, status.st_size, keep_prompts)
        if not lines:
            continue
        of_task = [name for name in wanted if re.fullmatch(rf"{task}_\d+[km]?(?:_.+)?", name)]
        if tokens is not None:
            names = predictions.names
            of_task = [name for name in of_task if read_name(names, name).max_length == tokens]
        lines_of_config |= dict.fromkeys(
            of_task if tokens is not None or len(of_task) == 1 else [], lines
        )
    return lines_of_config


@lru_cache(maxsize=128)  # the runs of one page are of the same rows
def _data_lines(file: Path, changed: int, size: int, keep_prompts: bool) -> list[ReferenceLine]:
    """Return the lines of a data file as it was `changed`; none where it is something else."""
    lines = _lines(file)
    if not all({"index", "outputs"} <= line.keys() for line in lines):
        return []
    try:
        return [_line(row_number(line["index"]), line, keep_prompts) for line in lines]
    except (ValueError, TypeError) as error:
        raise RulerError(f"'{file}' is not a data file: {error}.") from None


def _line(index: int, line: Mapping[str, Any], keep_prompts: bool) -> ReferenceLine:
    whole = line["input"] + (line.get("answer_prefix") or "") if "input" in line else None
    asked = digest(whole) if whole is not None else None
    return ReferenceLine(
        index=index,
        outputs=read_references(line["outputs"]) or (),
        asked=asked,
        question=line.get("question"),
        prompt=whole if keep_prompts else None,
        columns=line if keep_prompts and "pieces" in line else None,
    )


def _lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file, or none where it holds anything else."""
    try:
        lines = file.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n")
        objects = [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError):
        return []
    return objects if all(_is_line(line) for line in objects) else []


def _is_line(line: Any) -> bool:
    """Whether something may be a row of a data file."""
    if not isinstance(line, dict) or not isinstance(line.get("outputs", ""), str | list):
        return False
    texts = ("input", "answer_prefix", "question")
    return all(isinstance(line.get(name) or "", str) for name in texts) and _is_spread(line)


def _is_spread(line: Mapping[str, Any]) -> bool:
    """Whether the pieces of a line follow one another, and its evidence lies within its prompt."""
    if "pieces" not in line:
        return True
    try:
        ends = [(start, start + len(text)) for start, text in line["pieces"]]
        spans = [(span["start"], span["end"]) for span in line["evidence"]]
        marks = [line["context_start"], line["context_end"], line["characters"]]
        numbers = [*marks, *chain.from_iterable(ends), *chain.from_iterable(spans)]
        depths = [0 <= span["depth"] <= 1 for span in line["evidence"]]
        answers = [span["answer"] in (True, False) for span in line["evidence"]]
    except (TypeError, ValueError, LookupError):
        return False
    in_order = [*chain.from_iterable(ends), line["characters"]]
    return (
        set(map(type, numbers)) == {int}
        and 0 <= min(numbers) <= max(numbers) <= line["characters"]
        and in_order == sorted(in_order)
        and all(depths + answers)
    )
