"""Writes and reads results.json, and refuses one that contradicts itself.

    write(results, Path("runs/qwen/results.json"))
    load(Path("runs/qwen"))["configurations"]["vt_4k"]["score"]

Its form is in ruler_eval/score/results_file.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from ruler_common.errors import RulerError
from ruler_common.files import read_bytes, write_whole
from ruler_common.languages import own_facts
from ruler_common.names import CODE, LANGUAGES, TASKS, check_name
from ruler_common.parsing import parse_json
from ruler_eval.score.formats.run_facts import check_times
from ruler_eval.score.results_file import FORMAT, Results

_MOST = 1 << 53
"""What no number of rows or tokens reaches."""


def write(results: Results, path: Path) -> None:
    """Write results.json, whole or not at all."""
    text = json.dumps(results, ensure_ascii=False, indent=1, allow_nan=False, default=asdict)
    write_whole(path, text + "\n")


def load(path: Path) -> Results:
    """Read a results.json, or the one in a RUN folder.

    Raises RulerError where there is none, if it is another file, or of a newer format.
    """
    path = path / "results.json" if path.is_dir() else path
    if not path.exists():
        made = f". Make it: ruler score {path.parent}"
        other = ": name a scored RUN folder or a results.json."
        raise RulerError(f"There is no '{path}'{made if path.name == 'results.json' else other}")
    again = "Make it anew with `ruler score`."
    what = "no results.json of `ruler score`"
    found = parse_json(read_bytes(path), Results, path, again, FORMAT, what)
    results = cast(Results, found)
    check_times(results["run"], path)
    if wrong := next(_wrong_values(results), None):
        raise RulerError(f"'{path}' is damaged: {wrong}. {again}")
    return results


def _is_near(score: float | None, mean: float | None) -> bool:
    """Whether two scores are one but for rounding, or both are none."""
    if score is None or mean is None:
        return score is mean
    return math.isclose(score, mean, abs_tol=1e-6)


def _wrong_values(results: Results) -> Iterator[str]:
    """What no `ruler score` writes, though it is of the right type."""
    check_name("dataset", results["dataset"]["name"], TASKS, "ruler score --help")
    own = results["dataset"].get("languages", {})
    for code, table in own.items():
        if code in LANGUAGES or not re.fullmatch(CODE, code):
            yield f"dataset.languages has {code!r}, which is no language of its own"
        own_facts(table, f"dataset.languages.{code}")
    known = {*LANGUAGES, *own}
    for name, cell in results["configurations"].items():
        where, rows = f"configurations.{name}", cell["rows"]
        if unknown := {cell["language"], cell["instruction_language"]} - known:
            yield f"{where} is in {min(unknown)!r}, of which dataset.languages says nothing"
        indices, scores = rows["index"], rows["score"]
        columns: tuple[Sequence[object] | None, ...]
        columns = (scores, rows["found"], rows["question"], rows["prompt"])
        columns += (rows.get("references"), rows.get("document"))
        if any(column is not None and len(column) != len(indices) for column in columns):
            yield f"{where}.rows has columns of different lengths"
        if len({*indices}) != len(indices) or any(not 0 <= i < _MOST for i in indices):
            yield f"{where}.rows has indices that are none"
        if any(not 0 <= score <= 1 for score in scores):
            yield f"{where}.rows has a score that is not between 0 and 1"
        shares = [cell["score"], cell["strict"], *(cell["interval"] or ())]
        if any(share is not None and not 0 <= share <= 100 for share in shares):
            yield f"{where} has a score that is not between 0 and 100"
        if cell["interval"] is not None and len(cell["interval"]) != 2:
            yield f"{where}.interval has not two ends"
        mean = 100 * math.fsum(scores) / len(scores) if scores else None
        if cell["n"] != len(indices) or not _is_near(cell["score"], mean):
            shown = "no score" if mean is None else f"a mean of {mean:.4f}"
            yield (
                f"{where} has n {cell['n']} and the score {cell['score']}, its {len(indices)} rows "
                f"{shown}"
            )
        if not {*indices}.issuperset(rows["truncated"]):
            yield f"{where}.rows has truncated rows that it does not list"
        counts = (cell["n"], cell["missing"], cell["failed"], cell["max_length"])
        if any(not 0 <= count < _MOST for count in counts):
            yield f"{where} has a count that is none"
