"""Read references from the reference code's data files, for predictions without references.

    ruler score 4096/pred/submission.csv --references 4096/data

Its `data/TASK/validation.jsonl` (or `TASK.jsonl`) has one line per row, {"index", "outputs", …}, in
the order of the predictions. Its index may not be a valid row index (for niah it is an offset, and
not unique), so lines are paired by their place, and the indices must agree.

A line may have the prompt, as `input`, or only parts of it if the rest may not be redistributed:
`pieces` are [offset, text] in characters, `characters` is the prompt's length, and context_start,
context_end and evidence are those of a release. They are used to sort errors.

The folder may have a rows.json with the `rows_sha256` of its rows, by configuration. It ties the
references to a run that recorded the same digests.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ruler_common.errors import RulerError
from ruler_common.files import parse_json
from ruler_common.manifest import MANIFEST
from ruler_common.names import Names
from ruler_eval.file_records import json_lines
from ruler_eval.prediction import Prediction, digest, read_name, row_number
from ruler_eval.score.paths import facts_of_folders
from ruler_eval.score.values import are_free_text, read_references

ROWS_FILE = "rows.json"


@dataclass(frozen=True, kw_only=True)
class ReferenceLine:
    """One line of a data file: index, references and the digest of the prompt.

    `prompt` and `columns` are the row's text as far as the line has it, if that was asked for.
    """

    index: int
    outputs: tuple[str, ...]
    prompt_digest: str | None
    question: str | None
    prompt: str | None = None
    columns: Mapping[str, Any] | None = None


class WithReferences(NamedTuple):
    """Predictions whose references were found, notes on the others, and digests of the rows."""

    rows: list[Prediction]
    notes: list[str]
    digests: dict[str, str]
    """The `rows_sha256` by configuration, if the folder has them."""


def add_references(
    predictions: Sequence[Prediction],
    folder: Path,
    names: Names,
    digests_of_run: Mapping[str, str],
    keep_prompts: bool = False,
) -> WithReferences:
    """Give every prediction the references of its line, and the line's number as index.

    Args:
        predictions: the predictions. With `keep_prompts` they also get the prompt as far as the
            line has it, for sorting errors.
        folder: the folder of the data files. Configurations whose references are not in it are left
            out, with a note.
        names: the names of tasks.
        digests_of_run: the digests of the rows that the run answered, as far as they are known.
        keep_prompts: whether prompts are kept.

    Raises RulerError if the folder has none of them, or if its lines belong to other rows.
    """
    groups: dict[str, list[Prediction]] = {}
    for row in predictions:
        groups.setdefault(row.config, []).append(row)
    lines_of_config = _read(folder, groups, names, keep_prompts)
    if not lines_of_config.keys() & groups.keys():
        if (folder / MANIFEST).is_file():
            raise RulerError(f"'{folder}' is a release: name it with --dataset, not --references.")
        raise RulerError(
            f"'{folder}' has no references for {', '.join(groups)}: name the folder of their data "
            "files (TASK.jsonl or TASK/validation.jsonl, below a folder named by the length)."
        )
    digests, notes = {}, []
    file = folder / ROWS_FILE
    if file.is_file():
        remedy = "Remove it, or write it again."
        digests = parse_json(file.read_bytes(), dict[str, str], file, remedy)
    for name, rows in groups.items():
        of_run, of_folder = digests_of_run.get(name), digests.get(name)
        if of_run and of_folder and of_run != of_folder:
            raise RulerError(
                f"'{folder}' has the references of other rows of {name} than the run answered: "
                "name the references of its rows."
            )
        if name in lines_of_config:
            lines = lines_of_config[name]
            _pair(name, rows, lines, folder)
            answered = len({row.index for row in rows})
            if answered < len(lines):
                notes.append(
                    f"{name}: {answered} of the {len(lines)} rows in '{folder}' have predictions, "
                    "the others do not count"
                )
        else:
            notes.append(f"{name}: no references in '{folder}', left out")
    rows = [row for row in predictions if row.config in lines_of_config]
    return WithReferences(rows, notes, digests)


def _pair(name: str, rows: list[Prediction], lines: list[ReferenceLine], folder: Path) -> None:
    numbers = list(range(len(rows)))
    if [row.index for row in rows] != [line.index for line in lines]:
        by_index = {line.index: number for number, line in enumerate(lines)}
        if len(by_index) < len(lines) or not {row.index for row in rows} <= by_index.keys():
            raise RulerError(
                f"'{folder}' has other rows of {name} than the predictions answer: {len(lines)} "
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
        has_prompt = (row.prompt_digest or "") == line.prompt_digest
        row.is_matched_by_line = row.outputs != line.outputs and not has_prompt
        row.index, row.outputs = number, line.outputs
        row.prompt_digest = row.prompt_digest or line.prompt_digest
        row.prompt, row.columns = row.prompt or line.prompt, row.columns or line.columns
        row.question = row.question or line.question


def _read(
    folder: Path, configs: Collection[str], names: Names, keep_prompts: bool
) -> dict[str, list[ReferenceLine]]:
    """Return the lines of the data files below a folder, by configuration."""
    if not folder.is_dir():
        raise RulerError(
            f"There is no folder '{folder}': --references takes a folder of data files."
        )
    lines_of_config: dict[str, list[ReferenceLine]] = {}
    for file in sorted(folder.rglob("*.jsonl")):
        facts = facts_of_folders(file, names)
        if "task" not in facts or "pred" in file.parts:
            continue
        status = file.stat()
        is_free_text = are_free_text(facts["task"])
        lines = _data_lines(file, status.st_mtime_ns, status.st_size, is_free_text, keep_prompts)
        of_task = [n for n in configs if re.fullmatch(rf"{facts['task']}_\d+[km]?(?:_.+)?", n)]
        if "length" in facts:
            for name in of_task:
                if read_name(names, name).max_length == facts["length"]:
                    lines_of_config[name] = lines
        elif len(of_task) == 1:
            lines_of_config[of_task[0]] = lines
    return lines_of_config


@lru_cache(maxsize=128)  # the runs on one page have the same rows
def _data_lines(
    file: Path, changed: int, size: int, is_free_text: bool, keep_prompts: bool
) -> list[ReferenceLine]:
    """Return the lines of a data file; time of change and size are the key of the cache."""
    lines, damaged = [], list[str]()
    for where, line in json_lines(file, damaged):
        try:
            lines.append(_reference_line(line, is_free_text, keep_prompts))
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            why = f"it has no {error}" if isinstance(error, KeyError) else error
            raise RulerError(f"'{where}' is not a line of a data file: {why}.") from None
    if damaged:
        raise RulerError(f"{damaged[0]}: references are paired by line, so correct the file.")
    return lines


def _reference_line(
    line: Mapping[str, Any], is_free_text: bool, keep_prompts: bool
) -> ReferenceLine:
    prompt = line["input"] + (line.get("answer_prefix") or "") if "input" in line else None
    return ReferenceLine(
        index=row_number(line["index"]),
        outputs=read_references(line["outputs"], is_free_text) or (),
        prompt_digest=None if prompt is None else digest(prompt),
        question=line.get("question"),
        prompt=prompt if keep_prompts else None,
        columns=line if keep_prompts and "pieces" in line else None,
    )
